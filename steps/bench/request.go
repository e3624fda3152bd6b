package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
)

// Request is the command line of `mxflow bench`. Zeros of Requests and MaxLag are the usual
// ones; without Seed, a new one is drawn.
type Request struct {
	URL                        string
	Model, API, Kind           string
	PP, TG, Depth, Concurrency []int
	Rate                       []float64
	Trace                      Trace
	Requests, Warmup, Runs     int
	Seed                       int
	// Sampling is by the names of a workload's attributes, of Sampled.
	Sampling  map[string]*float64
	Coherence string
	EOS       bool
	SLO       string
	MaxLag    time.Duration
	KeyEnv    string
	// Capacity searches for the largest rate that keeps SLO, by probes of a length, from a
	// first rate up to the highest.
	Capacity       bool
	Probe          time.Duration
	Start, MaxRate float64

	slo   plans.SLO       // SLO
	trace *plans.Workload // with what is sent of Trace; nil of none
}

// Trace is the file of recorded traffic, empty for none, and what is sent of it, by the names of a workload's
// attributes.
type Trace struct {
	File, JQ       string
	Speed          float64
	From, Duration time.Duration
	MaxPrompt      int
}

// read reads the trace, if there is one.
func (b *Request) read(set func(flag string) bool) error {
	t := b.Trace
	if t.File == "" {
		for _, flag := range []string{"trace-jq", "speed", "from", "duration", "max-prompt-tokens"} {
			if set(flag) {
				return b.wrong(flag, "it is of recorded traffic: add --trace FILE")
			}
		}
		return nil
	}
	for _, flag := range []string{"pp", "depth", "concurrency", "rate", "requests"} {
		if set(flag) {
			return b.wrong("trace", "arrivals and lengths are those of the file: leave out --%s", flag)
		}
	}
	switch {
	case set("speed") && !(t.Speed >= 0.001 && t.Speed <= 1000):
		return b.wrong("speed", "%v is not a number between 0.001 and 1000", t.Speed)
	case t.From < 0:
		return b.wrong("from", "%s is not a positive time, such as 5m", t.From)
	case set("duration") && t.Duration <= 0:
		return b.wrong("duration", "%s is not a positive time, such as 10m", t.Duration)
	case set("max-prompt-tokens") && t.MaxPrompt <= 0:
		return b.wrong("max-prompt-tokens", "%d is not a number of tokens from 1", t.MaxPrompt)
	}
	data, err := os.ReadFile(t.File)
	if err != nil {
		return b.wrong("trace", "cannot read %s: %v", t.File, errors.Unwrap(err))
	}
	sum := sha256.Sum256(data)
	w := plans.NewWorkload("bench")
	w.JQ, w.Speed, w.From, w.Duration, w.MaxPromptTokens = t.JQ, t.Speed, t.From, t.Duration, t.MaxPrompt
	if err = w.Record(t.File, data, hex.EncodeToString(sum[:])); err != nil {
		return b.wrong("trace", "%v", err)
	}
	b.trace = w
	switch sent := w.Trace.Sent; {
	case sent.Chats > 0 && b.API != "chat":
		return b.wrong("trace", "%d of its requests can only be sent as a chat: use --api chat", sent.Chats)
	case sent.Unanswered > 0 && !set("tg"):
		return b.wrong("trace", "line %d does not give the answer's length: give --tg, the default for such lines",
			sent.Unanswered)
	case sent.Unanswered == 0 && set("tg") && !b.EOS:
		return b.wrong("trace", "lengths of answers are those of the file: leave out --tg")
	}
	return nil
}

// Sampled are the workload's attributes that say how tokens are sampled, and are flags here.
func Sampled() []plans.Attr {
	return slices.DeleteFunc(plans.Attrs(plans.Workload{}), func(a plans.Attr) bool {
		return !slices.Contains([]string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty"}, a.Name)
	})
}

// FlagOf is the flag of an attribute.
func FlagOf(a plans.Attr) string { return strings.ReplaceAll(a.Name, "_", "-") }

func (b *Request) wrong(flag, format string, args ...any) error {
	return fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...))
}

// patience is the time for a request: the first can compile kernels.
const patience = 10 * time.Minute

// limits that no server of this decade reaches, so a typo is an error and not an hour
const (
	mostTokens = 100_000_000
	mostMany   = 100_000
)

// Check rejects mistakes before the server receives a request. set reports whether a flag was given.
func (b *Request) Check(set func(flag string) bool) error {
	if err := run.CheckURL(b.URL); err != nil {
		return err
	}
	if _, ok := kinds.Lookup(b.Kind); b.Kind != "" && !ok {
		return b.wrong("kind", "unknown kind %q: see mxflow engine kinds", b.Kind)
	}
	for _, check := range []func() error{b.checkCounts, b.checkSampling, b.checkRates} {
		if err := check(); err != nil {
			return err
		}
	}
	switch {
	case b.API != "completions" && b.API != "chat":
		return b.wrong("api", "%q is not one of completions or chat", b.API)
	case b.Coherence != "absolute" && b.Coherence != "off":
		return b.wrong("coherence", "%q is not one of absolute or off", b.Coherence)
	case len(b.Rate) > 0 && set("concurrency"):
		return b.wrong("rate", "requests are then sent on schedule, not when others end: leave out --concurrency")
	case b.MaxLag < 0:
		return b.wrong("max-lag", "%s is not a positive time, such as 10ms", b.MaxLag)
	}
	if !set("seed") { // another measurement's prompts may still be in the server's cache
		b.Seed = rand.IntN(1<<31 - 1)
	}
	if err := b.read(set); err != nil {
		return err
	}
	return b.checkObjectives(set)
}

func (b *Request) checkCounts() error {
	for _, list := range []struct {
		flag       string
		values     []int
		least, top int
	}{
		{"pp", b.PP, 1, mostTokens},
		{"tg", b.TG, 1, mostTokens},
		{"depth", b.Depth, 0, mostTokens},
		{"concurrency", b.Concurrency, 1, mostMany},
		{"warmup", []int{b.Warmup}, 0, mostMany},
		{"runs", []int{b.Runs}, 1, mostMany},
		{"requests", []int{b.Requests}, 0, 1_000_000},
		{"seed", []int{b.Seed}, 0, 1<<31 - 1},
	} {
		if len(list.values) == 0 {
			return b.wrong(list.flag, "give at least one number")
		}
		for i, v := range list.values {
			if v < list.least || v > list.top {
				return b.wrong(list.flag, "%d is not between %d and %d", v, list.least, list.top)
			}
			if slices.Contains(list.values[:i], v) {
				return b.wrong(list.flag, "%d is listed twice", v)
			}
		}
	}
	return nil
}

func (b *Request) checkSampling() error {
	for _, a := range Sampled() {
		x := 0.0
		if set := b.Sampling[a.Name]; set != nil {
			x = *set
		}
		switch {
		case !(x >= a.Min && x <= a.Max):
			return b.wrong(FlagOf(a), "%v is not between %v and %v", x, a.Min, a.Max)
		case a.Type == plans.Int && x != math.Trunc(x):
			return b.wrong(FlagOf(a), "%v is not a whole number", x)
		}
	}
	return nil
}

func (b *Request) checkRates() error {
	for i, r := range b.Rate {
		if !(r > 0 && r <= mostMany) {
			return b.wrong("rate", "%v is not between 0 and %d requests per second", r, mostMany)
		}
		if slices.Contains(b.Rate[:i], r) {
			return b.wrong("rate", "%v is listed twice", r)
		}
	}
	return nil
}

func (b *Request) checkObjectives(set func(flag string) bool) (err error) {
	if b.SLO != "" {
		if b.slo, err = plans.ParseSLO(b.SLO); err != nil {
			return b.wrong("slo", "%v", err)
		}
		if metric := plans.BetweenTokens(b.slo.Limits); metric != "" && b.Trace.File == "" && slices.Min(b.TG) == 1 {
			return b.wrong("slo", "an answer of one token has no %s: set --tg to more", metric)
		}
	}
	only := func(these ...string) string {
		i := slices.IndexFunc(these, set)
		if i < 0 {
			return ""
		}
		return these[i]
	}
	if !b.Capacity {
		if flag := only("probe", "start", "max-rate"); flag != "" {
			return b.wrong(flag, "it is for --capacity: add that, or leave it out")
		}
		if b.slo.Percentile > 0 || b.slo.Errors > 0 {
			return b.wrong("slo", "percentiles and errors are for --capacity: write ttft=300ms, or add that")
		}
		return nil
	}
	flag := only("rate", "concurrency", "requests", "warmup", "trace")
	switch {
	case flag != "":
		return b.wrong(flag, "--capacity sends the rates that it needs: leave out --%s", flag)
	case b.SLO == "":
		return b.wrong("capacity",
			"it is the largest rate that keeps limits: give some, as in --slo 'p99 ttft <= 500ms'")
	case set("probe") && b.Probe < time.Second:
		return b.wrong("probe", "%s is less than 1s", b.Probe)
	case !(b.Start > 0 && b.Start <= b.MaxRate && b.MaxRate <= mostMany):
		return b.wrong("start", "%v and --max-rate %v: required 0 < start ≤ max-rate ≤ %d",
			b.Start, b.MaxRate, mostMany)
	}
	if !set("runs") {
		b.Runs = 1
	}
	return nil
}

// workload is what one run sends.
func (b *Request) workload(run int) *plans.Workload {
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.PromptList, w.OutputTokens, w.OutputList = b.PP, true, b.TG, true
	w.Depth, w.DepthList = b.Depth, true
	w.Requests, w.Warmup, w.API, w.Seed = b.Requests, b.Warmup, b.API, (b.Seed+run)&0x7fffffff
	w.IgnoreEOS, w.SLO = !b.EOS, b.slo.Limits
	for _, f := range plans.Fields(reflect.TypeFor[plans.Workload]()) {
		if x := b.Sampling[f.Name]; x != nil {
			plans.Set(reflect.ValueOf(w).Elem().Field(f.Index), *x)
		}
	}
	w.RequestTimeout, w.FirstTimeout, w.StallTimeout = patience, patience, patience
	w.Coherence = "off"
	if b.EOS && b.Coherence != "off" {
		w.Coherence = "absolute"
	}
	if b.MaxLag > 0 {
		w.MaxLag = b.MaxLag
	}
	if b.trace != nil {
		t := b.trace
		w.Arrival, w.Trace, w.JQ, w.Speed, w.From, w.Duration = t.Arrival, t.Trace, t.JQ, t.Speed, t.From, t.Duration
		w.MaxPromptTokens, w.PromptList, w.OutputList, w.DepthList = t.MaxPromptTokens, false, false, false
		w.Concurrency, w.PromptTokens, w.Depth = nil, nil, nil
		return w
	}
	most := slices.Max(b.Concurrency)
	if b.Capacity {
		c := plans.NewCapacity(b.slo)
		c.Start, c.MaxRate = b.Start, b.MaxRate
		if b.Probe > 0 {
			c.Probe, c.Warmup = b.Probe, b.Probe/4
		}
		w.Capacity, w.Arrival, w.Concurrency = c, "poisson", nil
		return w
	}
	if len(b.Rate) > 0 {
		w.Concurrency, w.Rate, w.RateList, w.Arrival = nil, b.Rate, true, "poisson"
		most = int(slices.Max(b.Rate)) * 4
	} else {
		w.Concurrency, w.ConcurrencyList = b.Concurrency, true
	}
	if w.Requests == 0 { // enough that the server is fully busy most of the time
		w.Requests = min(max(8*most, 8), 256)
	}
	return w
}

// key is the API key, empty if none was requested.
func (b *Request) key() (string, error) {
	if b.KeyEnv == "" {
		return "", nil
	}
	key := os.Getenv(b.KeyEnv)
	if key == "" {
		return "", b.wrong("api-key-env", "the environment variable %s is not set", b.KeyEnv)
	}
	if err := run.CheckKey(key); err != nil {
		return "", b.wrong("api-key-env", "the value of %s is invalid: %v", b.KeyEnv, err)
	}
	return key, nil
}

// Measure measures the server for a tool, by name and version. It returns what was measured, with the
// exit status, also of a measurement that was interrupted.
func (b *Request) Measure(ctx context.Context, tool string, progress func(run, done, total int)) (out *Result,
	exit int, err error,
) {
	key, err := b.key()
	if err != nil {
		return nil, 0, err
	}
	at := &engine.Endpoint{URL: b.URL, APIKey: key}
	spec := engine.Spec{Kind: cmp.Or(b.Kind, "openai"), Model: b.Model, Endpoint: at}
	inst, err := run.Endpoints{}.Launch(ctx, spec, engine.Launch{ID: "bench"})
	if err != nil {
		return nil, 0, err
	}
	defer inst.Stop(context.Background())
	kind := run.Recognise(ctx, inst.Access())
	if b.Kind != "" {
		kind, _ = kinds.Lookup(b.Kind)
	}
	subject := record.Subject{Client: launch.ClientOf(inst, kind, b.Model), Kind: kind, Fresh: true}
	out = b.result(tool, subject)
	if out.Model, err = b.model(ctx, subject.Client); err != nil {
		return nil, verdict.ExitBroken, err
	}
	for n := range b.Runs {
		subject.Progress = func(done, total int) { progress(n, done, total) }
		w := b.workload(n)
		subject.Round = n
		taken, err := record.Take(ctx, subject, []*plans.Workload{w})
		if b.Capacity && ctx.Err() == nil { // requests that fail are part of a search
			err = cmp.Or(gone(ctx, subject.Client), err)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, verdict.ExitBroken, fmt.Errorf("run %d of %d: %w", n+1, b.Runs, hinted(err, w, kind))
		}
		if searched := taken.Searched(); err != nil && len(searched) > 0 { // the last search has not ended
			taken.Cells = slices.DeleteFunc(taken.Cells, func(c measure.CellRun) bool {
				return c.Of() == searched[len(searched)-1]
			})
		}
		out.Add(w, taken)
		if err != nil {
			out.Cut(b.Runs * len(w.Cells()))
			return out, verdict.ExitInterrupted, nil
		}
		subject.Fresh, subject.Before = false, taken.Capacities()
	}
	switch {
	case len(out.Invalid) > 0 && out.Disturbed:
		exit = verdict.ExitInconclusive
	case len(out.Invalid) > 0:
		exit = verdict.ExitFail
	}
	return out, exit, nil
}

// gone is that a server answers nothing any more, not even with an error.
func gone(ctx context.Context, client *openai.Client) error {
	_, err := client.Models(ctx)
	if _, answered := errors.AsType[*openai.StatusError](err); err == nil || answered {
		return nil
	}
	return fmt.Errorf("the server stopped answering: %w; probes until then say nothing of its capacity", err)
}

// result is what is known before anything is measured.
func (b *Request) result(tool string, subject record.Subject) *Result {
	out := &Result{
		Tool: tool, URL: subject.Client.BaseURL, Engine: subject.Kind.Name,
		Started: time.Now().UTC().Truncate(time.Second), Seed: b.Seed, SLO: map[string]string{},
		Sampling: map[string]float64{},
	}
	if b.Coherence == "off" {
		out.Coherence = b.Coherence
	}
	for metric, limit := range b.slo.Limits {
		out.SLO[metric] = limit.String()
	}
	for name, x := range b.Sampling {
		if *x != 0 {
			out.Sampling[name] = *x
		}
	}
	return out
}

// model is what the server is asked for: what was named, if it has that, or else the first.
func (b *Request) model(ctx context.Context, client *openai.Client) (string, error) {
	models, err := client.Models(ctx)
	if b.Model != "" {
		if err := launch.ModelListed(b.Model, models); err != nil {
			return "", errors.New(verdict.OfError(err).String())
		}
		return b.Model, nil
	}
	if err == nil {
		return models[0].ID, nil
	}
	if _, ok := errors.AsType[*openai.StatusError](err); ok {
		return "", fmt.Errorf("the server does not list its models: %w; name one with --model", err)
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err // the address stands below
	}
	return "", fmt.Errorf("the server does not answer: %w; is it running, and is %s its address?", err, b.URL)
}

// hinted is an error with the labels of cells, and advice if the choice of the engine's
// kind explains it.
func hinted(err error, w *plans.Workload, kind kinds.Kind) error {
	text := named(w, []verdict.Reason{verdict.OfError(err)})[0].String()
	var status *openai.StatusError
	if kind.Name == "openai" && errors.As(err, &status) && (status.Status == http.StatusBadRequest ||
		status.Status == http.StatusUnprocessableEntity) && strings.Contains(status.Body, "ignore_eos") {
		text += "; the server does not know ignore_eos, which forces answers to --tg tokens: name it with --kind, or " +
			"let answers end on their own with --stop-at-eos"
	}
	return errors.New(text)
}
