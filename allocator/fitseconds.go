package allocator

import (
	"math"
)

// fitSeconds fits the log seconds (over the trainer's estimates, where it had one of all of them): level and slopes of every candidate on its home class, offsets between classes, and
// the covariance of what remains.
func fitSeconds(t *table, b *SecondsBeliefs, s *SecondsPrior) {
	n := len(t.candidates)
	s.Mean, s.Slope, s.Home = make([]float64, n), make([][2]float64, n), make([]string, n)
	s.Offsets, s.Relative = map[string]float64{}, t.relative
	s.Class = t.homes(s.Home)
	if s.Class == "" {
		s.Home = nil
	}
	x := t.sizes(&s.Centre)

	level := t.level()
	f := fitter{families: t.families, level: level, centred: true, variance: b.within(), rest: b.Search / b.within(), same: (b.Search + b.Family) / b.within(), noises: []float64{1e-3, 0.01, 0.03, 0.1}}
	rows := make([][]float64, len(t.logSeconds))
	rounds := 3
	if s.Class == "" {
		rounds = 1
	}
	for range rounds {
		y := make([][]float64, len(rows))
		for i, r := range t.logSeconds {
			y[i] = make([]float64, n)
			for k, v := range r {
				y[i][k] = v - t.shift(s, i, k)
			}
		}
		regress(y, x, f, level, (b.Family+b.Own+b.Noise)/b.Candidate, s)
		for i := range y {
			rows[i] = make([]float64, n)
			for k := range n {
				rows[i][k] = y[i][k] - s.Mean[k] - s.Slope[k][0]*x[i][0] - s.Slope[k][1]*x[i][1]
			}
		}
		if s.Class != "" {
			t.offsets(s, rows)
		}
	}
	f.gaussian = true
	q := f.fit(rows)
	s.Cov, s.Noise = q.cov, q.noise
	s.OffsetVar = b.Class
}

// homes gives each candidate the class most of its seconds come from and returns the class most of all come from.
func (t *table) homes(home []string) string {
	total := map[string]int{}
	most := func(count map[string]int) string {
		top := ""
		for _, class := range sortedKeys(count) {
			if class != "" && (top == "" || count[class] > count[top]) {
				top = class
			}
		}
		return top
	}
	for k := range home {
		count := map[string]int{}
		for i := range t.class {
			if !math.IsNaN(t.logSeconds[i][k]) {
				count[t.class[i][k]]++
				total[t.class[i][k]]++
			}
		}
		home[k] = most(count)
	}
	return most(total)
}

// shift is by how much a cell's class is expected to differ from its candidate's home.
func (t *table) shift(s *SecondsPrior, i, k int) float64 {
	if class := t.class[i][k]; class != "" && s.Class != "" && class != s.Home[k] {
		return s.Offsets[class] - s.Offsets[s.Home[k]]
	}
	return 0
}

// offsets updates the mean difference between classes by the cells that were not measured at home.
func (t *table) offsets(s *SecondsPrior, residuals [][]float64) {
	sum, count := map[string]float64{}, map[string]float64{}
	for i := range residuals {
		for k, r := range residuals[i] {
			class := t.class[i][k]
			if math.IsNaN(r) || class == "" || class == s.Home[k] {
				continue
			}
			sum[class] += r
			count[class]++
			sum[s.Home[k]] -= r
			count[s.Home[k]]++
		}
	}
	for class := range sum {
		if class != s.Class {
			s.Offsets[class] += sum[class] / (count[class] + 2)
		}
	}
}

// sizes are the logarithms of the sizes about their mean; an unknown size stands at the mean. Estimates know of sizes, and a slope
// on what few past searches leave would lead astray where data are larger than all of theirs: relative to them, all stand at the mean.
func (t *table) sizes(centre *[2]float64) [][2]float64 {
	for d := range centre {
		n := 0.0
		for _, z := range t.size {
			if !math.IsNaN(z[d]) {
				centre[d] += z[d]
				n++
			}
		}
		if n > 0 {
			centre[d] /= n
		}
	}
	x := make([][2]float64, len(t.size))
	for i, z := range t.size {
		for d := range centre {
			if !math.IsNaN(z[d]) && !t.relative {
				x[i][d] = z[d] - centre[d]
			}
		}
	}
	return x
}

// level is the mean of all log seconds.
func (t *table) level() float64 {
	sum, n := 0.0, 0.0
	for _, r := range t.logSeconds {
		for _, v := range r {
			if !math.IsNaN(v) {
				sum += v
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// slopeRidge draws a candidate's own slopes to the common ones.
const slopeRidge = 1

// regress sets Mean and Slope: a common slope from all candidates, then each candidate's deviation from it, by ridge.
func regress(y [][]float64, x [][2]float64, f fitter, level, draw float64, s *SecondsPrior) {
	n := len(s.Mean)
	var common [2]float64
	{
		var a normal
		for k := range n {
			var mx [2]float64
			my, c := 0.0, 0.0
			for i := range y {
				if v := y[i][k]; !math.IsNaN(v) {
					mx[0], mx[1], my, c = mx[0]+x[i][0], mx[1]+x[i][1], my+v, c+1
				}
			}
			if c < 2 {
				continue
			}
			for i := range y {
				if v := y[i][k]; !math.IsNaN(v) {
					a.add(x[i][0]-mx[0]/c, x[i][1]-mx[1]/c, v-my/c)
				}
			}
		}
		common = a.solve(slopeRidge)
	}
	f.centred, f.draw = false, draw
	f.level = level
	flat := make([][]float64, len(y))
	for i := range y {
		flat[i] = make([]float64, n)
		for k := range n {
			flat[i][k] = y[i][k] - common[0]*x[i][0] - common[1]*x[i][1]
		}
	}
	copy(s.Mean, f.means(flat))
	for k := range n {
		var a normal
		var mx [2]float64
		my, c := 0.0, 0.0
		for i := range flat {
			if v := flat[i][k]; !math.IsNaN(v) {
				mx[0], mx[1], my, c = mx[0]+x[i][0], mx[1]+x[i][1], my+v, c+1
			}
		}
		s.Slope[k] = common
		if c < 2 {
			continue
		}
		for i := range flat {
			if v := flat[i][k]; !math.IsNaN(v) {
				a.add(x[i][0]-mx[0]/c, x[i][1]-mx[1]/c, v-my/c)
			}
		}
		own := a.solve(slopeRidge)
		s.Slope[k] = [2]float64{common[0] + own[0], common[1] + own[1]}
		s.Mean[k] -= own[0]*mx[0]/c + own[1]*mx[1]/c
	}
}

// normal holds the normal equations of a regression on two centred variables.
type normal struct{ xx, xz, zz, xy, zy float64 }

func (a *normal) add(x, z, y float64) {
	a.xx += x * x
	a.xz += x * z
	a.zz += z * z
	a.xy += x * y
	a.zy += z * y
}

func (a *normal) solve(ridge float64) [2]float64 {
	xx, zz := a.xx+ridge, a.zz+ridge
	det := xx*zz - a.xz*a.xz
	return [2]float64{(a.xy*zz - a.zy*a.xz) / det, (a.zy*xx - a.xy*a.xz) / det}
}
