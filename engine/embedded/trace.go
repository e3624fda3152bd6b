package embedded

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// tracer records which kernels ran between /start_profile and /stop_profile, and what the
// server did meanwhile. A nil one records nothing and costs nothing.
type tracer struct {
	began time.Time
	// kernels are those of each worker, steps the model's computations for a request:
	// both are guarded by the turn.
	kernels [][]span
	steps   []span
	// host is what happened outside of the turn.
	mu   sync.Mutex
	host []span
}

// span is something that took time; on is its answer, 0 for any.
type span struct {
	name       string
	start, end time.Duration
	on         uint64
}

// mostSpans limits the memory of a profile that is never stopped.
const mostSpans = 1 << 20

// now is the time since the trace began.
func (t *tracer) now() time.Duration {
	if t == nil {
		return 0
	}
	return time.Since(t.began)
}

// ran records a kernel of a worker that ran since a moment, and returns the present one.
func (t *tracer) ran(worker int, kernel string, since time.Duration) time.Duration {
	if t == nil {
		return 0
	}
	now := t.now()
	for len(t.kernels) <= worker {
		t.kernels = append(t.kernels, nil)
	}
	if len(t.kernels[worker]) < mostSpans {
		t.kernels[worker] = append(t.kernels[worker], span{name: kernel, start: since, end: now})
	}
	return now
}

// stepped keeps one step of the model: of a prompt's tokens, or of an answer's next.
func (t *tracer) stepped(prefill bool, tokens int, since time.Duration) {
	if t == nil || len(t.steps) >= mostSpans {
		return
	}
	// As vLLM names its steps: requests and tokens of prompts, then of answers.
	name := fmt.Sprintf("execute_context_0(0)_generation_1(%d)", tokens)
	if prefill {
		name = fmt.Sprintf("execute_context_1(%d)_generation_0(0)", tokens)
	}
	t.steps = append(t.steps, span{name: name, start: since, end: t.now()})
}

// did records what the server did for an answer since a moment, and returns the present
// one.
func (t *tracer) did(what string, on uint64, since time.Duration) time.Duration {
	if t == nil {
		return 0
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.host) < mostSpans {
		t.host = append(t.host, span{name: what, start: since, end: now, on: on})
	}
	return now
}

// Where torch's profiler puts the first stream of a GPU.
const firstStream = 7

// write writes the trace as torch's profiler does: the Trace Event Format, complete
// events with times in µs, kernels on the streams of device 0. This engine's processor
// time takes the place of a GPU's.
func (t *tracer) write(to io.Writer) error {
	type event struct {
		Phase    string         `json:"ph"`
		Category string         `json:"cat,omitempty"`
		Name     string         `json:"name"`
		Process  any            `json:"pid"`
		Thread   any            `json:"tid"`
		At       float64        `json:"ts"`
		Took     float64        `json:"dur"`
		Args     map[string]any `json:"args,omitempty"`
	}
	var failed error
	first := true
	put := func(e event) {
		text, err := json.Marshal(e)
		if !first {
			text = append([]byte(",\n"), text...)
		}
		first = false
		if _, werr := to.Write(text); err != nil || werr != nil {
			failed = errors.Join(failed, err, werr)
		}
	}
	const zero = 1e9 // µs: as if the machine had run for a while
	µs := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	complete := func(category string, pid, tid any, s span, args map[string]any) {
		put(event{"X", category, s.name, pid, tid, zero + µs(s.start), µs(s.end - s.start), args})
	}
	pid := os.Getpid()
	fmt.Fprintf(to, "{\"schemaVersion\": 1, \"deviceProperties\": [], \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": %d, \"traceEvents\": [\n", t.began.UnixNano()-int64(zero)*1000)
	put(event{Phase: "M", Name: "process_name", Process: pid, Thread: 0, At: zero, Args: map[string]any{"name": "mxflow-embedded"}})
	put(event{Phase: "M", Name: "process_labels", Process: 0, Thread: 0, At: zero, Args: map[string]any{"labels": "GPU 0"}})
	n := 0
	for worker, kernels := range t.kernels {
		for _, k := range kernels {
			n++
			complete("kernel", 0, firstStream+worker, k, map[string]any{"device": 0, "stream": firstStream + worker, "correlation": n})
		}
	}
	for _, s := range t.steps {
		complete("gpu_user_annotation", 0, firstStream, s, nil)
		complete("user_annotation", pid, pid, s, nil)
	}
	for _, s := range t.host {
		complete("cpu_op", pid, s.on, s, nil)
	}
	_, err := io.WriteString(to, "\n]}\n")
	return errors.Join(failed, err)
}

// save writes the trace to a file of its own in a folder.
func (t *tracer) save(folder string, number int) (path string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(folder, fmt.Sprintf("mxflow-embedded_%d.%d.pt.trace.json.gz", os.Getpid(), number))
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffered := bufio.NewWriter(file)
	packed := gzip.NewWriter(buffered)
	return path, errors.Join(t.write(packed), packed.Close(), buffered.Flush())
}

// startProfile starts a trace, between two steps.
func (s *server) startProfile(w http.ResponseWriter, r *http.Request) {
	s.profile(w, r, func(engine *scheduler) *apiError {
		if engine.model.trace.Load() != nil {
			return badRequest("", "a profile is being taken already: stop it with POST /stop_profile")
		}
		engine.model.trace.Store(&tracer{began: time.Now(), kernels: slices.Grow([][]span(nil), s.config.Threads)[:s.config.Threads]})
		return nil
	})
}

// stopProfile ends the trace and writes it, before it answers.
func (s *server) stopProfile(w http.ResponseWriter, r *http.Request) {
	s.profile(w, r, func(engine *scheduler) *apiError {
		t := engine.model.trace.Swap(nil)
		if t == nil {
			return badRequest("", "no profile is being taken: start one with POST /start_profile")
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		s.profiles++
		path, err := t.save(s.config.ProfilerDir, s.profiles)
		if err != nil {
			return &apiError{http.StatusInternalServerError, "InternalServerError", err.Error(), ""}
		}
		fmt.Fprintf(s.log, "[embedded] profile written to %s\n", path)
		return nil
	})
}

// profile changes profiling while no step is in progress.
func (s *server) profile(w http.ResponseWriter, r *http.Request, do func(*scheduler) *apiError) {
	engine := s.ready(w)
	if engine == nil {
		return
	}
	select {
	case engine.turn <- struct{}{}:
		defer func() { <-engine.turn }()
	case <-r.Context().Done():
		return
	}
	if e := do(engine); e != nil {
		writeError(w, e)
		return
	}
	w.WriteHeader(http.StatusOK)
}
