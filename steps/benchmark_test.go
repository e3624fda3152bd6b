package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// Whatever was measured, it does not count where a launch was disturbed, the
// arms did not do the same work, or the candidate's answers do not read as text.
func TestValid(t *testing.T) {
	kept, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	from := 0
	answers := func(text string) string {
		var samples []measure.Sample
		for i := range 8 {
			samples = append(samples, measure.Sample{Workload: "chat", Index: from + i, Text: text + strings.Repeat(" again", i), Events: []measure.Event{{}}})
		}
		sum, err := kept.WriteSamples(samples)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	sound := answers("The ferry takes twelve cars across the river, or eleven and the priest, and none on a Sunday when it freezes.")
	broken := answers("!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!")
	from = 8
	others := answers("The ferry takes twelve cars across the river.")
	short := func(missing float64) func(*ledger.Launch) {
		return func(l *ledger.Launch) {
			l.Cells = []measure.CellRun{{Cell: "chat", ExactOutput: true}}
			l.Metrics = map[string]measure.Summary{
				"chat.shortfall":     {N: 8, Stats: map[string]float64{"mean": missing}},
				"chat.output_tokens": {N: 8, Stats: map[string]float64{"mean": 32 - missing}},
			}
		}
	}
	cells := func(byEvents bool) func(*ledger.Launch) {
		return func(l *ledger.Launch) { l.Cells = []measure.CellRun{{Cell: "chat", ByEvents: byEvents}} }
	}
	garbage := func(l *ledger.Launch) {
		l.Samples, l.Incoherent = broken, []verdict.Reason{verdict.New(code.Garbage, verdict.Int("request", 0)).On("chat")}
	}
	vs := []*variant.Variant{{Name: "baseline", Key: "p"}, {Name: "fast", Key: "c"}}
	for _, c := range []struct {
		name, mode        string
		parent, candidate func(*ledger.Launch)
		want              verdict.Verdict
		says              string
	}{
		{"healthy", "baseline", nil, nil, verdict.Pass, "1 launch per arm"},
		{"candidate emits garbage", "baseline", nil, garbage, verdict.Invalid, "worse than those of baseline"},
		{"both read alike", "baseline", garbage, garbage, verdict.Pass, "1 launch per arm"},
		{"parent emits garbage", "baseline", garbage, nil, verdict.Pass, "1 launch per arm"},
		{"one answer is garbage", "absolute", garbage, garbage, verdict.Invalid, "of baseline are not readable text"},
		{"nobody looks", "off", nil, garbage, verdict.Pass, "were not checked"},
		{"a launch was disturbed", "off", nil, func(l *ledger.Launch) { l.Invalid = verdict.Because(code.FromCache) }, verdict.Invalid, "cache"},
		{"short output is noted", "off", short(1), func(l *ledger.Launch) {
			short(1)(l)
			l.Notes = verdict.Because(code.Short)
		}, verdict.Pass, "shorter"},
		{"less work", "off", short(0), short(1), verdict.Invalid, "did not do the same work"},
		{"only the parent counts its tokens", "off", short(0), func(l *ledger.Launch) { l.Cells = []measure.CellRun{{Cell: "chat", ExactOutput: true}} }, verdict.Invalid, "chat: baseline reports the tokens it generated in every launch, fast does not"},
		{"the candidate's answers were never kept", "baseline", nil, func(l *ledger.Launch) { l.Samples = "" }, verdict.Invalid, "no answers of fast to chat are recorded"},
		{"only the parent's engine counts its tokens", "off", cells(false), cells(true), verdict.Invalid, "tokens of baseline were counted by the engine, some of fast as stream events"},
		{"only the candidate's engine counts its tokens", "off", cells(true), cells(false), verdict.Invalid, "tokens of fast were counted by the engine, some of baseline as stream events"},
		{"nobody's engine counts tokens", "off", cells(true), cells(true), verdict.Pass, "1 launch per arm"},
		{"the parent's answers were never kept", "baseline", func(l *ledger.Launch) { l.Samples = "" }, nil, verdict.Invalid, "no answers of baseline to chat are recorded"},
		{"other prompts", "baseline", nil, func(l *ledger.Launch) { l.Samples = others }, verdict.Invalid, "no prompt of chat was answered by both baseline and fast"},
		{"raw answers are gone", "baseline", nil, func(l *ledger.Launch) { l.Samples = strings.Repeat("0", 64) }, "", "the answers of launch c.1"},
	} {
		launch := func(key string, change func(*ledger.Launch)) *ledger.Launch {
			l := &ledger.Launch{ID: key + ".1", VariantKey: key, OK: true, Samples: sound}
			if change != nil {
				change(l)
			}
			return l
		}
		lab := NewLab(nil, nil)
		lab.Store = kept
		w := &plans.Workload{Name: "chat", Coherence: c.mode, PromptTokens: []int{1}, OutputTokens: []int{1}, Depth: []int{0}, Concurrency: []int{1}}
		got, reasons, err := lab.valid([]*ledger.Launch{launch("p", c.parent), launch("c", c.candidate)}, vs, []*plans.Workload{w}, 1)
		if err != nil {
			reasons = append(reasons, verdict.OfError(err))
		}
		if got != c.want || !strings.Contains(tell.Joined(reasons), c.says) {
			t.Errorf("%s: %s %q, want %s saying %q", c.name, got, tell.Lines(reasons), c.want, c.says)
		}
	}
}

// Where some launches of both arms were counted apart, so are their speeds.
func TestCountedApartWithinArms(t *testing.T) {
	launch := func(id string, events bool) *ledger.Launch {
		return &ledger.Launch{ID: id, Cells: []measure.CellRun{{Cell: "chat", ByEvents: events}}}
	}
	parent := []*ledger.Launch{launch("p.1", false), launch("p.2", true)}
	candidate := []*ledger.Launch{launch("c.1", false), launch("c.2", true), launch("c.3", true)}
	if why := countedApart(parent, candidate, "baseline", "fast"); why.Code != code.CountedMixed || !strings.Contains(tell.Line(why), "in p.2, c.2 and c.3") {
		t.Errorf("mixed in both arms: %q", tell.Line(why))
	}
	// A launch that sent nothing of it counts for neither.
	silent := &ledger.Launch{ID: "p.3"}
	if why := countedApart(append(parent[1:], silent), candidate[1:], "baseline", "fast"); !why.IsZero() {
		t.Errorf("as stream events throughout: %q", tell.Line(why))
	}
}
