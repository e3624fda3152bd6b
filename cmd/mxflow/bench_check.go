package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/engine/kinds"
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
	if err := endpoint.CheckURL(b.url); err != nil {
		return err
	}
	if _, ok := kinds.Lookup(b.kind); b.kind != "" && !ok {
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
	b.chooseSeed(set("seed"))
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
		if !strings.Contains(h, ":") {
			return b.wrong("header", "%q has no colon: write it as 'Name: value'", name)
		}
		if err := endpoint.CheckHeader(name, value); err != nil {
			return b.wrong("header", "%v; write it as 'Name: value'", err)
		}
	}
	if _, err := b.limits(); err != nil {
		return err
	}
	return b.readDataset(set("tg"))
}

// chooseSeed takes a new seed where none was given: another measurement's prompts
// may still be in the server's cache.
func (b *bench) chooseSeed(given bool) {
	if !given {
		b.seed = rand.IntN(1<<31 - 1)
	}
}

func cutHeader(text string) (name, value string) {
	name, value, _ = strings.Cut(text, ":")
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// limits are the limits of --slo.
func (b bench) limits() (map[string]time.Duration, error) {
	limits := map[string]time.Duration{}
	for _, metric := range slices.Sorted(maps.Keys(b.slo)) {
		if !slices.Contains(plans.Objectives, metric) {
			return nil, b.wrong("slo", "%q is none of %s", metric, strings.Join(plans.Objectives, ", "))
		}
		d, err := time.ParseDuration(b.slo[metric])
		if err != nil || d <= 0 {
			return nil, b.wrong("slo", "%s=%q is no time above zero, such as 300ms", metric, b.slo[metric])
		}
		limits[metric] = d
	}
	return limits, nil
}
