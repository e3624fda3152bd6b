package verdict

// Effect is what a value of a knob does to a metric, or what two values do together
// beyond their separate effects.
type Effect struct {
	// Address is the metric, Better its better direction.
	Address string `json:"address"`
	Better  string `json:"better,omitempty"`
	// Knob has Value instead of the baseline's. With and WithValue are set for an
	// interaction of two.
	Knob      string `json:"knob"`
	Value     string `json:"value"`
	With      string `json:"with,omitempty"`
	WithValue string `json:"with_value,omitempty"`
	// Change is relative: 0.1 is 10% more. Its interval has 95% confidence over all
	// effects on the metric, and is absent with too few launches.
	Change float64  `json:"change"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}

// Shown reports whether the effect is demonstrated: its interval excludes zero.
func (e Effect) Shown() bool {
	return e.Low != nil && e.High != nil && (*e.Low > 0 || *e.High < 0)
}
