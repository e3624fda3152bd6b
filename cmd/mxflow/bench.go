package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/bench"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
)

func newBenchCommand(a *app) *cobra.Command {
	b := &benchOptions{bench.Request{Sampling: map[string]*float64{}}}
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
  mxflow bench https://box.example/v1 --api-key-env BOX_KEY --json > bench.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if b.JSON, b.URL = a.json, args[0]; b.Format == "" {
				a.fold()
			}
			h := bench.Host{On: a.screen(), Errs: a.stderr, Tool: tool, PrintJSON: a.printJSON}
			if table.Terminal(a.stderr) {
				h.Terminal = table.Bare(a.stderr)
			}
			soft, _, release := signals(c.Context(), a.stderr, "Stopping: what is finished is printed.")
			defer release()
			a.exit, err = b.Run(soft, h, c.Flags().Changed)
			return err
		},
	}
	b.flags(c, a)
	return c
}

// benchOptions are the command line of mxflow bench.
type benchOptions struct{ bench.Request }

func (b *benchOptions) flags(c *cobra.Command, a *app) {
	addGroup(c, "Workload", func(f *pflag.FlagSet) {
		f.IntSliceVar(&b.PP, "pp", []int{512}, ppUsage)
		f.IntSliceVar(&b.TG, "tg", []int{128}, tgUsage)
		f.IntSliceVar(&b.Depth, "depth", []int{0}, depthUsage)
		f.IntSliceVar(&b.Concurrency, "concurrency", []int{1}, concurrencyUsage)
		f.Float64SliceVar(&b.Rate, "rate", nil,
			"requests per second, `N,…`, sent on schedule, instead of --concurrency")
		f.BoolVar(&b.EOS, "stop-at-eos", false, "let answers end by themselves instead of after --tg tokens")
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
		f.StringToStringVar(&b.SLO, "slo", nil,
			"limits, `METRIC=TIME,…`, of a good request, such as ttft=300ms,tpot=50ms")
		f.StringVar(&b.Coherence, "coherence", "absolute",
			"`CHECK` of answers: absolute: they must read as text; off: random weights")
		f.DurationVar(&b.MaxLag, "max-lag", 0, maxLagUsage)
	})
	addGroup(c, "Output", func(f *pflag.FlagSet) {
		markdownFlag(f, &b.Format)
		a.jsonFlag(f)
	})
}
