package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// bounds that no server of this decade reaches, so that a slip of the finger is
// an error and not an hour.
const (
	benchTokens = 100_000_000
	benchMany   = 100_000
)

// check refuses what cannot be meant, before the server is asked anything.
func (b *bench) check(c *cobra.Command) error {
	if err := engine.CheckURL(b.url); err != nil {
		return err
	}
	if _, ok := engine.LookupKind(b.kind); b.kind != "" && !ok {
		return b.wrong("engine", "there is no kind %q: see mxflow engine kinds", b.kind)
	}
	for _, list := range []struct {
		flag       string
		values     []int
		least, top int
	}{
		{"pp", b.pp, 1, benchTokens},
		{"tg", b.tg, 1, benchTokens},
		{"depth", b.depth, 0, benchTokens},
		{"concurrency", b.concurrency, 1, benchMany},
		{"max-concurrency", []int{b.maxConcurrency}, 0, benchMany},
		{"warmup", []int{b.warmup}, 0, benchMany},
		{"runs", []int{b.runs}, 1, benchMany},
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
				return b.wrong(list.flag, "%d stands there twice", v)
			}
		}
	}
	for i, r := range b.rate {
		if !(r > 0 && r <= benchMany) {
			return b.wrong("rate", "%v is not between 0 and %d requests a second", r, benchMany)
		}
		if slices.Contains(b.rate[:i], r) {
			return b.wrong("rate", "%v stands there twice", r)
		}
	}
	set := c.Flags().Changed
	switch {
	case len(b.rate) > 0 && set("concurrency"):
		return b.wrong("rate", "requests are sent by schedule then, and not when others end: leave out --concurrency, or limit it with --max-concurrency")
	case len(b.rate) == 0 && (set("arrival") || set("max-concurrency")):
		return b.wrong("rate", "--arrival and --max-concurrency belong to requests that are sent by schedule: give --rate too")
	case b.arrival != "poisson" && b.arrival != "constant":
		return b.wrong("arrival", "%q is neither poisson nor constant", b.arrival)
	case b.api != "completions" && b.api != "chat":
		return b.wrong("api", "%q is neither completions nor chat", b.api)
	case b.correction != "none" && b.correction != "api" && b.correction != "generation":
		return b.wrong("latency-mode", "%q is none of none, api and generation", b.correction)
	case !(b.temperature >= 0 && b.temperature <= 100):
		return b.wrong("temperature", "%v is not between 0 and 100", b.temperature)
	case b.randomTokens && b.api == "chat":
		return b.wrong("random-tokens", "a chat takes messages and no token ids: leave out --api chat")
	case b.dataset != "" && (set("pp") || set("depth") || b.randomTokens):
		return b.wrong("dataset", "the file says what is sent: leave out --pp, --depth and --random-tokens")
	case b.depthCached && !slices.ContainsFunc(b.depth, func(d int) bool { return d > 0 }):
		return b.wrong("depth-cached", "there is no context to put into a cache: give --depth")
	case !slices.Contains(benchFormats, b.format):
		return b.wrong("format", "%q is none of md, json, csv and html", b.format)
	case b.plot != "" && !slices.Contains([]string{".svg", ".png"}, filepath.Ext(b.plot)):
		return b.wrong("plot", "%q ends in neither .svg nor .png", b.plot)
	case b.requestTimeout <= 0 || b.firstTimeout <= 0 || b.maxLag < 0:
		return fmt.Errorf("time limits must be above zero")
	}
	for _, h := range b.headers {
		name, value := cutHeader(h)
		if err := engine.CheckHeader(name, value); err != nil {
			return b.wrong("header", "%v; write it as 'Name: value'", err)
		}
	}
	return nil
}

func cutHeader(text string) (name, value string) {
	name, value, _ = strings.Cut(text, ":")
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// key is the API key, empty where none was asked for.
func (b bench) key() (string, error) {
	if b.keyEnv == "" {
		return "", nil
	}
	key := os.Getenv(b.keyEnv)
	if key == "" {
		return "", b.wrong("api-key-env", "the environment variable %s is not set", b.keyEnv)
	}
	if err := engine.CheckKey(key); err != nil {
		return "", b.wrong("api-key-env", "the value of %s cannot be sent: %v", b.keyEnv, err)
	}
	return key, nil
}

// sloMetrics are the metrics that a good request can be held to.
var sloMetrics = []string{"ttft", "tpot", "itl", "e2e"}

// limits are the limits of --slo.
func (b bench) limits() (map[string]time.Duration, error) {
	limits := map[string]time.Duration{}
	for _, metric := range slices.Sorted(maps.Keys(b.slo)) {
		if !slices.Contains(sloMetrics, metric) {
			return nil, b.wrong("slo", "%q is none of %s", metric, strings.Join(sloMetrics, ", "))
		}
		d, err := time.ParseDuration(b.slo[metric])
		if err != nil || d <= 0 {
			return nil, b.wrong("slo", "%s=%q is no time above zero, such as 300ms", metric, b.slo[metric])
		}
		limits[metric] = d
	}
	return limits, nil
}

// perCell is how many requests a cell measures in a run, where nobody says:
// enough of them that a fully busy server is most of the time.
func (b bench) perCell() int {
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
func (b bench) workload(run int) (*plans.Workload, error) {
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
	if b.eos {
		w.Coherence = "absolute"
	}
	if b.maxLag > 0 {
		w.MaxLag = b.maxLag
	}
	if b.randomTokens {
		w.Prompts = "random"
	}
	if len(b.rate) > 0 {
		w.Concurrency, w.Rate, w.RateList, w.Arrival, w.MaxConcurrency = nil, b.rate, true, b.arrival, b.maxConcurrency
	} else {
		w.Concurrency, w.ConcurrencyList = b.concurrency, true
	}
	if b.dataset != "" {
		return w, b.readDataset(w)
	}
	return w, nil
}
