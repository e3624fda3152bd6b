package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/bench"
)

func newBenchCommand(a *app) *cobra.Command {
	b := &benchOptions{app: a, Request: bench.Request{Sampling: map[string]*float64{}}}
	c := &cobra.Command{
		Use:   "bench URL",
		Short: "Measure a running server, without a plan",
		Long: `Sends prompts of exactly known length to a running server and prints its speeds
by their usual names: pp2048 (prefill), tg32 (decode), @ d4096 (tokens of context
before the prompt), c4 (requests in flight).

Each run sends every combination of --pp, --tg, --depth and --concurrency (or
--rate) once; each takes several numbers. The table has the mean of the runs'
medians ± standard deviation, and its 95% interval. Runs on one server show how
steady it is; to compare two servers use mxflow ab.

Every prompt starts with a unique prefix, so prefix caches miss. If some hit
anyway, the client lagged, or the concurrency was never reached, the result is
invalid (exit status 2; 3 if only this machine is the cause).`,
		Example: `  mxflow bench http://localhost:8000/v1 --pp 2048 --tg 32,128 --concurrency 1,4
  mxflow bench http://localhost:8000/v1 --temperature 0.8 --top-k 50
  mxflow bench http://localhost:8000/v1 --rate 2,4 --slo ttft=300ms,tpot=50ms
  mxflow bench http://localhost:8000/v1 --trace requests.jsonl --speed 2
  mxflow bench http://localhost:8000/v1 --capacity --slo 'p99 ttft <= 500ms'
  mxflow bench https://box.example/v1 --api-key-env BOX_KEY --json > bench.json`,
		Args: cobra.ExactArgs(1),
		RunE: b.run,
	}
	b.flags(c)
	return c
}

// benchOptions are the command line of mxflow bench.
type benchOptions struct {
	*app
	bench.Request
	format string
}

func (b *benchOptions) run(c *cobra.Command, args []string) error {
	if b.URL = args[0]; b.format == "" {
		b.fold()
	}
	if b.json && b.format != "" {
		return errors.New("--json and --format md are two formats: use one")
	}
	if err := b.Check(c.Flags().Changed); err != nil {
		return err
	}
	soft, _, release := signals(c.Context(), b.stderr, "Stopping: what is finished is printed.")
	defer release()
	show, end := b.progress()
	out, exit, err := b.Measure(soft, tool, show)
	end()
	if b.exit = exit; err != nil {
		return err
	}
	if out.Interrupted.Missing > 0 {
		fmt.Fprintln(b.stderr, out.Interrupted)
	}
	if len(out.Cells) == 0 {
		return nil
	}
	if b.json || b.format != "" { // who sends it into a file must learn that it does not count
		for _, why := range out.Invalid {
			fmt.Fprintln(b.stderr, foreign.Line("invalid: "+why.String()))
		}
	}
	switch {
	case b.json:
		b.printJSON(out)
	case b.format != "":
		out.Markdown(b.stdout)
	default:
		on := b.screen()
		fmt.Fprintf(on, "%s at %s (%s)\n\n", foreign.Line(out.Model), out.URL, out.Engine)
		for _, t := range out.Tables() {
			on.Table(t.Head, t.Rows)
			fmt.Fprintln(on)
		}
		for _, line := range out.Notices() {
			on.Sentence(line)
		}
	}
	return nil
}

// progress shows how far a run has got, on a terminal by one rewritten line, elsewhere
// not at all.
func (b *benchOptions) progress() (show func(run, done, total int), end func()) {
	if !table.Terminal(b.stderr) {
		return func(int, int, int) {}, func() {}
	}
	var last time.Time
	on := table.Bare(b.stderr)
	return func(run, done, total int) {
		if time.Since(last) > 100*time.Millisecond || done == total {
			last = time.Now()
			fmt.Fprintf(on, "\r\x1b[Krun %d of %d: %d of %d requests", run+1, b.Runs, done, total)
		}
	}, func() { fmt.Fprint(on, "\r\x1b[K") }
}

func (b *benchOptions) flags(c *cobra.Command) {
	addGroup(c, "Workload", func(f *pflag.FlagSet) {
		f.IntSliceVar(&b.PP, "pp", []int{512}, ppUsage)
		f.IntSliceVar(&b.TG, "tg", []int{128}, tgUsage)
		f.IntSliceVar(&b.Depth, "depth", []int{0}, depthUsage)
		f.IntSliceVar(&b.Concurrency, "concurrency", []int{1}, concurrencyUsage)
		f.Float64SliceVar(&b.Rate, "rate", nil,
			"requests per second, `N,…`, sent on schedule, instead of --concurrency")
		f.BoolVar(&b.EOS, "stop-at-eos", false, "let answers end by themselves instead of after --tg tokens")
	})
	addGroup(c, "Recorded traffic", func(f *pflag.FlagSet) {
		f.StringVar(&b.Trace.File, "trace", "",
			"send the requests of a `FILE` as recorded: Mooncake, Azure, BurstGPT, …")
		f.StringVar(&b.Trace.JQ, "trace-jq", "", "a jq `PROGRAM` that makes a request of each row of the trace")
		f.Float64Var(&b.Trace.Speed, "speed", 1, "how many times faster than recorded")
		f.DurationVar(&b.Trace.From, "from", 0, "leave out what arrived earlier")
		f.DurationVar(&b.Trace.Duration, "duration", 0, "how much of it is sent, in its own time (default: all)")
		f.IntVar(&b.Trace.MaxPrompt, "max-prompt-tokens", 0, "cut longer prompts to `N` tokens")
	})
	addGroup(c, "Capacity", func(f *pflag.FlagSet) {
		usual := plans.NewCapacity(plans.SLO{})
		f.BoolVar(&b.Capacity, "capacity", false, "search for the largest rate that keeps --slo, and draw the curve")
		f.DurationVar(&b.Probe, "probe", 0, probeUsage)
		f.Float64Var(&b.Start, "start", usual.Start, "first rate, in requests per second")
		f.Float64Var(&b.MaxRate, "max-rate", usual.MaxRate, "highest rate, in requests per second")
	})
	addGroup(c, "How often", func(f *pflag.FlagSet) {
		f.IntVar(&b.Requests, "requests", 0, requestsUsage)
		f.IntVar(&b.Warmup, "warmup", 2, warmupUsage)
		f.IntVar(&b.Runs, "runs", 3, "how often each combination is sent")
		f.IntVar(&b.Seed, "seed", 0, "seed of prompts and arrivals (default: a new one, which is printed)")
	})
	addGroup(c, "Sampling", func(f *pflag.FlagSet) {
		for _, a := range bench.Sampled() {
			text, _, _ := strings.Cut(a.Doc, ". ")
			text = strings.ToLower(text[:1]) + strings.TrimSuffix(text[1:], ".")
			b.Sampling[a.Name] = f.Float64(bench.FlagOf(a), 0, text)
		}
	})
	addGroup(c, "Server", func(f *pflag.FlagSet) {
		f.StringVar(&b.Model, "model", "", modelUsage)
		f.StringVar(&b.Kind, "kind", "", kindUsage)
		f.StringVar(&b.API, "api", "completions", apiUsage)
		f.StringVar(&b.KeyEnv, "api-key-env", "", "environment `VARIABLE` that holds the API key")
	})
	addGroup(c, "What counts", func(f *pflag.FlagSet) {
		f.StringVar(&b.SLO, "slo", "", sloUsage)
		f.StringVar(&b.Coherence, "coherence", "absolute",
			"`CHECK` of answers: absolute: they must read as text; off: random weights")
		f.DurationVar(&b.MaxLag, "max-lag", 0, maxLagUsage)
	})
	addGroup(c, "Output", func(f *pflag.FlagSet) {
		markdownFlag(f, &b.format)
		b.jsonFlag(f)
	})
}
