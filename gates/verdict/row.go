package verdict

import (
	"github.com/mxflow/mxflow/gates/stats"
)

// Row is one line of a comparison of engines.
type Row struct {
	// Name is the engine, "kind.name".
	Name string `json:"name"`
	// Verdict is pass if the numbers count. Otherwise Why says why there are none.
	Verdict Verdict `json:"verdict"`
	Why     Reason  `json:"why,omitzero"`
	// Reference marks the row that speed-ups are relative to.
	Reference bool   `json:"reference,omitempty"`
	N         int    `json:"n"`
	Cells     []Cell `json:"cells,omitempty"`
	// Places are where its launches ran, if the reference's ran on more than one:
	// speed-ups are then means of those within rounds.
	Places []string `json:"places,omitempty"`
	// Notes are what to know when reading the row.
	Notes []Reason `json:"notes,omitempty"`
}

type Cell struct {
	// Address is "chat.tg", "engine.startup_s" or "command.tg".
	Address string `json:"address"`
	Unit    string `json:"unit,omitempty"`
	Better  string `json:"better,omitempty"`
	// Sample is of the median of each launch.
	stats.Sample
	// Speedup is how many times better than the reference this is, whatever the metric's
	// direction, with its interval; absent for the reference itself, for metrics without
	// a direction, and for values not above zero.
	Speedup     *float64 `json:"speedup,omitempty"`
	SpeedupLow  *float64 `json:"speedup_low,omitempty"`
	SpeedupHigh *float64 `json:"speedup_high,omitempty"`
}

// Effect is the effect of one knob value on a metric, or the joint effect of two beyond
// their separate ones.
type Effect struct {
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
