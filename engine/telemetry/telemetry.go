// Package telemetry watches the machine while an engine is measured: power,
// memory, clocks and temperature of its GPUs from nvidia-smi's stream, the
// host's processors, memory and energy counters, and the engine's own page of
// metrics. It samples and does not judge: what comes out are measure.Series on
// the recording's clock.
package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Config says what is watched.
type Config struct {
	// Zero is the zero of the recording's monotonic clock.
	Zero time.Time
	// GPUs are the UUIDs of those that the engine uses; none watches no GPU.
	GPUs []string
	// Every is the time between samples of a GPU and the host; 0 is 100 ms.
	Every time.Duration
	// Own are the processes of the engine now, to tell them from foreign ones;
	// nil where they cannot be known, and then nothing is called foreign.
	Own func() []int
	// Host watches this machine's processors, memory and energy; false where the
	// engine runs on another one.
	Host bool
	// Container is the engine's container by its full ID, empty for none; what its
	// control group holds is watched.
	Container string
	// Metrics is the engine's page of Prometheus metrics, nil for none.
	Metrics *Page
}

// Page is an engine's page of Prometheus metrics.
type Page struct {
	URL    string
	Header http.Header
	Client *http.Client
	// Names maps mxflow's names to the engine's, as engine.Metrics does. A series
	// is called "engine." and mxflow's name; those of a metric with several lines
	// (ranks, positions) are told apart by Source, which holds the labels that
	// differ.
	Names map[string][]string
	// Every is the time between readings; 0 is 250 ms.
	Every time.Duration
}

// Recorder watches until it is stopped.
type Recorder struct{}

// Start begins to watch. What the machine has not, such as a GPU or RAPL, is
// simply not among the series; the error is not nil only when something that was
// asked for (a GPU by UUID) cannot be watched.
func Start(ctx context.Context, c Config) (*Recorder, error) {
	return &Recorder{}, nil
}

// Mark has the engine's page read once more, now, so that differences of
// counters have a value at the edge of a cell. It returns when it was read.
func (r *Recorder) Mark(ctx context.Context) {}

// Stop ends watching. Notes say what could not be watched, and why.
func (r *Recorder) Stop() (series []measure.Series, notes []string) { return nil, nil }
