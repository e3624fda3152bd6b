package measure

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

const msec = time.Millisecond

// text, other, usage and done are events in milliseconds with the server's count, -1 if it reports none.
func text(at, tokens int) Event {
	return Event{At: time.Duration(at) * msec, Kind: KindText, Tokens: tokens, Bytes: 4}
}

// wide is one with the text of so many others, which nobody counts.
func wide(at, tokens int) Event {
	e := text(at, -1)
	e.Bytes *= tokens
	return e
}

func reasoning(at, tokens int) Event {
	return Event{At: time.Duration(at) * msec, Kind: KindReasoning, Tokens: tokens, Bytes: 4}
}

func other(at, tokens int) Event {
	return Event{At: time.Duration(at) * msec, Kind: KindOther, Tokens: tokens}
}

func usage(at, tokens int) Event {
	return Event{At: time.Duration(at) * msec, Kind: KindUsage, Tokens: tokens}
}

func done(at int) Event {
	return Event{At: time.Duration(at) * msec, Kind: KindDone, Tokens: -1}
}

func sample(prompt, output int, events ...Event) Sample {
	return Sample{Events: events, PromptTokens: prompt, OutputTokens: output, CachedTokens: -1, Finish: "length"}
}

func cached(s Sample, n int) Sample { s.CachedTokens = n; return s }

func stopped(s Sample) Sample { s.Finish = "stop"; return s }

// late is a sample that the client read so late, in ms.
func late(by float64, s Sample) Sample {
	s.Late = time.Duration(by * float64(time.Millisecond))
	return s
}

// TestDerive: what is listed, the tokens of prompt and output, and nothing else.
func TestDerive(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Sample
		want string
	}{
		// 4 tokens after the first in 200 ms: 20 tok/s; prefill 100 tokens in 0.1 s.
		{
			"one token an event, counted once",
			sample(
				100, 5, text(100, -1), text(150, -1), text(200, -1), text(250, -1), text(300, -1),
				other(900, -1), usage(901, 5), done(902),
			),
			"e2e=[300] itl=[50 50 50 50] pp=[1000] tg=[20] tpot=[50] ttfr=[100] ttft=[100] ttft_answer=[100]",
		},
		{
			"role chunk first, reasoning counts as text",
			sample(10, 3, other(20, -1), reasoning(50, -1), reasoning(60, -1), text(80, -1), usage(81, 3), done(81)),
			"e2e=[80] itl=[10 20] pp=[200] tg=[66.6666667] tpot=[15] ttfr=[20] ttft=[50] ttft_answer=[80]",
		},
		// Speculative decoding: 2, then +3, then +1 tokens. After the first
		// event 4 tokens in 80 ms; the event of 3 gives three gaps of 20.
		{
			"many tokens an event, counted each time",
			sample(50, 6, other(10, 0), text(100, 2), text(160, 5), text(180, 6), usage(181, 6), done(182)),
			"e2e=[180] itl=[20 20 20 20] pp=[500] tg=[50] tpot=[20] ttfr=[10] ttft=[100] ttft_answer=[100]",
		},
		// A count that rises without text still means a token: 3 tokens after the first in 60 ms.
		{
			"silent tokens, counted each time",
			sample(-1, 4, text(40, 1), other(60, 2), text(80, 3), other(100, 4), usage(500, 4), done(500)),
			"e2e=[100] itl=[20 20 20] tg=[50] tpot=[20] ttfr=[40] ttft=[40] ttft_answer=[40]",
		},
		// 10 tokens but 3 text events: how many each holds is unknown, so no itl, and the
		// first has a third of them; the silent ones may have run until the finish event.
		{
			"fewer text events than tokens, counted once",
			sample(10, 10, text(10, -1), text(20, -1), text(30, -1), other(100, -1), usage(200, 10), done(200)),
			"e2e=[100] pp=[1000] tg=[77.7777778] tpot=[12.8571429] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
		{
			"the end-of-text token comes with the finish event",
			stopped(sample(10, 3, text(10, -1), text(20, -1), other(30, -1), usage(31, 3), done(31))),
			"e2e=[30] itl=[10 10] pp=[1000] tg=[100] tpot=[10] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
		{
			"a text event in which the count did not rise",
			sample(10, 3, text(10, 1), text(20, 1), text(50, 3), done(51)),
			"e2e=[50] itl=[10 30] pp=[1000] tg=[50] tpot=[20] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
		{
			"zeros beside text are no counts",
			sample(10, 2, text(10, 0), text(20, 0), usage(20, 2), done(20)),
			"e2e=[20] itl=[10] pp=[1000] tg=[100] tpot=[10] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
		{
			"cached prompt tokens are not prefilled",
			cached(sample(100, 1, text(100, 1), done(101)), 60),
			"cached_tokens=[60] e2e=[100] pp=[400] ttfr=[100] ttft=[100] ttft_answer=[100]",
		},
		{
			"everything cached leaves no prefill speed",
			cached(sample(100, 1, text(100, 1), done(101)), 100),
			"cached_tokens=[100] e2e=[100] ttfr=[100] ttft=[100] ttft_answer=[100]",
		},
		{
			"two text events at one instant have no speed",
			sample(10, 2, text(10, 1), text(10, 2), done(10)),
			"e2e=[10] itl=[0] pp=[1000] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
		{
			"a burst that the client read late has no speed",
			late(9, sample(10, 3, text(10, 1), text(12, 2), text(14, 3), done(15))),
			"e2e=[14] pp=[1000] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
		{
			"one of longer than the client was late has",
			late(9, sample(10, 3, text(10, 1), text(20, 2), text(30, 3), done(31))),
			"e2e=[30] itl=[10 10] pp=[1000] tg=[100] tpot=[10] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
		// aiperf#1279: 12 of 16 tokens in the first event, the others 4 ms apart.
		{
			"a first event of many tokens, counted once",
			sample(10, 16, wide(54, 12), text(58, -1), text(62, -1), text(66, -1), text(70, -1),
				usage(70, 16), done(70)),
			"e2e=[70] pp=[185.185185] tg=[250] tpot=[4] ttfr=[54] ttft=[54] ttft_answer=[54]",
		},
		{"no text at all", sample(10, 0, other(5, -1), usage(6, 0), done(7)), "ttfr=[5]"},
		{
			"nobody counted",
			sample(-1, -1, text(10, -1), text(20, -1), done(20)),
			"e2e=[20] ttfr=[10] ttft=[10] ttft_answer=[10]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Derive(tt.s)
			must.Do(t, err)
			for name, n := range map[string]int{
				"prompt_tokens": tt.s.PromptTokens,
				"output_tokens": tt.s.OutputTokens,
			} {
				if v, has := got[name]; has != (n >= 0) || has && v[0] != float64(n) {
					t.Errorf("%s is %v, want %d", name, v, n)
				}
				delete(got, name)
			}
			var listed []string
			for _, name := range slices.Sorted(maps.Keys(got)) {
				if m, ok := Lookup(name); !ok || m.Scope != PerRequest {
					t.Errorf("%s is not in the catalogue as a metric of requests", name)
				}
				listed = append(listed, fmt.Sprintf("%s=%.9g", name, got[name]))
			}
			if list := strings.Join(listed, " "); list != tt.want {
				t.Errorf("got  %s\nwant %s", list, tt.want)
			}
		})
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

func TestDeriveRefuses(t *testing.T) {
	failed := sample(1, 1, text(1, 1))
	failed.Err = "connection reset"
	for name, s := range map[string]Sample{
		"failed":         failed,
		"no events":      sample(1, 1),
		"negative time":  sample(1, 1, text(-1, 1)),
		"time runs back": sample(1, 2, text(20, 1), text(10, 2)),
		"count falls":    sample(1, 2, text(10, 2), text(20, 1)),
		"count absurd":   sample(1, 2, text(10, 1), text(20, math.MaxInt)),
	} {
		if v, err := Derive(s); err == nil || v != nil {
			t.Errorf("%s: got %v, %v; want an error and nothing else", name, v, err)
		}
	}
}

// Whatever the events, derived values are finite, and if every token is counted the gaps
// between tokens add up to the time they took.
func TestDeriveProperties(t *testing.T) {
	property := func(seed uint64, counted bool) bool {
		r := rand.New(rand.NewPCG(seed, 7))
		var events []Event
		at, tokens := 0, 0
		for range r.IntN(30) + 1 {
			at += r.IntN(20)
			e := Event{At: time.Duration(at) * msec, Kind: Kind(r.IntN(6)), Tokens: -1}
			if e.HasText() {
				tokens += 1 + r.IntN(3)
			}
			if counted {
				e.Tokens = tokens
			}
			events = append(events, e)
		}
		v, err := Derive(sample(r.IntN(3)-1, tokens, events...))
		if err != nil {
			return false
		}
		for name, vs := range v {
			if len(vs) == 0 || slices.ContainsFunc(vs, notFinite) || (name != "itl" && len(vs) != 1) {
				return false
			}
		}
		gaps, sum := v["itl"], 0.0
		for _, gap := range gaps {
			sum += gap
		}
		return len(gaps) == 0 || math.Abs(sum-(v["e2e"][0]-v["ttft"][0])) < 1e-6
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}
