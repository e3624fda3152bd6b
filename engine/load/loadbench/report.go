package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"
)

// result is all that was found.
type result struct {
	Processors int    `json:"processors"`
	System     string `json:"system"`
	Go         string `json:"go"`
	// Batched says that events of all streams were sent at the same instants.
	Batched bool  `json:"batched,omitempty"`
	Rows    []row `json:"rows"`
	// Saturation are rows of rising load until neither keeps up; ClientMost and
	// FloorMost are the most events a second that each received.
	Saturation []row   `json:"saturation"`
	ClientMost float64 `json:"client_most_per_s"`
	FloorMost  float64 `json:"floor_most_per_s"`
	Parser     *parser `json:"parser,omitempty"`
	Peers      []peer  `json:"peers,omitempty"`
	Marks      []mark  `json:"marks"`
}

// parser is what go test -bench says of it.
type parser struct {
	NS     float64 `json:"ns_per_event"`
	Allocs float64 `json:"allocs_per_event"`
}

func sorted(values []float64) []float64 { return slices.Sorted(slices.Values(values)) }

func (b *bencher) all(ctx context.Context, rows []row) (result, error) {
	r := result{Processors: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Batched: b.batched}
	for i, one := range rows {
		fmt.Fprintf(b.stderr, "row %d of %d: %d streams of %g events/s\n", i+1, len(rows), one.Streams, one.Rate)
		done, err := b.row(ctx, one, true)
		if err != nil {
			return r, err
		}
		r.Rows = append(r.Rows, done)
	}
	if b.grid == "" {
		if err := b.saturate(ctx, &r); err != nil {
			return r, err
		}
	}
	if !b.noParser {
		p, err := benchParser(ctx)
		if err != nil {
			return r, fmt.Errorf("%w; --no-parser leaves it out", err)
		}
		r.Parser = &p
	}
	if err := b.measurePeers(ctx, &r); err != nil {
		return r, err
	}
	r.Marks = r.marks()
	return r, nil
}

// saturationStreams share the rising load, which has reached its end where less
// than saturated of it arrives.
const saturationStreams, saturated = 400, 0.9

// saturate raises the load by half until neither client nor floor receive it.
func (b *bencher) saturate(ctx context.Context, r *result) error {
	for rate := 50.0; rate <= 2000; rate *= 1.5 {
		fmt.Fprintf(b.stderr, "saturation: %d streams of %.0f events/s\n", saturationStreams, rate)
		one, err := b.row(ctx, row{Streams: saturationStreams, Rate: rate}, false)
		if err != nil {
			return err
		}
		r.Saturation = append(r.Saturation, one)
		r.ClientMost, r.FloorMost = max(r.ClientMost, one.Client.Received), max(r.FloorMost, one.Floor.Received)
		if least := saturated * one.planned(); one.Client.Received < least && one.Floor.Received < least {
			return nil
		}
	}
	return nil
}

var (
	parserNS     = regexp.MustCompile(`(?m)^BenchmarkParser/events_per_read=1\b.*?([\d.]+) ns/event`)
	parserAllocs = regexp.MustCompile(`(?m)^BenchmarkParser/events_per_read=1\b.*?([\d.]+) allocs/op`)
)

// benchParser runs the parser's own benchmark, of which one operation is one
// event.
func benchParser(ctx context.Context) (parser, error) {
	out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkParser$", "-benchmem", "github.com/mxflow/mxflow/engine/openai").CombinedOutput()
	if err != nil {
		return parser{}, fmt.Errorf("the parser's benchmark: %w: %.500s", err, out)
	}
	ns, allocs := parserNS.FindSubmatch(out), parserAllocs.FindSubmatch(out)
	if ns == nil || allocs == nil {
		return parser{}, fmt.Errorf("the parser's benchmark printed no ns/event and allocs/op: %.500s", out)
	}
	var p parser
	p.NS, _ = strconv.ParseFloat(string(ns[1]), 64)
	p.Allocs, _ = strconv.ParseFloat(string(allocs[1]), 64)
	return p, nil
}

// print writes the table in Markdown, aligned for terminals.
func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s, %d processors shared by client and mock server\n\n", r.System, r.Go, r.Processors)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| streams\t| tok/s each\t| events/s planned\t| sent\t| received\t| floor received\t| CPU µs/event\t| floor\t| ratio\t| TTFT error p50 / p99 ms\t| ITL error p50 / p99 ms\t| of a bare reader\t| delay p99 ms\t| RSS MB\t| floor RSS\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, one := range slices.Concat(r.Rows, r.Saturation) {
		ttft, itl, delay, bare := "behind", "behind", "behind", ""
		if c := one.Clock; c != nil && c.Errors != nil {
			bare = fmt.Sprintf("%.3f / %.3f", c.Errors.ITLp50, c.Errors.ITLp99)
		}
		if e := one.Client.Errors; e != nil {
			ttft, itl, delay = fmt.Sprintf("%.3f / %.3f", e.TTFTp50, e.TTFTp99), fmt.Sprintf("%.3f / %.3f", e.ITLp50, e.ITLp99), fmt.Sprintf("%.3f", e.Delayp99)
		}
		ratio := "did not keep up"
		if one.keepsUp() {
			ratio = fmt.Sprintf("%.2f", one.Ratio)
		}
		fmt.Fprintf(t, "| %d\t| %.4g\t| %.0f\t| %.0f\t| %.0f\t| %.0f\t| %.2f\t| %.2f\t| %s\t| %s\t| %s\t| %s\t| %s\t| %.0f\t| %.0f\t|\n",
			one.Streams, one.Rate, one.planned(), one.Client.Sent, one.Client.Received, one.Floor.Received,
			one.Client.CPU, one.Floor.CPU, ratio, ttft, itl, bare, delay, one.Client.Memory, one.Floor.Memory)
	}
	_ = t.Flush()
	r.printPeers(w)
	fmt.Fprintf(w, "\n| mark | to reach | measured | |\n| --- | --- | --- | --- |\n")
	for _, m := range r.Marks {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", m.What, m.Want, m.Got, m.Verdict)
	}
}
