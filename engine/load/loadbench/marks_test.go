package main

import (
	"math"
	"strings"
	"testing"
)

func verdicts(r result) string {
	var words []string
	for _, m := range r.marks() {
		words = append(words, strings.Trim(m.Verdict, "*"))
	}
	return strings.Join(words, ", ")
}

func TestMarks(t *testing.T) {
	full := func(streams int, rate, ratio, itl, memory float64) row {
		planned := float64(streams) * rate
		return row{
			Streams: streams, Rate: rate, Ratio: ratio,
			Client: outcome{Received: planned, CPU: ratio * 10, Memory: memory, Errors: &errors99{ITLp99: itl}},
			Floor:  outcome{Received: planned, CPU: 10},
		}
	}
	behind := full(1000, 20, 3, 0, 100)
	behind.Client.Errors = nil
	slow := full(100, 200, 1, 0.1, 10)
	slow.Client.Received = 1000
	for name, c := range map[string]struct {
		r    result
		want string
	}{
		"nothing": {result{}, "not measured, not measured, not measured, not measured, not measured"},
		"all well": {
			result{Rows: []row{full(500, 40, 1.1, 0.4, 60), full(2000, 10, 1.9, 0.9, 149)}, ClientMost: 95, FloorMost: 100, Parser: &parser{NS: 300}},
			"met, met, met, met, met",
		},
		"nothing well": {
			result{Rows: []row{full(500, 40, 1.3, 0.4, 60), full(2000, 10, 1, 1.1, 151)}, ClientMost: 89, FloorMost: 100, Parser: &parser{NS: 300, Allocs: 1}},
			"missed, missed, missed, missed, missed",
		},
		"the worst row counts": {result{Rows: []row{full(100, 200, 1.3, 2, 0), full(500, 40, 1.1, 0.4, 0)}}, "not measured, missed, not measured, missed, not measured"},
		"behind":               {result{Rows: []row{full(500, 40, 1, 0.1, 0), behind}}, "not measured, missed, not measured, missed, not measured"},
		"did not keep up":      {result{Rows: []row{slow}}, "not measured, not measured, not measured, missed, not measured"},
		"NaN":                  {result{ClientMost: math.NaN(), FloorMost: 1, Parser: &parser{NS: math.NaN()}}, "missed, not measured, not measured, not measured, not measured"},
	} {
		if got := verdicts(c.r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMiddle(t *testing.T) {
	e := func(itl float64) *errors99 { return &errors99{ITLp99: itl} }
	m := middle([]outcome{{CPU: 3, Errors: e(1)}, {CPU: 1, Errors: e(5)}, {CPU: 2}})
	if m.CPU != 2 || m.Errors == nil || m.Errors.ITLp99 != 3 {
		t.Errorf("%+v", m)
	}
	if m := middle([]outcome{{CPU: 3, Errors: e(1)}, {}}); m.Errors != nil {
		t.Errorf("half of the rounds fell behind: %+v", m.Errors)
	}
	if median(nil) != 0 {
		t.Error("median of nothing")
	}
}

func TestReadTools(t *testing.T) {
	got, err := readGuide([]byte(`{"benchmarks":[{"metrics":{"time_to_first_token_ms":{"successful":{"mean":58,"percentiles":{"p99":73}}},"inter_token_latency_ms":{"successful":{"mean":20}}}}]}`))
	if err != nil || got != (reported{TTFT: 58, TTFTp99: 73, ITL: 20}) {
		t.Errorf("guidellm: %+v, %v", got, err)
	}
	for _, text := range []string{``, `{}`, `{"benchmarks":[{}]}`, `{"benchmarks":[{"metrics":{"time_to_first_token_ms":{"successful":null}}}]}`} {
		if got, err := readGuide([]byte(text)); err == nil {
			t.Errorf("guidellm's %s: %+v", text, got)
		}
		if got, err := readBenchy([]byte(text)); err == nil {
			t.Errorf("llama-benchy's %s: %+v", text, got)
		}
	}
}

func TestParserOutput(t *testing.T) {
	text := "goos: linux\nBenchmarkParser/events_per_read=1         \t 4396972\t       270.3 ns/op\t1113.69 MB/s\t       270.3 ns/event\t       0 B/op\t       0 allocs/op\nBenchmarkParser/events_per_read=16-2 \t 1\t 9 ns/op\t 9 ns/event\t 9 allocs/op\n"
	ns, allocs := parserNS.FindStringSubmatch(text), parserAllocs.FindStringSubmatch(text)
	if ns == nil || ns[1] != "270.3" || allocs == nil || allocs[1] != "0" {
		t.Errorf("%q, %q", ns, allocs)
	}
	for b, want := range map[byte]rune{'A': 'A', ' ': 'Ġ', 0: 'Ā', '\n': 'Ċ', 0xad: 'Ń', 0xff: 'ÿ'} {
		if got := byteRune(b); got != want {
			t.Errorf("byte %#x is %q, want %q", b, got, want)
		}
	}
}
