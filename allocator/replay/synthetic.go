package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/easeml/easeml/allocator"
)

// Synthetic is the paper's generator SYN(σ, α), as far as it is known here:
//
//	q(i,j) = b_i + α·m_j(i) + 0.01·e_ij, clipped to [0,1],
//
// 200 data sets × 100 candidates. b_i is the baseline of one of two groups of data sets, N(0.75, 0.05²) or N(0.25, 0.05²);
// m(i) is for each data set a draw of a Gaussian process over the candidates' hidden place f ~ U(0,1), with the covariance
// 0.1²·exp(-(f_j-f_k)²/σ²), so σ is how far candidates resemble each other and α how much they matter; costs are
// U(0,1) per candidate (at least 0.01), the same for every data set.
type Synthetic struct {
	Sigma float64 `json:"sigma"` // > 0
	Alpha float64 `json:"alpha"` // > 0
}

const (
	syntheticRows    = 200
	syntheticColumns = 100
)

// ParseSynthetic reads "sigma=0.1,alpha=1.0".
func ParseSynthetic(text string) (*Synthetic, error) {
	var s Synthetic
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case err == nil && name == "sigma":
			s.Sigma = x
		case err == nil && name == "alpha":
			s.Alpha = x
		default:
			return nil, fmt.Errorf("%q says nothing of a synthetic matrix; write sigma=0.1,alpha=1.0", part)
		}
	}
	return &s, s.check()
}

func (s *Synthetic) check() error {
	for _, x := range []float64{s.Sigma, s.Alpha} {
		if !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("a synthetic matrix needs sigma and alpha above 0, such as sigma=0.1,alpha=1.0; these are %v and %v", s.Sigma, s.Alpha)
		}
	}
	return nil
}

func (s *Synthetic) draw(seed uint64) *data {
	r := rand.New(rand.NewPCG(seed, 0x5e9))
	place := make([]float64, syntheticColumns)
	level := make([]float64, syntheticColumns)
	d := &data{notes: []string{fmt.Sprintf("the matrices are drawn from seed %d: SYN(%g, %g)", seed, s.Sigma, s.Alpha)}}
	for k := range place {
		place[k], level[k] = r.Float64(), max(r.Float64(), 0.01)
		d.ids = append(d.ids, allocator.CandidateID(fmt.Sprintf("m%03d", k)))
	}
	cov := mat.NewSymDense(syntheticColumns, nil)
	for j := range place {
		for k := range j + 1 {
			v := 0.01 * math.Exp(-(place[j]-place[k])*(place[j]-place[k])/(s.Sigma*s.Sigma))
			if j == k {
				v += 1e-8
			}
			cov.SetSym(j, k, v)
		}
	}
	var chol mat.Cholesky
	chol.Factorize(cov) // positive definite by the diagonal
	var l mat.TriDense
	chol.LTo(&l)
	z, m := mat.NewVecDense(syntheticColumns, nil), mat.NewVecDense(syntheticColumns, nil)
	for i := range syntheticRows {
		d.rows = append(d.rows, fmt.Sprintf("u%03d", i))
		for k := range place {
			z.SetVec(k, r.NormFloat64())
		}
		m.MulVec(&l, z)
		base := 0.25 + 0.5*float64(i%2) + 0.05*r.NormFloat64()
		q := make([]float64, syntheticColumns)
		for k := range q {
			q[k] = min(max(base+s.Alpha*m.AtVec(k)+0.01*r.NormFloat64(), 0), 1)
		}
		d.quality = append(d.quality, q)
		d.cost = append(d.cost, level)
	}
	return d
}
