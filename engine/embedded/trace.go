package embedded

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// tracer records which kernels ran between /start_profile and /stop_profile, as torch's
// profiler does: the Trace Event Format, complete events with times in µs, kernels on the
// streams of device 0. This engine's processor time takes the place of a GPU's. A nil one
// records nothing and costs nothing.
type tracer struct {
	began  time.Time
	mu     sync.Mutex
	events []traceEvent
}

type traceEvent struct {
	Phase    string         `json:"ph"`
	Category string         `json:"cat,omitempty"`
	Name     string         `json:"name"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	At       float64        `json:"ts"`
	Took     float64        `json:"dur"`
	Args     map[string]any `json:"args,omitempty"`
}

const (
	// maxEvents limits the memory of a profile that is never stopped.
	maxEvents = 1 << 20
	// firstStream is where torch's profiler puts the first stream of a GPU.
	firstStream = 7
	// zero is when a trace begins, in µs: as if the machine had run for a while.
	zero = 1e9
)

func (t *tracer) now() time.Duration {
	if t == nil {
		return 0
	}
	return time.Since(t.began)
}

func (t *tracer) add(e traceEvent, since time.Duration) (now time.Duration) {
	now = t.now()
	e.Phase, e.At, e.Took = "X", zero+float64(since.Nanoseconds())/1000, float64((now-since).Nanoseconds())/1000
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) < maxEvents {
		t.events = append(t.events, e)
	}
	return now
}

// ran records a kernel of a worker that ran since a moment, and returns the present one.
func (t *tracer) ran(worker int, kernel string, since time.Duration) time.Duration {
	if t == nil {
		return 0
	}
	stream := firstStream + worker
	return t.add(traceEvent{
		Category: "kernel", Name: kernel, Thread: stream,
		Args: map[string]any{"device": 0, "stream": stream},
	}, since)
}

// stepped records one step of the model, on the device and on the host.
func (t *tracer) stepped(step string, since time.Duration) {
	if t == nil {
		return
	}
	t.add(traceEvent{Category: "gpu_user_annotation", Name: step, Thread: firstStream}, since)
	t.add(traceEvent{Category: "user_annotation", Name: step, Process: os.Getpid(), Thread: os.Getpid()}, since)
}

func (t *tracer) save(path string) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	packed := gzip.NewWriter(file)
	_, err = io.WriteString(packed, "{\"schemaVersion\": 1, \"deviceProperties\": [], ")
	fmt.Fprintf(packed, "\"baseTimeNanoseconds\": %d, \"traceEvents\": ", t.began.UnixNano()-int64(zero)*1000)
	gpu := traceEvent{Phase: "M", Name: "process_labels", At: zero, Args: map[string]any{"labels": "GPU 0"}}
	err = errors.Join(err, json.NewEncoder(packed).Encode(append([]traceEvent{gpu}, t.events...)))
	_, end := io.WriteString(packed, "}\n")
	return errors.Join(err, end, packed.Close())
}

// profile starts a trace, or ends it and writes it before it answers, while no step is in
// progress.
func (s *server) profile(start bool) http.HandlerFunc {
	return s.withEngine(func(_ http.ResponseWriter, r *http.Request, engine *scheduler) error {
		select {
		case engine.turn <- struct{}{}:
			defer func() { <-engine.turn }()
		case <-r.Context().Done():
			return r.Context().Err()
		}
		t := engine.model.trace.Load()
		if start == (t != nil) {
			return badRequest("", "a profile is being taken: %v. POST /start_profile starts one, POST /stop_profile "+
				"ends it", t != nil)
		}
		if start {
			engine.model.trace.Store(&tracer{began: time.Now()})
			return nil
		}
		engine.model.trace.Store(nil)
		s.profiles++
		path := filepath.Join(s.config.ProfilerDir,
			fmt.Sprintf("mxflow-embedded_%d.%d.pt.trace.json.gz", os.Getpid(), s.profiles))
		if err := t.save(path); err != nil {
			return err
		}
		s.log.Printf("profile written to %s", path)
		return nil
	})
}
