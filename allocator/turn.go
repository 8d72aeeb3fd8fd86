package allocator

import "math"

// place is where a search stands on one device class.
type place struct {
	arm, second           int     // best and runner-up; -1 = none
	logScore, secondScore float64 // log(expected gain per unit of charge)
	stage                 int     // 2: the baseline is due, 1: the first model is due, 0: otherwise
	key                   float64 // upper bound of the turn's score
	since                 int     // class.started when it became runnable or was last served
	rank, wait            int     // positions in the ladders, -1 = absent
}

// key is the score by which turns are given: log(gain per charge) - service·log(load + floor·mean). Divided by the mean
// inside the logarithm it is log(EI/s) - ½·log(attained share + 1/10); the mean is the same for all and left out. The
// smaller the mean, the larger the key. Openings come before everything else.
func (a *Allocator) key(s *search, p *place, mean float64) float64 {
	if p.stage > 0 {
		return 1e6 * float64(p.stage)
	}
	service := a.opts.Service
	if a.opts.Policy != PolicyDefault {
		service = 0
	}
	load := (s.attained+s.expected)/s.owners + a.opts.Floor*mean
	if load <= 0 || service == 0 { // load is 0 only while every load is
		return p.logScore
	}
	return p.logScore - service*math.Log(load)
}

// ladder is an indexed binary heap of the searches that are runnable on a class.
type ladder struct {
	class   int
	waiting bool // ordered by waiting time, else by key
	items   []*search
}

func (l *ladder) slot(s *search) *int {
	if l.waiting {
		return &s.places[l.class].wait
	}
	return &s.places[l.class].rank
}

func (l *ladder) less(s, t *search) bool {
	p, q := &s.places[l.class], &t.places[l.class]
	if l.waiting {
		if p.since != q.since {
			return p.since < q.since
		}
	} else if p.key != q.key {
		return p.key > q.key
	}
	return s.id < t.id
}

// put inserts a search or moves it to where it belongs now.
func (l *ladder) put(s *search) {
	at := l.slot(s)
	if *at < 0 {
		*at = len(l.items)
		l.items = append(l.items, s)
	}
	if !l.up(*at) {
		l.down(*at)
	}
}

func (l *ladder) drop(s *search) {
	at := l.slot(s)
	i := *at
	if i < 0 {
		return
	}
	last := len(l.items) - 1
	l.swap(i, last)
	l.items[last] = nil
	l.items = l.items[:last]
	*at = -1
	if i < last && !l.up(i) {
		l.down(i)
	}
}

func (l *ladder) swap(i, j int) {
	l.items[i], l.items[j] = l.items[j], l.items[i]
	*l.slot(l.items[i]), *l.slot(l.items[j]) = i, j
}

func (l *ladder) up(i int) (moved bool) {
	for i > 0 {
		parent := (i - 1) / 2
		if !l.less(l.items[i], l.items[parent]) {
			break
		}
		l.swap(i, parent)
		i, moved = parent, true
	}
	return moved
}

func (l *ladder) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(l.items) {
			return
		}
		if child+1 < len(l.items) && l.less(l.items[child+1], l.items[child]) {
			child++
		}
		if !l.less(l.items[child], l.items[i]) {
			return
		}
		l.swap(i, child)
		i = child
	}
}

// rekey recomputes every key with the allocator's lower mean and makes the heap anew.
func (l *ladder) rekey(a *Allocator) {
	for _, s := range l.items {
		p := &s.places[l.class]
		p.key = a.key(s, p, a.low)
	}
	for i := len(l.items)/2 - 1; i >= 0; i-- {
		l.down(i)
	}
}

// top finds the search with the highest score under the present mean. Keys are upper bounds, so a subtree whose root's
// key is below the best score found is left alone; ties go to the smaller id. Nothing is moved.
func (l *ladder) top(a *Allocator) *search {
	t := topSearch{ladder: l, allocator: a, mean: a.mean()}
	t.visit(0)
	return t.best
}

// topBut is top without one search; nil: there is no other.
func (l *ladder) topBut(a *Allocator, but *search) *search {
	t := topSearch{ladder: l, allocator: a, mean: a.mean(), but: but}
	t.visit(0)
	return t.best
}

type topSearch struct {
	ladder    *ladder
	allocator *Allocator
	mean      float64
	best, but *search
	score     float64
}

func (t *topSearch) visit(i int) {
	if i >= len(t.ladder.items) {
		return
	}
	s := t.ladder.items[i]
	p := &s.places[t.ladder.class]
	if t.best != nil && p.key < t.score {
		return
	}
	score := t.allocator.key(s, p, t.mean)
	if s != t.but && (t.best == nil || score > t.score || score == t.score && s.id < t.best.id) {
		t.best, t.score = s, score
	}
	t.visit(2*i + 1)
	t.visit(2*i + 2)
}

// overdue returns the search that has waited longest on the class if it has waited Wait times as many decisions of the
// class as there are runnable searches; nil = nobody has.
func (a *Allocator) overdue(c int) *search {
	l := &a.classes[c].wait
	if len(l.items) == 0 {
		return nil
	}
	s := l.items[0]
	if a.classes[c].started-s.places[c].since >= a.opts.Wait*len(l.items) {
		return s
	}
	return nil
}
