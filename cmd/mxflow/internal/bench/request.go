package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
)

// Request is the command line of `mxflow bench`.
type Request struct {
	url                          string
	model, api, kind             string
	pp, tg, depth, concurrency   []int
	rate                         []float64
	arrival                      string
	maxConcurrency               int
	requests, warmup, runs, seed int
	depthCached, eos             bool
	temperature                  float64
	correction, dataset          string
	slo                          map[string]string
	requestTimeout, firstTimeout time.Duration
	maxLag                       time.Duration
	keyEnv                       string
	headers                      []string
	ca                           string
	insecure                     bool
	gpus                         []string
	format                       string
	quiet                        bool
	coherence                    string
	// data is the contents of --dataset.
	data *plans.Dataset
	exit int
}

// Host is what mxflow provides for a measurement.
type Host struct {
	On   table.Screen
	Errs io.Writer
	// Terminal shows the progress; nil if there is none.
	Terminal io.Writer
	Version  string
}

// Flags adds a measurement's flags to a command.
func (b *Request) Flags(f *pflag.FlagSet) {
	f.IntSliceVar(&b.pp, "pp", []int{512}, "prompt tokens, or several lengths")
	f.IntSliceVar(&b.tg, "tg", []int{128}, "output tokens, or several lengths")
	f.IntSliceVar(&b.depth, "depth", []int{0}, "tokens of context before the prompt, or several lengths")
	f.BoolVar(&b.depthCached, "depth-cached", false, "put the context into the server's prefix cache first")
	f.IntSliceVar(&b.concurrency, "concurrency", []int{1}, "requests kept in flight, or several numbers")
	f.Float64SliceVar(&b.rate, "rate", nil, "requests per second, sent on schedule however slow the answers, instead of --concurrency")
	f.StringVar(&b.arrival, "arrival", "poisson", "how requests of --rate arrive: poisson or constant")
	f.IntVar(&b.maxConcurrency, "max-concurrency", 0, "maximum requests in flight with --rate; 0 is no limit")
	f.IntVar(&b.requests, "requests", 0, "measured requests per cell and run (default: 8 times the concurrency, at most 256)")
	f.IntVar(&b.warmup, "warmup", 2, "unmeasured requests before them")
	f.IntVar(&b.runs, "runs", 3, "number of times each cell is sent")
	f.StringVar(&b.model, "model", "", "model to ask for (default: the first that the server lists)")
	f.StringVar(&b.api, "api", "completions", "completions or chat")
	f.StringVar(&b.kind, "engine", "", "kind of the server (default: recognised by its pages; see mxflow engine kinds)")
	f.StringVar(&b.dataset, "dataset", "", "send the prompts of this JSONL file instead of --pp")
	f.BoolVar(&b.eos, "stop-at-eos", false, "let answers end on their own instead of enforcing --tg tokens")
	f.Float64Var(&b.temperature, "temperature", 0, "sampling temperature; 0 takes the likeliest token")
	f.IntVar(&b.seed, "seed", 0, "seed of prompts, arrivals and sampling (default: a new one, which is printed)")
	f.StringVar(&b.correction, "latency-mode", "none", "none, api or generation: what is subtracted from the time of pp, as llama-benchy does; the uncorrected number is always kept")
	f.StringToStringVar(&b.slo, "slo", nil, "limits of a good request, such as ttft=300ms,tpot=50ms")
	f.DurationVar(&b.requestTimeout, "request-timeout", 10*time.Minute, "time limit of one request")
	f.DurationVar(&b.firstTimeout, "first-timeout", 10*time.Minute, "time limit of the first request, which can compile kernels")
	f.DurationVar(&b.maxLag, "max-lag", 0, "how late the client can be before the result is invalid (default: 10ms)")
	f.StringVar(&b.coherence, "coherence", "absolute", "how answers are checked: absolute (they must read as text) or off, for random weights")
	f.StringVar(&b.keyEnv, "api-key-env", "", "name of the environment variable that holds the API key")
	f.StringArrayVar(&b.headers, "header", nil, "extra header, as 'Name: value' (repeatable)")
	f.StringVar(&b.ca, "ca-file", "", "certificate authority to trust, PEM")
	f.BoolVar(&b.insecure, "insecure", false, "do not check the server's certificate")
	f.StringSliceVar(&b.gpus, "gpus", nil, "GPUs of this machine that the server uses, by index or UUID, to watch their power, memory and clocks")
	f.StringVar(&b.format, "format", "", "md or json (default: a table)")
	f.BoolVar(&b.quiet, "quiet", false, "print no progress")
}

// Run measures the server at a URL and returns the exit status. set reports whether a
// flag was given.
func (b *Request) Run(ctx context.Context, h Host, url string, set func(flag string) bool) (exit int, err error) {
	b.url = url
	if err := b.check(set); err != nil {
		return 0, err
	}
	err = b.measure(ctx, h)
	return b.exit, err
}

// spec is the server as an endpoint that mxflow did not start.
func (b *Request) spec(key string) engine.Spec {
	e := &engine.Endpoint{URL: b.url, APIKey: key, CAFile: b.ca, Insecure: b.insecure, Headers: map[string]string{}}
	for _, h := range b.headers {
		name, value := cutHeader(h)
		e.Headers[name] = value
	}
	return engine.Spec{Kind: cmp.Or(b.kind, "openai"), Model: b.model, Endpoint: e}
}

func (b *Request) wrong(flag, format string, args ...any) error {
	return fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...))
}

// limits that no server of this decade reaches, so a typo is an error and not an hour
const (
	mostTokens = 100_000_000
	mostMany   = 100_000
)

// check rejects mistakes before the server receives a request.
func (b *Request) check(set func(flag string) bool) error {
	if err := run.CheckURL(b.url); err != nil {
		return err
	}
	if _, ok := kinds.Lookup(b.kind); b.kind != "" && !ok {
		return b.wrong("engine", "unknown kind %q: see mxflow engine kinds", b.kind)
	}
	for _, list := range []struct {
		flag       string
		values     []int
		least, top int
	}{
		{"pp", b.pp, 1, mostTokens},
		{"tg", b.tg, 1, mostTokens},
		{"depth", b.depth, 0, mostTokens},
		{"concurrency", b.concurrency, 1, mostMany},
		{"max-concurrency", []int{b.maxConcurrency}, 0, mostMany},
		{"warmup", []int{b.warmup}, 0, mostMany},
		{"runs", []int{b.runs}, 1, mostMany},
		{"requests", []int{b.requests}, 0, 1_000_000},
		{"seed", []int{b.seed}, 0, 1<<31 - 1},
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
	for i, r := range b.rate {
		if !(r > 0 && r <= mostMany) {
			return b.wrong("rate", "%v is not between 0 and %d requests per second", r, mostMany)
		}
		if slices.Contains(b.rate[:i], r) {
			return b.wrong("rate", "%v is listed twice", r)
		}
	}
	for _, choice := range []struct {
		flag, value string
		among       []string
	}{
		{"arrival", b.arrival, []string{"poisson", "constant"}},
		{"api", b.api, []string{"completions", "chat"}},
		{"latency-mode", b.correction, []string{"none", "api", "generation"}},
		{"coherence", b.coherence, []string{"absolute", "off"}},
		{"format", b.format, []string{"", "md", "json"}},
	} {
		if !slices.Contains(choice.among, choice.value) {
			return b.wrong(choice.flag, "%q is not one of %s", choice.value, verdict.Joined(slices.DeleteFunc(choice.among, func(s string) bool { return s == "" }), "or"))
		}
	}
	b.chooseSeed(set("seed"))
	switch {
	case len(b.rate) > 0 && set("concurrency"):
		return b.wrong("rate", "requests are then sent on schedule, not when others end: leave out --concurrency, or limit it with --max-concurrency")
	case len(b.rate) == 0 && (set("arrival") || set("max-concurrency")):
		return b.wrong("rate", "--arrival and --max-concurrency are for requests sent on schedule: give --rate too")
	case !(b.temperature >= 0 && b.temperature <= 100):
		return b.wrong("temperature", "%v is not between 0 and 100", b.temperature)
	case b.dataset != "" && (set("pp") || set("depth")):
		return b.wrong("dataset", "the file determines the prompts: remove --pp and --depth")
	case b.depthCached && !slices.ContainsFunc(b.depth, func(d int) bool { return d > 0 }):
		return b.wrong("depth-cached", "there is no context to cache: set --depth")
	case b.requestTimeout <= 0 || b.firstTimeout <= 0 || b.maxLag < 0:
		return fmt.Errorf("time limits must be positive")
	}
	for _, h := range b.headers {
		name, value := cutHeader(h)
		if !strings.Contains(h, ":") {
			return b.wrong("header", "%q has no colon: write it as 'Name: value'", name)
		}
		if err := run.CheckHeader(name, value); err != nil {
			return b.wrong("header", "%v; write it as 'Name: value'", err)
		}
	}
	if _, err := b.limits(); err != nil {
		return err
	}
	return b.readDataset(set("tg"))
}

// chooseSeed picks a new seed if none was given: another measurement's prompts may still
// be in the server's cache.
func (b *Request) chooseSeed(given bool) {
	if !given {
		b.seed = rand.IntN(1<<31 - 1)
	}
}

func cutHeader(text string) (name, value string) {
	name, value, _ = strings.Cut(text, ":")
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// limits are the limits of --slo.
func (b *Request) limits() (map[string]time.Duration, error) {
	limits := map[string]time.Duration{}
	for _, metric := range slices.Sorted(maps.Keys(b.slo)) {
		if !slices.Contains(plans.Objectives, metric) {
			return nil, b.wrong("slo", "%q is not one of %s", metric, strings.Join(plans.Objectives, ", "))
		}
		d, err := time.ParseDuration(b.slo[metric])
		if err != nil || d <= 0 {
			return nil, b.wrong("slo", "%s=%q is not a positive time, such as 300ms", metric, b.slo[metric])
		}
		limits[metric] = d
	}
	return limits, nil
}

// perCell is the default number of requests per cell in a run: enough that the server is
// fully busy most of the time.
func (b *Request) perCell() int {
	if b.requests > 0 {
		return b.requests
	}
	most := slices.Max(b.concurrency)
	if len(b.rate) > 0 {
		most = int(slices.Max(b.rate)) * 4
	}
	return min(max(8*most, 8), 256)
}

// workload is what one run sends.
func (b *Request) workload(run int) (*plans.Workload, error) {
	limits, err := b.limits()
	if err != nil {
		return nil, err
	}
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.PromptList, w.OutputTokens, w.OutputList = b.pp, true, b.tg, true
	w.Depth, w.DepthList, w.DepthCached = b.depth, true, b.depthCached
	w.Requests, w.Warmup, w.API, w.Temperature, w.Seed = b.perCell(), b.warmup, b.api, b.temperature, (b.seed+run)&0x7fffffff
	w.IgnoreEOS, w.LatencyCorrection, w.SLO = !b.eos, b.correction, limits
	w.RequestTimeout, w.FirstTimeout, w.StallTimeout = b.requestTimeout, b.firstTimeout, b.requestTimeout
	w.Coherence = "off"
	if b.eos && b.coherence != "off" {
		w.Coherence = "absolute"
	}
	if b.maxLag > 0 {
		w.MaxLag = b.maxLag
	}
	if len(b.rate) > 0 {
		w.Concurrency, w.Rate, w.RateList, w.Arrival, w.MaxConcurrency = nil, b.rate, true, b.arrival, b.maxConcurrency
	} else {
		w.Concurrency, w.ConcurrencyList = b.concurrency, true
	}
	if b.data != nil {
		w.Data, w.PromptTokens, w.PromptList = b.data, nil, false
		if b.data.Unanswered == 0 {
			w.OutputTokens, w.OutputList = nil, false
		}
	}
	return w, nil
}

// readDataset reads the file of --dataset and checks that the requests can be made from
// it. answers is set if --tg was given.
func (b *Request) readDataset(answers bool) error {
	if b.dataset == "" {
		return nil
	}
	if _, err := os.Stat(b.dataset); errors.Is(err, fs.ErrNotExist) {
		return b.wrong("dataset", "%s is not there", b.dataset)
	}
	d, err := load.ReadDataset(b.dataset, record.DatasetRows)
	if err != nil {
		return b.wrong("dataset", "%v", err)
	}
	b.data = d
	if d.Chat > 0 && b.api != "chat" {
		return b.wrong("dataset", "line %d of %s can only be sent as a chat: add --api chat", d.Chat, b.dataset)
	}
	if d.Unanswered == 0 && answers {
		return b.wrong("dataset", "every row of %s gives the length of its answer: leave out --tg", b.dataset)
	}
	w, err := b.workload(0)
	if err != nil {
		return err
	}
	for _, c := range w.Cells() {
		if c.Requests+c.Warmup > d.Count {
			return b.wrong("dataset", "%s has %d rows, too few for %d requests and %d for warm-up without repeating one: lower --requests or --warmup", b.dataset, d.Count, c.Requests, c.Warmup)
		}
	}
	return nil
}

// sent is the dataset that is sent; nil if prompts are generated.
func (b *Request) sent() *Dataset {
	if b.data == nil {
		return nil
	}
	return &Dataset{File: b.dataset, Digest: b.data.Digest, Rows: b.data.Count}
}

// key is the API key, empty if none was requested.
func (b *Request) key() (string, error) {
	if b.keyEnv == "" {
		return "", nil
	}
	key := os.Getenv(b.keyEnv)
	if key == "" {
		return "", b.wrong("api-key-env", "the environment variable %s is not set", b.keyEnv)
	}
	if err := run.CheckKey(key); err != nil {
		return "", b.wrong("api-key-env", "the value of %s is invalid: %v", b.keyEnv, err)
	}
	return key, nil
}

// measure measures and prints.
func (b *Request) measure(soft context.Context, h Host) error {
	key, err := b.key()
	if err != nil {
		return err
	}
	inst, err := run.Endpoints{}.Launch(soft, b.spec(key), engine.Launch{ID: "bench"})
	if err != nil {
		return err
	}
	defer inst.Stop(context.Background())
	subject, err := b.subject(soft, inst)
	if err != nil {
		return err
	}
	out := &Result{Tool: "mxflow " + h.Version, URL: subject.Client.BaseURL, Engine: subject.Kind.Name, Started: time.Now().UTC().Truncate(time.Second), Seed: b.seed, Correction: b.correction, SLO: b.slo}
	if b.coherence == "off" {
		out.Coherence = b.coherence
	}
	out.Dataset = b.sent()
	if out.Model = b.model; out.Model == "" {
		models, err := subject.Client.Models(soft)
		if err != nil {
			b.exit = verdict.ExitBroken
			var status *openai.StatusError
			if !errors.As(err, &status) {
				return fmt.Errorf("the server does not answer: %w; is it running, and is %s its address?", err, b.url)
			}
			return fmt.Errorf("the server does not list its models: %w; name one with --model", err)
		}
		out.Model = models[0].ID
	}
	progress := b.progress(h)
	for run := range b.runs {
		subject.Progress = func(done, total int) { progress(run, done, total) }
		w, err := b.workload(run)
		if err != nil {
			return err
		}
		taken, err := record.Take(soft, subject, []*plans.Workload{w})
		if err != nil {
			progress(run, -1, 0)
			if errors.Is(err, context.Canceled) {
				b.exit = verdict.ExitInterrupted
				out.Add(w, taken)
				out.Cut(b.runs * len(w.Cells()))
				fmt.Fprintln(h.Errs, out.Interrupted)
				if len(out.Cells) == 0 {
					return nil
				}
				break
			}
			b.exit = verdict.ExitBroken
			return fmt.Errorf("run %d of %d: %w", run+1, b.runs, hinted(err, w, subject.Kind))
		}
		out.Add(w, taken)
		subject.Fresh = false
	}
	progress(b.runs-1, -1, 0)
	if len(out.Invalid) > 0 && b.exit == 0 {
		b.exit = verdict.ExitFail
		if out.Disturbed {
			b.exit = verdict.ExitInconclusive
		}
	}
	if b.format != "" { // who sends it into a file must learn that it does not count
		for _, why := range out.Invalid {
			fmt.Fprintln(h.Errs, foreign.Line("invalid: "+why.String()))
		}
	}
	var text bytes.Buffer
	if err := out.Write(&text, b.format, h.On.Width, h.On.Width > 0 && h.On.Colour); err != nil {
		return err
	}
	_, err = h.On.Write(text.Bytes())
	return err
}

// hinted is an error with the labels of cells, and advice if the choice of the engine's
// kind explains it.
func hinted(err error, w *plans.Workload, kind kinds.Kind) error {
	text := named(w, []verdict.Reason{verdict.OfError(err)})[0].String()
	var status *openai.StatusError
	if kind.Name == "openai" && errors.As(err, &status) && (status.Status == http.StatusBadRequest || status.Status == http.StatusUnprocessableEntity) && strings.Contains(status.Body, "ignore_eos") {
		text += "; the server does not know ignore_eos, which forces answers to --tg tokens: name its kind with --engine KIND, or let answers end on their own with --stop-at-eos"
	}
	return errors.New(text)
}

// subject is the server as the subject of a measurement.
func (b *Request) subject(ctx context.Context, inst engine.Instance) (record.Subject, error) {
	access := inst.Access()
	kind := run.Recognise(ctx, access)
	if b.kind != "" {
		kind, _ = kinds.Lookup(b.kind)
	}
	s := record.Subject{Client: launch.ClientOf(inst, kind, b.model), Kind: kind, Fresh: true}
	if len(b.gpus) == 0 {
		return s, nil
	}
	all, err := machine.GPUs(ctx)
	if err != nil {
		return s, b.wrong("gpus", "%v", err)
	}
	chosen, err := machine.ChooseGPUs(all, nil, b.gpus)
	if err != nil {
		return s, b.wrong("gpus", "%v", err)
	}
	for _, g := range chosen {
		s.Machine.GPUs = append(s.Machine.GPUs, g.UUID)
	}
	s.Machine.Host = true
	return s, nil
}

// progress shows how far a run has got, on a terminal by one rewritten line, elsewhere
// not at all.
func (b *Request) progress(h Host) func(run, done, total int) {
	if b.quiet || h.Terminal == nil {
		return func(int, int, int) {}
	}
	var last time.Time
	return func(run, done, total int) {
		switch {
		case done < 0:
			io.WriteString(h.Terminal, "\r\x1b[K")
		case time.Since(last) > 100*time.Millisecond || done == total:
			last = time.Now()
			fmt.Fprintf(h.Terminal, "\r\x1b[Krun %d of %d: %d of %d requests", run+1, b.runs, done, total)
		}
	}
}
