package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestReportInPlanOrder: gates stand in the plan's order, whichever was decided last,
// and what is locked at its place.
func TestReportInPlanOrder(t *testing.T) {
	s := newStory(t)
	s.nodes = []string{"baseline", "phase.first", "phase.mid", "phase.last"}
	s.begin("r1")
	s.add(baselineOf(set()))
	for _, phase := range []string{"last", "first"} {
		s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{Node: "phase." + phase, Kind: ledger.KindPhase, Phase: phase, Attempt: 1, Verdict: verdict.Pass}})
	}
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{
		Verdict: verdict.Pass, Reason: verdict.New(code.Finished), Locked: map[string]verdict.Reason{"phase.mid": verdict.New(code.Outcome).On("phase.none").Is(verdict.Fail)},
	}})
	page := markdown(t, s)
	at := -1
	for _, row := range []string{"| first | **pass** |", "| mid | locked | phase.none failed |", "| last | **pass** |"} {
		next := strings.Index(page, row)
		if next <= at {
			t.Fatalf("%s is not at its place:\n%s", row, page)
		}
		at = next
	}
}

// TestReportSaysOnce: why nothing could be decided is said in full once.
func TestReportSaysOnce(t *testing.T) {
	late := verdict.Say("broken", "{error}",
		verdict.Text("error", "launch 1 (baseline): the client woke up to 162 ms late, and 100ms is allowed"))
	cause := verdict.New(code.Level).On("benchmark").Is(verdict.Invalid).From(late)
	missing := func(path string) verdict.Reason { return verdict.New(code.Missing).On(path).From(cause) }
	s := newStory(t)
	s.nodes = []string{"baseline", "feature.cache", "phase.p"}
	s.begin("r1")
	s.add(baselineOf(set()))
	s.feature("cache", false, set("cache=on"), "baseline", nil, nil, 0, 0, func(d *ledger.Decision) {
		d.Verdict = verdict.Invalid
		d.Levels = []ledger.Level{{Name: "accepted/smoke", Verdict: verdict.Pass}, {Name: "smoke", Verdict: verdict.Pass}, {Name: "benchmark", Verdict: verdict.Invalid}}
		d.Rules = []ledger.Rule{
			{Name: "decode", Verdict: verdict.Invalid, Reasons: []verdict.Reason{missing("chat.tg.gain")}},
			{Name: "prefill", Verdict: verdict.Invalid, Reasons: []verdict.Reason{missing("chat.pp.gain")}},
		}
	})
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: verdict.Invalid, Reasons: []verdict.Reason{verdict.New(code.Rule).On("twice").Is(verdict.Invalid).From(missing("chat.tg.gain"))}}})
	s.end("r1")
	page := markdown(t, s)
	if n := strings.Count(page, "162 ms late"); n != 1 {
		t.Errorf("the cause is said %d times:\n%s", n, page)
	}
	for _, want := range []string{"| decode | – | `` | not tested: level benchmark is invalid, see above | invalid (recorded only) |", "| prefill | – | `` | not tested, as above |", "Levels: accepted/smoke, smoke passed; benchmark invalid."} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

// TestGarbageIsQuotedOnce: of many answers that are no text one is shown, and the others counted.
func TestGarbageIsQuotedOnce(t *testing.T) {
	var quotes []verdict.Reason
	for i := range 5 {
		quotes = append(quotes, verdict.New(code.AnswerGarbage, verdict.Int("request", i), verdict.Text("excerpt", "GARBAGE")))
	}
	why := verdict.New(code.Level).On("benchmark").Is(verdict.Invalid).From(verdict.New(code.AnswersWorse).On("wip").From(quotes...))
	text := strings.Join(Told(&verdict.Page{}, &ledger.Decision{}, []verdict.Reason{why}), "\n")
	if strings.Count(text, "GARBAGE") != 1 || !strings.Contains(text, "(and 4 more)") {
		t.Error(text)
	}
}

func markdown(t *testing.T, s *story) string {
	t.Helper()
	var page bytes.Buffer
	must.Do(t, Markdown(&page, s.st, nil))
	return page.String()
}

// TestReportHeadline: the page begins with what came of it, and divides nothing that was not
// measured in one session.
func TestReportHeadline(t *testing.T) {
	s := stacked(t)
	head := func(wants ...string) {
		t.Helper()
		head, _, _ := strings.Cut(markdown(t, s), "\n## ")
		for _, want := range wants {
			if !strings.Contains(head, want) {
				t.Errorf("no %q in\n%s", want, head)
			}
		}
	}
	head("**2 of 3 ports accepted; head is inconclusive.**", "were not measured together: no session launched both. This does:",
		" plan.hcl # after a criterion of moe on chat.tg.root.gain\n")
	// A third port, whose rules read the baseline too, is rejected.
	root := s.launches("s-9", "baseline", set(), 20, 20.4, 19.8, 20.1)
	both := s.launches("s-9", "accepted", set("cache=on", "moe=routed"), 61, 61.6, 60.7, 61.1, 80, 80)
	own := s.launches("s-9", "wide", set("cache=on", "moe=routed", "head=wide"), 61, 61.6, 60.7, 61.1)
	s.nodes = append(s.nodes, "feature.wide")
	s.begin("r2")
	s.feature("wide", false, set("cache=on", "moe=routed", "head=wide"), "accepted", both[:4], own, 0, -0.02, func(d *ledger.Decision) {
		d.Session, d.Evidence[0].Root = "s-9", ledger.Arm{Name: "baseline", Launches: root}
	})
	s.stand("s-9", "accepted", both) // another one, that wanted more rounds
	head("**Decode +204% against the baseline (at least +198%): 2 of 4 ports accepted;")
}

// TestPortFromTheBaseline: the steps from the baseline are multiplied, and marked, where no
// session measured both; whose parent is the baseline needs no second number.
func TestPortFromTheBaseline(t *testing.T) {
	s := newStory(t)
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	cache := s.launches("s-1", "cache", set("cache=on"), 40, 40.8, 39.6, 40.2)
	s.feature("cache", true, set("cache=on"), "baseline", base, cache, 1, 0.9)
	parent := s.launches("s-2", "accepted", set("cache=on"), 50, 51, 49, 50)
	s.feature("moe", true, set("cache=on", "moe=routed"), "accepted", parent, s.launches("s-2", "moe", set("cache=on", "moe=routed"), 75, 76.5, 73.5, 75), 0.5, 0.4)
	for variant, want := range map[string]string{"cache": "", "moe": "≈ +200%"} {
		m, has := PortsOf(s.st).Of(variant).Row(Column{Cell: "chat", Metric: "tg", Stat: "median"})
		if !has || m.Root != want {
			t.Errorf("%s: %q, want %q", variant, m.Root, want)
		}
	}
}

func TestInert(t *testing.T) {
	for text, want := range map[string]string{
		"ttft < 5 ms, <0.1":         "ttft < 5 ms, <0.1",
		"<script>alert(1)</script>": "&lt;script>alert(1)&lt;/script>",
		"<!-- hides the rest":       "&lt;!-- hides the rest",
		"![x](http://a/b)":          `![x]\(http://a/b)`,
		"`a<b`":                     "`a<b`",
		"`a` <b> `c`":               "`a` &lt;b> `c`",
		"``<b>``":                   "``&lt;b>``",
		"red \x1b[31m\u202e":        "red \uFFFD[31m\uFFFD",
		"ä\nb":                      "ä\nb",
	} {
		if got := Inert(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzInert(f *testing.F) {
	f.Add("`<a>`")
	f.Add("<<a")
	f.Fuzz(func(t *testing.T, text string) {
		got := Inert(text)
		code := len(got) > 1 && strings.Count(got, "`") == 2 && got[0] == '`' && got[len(got)-1] == '`'
		if !code && tagBegins.MatchString(got) || strings.ContainsAny(got, "\x1b\x07\x00\r") {
			t.Errorf("%q: %q", text, got)
		}
		if again := Inert(got); again != got && !strings.Contains(got, "](") && !strings.Contains(text, "](") {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
