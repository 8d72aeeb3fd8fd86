package allocator

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
)

// basis is a prior laid out over the arms of a search: dense, in the order of the arms. Searches with the same prior
// and the same arms share one, so a thousand searches hold one covariance.
type basis struct {
	key      string
	users    int
	quality  []float64 // n×n
	qmean    []float64
	seconds  []float64 // n×n
	position []int     // of the arm in the prior, -1 = unknown there
	timed    []bool    // whether the prior has seconds of it
	family   []int     // of the arm, as a number below families
	families int
	arms     []*Arm // as the first search offered them
}

// share lets arms that are the same as another search's be the same value in memory.
func (b *basis) share(arms []arm) {
	if b.arms == nil {
		for k := range arms {
			b.arms = append(b.arms, arms[k].Arm)
		}
		return
	}
	for k := range arms {
		if m, t := arms[k].Arm, b.arms[k]; m != t && m.Version == t.Version && maps.Equal(m.Estimate, t.Estimate) && slices.Equal(m.Classes, t.Classes) {
			arms[k].Arm = t
		}
	}
}

func basisKey(p *Prior, arms []Arm) string {
	var b strings.Builder
	b.WriteString(p.ID)
	for i := range arms {
		b.WriteByte(0)
		b.WriteString(string(arms[i].ID))
		b.WriteByte(1)
		b.WriteString(arms[i].Family)
		if arms[i].Baseline {
			b.WriteByte(2)
		}
	}
	return b.String()
}

// blend says how an arm is made of the prior's candidates: f = mean of f over from + a residual of its own.
type blend struct {
	from       []int  // positions in the prior; one = the candidate itself
	group      string // unknown arms of one group share half of their residual; "" = known, or a baseline
	level      float64
	qres, sres float64
	// Mean covariance of from with each of the prior's candidates; nil where from is one candidate.
	qcol, scol []float64
}

// layOut fills in what the prior doesn't know. An unknown candidate is the average of its family in the prior plus an
// independent residual (of all candidates if the family is unknown too), so the covariance stays positive
// semi-definite; an unknown baseline is independent of everything and expected at the floor.
func layOut(p *Prior, arms []Arm) *basis {
	n := len(arms)
	b := &basis{key: basisKey(p, arms), quality: make([]float64, n*n), qmean: make([]float64, n), seconds: make([]float64, n*n), position: make([]int, n)}
	b.family, b.timed = make([]int, n), make([]bool, n)
	numbers := map[string]int{}
	for k := range arms {
		f, ok := numbers[arms[k].Family]
		if !ok {
			f = len(numbers)
			numbers[arms[k].Family] = f
		}
		b.family[k] = f
	}
	b.families = len(numbers)
	blends := make([]blend, n)
	families := map[string]blend{}
	for i := range arms {
		b.position[i] = p.index(arms[i].ID)
		switch k := b.position[i]; {
		case k >= 0:
			b.timed[i] = p.Candidates[k].Timed > 0
			blends[i] = blend{from: []int{k}, level: p.Quality.Mean[k]}
		case arms[i].Baseline:
			blends[i] = blend{level: p.Quality.Floor, qres: 1, sres: 4}
		default:
			f, ok := families[arms[i].Family]
			if !ok {
				f = familyBlend(p, arms[i].Family)
				families[arms[i].Family] = f
			}
			blends[i] = f
		}
		b.qmean[i] = blends[i].level
	}
	for i := range n {
		for j := 0; j <= i; j++ {
			x, y := &blends[i], &blends[j]
			q, s := covariance(p.Quality.Cov, x.qcol, x.from, y.from), covariance(p.Seconds.Cov, x.scol, x.from, y.from)
			switch {
			case i == j:
				q, s = q+x.qres, s+x.sres
			case x.group != "" && x.group == y.group:
				q, s = q+0.5*x.qres, s+0.5*x.sres
			}
			b.quality[i*n+j], b.quality[j*n+i] = q, q
			b.seconds[i*n+j], b.seconds[j*n+i] = s, s
		}
	}
	return b
}

// covariance of two blends without their residuals; col is that of the first with every candidate.
func covariance(cov Symmetric, col []float64, x, y []int) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	sum := 0.0
	for _, j := range y {
		if col != nil {
			sum += col[j]
		} else {
			sum += cov.At(x[0], j)
		}
	}
	return sum / float64(len(y))
}

func familyBlend(p *Prior, family string) blend {
	var from, all []int
	for i, c := range p.Candidates {
		all = append(all, i)
		if c.Family == family && family != "" {
			from = append(from, i)
		}
	}
	if len(from) == 0 {
		from = all
	}
	f := blend{from: from, group: "family " + family}
	column := func(cov Symmetric) (col []float64, own float64) { // own = what an average member has of its own
		col = make([]float64, len(p.Candidates))
		for j := range col {
			for _, i := range from {
				col[j] += cov.At(i, j) / float64(len(from))
			}
		}
		for _, i := range from {
			own += (cov.At(i, i) - col[i]) / float64(len(from))
		}
		return col, max(own, 0)
	}
	var qspread, sspread float64
	f.level, qspread = spread(p.Quality.Mean, from)
	_, sspread = spread(p.Seconds.Mean, from)
	f.qcol, f.qres = column(p.Quality.Cov)
	f.scol, f.sres = column(p.Seconds.Cov)
	f.qres += qspread + 0.05
	f.sres += min(sspread, 4) + 0.25 // the level comes from an estimate or the family: the spread counts up to a factor e²
	return f
}

func spread(xs []float64, of []int) (mean, variance float64) {
	for _, i := range of {
		mean += xs[i] / float64(len(of))
	}
	for _, i := range of {
		variance += (xs[i] - mean) * (xs[i] - mean) / float64(len(of))
	}
	return mean, variance
}

// Bounds of a predicted duration: a regression may not leave a tenth of a millisecond to four months.
var minLogSeconds, maxLogSeconds = math.Log(1e-4), math.Log(1e7)

// logSecondsPrior gives the prior mean of log seconds of every arm on a class, for data of the given size. What history
// knows comes from its regression; the rest from the trainer's estimate, shifted by how far estimates are off on the
// candidates that history does know; else from the family, else from all.
func logSecondsPrior(p *Prior, b *basis, arms []Arm, class string, examples, features int) []float64 {
	s := &p.Seconds
	m := make([]float64, len(arms))
	known := make([]bool, len(arms))
	shift, shifts := 0.0, 0.0
	for i := range arms {
		k := b.position[i]
		if k < 0 || p.Candidates[k].Timed == 0 && !p.Candidates[k].Live {
			continue
		}
		m[i] = s.Mean[k] + s.sizeTerm(k, examples, features)
		home := ""
		if len(s.Home) > 0 {
			home = s.Home[k]
		}
		here, there := arms[i].Estimate[class], arms[i].Estimate[home]
		switch {
		case s.Relative:
			e, ok := estimateFor(&arms[i], class, s)
			if !ok {
				continue
			}
			m[i] += e
			if here > 0 && home != "" {
				m[i] += s.Offsets[class] - s.Offsets[home]
			}
		case home == class || home == "":
		case here > 0 && there > 0:
			m[i] += math.Log(here / there)
		default:
			m[i] += s.Offsets[class] - s.Offsets[home]
		}
		known[i] = true
		if e := arms[i].Estimate[class]; e > 0 {
			shift += m[i] - math.Log(e)
			shifts++
		}
	}
	shift /= shifts + 2 // two virtual candidates whose estimate holds
	levels := map[string][2]float64{}
	total := [2]float64{}
	for i := range arms {
		if !known[i] {
			e, ok := estimateFor(&arms[i], class, s)
			if !ok {
				continue
			}
			known[i] = true
			m[i] = e + shift
		}
		l := levels[arms[i].Family]
		levels[arms[i].Family] = [2]float64{l[0] + m[i], l[1] + 1}
		total[0] += m[i]
		total[1]++
	}
	for i := range arms {
		if !known[i] {
			switch l := levels[arms[i].Family]; {
			case l[1] > 0:
				m[i] = l[0] / l[1]
			case total[1] > 0:
				m[i] = total[0] / total[1]
			}
		}
		m[i] = min(max(m[i], minLogSeconds), maxLogSeconds)
	}
	return m
}

// estimateFor is the logarithm of the trainer's estimate on the class, or of another class's, corrected by what
// history knows of the two classes.
func estimateFor(arm *Arm, class string, s *SecondsPrior) (float64, bool) {
	if e := arm.Estimate[class]; e > 0 {
		return math.Log(e), true
	}
	if len(arm.Estimate) == 0 {
		return 0, false
	}
	sum := 0.0
	names := sortedKeys(arm.Estimate)
	for _, other := range names {
		sum += math.Log(arm.Estimate[other]) + s.Offsets[class] - s.Offsets[other]
	}
	return sum / float64(len(names)), true
}

// sizeTerm is the regression's part that depends on the size of the data; 0 where the size is unknown.
func (s *SecondsPrior) sizeTerm(k, examples, features int) float64 {
	t := 0.0
	if examples > 0 {
		t += s.Slope[k][0] * (math.Log(float64(examples)+1) - s.Centre[0])
	}
	if features > 0 {
		t += s.Slope[k][1] * (math.Log(float64(features)+1) - s.Centre[1])
	}
	return t
}

// sortedArms returns a copy in the order of ids.
func sortedArms(arms []Arm) []Arm {
	s := append([]Arm(nil), arms...)
	sort.Slice(s, func(i, j int) bool { return s[i].ID < s[j].ID })
	return s
}
