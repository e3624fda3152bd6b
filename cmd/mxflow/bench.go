package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// bench is what the command line of `mxflow bench` asks for.
type bench struct {
	url                            string
	model, api, kind               string
	pp, tg, depth, concurrency     []int
	rate                           []float64
	arrival                        string
	maxConcurrency                 int
	requests, warmup, runs, seed   int
	depthCached, randomTokens, eos bool
	temperature                    float64
	correction, dataset            string
	slo                            map[string]string
	requestTimeout, firstTimeout   time.Duration
	maxLag                         time.Duration
	keyEnv                         string
	headers                        []string
	ca, cert, certKey              string
	insecure                       bool
	gpus                           []string
	format, out, plot, raw         string
	quiet                          bool
	compare                        string
	earlier                        *benchEarlier
	// data is what --dataset holds.
	data *plans.Dataset
}

func (a *app) benchCommand() *cobra.Command {
	var b bench
	c := &cobra.Command{
		Use:   "bench URL",
		Short: "Measure a running server, without a plan",
		Long: `Sends prompts of exactly known length to a server that runs already, and prints its
speeds as the field names them: pp2048 (prefill), tg32 (decode), each with the
context before it (@ d4096) and the number of requests at once (c4).

Every combination of --pp, --tg, --depth and --concurrency (or --rate) is a cell.
A run sends each cell once: --warmup requests, then --requests that are measured.
A run's value is the median of its requests; the table has the mean of the runs,
± their sample standard deviation, and the 95 % interval of the mean (Student's t,
in logs). Runs on one server say how steady it is, and nothing of what another
start of it would do: compare two variants with a plan, which starts them anew.

Prompts are new in every run and unique from their first token on, so that no
prefix cache answers them; what a server had cached all the same, a client that
could not keep up, or a concurrency that was never reached makes the result
invalid (exit status 2), with the cause.`,
		Example: `  mxflow bench http://localhost:8000/v1 --pp 2048 --tg 32,128 --depth 0,4096 --concurrency 1,4 --runs 5
  mxflow bench http://localhost:8000/v1 --rate 2,4 --max-concurrency 64 --requests 200 --slo ttft=300ms,tpot=50ms
  mxflow bench https://box.example/v1 --api-key-env BOX_KEY --format html --out bench.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			b.url = args[0]
			if done, err := a.compareFiles(&b); done || err != nil {
				return err
			}
			if err := b.check(c); err != nil {
				return err
			}
			return a.runBench(c.Context(), b)
		},
	}
	f := c.Flags()
	f.IntSliceVar(&b.pp, "pp", []int{512}, "prompt tokens, or several lengths")
	f.IntSliceVar(&b.tg, "tg", []int{128}, "output tokens, or several lengths")
	f.IntSliceVar(&b.depth, "depth", []int{0}, "tokens of context before the prompt, or several lengths")
	f.BoolVar(&b.depthCached, "depth-cached", false, "put the context into the server's prefix cache first")
	f.IntSliceVar(&b.concurrency, "concurrency", []int{1}, "requests kept in flight, or several numbers")
	f.Float64SliceVar(&b.rate, "rate", nil, "requests a second, sent by schedule however slow the answers are, instead of --concurrency")
	f.StringVar(&b.arrival, "arrival", "poisson", "how requests of --rate arrive: poisson or constant")
	f.IntVar(&b.maxConcurrency, "max-concurrency", 0, "most requests in flight with --rate; 0 is no limit")
	f.IntVar(&b.requests, "requests", 0, "measured requests of each cell and run (default: 8 for each of its concurrency, at most 256)")
	f.IntVar(&b.warmup, "warmup", 2, "requests before them, which are not measured")
	f.IntVar(&b.runs, "runs", 3, "how often every cell is sent")
	f.StringVar(&b.model, "model", "", "model to ask for (default: the first that the server lists)")
	f.StringVar(&b.api, "api", "completions", "completions or chat")
	f.StringVar(&b.kind, "engine", "", "kind of the server (default: recognised by its pages; see mxflow engine kinds)")
	f.BoolVar(&b.randomTokens, "random-tokens", false, "send random token ids instead of text")
	f.StringVar(&b.dataset, "dataset", "", "send the prompts of this JSONL file instead; --pp is not used then")
	f.BoolVar(&b.eos, "stop-at-eos", false, "let answers end by themselves instead of enforcing --tg tokens")
	f.Float64Var(&b.temperature, "temperature", 0, "sampling; 0 takes the likeliest token")
	f.IntVar(&b.seed, "seed", 0, "seed of prompts, arrivals and sampling (default: a new one, which is printed)")
	f.StringVar(&b.correction, "latency-mode", "none", "none, api or generation: what is subtracted from times to the first token, as llama-benchy does; the uncorrected numbers are always kept")
	f.StringToStringVar(&b.slo, "slo", nil, "limits of a good request, as ttft=300ms,tpot=50ms")
	f.DurationVar(&b.requestTimeout, "request-timeout", 10*time.Minute, "time limit of one request")
	f.DurationVar(&b.firstTimeout, "first-timeout", 10*time.Minute, "time limit of the first request, which may compile kernels")
	f.DurationVar(&b.maxLag, "max-lag", 0, "how late the client may be before the result is invalid (default: 10ms)")
	f.StringVar(&b.keyEnv, "api-key-env", "", "name of the environment variable that holds the API key")
	f.StringArrayVar(&b.headers, "header", nil, "further header, as 'Name: value' (repeatable)")
	f.StringVar(&b.ca, "ca-file", "", "certificate authority to trust, PEM")
	f.StringVar(&b.cert, "client-cert", "", "client certificate, PEM")
	f.StringVar(&b.certKey, "client-key", "", "its key, PEM")
	f.BoolVar(&b.insecure, "insecure", false, "do not check the server's certificate")
	f.StringSliceVar(&b.gpus, "gpus", nil, "GPUs of this machine that the server uses, by index or UUID, to watch their power, memory and clocks")
	f.StringVar(&b.format, "format", "", "md, json, csv or html (default: a table)")
	f.StringVar(&b.out, "out", "", "write there instead of standard output")
	f.StringVar(&b.plot, "plot", "", "write plots there as well: a name that ends in .svg or .png")
	f.StringVar(&b.compare, "compare", "", "show this earlier result beside it (of --format json, or of another tool), and what two single starts can show; a second result in place of URL is compared without measuring")
	f.StringVar(&b.raw, "raw", "", "keep every request's events in this folder, as Parquet")
	f.BoolVar(&b.quiet, "quiet", false, "print no progress")
	return c
}

// spec is the server as an endpoint that mxflow did not start.
func (b bench) spec(key string) engine.Spec {
	e := &engine.Endpoint{URL: b.url, APIKey: key, CAFile: b.ca, ClientCert: b.cert, ClientKey: b.certKey, Insecure: b.insecure}
	for _, h := range b.headers {
		name, value := cutHeader(h)
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		e.Headers[name] = value
	}
	kind := b.kind
	if kind == "" {
		kind = "openai"
	}
	return engine.Spec{Kind: kind, Model: b.model, Endpoint: e}
}

// formats are those of --format.
var benchFormats = []string{"", "md", "json", "csv", "html"}

func (b bench) wrong(flag, format string, args ...any) error {
	return fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...))
}
