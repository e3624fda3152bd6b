package main

import (
	"fmt"
	"math"
	"time"
)

// job is one row as a client process does it.
//
//	0 ─ streams begin, one after the other ─▶ ramp ─▶ settle ─▶ window ─▶ streams end
//
// Processor time and events are counted in the window alone, in which all
// streams are under way: so they are those of events, not of requests.
type job struct {
	URL string `json:"url"`
	// Streams at once, each with Rate events a second.
	Streams int           `json:"streams"`
	Rate    float64       `json:"rate"`
	Ramp    time.Duration `json:"ramp_ns"`
	Window  time.Duration `json:"window_ns"`
	// Batched sends the events of all streams at the same instants.
	Batched bool `json:"batched,omitempty"`
	// Clock has the floor note when it saw events.
	Clock bool `json:"clock,omitempty"`
	// Tag tells the requests of one job from those of others.
	Tag string `json:"tag"`
}

const (
	firstToken = 100 * time.Millisecond
	settle     = 300 * time.Millisecond
	// perStart is the time from one request to the next while the load rises, and
	// maxRamp how long that may take in all.
	perStart, maxRamp = time.Millisecond, time.Second
	// patience is how long after the window a client may still be behind before
	// its streams are cut off.
	patience = 3 * time.Second
)

func newJob(url, tag string, streams int, rate float64, window time.Duration) job {
	return job{URL: url, Streams: streams, Rate: rate, Window: window, Tag: tag, Ramp: min(time.Duration(streams)*perStart, maxRamp)}
}

// begin is when stream i begins, from and to are the window, all since the
// beginning.
func (j job) begin(i int) time.Duration { return j.Ramp * time.Duration(i) / time.Duration(j.Streams) }
func (j job) from() time.Duration       { return j.Ramp + firstToken + settle }
func (j job) to() time.Duration         { return j.from() + j.Window }

// tokens is the length of each stream: even the first one goes on until after
// the window.
func (j job) tokens() int {
	return int(math.Ceil((j.to()-firstToken+settle).Seconds()*j.Rate)) + 2
}

func (j job) prompt(series string, i int) string { return fmt.Sprintf("%s %s %d", j.Tag, series, i) }

// outcome is what a client process has to say about itself.
type outcome struct {
	// Events came in the window, a Received of so many a second.
	Events   int     `json:"events"`
	Received float64 `json:"received_per_s"`
	// Sent is how many events a second the server sent in the window; 0 where the
	// role does not ask for it.
	Sent float64 `json:"sent_per_s,omitempty"`
	// CPU is processor time of this process in the window for each event, µs.
	CPU float64 `json:"cpu_us_per_event"`
	// Memory is the most that this process has held resident, in MB.
	Memory float64 `json:"rss_peak_mb"`
	// Errors against the server's truth, in ms; nil where streams were cut off
	// because the client was too far behind, or where the role has no times.
	Errors *errors99 `json:"errors,omitempty"`
}

// errors99 are medians and 99th percentiles of absolute errors, in ms.
type errors99 struct {
	TTFTp50 float64 `json:"ttft_p50_ms"`
	TTFTp99 float64 `json:"ttft_p99_ms"`
	ITLp50  float64 `json:"itl_p50_ms"`
	ITLp99  float64 `json:"itl_p99_ms"`
	// Delayp99 is how late events were seen after they were sent, on the clock
	// that both processes share.
	Delayp50 float64 `json:"delay_p50_ms"`
	Delayp99 float64 `json:"delay_p99_ms"`
}
