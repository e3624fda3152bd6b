package measure

// Calibration is what the measuring client got when it measured a server whose
// times are known, at the rate that was planned: how far its numbers are off
// because of itself.
type Calibration struct {
	// Streams at once, each with Rate events a second.
	Streams int     `json:"streams"`
	Rate    float64 `json:"rate"`
	// Requests is how many streams were watched, Events how many of their events.
	Requests int `json:"requests"`
	Events   int `json:"events"`
	// TTFT and ITL are the client's errors against the server's own clock, ms:
	// medians and 99th percentiles of absolute differences.
	TTFTp50 float64 `json:"ttft_error_p50_ms"`
	TTFTp99 float64 `json:"ttft_error_p99_ms"`
	ITLp50  float64 `json:"itl_error_p50_ms"`
	ITLp99  float64 `json:"itl_error_p99_ms"`
	// Delivered is the share of the planned events a second that arrived.
	Delivered float64 `json:"delivered"`
	// CPU is the client's processor time for each event, µs.
	CPU float64 `json:"cpu_us_per_event"`
}
