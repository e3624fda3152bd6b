// Package profiling takes profiles of a running engine: it sends requests while its
// profiler runs, so each profile covers one phase, and reports the results. It knows no
// formats (engine/trace) and no knobs.
package profiling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/steps/launch"
)

const (
	// settling is how many tokens of each answer precede any timing.
	settling = 4
	// spare is how many tokens may come while the profiler starts and stops.
	spare = 2048
	// quiet is how long files must not have grown to count as complete, and look how
	// often that is checked.
	quiet, look = 200 * time.Millisecond, 20 * time.Millisecond
)

// Window is a profiled stretch of an engine's work.
type Window struct {
	Phase    string
	Requests int
	// Began and Ended are when the profiler ran, or would have if there were pages.
	Began, Ended time.Time
	// Tokens are the tokens received or computed meanwhile, by the client's count.
	Tokens int
	// Context is how many tokens preceded each request's decoding, on average.
	Context float64
	// Unprofiled is how long one decoding step, or a whole prefill, took without the
	// profiler, 0 if unknown.
	Unprofiled time.Duration
	// Threads is how long the engine's threads were busy per token of each answer,
	// without the profiler; empty if they are not on this machine.
	Threads []trace.Thread
	// Files are what the profiler wrote of it; empty if there is one profile of all.
	Files []string
}

// Name is what the window is of: "decode at 8".
func (w Window) Name() string { return fmt.Sprintf("%s at %d", w.Phase, w.Requests) }

// Capture takes the profiles. folder is where files appear, inside the same as seen by
// the engine. The error is a *verdict.Fault if it is known why there is none; otherwise
// the engine broke.
func (c *Config) Capture(ctx context.Context, st *launch.Started, p kinds.Profiler,
	folder, inside string,
) (windows []Window, err error) {
	t := &capture{Config: c, Started: st, pages: p, folder: folder, inside: inside, learned: &prompt.Knowledge{}}
	if t.fetched() {
		if err := t.make(ctx); err != nil {
			return nil, err
		}
		defer t.remove()
	}
	if len(st.Models) > 0 {
		t.longest = st.Models[0].MaxLen
	}
	for _, n := range c.Concurrency {
		for _, take := range []func(context.Context, int) (Window, error){t.decode, t.prefill} {
			w, err := take(ctx, n)
			if err != nil {
				return nil, err
			}
			windows = append(windows, w)
		}
	}
	return windows, nil
}

type capture struct {
	*Config
	*launch.Started
	pages          kinds.Profiler
	folder, inside string
	learned        *prompt.Knowledge
	longest        int // the engine's maximum length in tokens, 0 if unknown
	sets           int
}

// prompts are n new ones.
func (t *capture) prompts(ctx context.Context, n int) ([]prompt.Prompt, error) {
	t.sets++
	made, err := prompt.Build(ctx, t.Client, prompt.Spec{
		Cell: "profile", Draw: fmt.Sprintf("%s profile %d", t.Record.ID, t.sets), API: t.API, CountTemplate: true,
		Lengths: &prompt.Lengths{Distribution: prompt.Uniform, Min: t.PromptTokens, Max: t.PromptTokens},
		Learned: t.learned, Requests: n,
		Timeouts: openai.Timeouts{Total: time.Duration(t.Timeout)},
	})
	return made.Measured, err
}

func (t *capture) request(p prompt.Prompt, tokens int, heard func(string) bool) openai.Request {
	r := openai.Request{
		API: t.API, MaxTokens: tokens, IgnoreEOS: tokens > 1 && t.Kind.Ask.IgnoreEOS, Heard: heard,
		Timeouts: openai.Timeouts{
			Total: time.Duration(t.Timeout), First: time.Duration(t.Timeout),
			Stall: time.Duration(t.Timeout),
		},
	}
	p.Fill(&r)
	return r
}

// unprofiled is how often a prefill is timed without the profiler; the median counts.
const unprofiled = 3

// prefill profiles n prompts that are sent at once. As many were sent before, without the
// profiler, and once more before these: the first prefill of a length compiles kernels.
// Triton's took vLLM 1,038 ms on an H100, where the next took 87.
func (t *capture) prefill(ctx context.Context, n int) (Window, error) {
	w := Window{Phase: trace.Prefill, Requests: n}
	var took []time.Duration
	for round := range 1 + unprofiled + 1 {
		profiled := round > unprofiled
		prompts, err := t.prompts(ctx, n)
		if err != nil {
			return w, err
		}
		var before map[string]int64
		if profiled {
			if before, err = t.begin(ctx, &w); err != nil {
				return w, err
			}
		}
		sent := time.Now()
		answered := make(chan error, n)
		for _, p := range prompts {
			go func() {
				_, err := t.Client.Stream(ctx, t.request(p, 1, nil))
				answered <- err
			}()
		}
		for range prompts {
			err = errors.Join(err, <-answered)
		}
		if err != nil {
			return w, err
		}
		if !profiled {
			took = append(took, time.Since(sent))
			continue
		}
		w.Unprofiled = slices.Sorted(slices.Values(took[1:]))[len(took[1:])/2]
		for _, p := range prompts {
			w.Tokens += p.Tokens
		}
		if err := t.end(ctx, &w, before); err != nil {
			return w, err
		}
	}
	return w, nil
}

// stream is an answer being decoded.
type stream struct {
	events atomic.Int64
	ended  atomic.Bool
	err    error // once it has ended
}

// decode profiles n answers in the middle, so no prefill is in the profile.
func (t *capture) decode(ctx context.Context, n int) (Window, error) {
	w := Window{Phase: trace.Decode, Requests: n, Context: float64(t.PromptTokens+settling) + 1.5*float64(t.Steps)}
	prompts, err := t.prompts(ctx, n)
	if err != nil {
		return w, err
	}
	tokens := settling + 2*t.Steps + spare
	if t.longest > 0 {
		tokens = min(tokens, t.longest-t.PromptTokens-1)
	}
	answering, stop := context.WithCancel(ctx)
	streams, news := make([]stream, n), make(chan struct{}, 1)
	tell := func() {
		select {
		case news <- struct{}{}:
		default: // there are some already
		}
	}
	var all sync.WaitGroup
	for i, p := range prompts {
		all.Go(func() {
			s := &streams[i]
			_, s.err = t.Client.Stream(answering, t.request(p, tokens, func(string) bool {
				s.events.Add(1)
				tell()
				return false
			}))
			s.ended.Store(true)
			tell()
		})
	}
	defer func() {
		stop()
		all.Wait()
	}()
	slowest := func() (least int) {
		least = int(streams[0].events.Load())
		for i := range streams {
			least = min(least, int(streams[i].events.Load()))
		}
		return least
	}
	// until waits until each answer has n tokens.
	until := func(events int) error {
		for slowest() < events {
			for i := range streams {
				switch s := &streams[i]; {
				case !s.ended.Load() || int(s.events.Load()) >= events:
				case s.err != nil:
					return s.err
				default:
					return &verdict.Fault{Reason: verdict.Say("profile.cut",
						"{subject}: an answer ended before its token {tokens}: raise the engine's longest "+
							"sequence, or lower prompt_tokens or steps",
						verdict.Int("tokens", events)).On(w.Name())}
				}
			}
			select {
			case <-news:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}
	if err := until(settling); err != nil {
		return w, err
	}
	idle, at, from := t.threads(), time.Now(), slowest()
	if err := until(from + t.Steps); err != nil {
		return w, err
	}
	steps := slowest() - from
	w.Unprofiled = time.Since(at) / time.Duration(steps)
	if len(idle) > 0 {
		w.Threads = threadTimes(idle, t.threads())
	}
	for i := range w.Threads {
		w.Threads[i].Total /= float64(steps)
	}
	before, err := t.begin(ctx, &w)
	if err != nil {
		return w, err
	}
	from = slowest()
	if err := until(from + t.Steps); err != nil {
		return w, err
	}
	w.Tokens = n * (slowest() - from)
	return w, t.end(ctx, &w, before)
}

// threads is how long each thread of the engine has been busy so far; none if they are not
// on this machine, or it does not say.
func (t *capture) threads() map[string]float64 {
	if on, ok := t.Inst.(engine.Resident); ok {
		return threadsOf("/proc", on.PIDs()...)
	}
	return nil
}

// begin starts the profiler, if it is started by a page, and lists the existing files.
func (t *capture) begin(ctx context.Context, w *Window) (before map[string]int64, err error) {
	if t.pages.Start != "" {
		if before, err = t.sizes(ctx); err == nil {
			err = t.post(ctx, t.pages.Start, strings.ReplaceAll(t.pages.Body, kinds.ProfileFolder, t.inside))
		}
	}
	w.Began = time.Now()
	return before, err
}

// end stops the profiler and waits for its files.
func (t *capture) end(ctx context.Context, w *Window, before map[string]int64) error {
	w.Ended = time.Now()
	if t.pages.Start == "" {
		return nil
	}
	if err := t.post(ctx, t.pages.Stop, ""); err != nil {
		return err
	}
	var err error
	w.Files, err = t.completed(ctx, before)
	return err
}

// post tells the engine to start or stop a profile. Engines write it before they answer,
// which takes a while.
func (t *capture) post(ctx context.Context, page, body string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.Timeout))
	defer cancel()
	access := t.Inst.Access()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, access.BaseURL+page, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	for name, values := range access.Header {
		req.Header[name] = values
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := t.Client.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if answer.StatusCode >= http.StatusBadRequest {
		return &verdict.Fault{Reason: verdict.Say("profile.refused", "POST {subject} was refused: {error}",
			verdict.Line(fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(said))))).On(page)}
	}
	return nil
}

// completed are the files that are new since before, once they have not grown for a while.
func (t *capture) completed(ctx context.Context, before map[string]int64) ([]string, error) {
	began, since, last, limit := time.Now(), time.Now(), int64(-1), time.Duration(t.Timeout)
	for {
		sizes, err := t.sizes(ctx)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(sizes, func(f string, _ int64) bool { _, old := before[f]; return old })
		var size int64
		for _, n := range sizes {
			size += n
		}
		switch {
		case size != last:
			last, since = size, time.Now()
		case size > 0 && time.Since(since) >= quiet:
			for f, n := range sorted.All(sizes) {
				if t.fetched() && err == nil {
					err = t.fetch(ctx, f, n)
				}
			}
			return slices.Sorted(maps.Keys(sizes)), err
		case time.Since(began) >= limit:
			return nil, &verdict.Fault{Reason: verdict.New(code.ProfileNoFile, verdict.Dur("waited", limit))}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(look):
		}
	}
}
