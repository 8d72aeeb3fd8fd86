package allocator

import "math"

// log(1/sqrt(2π))
const logInvSqrt2Pi = -0.91893853320467274178

// normalCDF is Φ(z), with full relative precision in the lower tail.
func normalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// logUnitGain is log(φ(z) + z·Φ(z)), the logarithm of the expected improvement of a standard normal whose mean lies z
// standard deviations above the incumbent. In logarithms arms stay comparable where the improvement itself underflows
// (Ament et al., "Unexpected Improvements to Expected Improvement", NeurIPS 2023). Below z = -20 the sum cancels; there
// it is φ(z)·(1/z² - 3/z⁴ + 15/z⁶ - …), the asymptotic series of Mills' ratio.
func logUnitGain(z float64) float64 {
	if z > -20 {
		return math.Log(math.Exp(logInvSqrt2Pi-0.5*z*z) + z*normalCDF(z))
	}
	r := 1 / (z * z)
	return logInvSqrt2Pi - 0.5*z*z + math.Log(r*(1-r*(3-r*(15-105*r))))
}

// expectedGain is sd·(φ(z) + z·Φ(z)), z = (mean-incumbent)/sd: the expected improvement of N(mean, sd²).
func expectedGain(mean, sd, incumbent float64) float64 {
	return sd * math.Exp(logUnitGain((mean-incumbent)/sd))
}
