package measure

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
	// Stats maps "median", "mean", "p99", … to its value. A statistic that the
	// sample is too small for is absent: absence is never a pass.
	Stats map[string]float64 `json:"stats"`
}
