package measure

import "fmt"

// Summary is one metric within one launch: its statistics over the values of
// that launch, never over launches.
type Summary struct {
	// Unit is the catalogue's unit: "tok/s", "ms", "s", "GB".
	Unit string `json:"unit"`
	// Better is "higher", "lower" or empty.
	Better Better `json:"better,omitempty"`
	// N is the number of values: requests, or gaps between tokens for itl.
	N int `json:"n"`
	// Requests is the number of requests that the values come from; 0 for a
	// metric of the launch. It is what rules call n_requests.
	Requests int `json:"requests,omitempty"`
	// Correction is how the latency was measured that was subtracted: "api" or
	// "generation"; empty where none was. Summaries of different corrections are
	// not comparable.
	Correction string `json:"correction,omitempty"`
	// Stats maps "median", "mean", "p99", … to its value. A statistic that the
	// sample is too small for is absent: absence is never a pass.
	Stats map[string]float64 `json:"stats"`
}

// Lacks says why a statistic is not in the summary, and is empty where it is.
// Reports print it in the place of the number: a p99 of ten values is no maximum.
func (s Summary) Lacks(stat string) string {
	if _, there := s.Stats[stat]; there {
		return ""
	}
	switch least := LeastValues(stat); {
	case !IsStat(stat):
		return fmt.Sprintf("no statistic is called %q", stat)
	case s.N < least:
		return fmt.Sprintf("not enough samples (%d of at least %d)", s.N, least)
	case stat == "cv":
		return "not defined: the mean is not above zero"
	}
	return "not known"
}
