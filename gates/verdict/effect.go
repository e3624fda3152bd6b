package verdict

import "github.com/mxflow/mxflow/gates/stats"

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
	// Comparison is relative to launches without it. Its interval has 95% confidence over
	// all effects on the metric, and is absent with too few launches.
	stats.Comparison
}
