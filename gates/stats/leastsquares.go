package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Fit is what least squares found: coefficients with their standard errors, which are NaN
// without a degree of freedom.
type Fit struct {
	Of, Error []float64
	// DF are the degrees of freedom of the residuals.
	DF int
}

// LeastSquares fits y = x·Of. It returns false if x does not determine the coefficients.
func LeastSquares(x [][]float64, y []float64) (Fit, bool) {
	if len(x) == 0 || len(x) < len(x[0]) || len(y) != len(x) {
		return Fit{}, false
	}
	n, p := len(x), len(x[0])
	m := mat.NewDense(n, p, nil)
	for i, row := range x {
		m.SetRow(i, row)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, m.T())
	var chol mat.Cholesky
	if !chol.Factorize(&gram) || chol.Cond() > 1e12 {
		return Fit{}, false
	}
	var xy, of mat.VecDense
	xy.MulVec(m.T(), mat.NewVecDense(n, y))
	if err := chol.SolveVecTo(&of, &xy); err != nil {
		return Fit{}, false
	}
	var covariance mat.SymDense
	if err := chol.InverseTo(&covariance); err != nil {
		return Fit{}, false
	}
	var residual mat.VecDense
	residual.MulVec(m, &of)
	residual.SubVec(mat.NewVecDense(n, y), &residual)
	f := Fit{DF: n - p}
	variance := math.NaN()
	if f.DF > 0 {
		variance = mat.Dot(&residual, &residual) / float64(f.DF)
	}
	for i := range p {
		f.Of = append(f.Of, of.AtVec(i))
		f.Error = append(f.Error, math.Sqrt(variance*covariance.At(i, i)))
	}
	return f, true
}

// MeanSD returns the mean of values and their standard deviation, NaN for fewer than two.
func MeanSD(values []float64) (mean, sd float64) {
	return stat.MeanStdDev(values, nil)
}

// HalfWidth is half the width of the interval at confidence 1 − alpha about an estimate
// with that standard error and degrees of freedom; false if there is none.
func HalfWidth(se float64, df int, alpha float64) (float64, bool) {
	if df < 1 || math.IsNaN(se) || math.IsInf(se, 0) || se < 0 {
		return 0, false
	}
	return Quantile(alpha/2, float64(df)) * se, true
}
