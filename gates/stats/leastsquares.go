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
	m, chol, ok := factorized(x)
	if !ok || len(y) != len(x) {
		return Fit{}, false
	}
	n, p := m.Dims()
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

// Weights returns, for each y of a least-squares fit, what one more of it adds to the
// last coefficient; false if x does not determine the coefficients.
func Weights(x [][]float64) ([]float64, bool) {
	m, chol, ok := factorized(x)
	if !ok {
		return nil, false
	}
	n, p := m.Dims()
	last := mat.NewVecDense(p, nil)
	last.SetVec(p-1, 1)
	var row, weights mat.VecDense
	if err := chol.SolveVecTo(&row, last); err != nil {
		return nil, false
	}
	weights.MulVec(m, &row)
	out := make([]float64, n)
	for i := range out {
		out[i] = weights.AtVec(i)
	}
	return out, true
}

// factorized is x with the factors of its Gram matrix; false if that is singular.
func factorized(x [][]float64) (*mat.Dense, *mat.Cholesky, bool) {
	if len(x) == 0 || len(x) < len(x[0]) {
		return nil, nil, false
	}
	m := mat.NewDense(len(x), len(x[0]), nil)
	for i, row := range x {
		m.SetRow(i, row)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, m.T())
	var chol mat.Cholesky
	return m, &chol, chol.Factorize(&gram) && chol.Cond() <= 1e12
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
