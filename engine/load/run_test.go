package load

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

func TestClosedLoop(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Plan)
		takes  map[string]time.Duration // 1 s where not said
		want   string
	}{
		{"one at a time", func(p *Plan) {}, nil, "w0@0s w1@1s m0@2s m1@3s m2@4s"},
		{"two", func(p *Plan) { p.Pace.Concurrency = 2 }, nil, "w0@0s w1@1s m0@2s m1@2s m2@3s"},
		{"two on a warm engine", func(p *Plan) { p.Pace.Concurrency, p.Fresh = 2, false }, nil, "w0@0s w1@0s m0@1s m1@1s m2@2s"},
		{
			"a slow one keeps its place", func(p *Plan) { p.Pace.Concurrency, p.Warmup = 2, 0; p.Fresh = false },
			map[string]time.Duration{"m0": 5 * second},
			"m0@0s m1@0s m2@1s",
		},
		{"more places than requests", func(p *Plan) { p.Pace.Concurrency, p.Fresh = 100, false }, nil, "w0@0s w1@0s m0@1s m1@1s m2@1s"},
		{"fresh without warm-up", func(p *Plan) { p.Pace.Concurrency, p.Warmup = 3, 0 }, nil, "m0@0s m1@1s m2@1s"},
		{"for 1.5 s", func(p *Plan) { p.Pace.Duration = 1500 * time.Millisecond }, nil, "w0@0s w1@1s m0@2s m1@3s"},
		{"for a time that ends as an answer does", func(p *Plan) { p.Pace.Duration = second }, nil, "w0@0s w1@1s m0@2s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func() Plan {
				p := plan()
				tt.change(&p)
				return p
			}, func() *clockwork {
				e := newClockwork(0)
				e.takes = func(r openai.Request) (time.Duration, error) {
					if d, ok := tt.takes[r.Prompt]; ok {
						return d, nil
					}
					return second, nil
				}
				return e
			}, func(t *testing.T, e *clockwork, r Result, err error) {
				slices.SortStableFunc(e.sent, func(a, b sending) int {
					if a.at != b.at {
						return int(a.at - b.at)
					}
					return strings.Compare(a.r.Prompt, b.r.Prompt)
				})
				if got := e.order(); err != nil || got != tt.want {
					t.Errorf("%s, %v\nwant %s", got, err, tt.want)
				}
				for _, s := range r.Samples {
					if s.OpenLoop || s.Scheduled != s.Due || s.Start != s.Due || s.Err != "" {
						t.Errorf("%+v", s)
					}
				}
			})
		})
	}
}

// What a request is, and what its sample says of it.
func TestSamplesSayWhatWasSent(t *testing.T) {
	var progress []int
	inBubble(t, func() Plan {
		p := plan()
		p.TopP, p.MinP, p.TopK, p.RepetitionPenalty, p.Temperature = 0.9, 0.1, 40, 1.1, 0.7
		p.Prompts.Measured[1].Output = 3
		p.Progress = func(at Progress) {
			if at.Total != 5 || at.Cell != "chat" || at.Sample.Workload != "chat" {
				t.Errorf("progress %+v", at)
			}
			progress = append(progress, at.Done)
		}
		return p
	}, func() *clockwork { return newClockwork(second) }, func(t *testing.T, e *clockwork, r Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range e.sent {
			limits := openai.Timeouts{Total: 10 * time.Minute, First: 10 * time.Minute, Stall: 10 * time.Minute}
			if i > 0 {
				limits = openai.Timeouts{Total: time.Minute, Stall: time.Second}
			}
			tokens := 8
			if i == 3 {
				tokens = 3
			}
			q := s.r
			if q.Timeouts != limits || q.MaxTokens != tokens || !q.IgnoreEOS || !q.ContinuousUsage ||
				q.TopP != 0.9 || q.MinP != 0.1 || q.TopK != 40 || q.RepetitionPenalty != 1.1 || q.Temperature != 0.7 {
				t.Errorf("request %d: %+v", i, q)
			}
			got := r.Samples[i]
			at := time.Duration(i) * second
			if got.Warmup != (i < 2) || got.RequestedOutput != tokens || got.RequestedPrompt != 10 || got.Start != at || got.Due != at {
				t.Errorf("sample %d: %+v", i, got)
			}
			if got.Sent != got.Sent.Round(0) {
				t.Error("a monotonic reading is left in Sent")
			}
		}
		if r.From != 2*second || r.To != 5*second {
			t.Errorf("measured from %v to %v", r.From, r.To)
		}
		if !slices.Equal(progress, []int{1, 2, 3, 4, 5}) {
			t.Errorf("progress %v", progress)
		}
	})
}

type streamFunc func(ctx context.Context, r openai.Request) (measure.Sample, error)

func (f streamFunc) Stream(ctx context.Context, r openai.Request) (measure.Sample, error) {
	return f(ctx, r)
}

func TestRunRefuses(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"no cell":            func(p *Plan) { p.Cell = "" },
		"no requests":        func(p *Plan) { p.Requests = 0 },
		"negative warm-up":   func(p *Plan) { p.Warmup = -1 },
		"no output":          func(p *Plan) { p.OutputTokens = 0 },
		"negative output":    func(p *Plan) { p.Prompts.Measured[0].Output = -1 },
		"negative retries":   func(p *Plan) { p.Retries = -1 },
		"too few prompts":    func(p *Plan) { p.Requests = 4 },
		"too few to warm up": func(p *Plan) { p.Warmup = 3 },
		"a pace":             func(p *Plan) { p.Pace.Concurrency = -1 },
		"a rate":             func(p *Plan) { p.Pace = Pace{Arrival: Poisson} },
		"ids in a chat":      func(p *Plan) { p.API = openai.Chat; p.Prompts.Measured[2].IDs = []int{1} },
		"ids that go on":     func(p *Plan) { p.Prompts.Measured[2] = prompt.Prompt{IDs: []int{1}, Next: &prompt.Prompt{Text: "x"}} },
		"ids and text":       func(p *Plan) { p.Prompts.Measured[2] = prompt.Prompt{IDs: []int{1}, System: "x"} },
		"a trace backwards": func(p *Plan) {
			p.Pace.Arrival, p.Prompts.Measured[0].At = Trace, second
		},
		"a trace after its end": func(p *Plan) {
			p.Pace.Arrival, p.Pace.Duration = Trace, second
			for i := range p.Prompts.Measured {
				p.Prompts.Measured[i].At = 2 * second
			}
		},
	} {
		p := plan()
		change(&p)
		sent := 0
		if _, err := Run(t.Context(), streamFunc(func(context.Context, openai.Request) (measure.Sample, error) {
			sent++
			return measure.Sample{}, nil
		}), p); err == nil || sent > 0 {
			t.Errorf("%s: sent %d, error %v", name, sent, err)
		}
	}
}
