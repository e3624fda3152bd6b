package record

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// What lies with the machine or the client disturbed a launch, which is made again; where
// anything else is wrong too, another launch would not help.
func TestDisturbed(t *testing.T) {
	late := measure.Series{Name: measure.ClientDelay}
	for i := range 10 {
		late.At = append(late.At, time.Duration(i)*time.Second)
		late.Value = append(late.Value, 500) // ms
	}
	for _, c := range []struct {
		name   string
		delay  measure.Series
		pieces int
		read   time.Duration // so late was each answer read
		tokens int           // that each answer counts, of 16 requested
		want   bool
	}{
		{"woken late", late, 0, 0, 16, true},
		{"and answers in one piece", late, 20, 0, 16, true},
		{"and counts that are wrong", late, 20, 0, 60, false},
		{"answers in one piece alone", measure.Series{}, 20, 0, 16, true},
		{"answers in one piece, and counts that are wrong", measure.Series{}, 20, 0, 60, false},
		{"counts that are wrong alone", measure.Series{}, 0, 0, 60, false},
		{"answers in one piece that the client read late", measure.Series{}, 20, 2 * time.Millisecond, 16, true},
		{"most of them", measure.Series{}, 11, 2 * time.Millisecond, 16, true},
		{"answers in one piece, longer than the client was late", measure.Series{}, 20, time.Millisecond, 16, true},
		{"answers in pieces, read as late as they took", measure.Series{}, 0, 8 * time.Millisecond, 16, true},
		{"nothing wrong", measure.Series{}, 0, 0, 16, false},
		{"nothing wrong, though read late", measure.Series{}, 0, 7 * time.Millisecond, 16, false},
		{"nothing wrong with most, the others read late", measure.Series{}, 10, 2 * time.Millisecond, 16, false},
		{"nothing wrong with most, the others in one piece", measure.Series{}, 2, 0, 16, false},
	} {
		r := &recording{taken: &Measurement{}}
		r.sent = []sentCell{{
			w:    &plans.Workload{Coherence: "off", MaxLag: 100 * time.Millisecond},
			cell: plans.Cell{Address: "chat", Dimensions: measure.Dimensions{Concurrency: 1}},
			run:  measure.CellRun{Cell: "chat", To: time.Minute}, delay: c.delay, samples: inOnePiece(20, c.pieces),
		}}
		for i := range r.sent[0].samples {
			s := &r.sent[0].samples[i]
			s.Late, s.OutputTokens, s.RequestedOutput = c.read, c.tokens, 16
		}
		r.judge()
		if r.taken.Disturbed != c.want || (len(r.taken.Invalid) == 0) != strings.HasPrefix(c.name, "nothing wrong") {
			t.Errorf("%s: disturbed %v, invalid %q", c.name, r.taken.Disturbed, verdict.Lines(r.taken.Invalid))
		}
	}
}

// inOnePiece is n answers of which the first so many came in one piece after
// 200 ms, and the others as a stream.
func inOnePiece(n, pieces int) (samples []measure.Sample) {
	for i := range n {
		s := measure.Sample{Index: i}
		for j := range 16 {
			at := 200 * time.Millisecond
			if i >= pieces {
				at += time.Duration(j) * time.Millisecond
			}
			s.Events = append(s.Events, measure.Event{Kind: measure.KindText, At: at})
		}
		samples = append(samples, s)
	}
	return samples
}

// Answers in one piece are no measurement of decoding, unless there are few, or
// the workload allows that much.
func TestHeld(t *testing.T) {
	for _, c := range []struct {
		n, pieces       int
		declared, usual time.Duration
		invalid, notes  int
	}{
		{20, 0, 0, 0, 0, 0},
		{20, 2, 0, 0, 0, 1},
		{20, 3, 0, 0, 1, 0},
		{20, 20, 0, 0, 1, 0},
		{20, 20, time.Minute, 0, 0, 0},
		{20, 10, 0, time.Minute, 0, 0},
		{20, 11, 0, time.Minute, 1, 0}, // no lag allows for a median that is the client's
	} {
		r := &recording{taken: &Measurement{}}
		r.Kind.MaxLag = c.usual
		r.checkBuffering(sentCell{
			w: &plans.Workload{MaxLag: c.declared}, cell: plans.Cell{Address: "chat"},
			samples: inOnePiece(c.n, c.pieces),
		})
		if len(r.taken.Invalid) != c.invalid || len(r.taken.Notes) != c.notes {
			t.Errorf("%+v: invalid %q, notes %q", c, verdict.Lines(r.taken.Invalid), verdict.Lines(r.taken.Notes))
		}
	}
}

// Where an engine does not say of each request what it had cached, its counters
// tell, and without those nobody does.
func TestUncounted(t *testing.T) {
	const unknown = -1
	for name, c := range map[string]struct {
		hits          float64
		template      int
		depthCached   bool
		invalid, note string
		silent        bool // no flag has the engine say it
		said          bool // of each request, of so many tokens
		cached        int
	}{
		"nothing was cached":       {hits: 0},
		"a little":                 {hits: 0.04},
		"a repeated prompt":        {hits: 0.9, invalid: "found 90% of the prompt tokens of chat"},
		"a long chat template":     {hits: 0.5, template: 64, note: "unknown for 4 of 4 requests"},
		"more than the template":   {hits: 0.7, template: 64, invalid: "70%"},
		"contexts on purpose":      {hits: 0.6, depthCached: true, note: "unknown for"},
		"an engine without a page": {hits: unknown, note: "start the engine with --say-it"},
		"that cannot say it":       {hits: unknown, silent: true},
		"nothing, as it says":      {hits: unknown, said: true},
		"most, as it says": {
			hits: unknown, said: true, cached: 90,
			invalid: "prompts were partly answered from a cache",
		},
	} {
		r := &recording{taken: &Measurement{Metrics: map[string]measure.Summary{}}}
		if !c.silent {
			r.Kind = kinds.Kind{Ask: kinds.Ask{CachedTokens: "--say-it"}}
		}
		if !c.said {
			c.cached = unknown
		}
		if c.hits != unknown {
			r.taken.Metrics["chat.prefix_hit_rate"] = measure.Summary{Stats: map[string]float64{"median": c.hits}}
		}
		cell := sentCell{
			w: &plans.Workload{DepthCached: c.depthCached}, cell: plans.Cell{Address: "chat"},
			run:     measure.CellRun{Prompts: measure.PromptLengths{Template: c.template}},
			samples: slices.Repeat([]measure.Sample{{PromptTokens: 128, CachedTokens: c.cached}}, 4),
		}
		r.checkCache(cell)
		if got := verdict.Semicolons(r.taken.Invalid); !strings.Contains(got, c.invalid) ||
			(c.invalid == "") != (got == "") {
			t.Errorf("%s: invalid %q, want %q", name, got, c.invalid)
		}
		if got := verdict.Semicolons(r.taken.Notes); !strings.Contains(got, c.note) || (c.note == "") != (got == "") {
			t.Errorf("%s: notes %q, want %q", name, got, c.note)
		}
	}
}

// A server that says it sent more than it was asked for is not fast by that.
func TestOverlong(t *testing.T) {
	for name, c := range map[string]struct {
		sample measure.Sample
		want   string
	}{
		"as asked":              {measure.Sample{RequestedOutput: 8, OutputTokens: 8}, ""},
		"with the end of text":  {measure.Sample{RequestedOutput: 8, OutputTokens: 9}, ""},
		"a last draft":          {measure.Sample{RequestedOutput: 128, OutputTokens: 134}, ""},
		"shorter":               {measure.Sample{RequestedOutput: 8, OutputTokens: 3}, ""},
		"not counted":           {measure.Sample{RequestedOutput: 8, OutputTokens: -1}, ""},
		"nothing was asked for": {measure.Sample{OutputTokens: 80}, ""},
		"ten times as many":     {measure.Sample{RequestedOutput: 8, OutputTokens: 80}, "e.g. 80 tokens for 8"},
		"a warm-up":             {measure.Sample{RequestedOutput: 8, OutputTokens: 80, Warmup: true}, ""},
		"twice as many, at first": {measure.Sample{
			RequestedOutput: 8, OutputTokens: 8,
			Events: []measure.Event{{Tokens: 16}, {Tokens: 8}},
		}, "e.g. 16 tokens for 8"},
	} {
		r := &recording{taken: &Measurement{}}
		r.checkLength(sentCell{
			w: &plans.Workload{}, cell: plans.Cell{Address: "chat"},
			samples: []measure.Sample{c.sample},
		})
		if got := verdict.Semicolons(r.taken.Invalid); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: invalid %q, want %q", name, got, c.want)
		}
	}
}

// A prompt that nobody counted is not said to have no tokens.
func TestLengthsOfUncountedPrompts(t *testing.T) {
	r := &recording{taken: &Measurement{}}
	r.checkPromptLengths(
		sentCell{
			w: &plans.Workload{}, cell: plans.Cell{Address: "chat", Dimensions: measure.Dimensions{Prompt: 32}},
			samples: []measure.Sample{{RequestedPrompt: 32, PromptTokens: -1}},
		})
	if got := verdict.Semicolons(r.taken.Notes); !strings.Contains(got, "unknown for 1 of 1") {
		t.Errorf("notes %q", got)
	}
}
