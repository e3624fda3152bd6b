package stats

import "math"

// Sample is one number of the launches of an arm, with the mean over them.
type Sample struct {
	Values []float64 `json:"values,omitempty"`
	// Mean is that of Mean: in logs if every value is positive, and then Geometric.
	Mean      float64 `json:"mean"`
	Geometric bool    `json:"-"`
	// SD is the standard deviation of the values, 0 of one; with a mean of logs, that of
	// the logs times Mean: to first order, how far values are from it.
	SD float64 `json:"sd,omitempty"`
	// Low and High are the two-sided 95% interval of the mean by Student's t, in logs not
	// symmetric; absent with fewer than two values or if nothing varies.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// SampleOf is of speeds, times and sizes, which are averaged in logs.
func SampleOf(values []float64) (Sample, error) { return sampleOf(values, true) }

// ArithmeticSampleOf is of counts and shares, whose logs would hide the one launch that differs.
func ArithmeticSampleOf(values []float64) (Sample, error) { return sampleOf(values, false) }

func sampleOf(values []float64, inLogs bool) (Sample, error) {
	if err := check(values); err != nil {
		return Sample{}, err
	}
	xs, back := values, func(x float64) float64 { return x }
	if inLogs = inLogs && positive(values); inLogs {
		xs, back = logs(values), math.Exp
	}
	center := mean(xs)
	s := Sample{Values: values, Mean: back(center), Geometric: inLogs}
	if len(xs) < 2 {
		return s, nil
	}
	variance := Variance(xs)
	if s.SD = math.Sqrt(variance); inLogs {
		s.SD *= s.Mean
	}
	se := math.Sqrt(variance / float64(len(xs)))
	if !(se > 0) || math.IsInf(se, 0) {
		return s, nil
	}
	t := Quantile(0.025, float64(len(xs)-1))
	if low, high := back(center-t*se), back(center+t*se); !math.IsInf(high, 0) {
		s.Low, s.High = &low, &high
	}
	return s, nil
}

// Comparison is how the launches of one arm differ from those of another.
type Comparison struct {
	// Change is relative, 0.1 for 10% more, of the means of logs; if a value is not above
	// zero it is Absolute, in the values' unit.
	Change   *float64 `json:"change,omitempty"`
	Absolute bool     `json:"absolute,omitempty"`
	// Low and High are its 95% interval by Welch's t-test and P the two-sided chance of
	// one as large if nothing changed; all are absent if meaningless.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	P    *float64 `json:"p,omitempty"`
}

// Compare is how launches differ from others; within rounds, those of one index ran side by
// side.
func Compare(own, base []float64, rounds bool) (Comparison, error) {
	c, back := Comparison{}, math.Expm1
	d, err := Differ(own, base, true, rounds)
	if err != nil {
		// A value is zero: no ratio to it.
		c.Absolute, back = true, func(x float64) float64 { return x }
		if d, err = Differ(own, base, false, rounds); err != nil {
			return Comparison{}, err
		}
	}
	change := back(d.Estimate)
	c.Change = &change
	if low, high, p := back(d.Low), back(d.High), d.P(); d.Bounded && !math.IsInf(high, 0) {
		c.Low, c.High, c.P = &low, &high, &p
	}
	return c, nil
}

// Significant reports whether the launches distinguish the arms: the bounds exclude that nothing
// changed.
func (c Comparison) Significant() bool {
	return c.Low != nil && c.High != nil && (*c.Low > 0 || *c.High < 0)
}
