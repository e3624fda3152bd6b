package gates

import (
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// streamed is a request whose text arrived at these milliseconds.
func streamed(change func(*measure.Sample), at ...int) measure.Sample {
	s := measure.Sample{
		Workload: "chat", Due: 1, Scheduled: 1, Start: 1, PromptTokens: 64, OutputTokens: len(at), CachedTokens: -1,
	}
	for _, ms := range at {
		s.Events = append(s.Events, measure.Event{At: time.Duration(ms) * time.Millisecond, Kind: measure.KindText, Tokens: -1})
	}
	if change != nil {
		change(&s)
	}
	return s
}

// TestAbsent: what samples lack is explained by what else was derived from them.
func TestAbsent(t *testing.T) {
	same := func(change func(*measure.Sample), at ...int) []measure.Sample {
		return []measure.Sample{streamed(change, at...), streamed(change, at...)}
	}
	for name, c := range map[string]struct {
		samples       []measure.Sample
		address, want string
	}{
		"sent again":        {same(func(s *measure.Sample) { s.Retries = 1 }, 5, 9), "chat.pp", "each of its 2 requests was resent"},
		"not counted":       {same(func(s *measure.Sample) { s.PromptTokens = -1 }, 5, 9), "chat.pp", "the server does not report how many tokens prompts have"},
		"cached":            {same(func(s *measure.Sample) { s.CachedTokens = 64 }, 5, 9), "chat.pp", "every prompt was cached in full"},
		"one read":          {same(func(s *measure.Sample) { s.OutputTokens = 8 }, 5), "chat.tg", "each answer came in one piece"},
		"one read, itl":     {same(func(s *measure.Sample) { s.OutputTokens = 8 }, 5), "chat.itl", "each answer came in one piece"},
		"one token":         {same(nil, 5), "chat.tg", "no answer has more than one token"},
		"tokens unknown":    {same(func(s *measure.Sample) { s.OutputTokens = -1 }, 5, 9), "chat.tg", "it needs at least two text events and the number of output tokens"},
		"no text":           {same(func(s *measure.Sample) { s.Events[0].Kind = measure.KindOther }, 5), "chat.tg", "no answer had any text"},
		"failed":            {same(func(s *measure.Sample) { s.Err = "reset" }, 5, 9), "chat.tg", "all 2 requests failed"},
		"not sent":          {nil, "deep.tg", "nothing of deep was measured in it"},
		"two of another":    {same(nil, 5, 9), "chat.tokens_per_joule", "it needs the evidence of energy_j and tg_total"},
		"of the launch":     {nil, "engine.startup_s", "it needs a launch that became ready"},
		"of the GPUs":       {nil, "gpu.energy_j", "it needs readings of the power of every GPU in use"},
		"of a program":      {same(nil, 5, 9), "chat.latency", ""},
		"some were not":     {[]measure.Sample{streamed(func(s *measure.Sample) { s.Retries = 1; s.PromptTokens = -1 }, 5, 9), streamed(nil, 5, 9)}, "chat.tg_total", "it needs the window of the cell"},
		"several were good": {same(nil, 5, 9), "chat.accept_length", "it needs the engine's counts of accepted tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := measure.Evaluate(measure.Recording{Cells: []measure.CellRun{{Cell: "chat"}}, Samples: c.samples})
			if _, there := metrics[c.address]; there {
				t.Fatalf("%s is there", c.address)
			}
			got := Absent(metrics, c.address).String()
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestLacks(t *testing.T) {
	s, _ := measure.SummaryOf("ttft", make([]float64, 10))
	for stat, want := range map[string]string{
		"median": "", "p99": "not enough samples (10 of at least 299)", "p90": "not enough samples (10 of at least 29)",
		"cv": "not defined: the mean is not above zero", "p42": `no statistic is called "p42"`,
	} {
		if got := Lacks(s, stat).String(); got != want {
			t.Errorf("%s: %q, want %q", stat, got, want)
		}
	}
}
