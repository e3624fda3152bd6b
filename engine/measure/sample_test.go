package measure

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"
)

const msec = time.Millisecond

// text, other, usage and done are events in milliseconds with the server's count, -1 if
// it reports none.
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

func TestDerive(t *testing.T) {
	tests := []struct {
		name string
		s    Sample
		want Values
	}{
		{
			// 4 tokens after the first in 200 ms: 20 tok/s; prefill 100 tokens in 0.1 s.
			name: "one token an event, counted once",
			s:    sample(100, 5, text(100, -1), text(150, -1), text(200, -1), text(250, -1), text(300, -1), other(900, -1), usage(901, 5), done(902)),
			want: Values{
				"ttfr": {100}, "ttft": {100}, "ttft_answer": {100}, "e2e": {300}, "tg": {20}, "tpot": {50}, "itl": {50, 50, 50, 50},
				"pp": {1000}, "prompt_tokens": {100}, "output_tokens": {5},
			},
		},
		{
			name: "role chunk first, reasoning counts as text",
			s:    sample(10, 3, other(20, -1), reasoning(50, -1), reasoning(60, -1), text(80, -1), usage(81, 3), done(81)),
			want: Values{
				"ttfr": {20}, "ttft": {50}, "ttft_answer": {80}, "e2e": {80}, "tg": {2 / 0.03}, "tpot": {15}, "itl": {10, 20},
				"pp": {200}, "prompt_tokens": {10}, "output_tokens": {3},
			},
		},
		{
			// Speculative decoding: 2, then +3, then +1 tokens. After the first
			// event 4 tokens in 80 ms; the event of 3 gives three gaps of 20.
			name: "many tokens an event, counted each time",
			s:    sample(50, 6, other(10, 0), text(100, 2), text(160, 5), text(180, 6), usage(181, 6), done(182)),
			want: Values{
				"ttfr": {10}, "ttft": {100}, "ttft_answer": {100}, "e2e": {180}, "tg": {50}, "tpot": {20}, "itl": {20, 20, 20, 20},
				"pp": {500}, "prompt_tokens": {50}, "output_tokens": {6},
			},
		},
		{
			// A count that rises without text still means a token: 3 tokens after the
			// first in 60 ms.
			name: "silent tokens, counted each time",
			s:    sample(-1, 4, text(40, 1), other(60, 2), text(80, 3), other(100, 4), usage(500, 4), done(500)),
			want: Values{
				"ttfr": {40}, "ttft": {40}, "ttft_answer": {40}, "e2e": {100}, "tg": {50}, "tpot": {20}, "itl": {20, 20, 20},
				"output_tokens": {4},
			},
		},
		{
			// 10 tokens but 3 text events: how many each holds is unknown, so no itl, and the
			// first has a third of them; the silent ones may have run until the finish event.
			name: "fewer text events than tokens, counted once",
			s:    sample(10, 10, text(10, -1), text(20, -1), text(30, -1), other(100, -1), usage(200, 10), done(200)),
			want: Values{
				"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {100}, "tg": {7 / 0.09}, "tpot": {90.0 / 7},
				"pp": {1000}, "prompt_tokens": {10}, "output_tokens": {10},
			},
		},
		{
			name: "the end-of-text token comes with the finish event",
			s:    stopped(sample(10, 3, text(10, -1), text(20, -1), other(30, -1), usage(31, 3), done(31))),
			want: Values{
				"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {30}, "tg": {100}, "tpot": {10}, "itl": {10, 10},
				"pp": {1000}, "prompt_tokens": {10}, "output_tokens": {3},
			},
		},
		{
			name: "a text event in which the count did not rise",
			s:    sample(10, 3, text(10, 1), text(20, 1), text(50, 3), done(51)),
			want: Values{
				"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {50}, "tg": {50}, "tpot": {20}, "itl": {10, 30},
				"pp": {1000}, "prompt_tokens": {10}, "output_tokens": {3},
			},
		},
		{
			name: "zeros beside text are no counts",
			s:    sample(10, 2, text(10, 0), text(20, 0), usage(20, 2), done(20)),
			want: Values{
				"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {20}, "tg": {100}, "tpot": {10}, "itl": {10},
				"pp": {1000}, "prompt_tokens": {10}, "output_tokens": {2},
			},
		},
		{
			name: "cached prompt tokens are not prefilled",
			s:    cached(sample(100, 1, text(100, 1), done(101)), 60),
			want: Values{
				"ttfr": {100}, "ttft": {100}, "ttft_answer": {100}, "e2e": {100}, "pp": {400},
				"prompt_tokens": {100}, "output_tokens": {1}, "cached_tokens": {60},
			},
		},
		{
			name: "everything cached leaves no prefill speed",
			s:    cached(sample(100, 1, text(100, 1), done(101)), 100),
			want: Values{
				"ttfr": {100}, "ttft": {100}, "ttft_answer": {100}, "e2e": {100},
				"prompt_tokens": {100}, "output_tokens": {1}, "cached_tokens": {100},
			},
		},
		{
			name: "two text events at one instant have no speed",
			s:    sample(10, 2, text(10, 1), text(10, 2), done(10)),
			want: Values{
				"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {10}, "itl": {0},
				"pp": {1000}, "prompt_tokens": {10}, "output_tokens": {2},
			},
		},
		{
			name: "a burst that the client read late has no speed",
			s:    late(9, sample(10, 3, text(10, 1), text(12, 2), text(14, 3), done(15))),
			want: Values{
				"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {14},
				"pp": {1000}, "prompt_tokens": {10}, "output_tokens": {3},
			},
		},
		{
			name: "one of longer than the client was late has",
			s:    late(9, sample(10, 3, text(10, 1), text(20, 2), text(30, 3), done(31))),
			want: Values{
				"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {30}, "tg": {100}, "tpot": {10}, "itl": {10, 10},
				"pp": {1000}, "prompt_tokens": {10}, "output_tokens": {3},
			},
		},
		{
			// aiperf#1279: 12 of 16 tokens in the first event, the others 4 ms apart.
			name: "a first event of many tokens, counted once",
			s:    sample(10, 16, wide(54, 12), text(58, -1), text(62, -1), text(66, -1), text(70, -1), usage(70, 16), done(70)),
			want: Values{
				"ttfr": {54}, "ttft": {54}, "ttft_answer": {54}, "e2e": {70}, "tg": {250}, "tpot": {4},
				"pp": {10 / 0.054}, "prompt_tokens": {10}, "output_tokens": {16},
			},
		},
		{
			name: "no text at all",
			s:    sample(10, 0, other(5, -1), usage(6, 0), done(7)),
			want: Values{"ttfr": {5}, "prompt_tokens": {10}, "output_tokens": {0}},
		},
		{
			name: "nobody counted",
			s:    sample(-1, -1, text(10, -1), text(20, -1), done(20)),
			want: Values{"ttfr": {10}, "ttft": {10}, "ttft_answer": {10}, "e2e": {20}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Derive(tt.s)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(got)) {
				if _, ok := tt.want[name]; !ok {
					t.Errorf("%s = %v, want it absent", name, got[name])
				}
				if m, ok := Lookup(name); !ok || m.Scope != PerRequest {
					t.Errorf("%s is not in the catalogue as a metric of requests", name)
				}
			}
			for name, want := range tt.want {
				if !slices.EqualFunc(got[name], want, near) {
					t.Errorf("%s = %v, want %v", name, got[name], want)
				}
			}
		})
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

func TestDeriveRefuses(t *testing.T) {
	failed := sample(1, 1, text(1, 1))
	failed.Err = "connection reset"
	for name, s := range map[string]Sample{
		"failed":        failed,
		"no events":     sample(1, 1),
		"negative time": sample(1, 1, text(-1, 1)),
		"time runs back": sample(1, 2,
			text(20, 1), text(10, 2)),
		"count falls": sample(1, 2, text(10, 2), text(20, 1)),
		"count absurd": sample(1, 2,
			text(10, 1), text(20, math.MaxInt)),
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
