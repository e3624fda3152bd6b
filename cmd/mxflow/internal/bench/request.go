package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
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
	Requests, Warmup, Runs     int
	Seed                       int
	// Sampling is by the names of a workload's attributes, of Sampled.
	Sampling  map[string]*float64
	Coherence string
	EOS       bool
	SLO       map[string]string
	MaxLag    time.Duration
	KeyEnv    string
	JSON      bool
	Format    string

	limits map[string]time.Duration // of SLO
	exit   int
}

// Sampled are the workload's attributes that say how tokens are sampled, and are flags here.
func Sampled() []plans.Attr {
	return slices.DeleteFunc(plans.Attrs(plans.Workload{}), func(a plans.Attr) bool {
		return !slices.Contains([]string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty"}, a.Name)
	})
}

// FlagOf is the flag of an attribute.
func FlagOf(a plans.Attr) string { return strings.ReplaceAll(a.Name, "_", "-") }

// Host is what mxflow provides for a measurement.
type Host struct {
	On   table.Screen
	Errs io.Writer
	// Terminal shows the progress; nil if there is none.
	Terminal  io.Writer
	Tool      string // this program, by name and version
	PrintJSON func(any)
}

// Run measures the server and returns the exit status. set reports whether a flag was given.
func (b *Request) Run(ctx context.Context, h Host, set func(flag string) bool) (exit int, err error) {
	if err := b.check(set); err != nil {
		return 0, err
	}
	err = b.measure(ctx, h)
	return b.exit, err
}

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

// check rejects mistakes before the server receives a request.
func (b *Request) check(set func(flag string) bool) error {
	if err := run.CheckURL(b.URL); err != nil {
		return err
	}
	if _, ok := kinds.Lookup(b.Kind); b.Kind != "" && !ok {
		return b.wrong("kind", "unknown kind %q: see mxflow engine kinds", b.Kind)
	}
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
	for i, r := range b.Rate {
		if !(r > 0 && r <= mostMany) {
			return b.wrong("rate", "%v is not between 0 and %d requests per second", r, mostMany)
		}
		if slices.Contains(b.Rate[:i], r) {
			return b.wrong("rate", "%v is listed twice", r)
		}
	}
	for _, choice := range []struct {
		flag, value string
		among       []string
	}{
		{"api", b.API, []string{"completions", "chat"}},
		{"coherence", b.Coherence, []string{"absolute", "off"}},
		{"format", b.Format, []string{"", "md"}},
	} {
		if !slices.Contains(choice.among, choice.value) {
			return b.wrong(choice.flag, "%q is not one of %s", choice.value,
				verdict.Joined(slices.DeleteFunc(choice.among, func(s string) bool { return s == "" }), "or"))
		}
	}
	if !set("seed") { // another measurement's prompts may still be in the server's cache
		b.Seed = rand.IntN(1<<31 - 1)
	}
	switch {
	case b.JSON && b.Format != "":
		return errors.New("--json and --format md are two formats: use one")
	case len(b.Rate) > 0 && set("concurrency"):
		return b.wrong("rate", "requests are then sent on schedule, not when others end: leave out --concurrency")
	case b.MaxLag < 0:
		return b.wrong("max-lag", "%s is not a positive time, such as 10ms", b.MaxLag)
	}
	b.limits = map[string]time.Duration{}
	for _, metric := range slices.Sorted(maps.Keys(b.SLO)) {
		if !slices.Contains(plans.Objectives, metric) {
			return b.wrong("slo", "%q is not one of %s", metric, strings.Join(plans.Objectives, ", "))
		}
		d, err := time.ParseDuration(b.SLO[metric])
		if err != nil || d <= 0 {
			return b.wrong("slo", "%s=%q is not a positive time, such as 300ms", metric, b.SLO[metric])
		}
		b.limits[metric] = d
	}
	return nil
}

// workload is what one run sends.
func (b *Request) workload(run int) *plans.Workload {
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.PromptList, w.OutputTokens, w.OutputList = b.PP, true, b.TG, true
	w.Depth, w.DepthList = b.Depth, true
	w.Requests, w.Warmup, w.API, w.Seed = b.Requests, b.Warmup, b.API, (b.Seed+run)&0x7fffffff
	w.IgnoreEOS, w.SLO = !b.EOS, b.limits
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
	most := slices.Max(b.Concurrency)
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

// measure measures and prints.
func (b *Request) measure(soft context.Context, h Host) error {
	key, err := b.key()
	if err != nil {
		return err
	}
	at := &engine.Endpoint{URL: b.URL, APIKey: key}
	spec := engine.Spec{Kind: cmp.Or(b.Kind, "openai"), Model: b.Model, Endpoint: at}
	inst, err := run.Endpoints{}.Launch(soft, spec, engine.Launch{ID: "bench"})
	if err != nil {
		return err
	}
	defer inst.Stop(context.Background())
	kind := run.Recognise(soft, inst.Access())
	if b.Kind != "" {
		kind, _ = kinds.Lookup(b.Kind)
	}
	subject := record.Subject{Client: launch.ClientOf(inst, kind, b.Model), Kind: kind, Fresh: true}
	out := &Result{
		Tool: h.Tool, URL: subject.Client.BaseURL, Engine: kind.Name,
		Started: time.Now().UTC().Truncate(time.Second), Seed: b.Seed, SLO: b.SLO,
		Sampling: map[string]float64{},
	}
	if b.Coherence == "off" {
		out.Coherence = b.Coherence
	}
	for name, x := range b.Sampling {
		if *x != 0 {
			out.Sampling[name] = *x
		}
	}
	models, err := subject.Client.Models(soft)
	if out.Model = b.Model; out.Model != "" {
		if err := launch.ModelListed(out.Model, models); err != nil {
			b.exit = verdict.ExitBroken
			return errors.New(verdict.OfError(err).String())
		}
	} else {
		if err != nil {
			b.exit = verdict.ExitBroken
			var status *openai.StatusError
			if !errors.As(err, &status) {
				if at, ok := errors.AsType[*url.Error](err); ok {
					err = at.Err // the address stands below
				}
				return fmt.Errorf("the server does not answer: %w; is it running, and is %s its address?", err, b.URL)
			}
			return fmt.Errorf("the server does not list its models: %w; name one with --model", err)
		}
		out.Model = models[0].ID
	}
	progress := b.progress(h)
	for run := range b.Runs {
		subject.Progress = func(done, total int) { progress(run, done, total) }
		w := b.workload(run)
		taken, err := record.Take(soft, subject, []*plans.Workload{w})
		if err != nil {
			progress(run, -1, 0)
			if errors.Is(err, context.Canceled) {
				b.exit = verdict.ExitInterrupted
				out.Add(w, taken)
				out.Cut(b.Runs * len(w.Cells()))
				fmt.Fprintln(h.Errs, out.Interrupted)
				if len(out.Cells) == 0 {
					return nil
				}
				break
			}
			b.exit = verdict.ExitBroken
			return fmt.Errorf("run %d of %d: %w", run+1, b.Runs, hinted(err, w, subject.Kind))
		}
		out.Add(w, taken)
		subject.Fresh = false
	}
	progress(b.Runs-1, -1, 0)
	if len(out.Invalid) > 0 && b.exit == 0 {
		b.exit = verdict.ExitFail
		if out.Disturbed {
			b.exit = verdict.ExitInconclusive
		}
	}
	if b.JSON || b.Format != "" { // who sends it into a file must learn that it does not count
		for _, why := range out.Invalid {
			fmt.Fprintln(h.Errs, foreign.Line("invalid: "+why.String()))
		}
	}
	var text bytes.Buffer
	switch {
	case b.JSON:
		h.PrintJSON(out)
		return nil
	case b.Format == "md":
		out.markdown(&text)
	default:
		out.print(h.On.On(&text))
	}
	_, err = h.On.Write(text.Bytes())
	return err
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

// progress shows how far a run has got, on a terminal by one rewritten line, elsewhere
// not at all.
func (b *Request) progress(h Host) func(run, done, total int) {
	if h.Terminal == nil {
		return func(int, int, int) {}
	}
	var last time.Time
	return func(run, done, total int) {
		switch {
		case done < 0:
			io.WriteString(h.Terminal, "\r\x1b[K")
		case time.Since(last) > 100*time.Millisecond || done == total:
			last = time.Now()
			fmt.Fprintf(h.Terminal, "\r\x1b[Krun %d of %d: %d of %d requests", run+1, b.Runs, done, total)
		}
	}
}
