package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestReportInPlanOrder: gates stand in the plan's order, whichever was decided last, and what is locked at its place.
func TestReportInPlanOrder(t *testing.T) {
	s := newStory(t)
	s.nodes = []string{"baseline", "phase.first", "phase.mid", "phase.last"}
	s.begin("r1")
	s.add(baselineOf(set()))
	for _, phase := range []string{"last", "first"} {
		s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
			Node: "phase." + phase,
			Kind: ledger.KindPhase, Phase: phase, Attempt: 1, Verdict: verdict.Pass,
		}})
	}
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{
		Verdict: verdict.Pass, Reason: verdict.New(code.Finished),
		Locked: map[string]verdict.Reason{"phase.mid": verdict.New(code.Outcome).On("phase.none").Is(verdict.Fail)},
	}})
	page := markdown(t, s)
	at := -1
	for _, row := range []string{
		"| first | **pass** |", "| mid | locked | phase.none failed |",
		"| last | **pass** |",
	} {
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
		d.Levels = []ledger.Level{
			{Name: "accepted/smoke", Verdict: verdict.Pass},
			{Name: "smoke", Verdict: verdict.Pass},
			{Name: "benchmark", Verdict: verdict.Invalid},
		}
		d.Rules = []verdict.Rule{
			{Name: "decode", Verdict: verdict.Invalid, Reasons: []verdict.Reason{missing("chat.tg.gain")}},
			{Name: "prefill", Verdict: verdict.Invalid, Reasons: []verdict.Reason{missing("chat.pp.gain")}},
		}
	})
	s.add(&ledger.Record{
		Type: "decision", Run: "r1",
		Decision: &ledger.Decision{
			Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1,
			Verdict: verdict.Invalid,
			Reasons: []verdict.Reason{
				verdict.New(code.Rule).On("twice").Is(verdict.Invalid).From(missing("chat.tg.gain")),
			},
		},
	})
	s.end("r1")
	page := markdown(t, s)
	must.Equal(t, page, strings.Count(page, "162 ms late"), 1)
	for _, want := range []string{
		"| decode | invalid (recorded only) | – | `` | not tested: level benchmark is invalid, see above |",
		"| prefill | invalid (recorded only) | – | `` | not tested, as above |",
		"Levels: accepted/smoke, smoke passed; benchmark invalid.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

// TestGarbageIsQuotedOnce: of many answers that are no text one is shown, and the others counted.
func TestGarbageIsQuotedOnce(t *testing.T) {
	var quotes []verdict.Reason
	for i := range 5 {
		quotes = append(quotes,
			verdict.New(code.AnswerGarbage, verdict.Int("request", i), verdict.Text("excerpt", "GARBAGE")))
	}
	why := verdict.New(code.Level).On("benchmark").Is(verdict.Invalid).
		From(verdict.New(code.AnswersWorse).On("wip").From(quotes...))
	text := strings.Join(ReasonLines(&verdict.Page{}, &ledger.Decision{}, []verdict.Reason{why}), "\n")
	if strings.Count(text, "GARBAGE") != 1 || !strings.Contains(text, "(and 4 more)") {
		t.Error(text)
	}
}

func markdown(t *testing.T, s *story) string {
	t.Helper()
	var page bytes.Buffer
	must.Do(t, Markdown(&page, s.summary()))
	return page.String()
}

// TestReportHeadline: the page begins with what came of it, and divides nothing that was not measured in one session.
func TestReportHeadline(t *testing.T) {
	s := stacked(t)
	head := func(wants ...string) {
		t.Helper()
		head, _, _ := strings.Cut(markdown(t, s), "\n## ")
		must.Contain(t, "text", head, wants...)
	}
	head("**2 of 3 ports accepted; head is inconclusive.**",
		"were not measured together: no session launched both. This does:",
		" plan.hcl # after a criterion of moe on chat.tg.root.gain\n")
	// A third port, whose rules read the baseline too, is rejected.
	root := s.launches("s-9", "baseline", set(), 20, 20.4, 19.8, 20.1)
	both := s.launches("s-9", "accepted", set("cache=on", "moe=routed"), 61, 61.6, 60.7, 61.1, 80, 80)
	own := s.launches("s-9", "wide", set("cache=on", "moe=routed", "head=wide"), 61, 61.6, 60.7, 61.1)
	s.nodes = append(s.nodes, "feature.wide")
	s.begin("r2")
	s.feature("wide", false, set("cache=on", "moe=routed", "head=wide"), "accepted", both[:4], own, 0, -0.02,
		func(d *ledger.Decision) {
			d.Session, d.Evidence[0].Root = "s-9", gates.ArmOf("baseline", root...)
		})
	s.stand("s-9", "accepted", both) // another one, that wanted more rounds
	head("**Decode 20.1 → 61.1 tok/s, +204% against the baseline (at least +198% at 95% confidence): 2 of 4 ports " +
		"accepted;")
}

// TestPortFromTheBaseline: the steps from the baseline are multiplied, and marked, where no
// session measured both; whose parent is the baseline needs no second number.
func TestPortFromTheBaseline(t *testing.T) {
	s := begun(t)
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	cache := s.launches("s-1", "cache", set("cache=on"), 40, 40.8, 39.6, 40.2)
	s.feature("cache", true, set("cache=on"), "baseline", base, cache, 1, 0.9)
	parent := s.launches("s-2", "accepted", set("cache=on"), 50, 51, 49, 50)
	s.feature("moe", true, set("cache=on", "moe=routed"), "accepted", parent,
		s.launches("s-2", "moe", set("cache=on", "moe=routed"), 75, 76.5, 73.5, 75), 0.5, 0.4)
	for variant, want := range map[string]string{"cache": "", "moe": "≈ +200%"} {
		m := s.summary().Port(variant).Value(Column{"chat", "tg", "median"})
		if !m.Has() || m.Root != want {
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
		"*moe_routed* in `a*b*`, *": `\*moe_routed\* in ` + "`a*b*`" + `, \*`,
		"**bold**":                  "**bold**",
		"red \x1b[31m\u202e":        "red \uFFFD[31m\uFFFD",
		"ä\nb":                      "ä\nb",
		"`a<b`\n`*c*`":              "`a<b`\n`*c*`",
		"`\n`<b>`":                  "`\n`&lt;b>`",
		`sees "*kernel a*" and "b"`: "sees `*kernel a*` and \"b\"",
		`"*<b>*", "\"*" * "a"`:      `"\*&lt;b>\*", "\"\*" \* "a"`,
	} {
		must.Equal(t, text, Inert(text), want)
	}
}

func FuzzInert(f *testing.F) {
	f.Add("`<a>`")
	f.Add("<<a")
	f.Fuzz(func(t *testing.T, text string) {
		got := Inert(text)
		code := !slices.ContainsFunc(strings.Split(got, "\n"), func(line string) bool {
			return len(line) < 2 || strings.Count(line, "`") != 2 || line[0] != '`' || line[len(line)-1] != '`'
		})
		if !code && tagBegins.MatchString(got) || strings.ContainsAny(got, "\x1b\x07\x00\r") {
			t.Errorf("%q: %q", text, got)
		}
		if again := Inert(got); again != got && !strings.Contains(got, "](") && !strings.Contains(text, "](") {
			t.Errorf("%q, then %q", got, again)
		}
	})
}

// TestAnswer: the sentence has the stack's gain where one session launched both ends, counts
// ports, blames the gate that locks others instead of its port, and names garbage.
func TestAnswer(t *testing.T) {
	s := stacked(t)
	if got, want := s.summary().Answer.String(), "2 of 3 ports accepted; head is inconclusive"; got != want {
		t.Errorf("%q, wanted %q", got, want)
	}
	s = newStory(t)
	s.nodes = []string{
		"baseline", "feature.cache", "feature.wip", "feature.draft", "phase.p",
		"feature.sinks", "phase.q",
	}
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	cache := s.launches("s-1", "cache", set("cache=on"), 440, 445, 436, 442)
	wip := s.launches("s-1", "wip", set("moe=routed"), 600, 610, 590, 604)
	s.feature("cache", true, set("cache=on"), "baseline", base, cache, 20.95, 20.01)
	s.feature("wip", false, set("moe=routed"), "baseline", base, wip, 29, 28, func(d *ledger.Decision) {
		d.Verdict, d.Launches, d.Rules = verdict.Invalid, append(base, wip...), nil
		d.Reasons = []verdict.Reason{verdict.New(code.Level).On("benchmark").Is(verdict.Invalid).
			From(verdict.New(code.AnswersGarbage).On("wip"))}
	})
	s.feature("draft", false, set("head=mxfp4"), "baseline", base, base, -0.2, -0.3, func(d *ledger.Decision) {
		d.Verdict = verdict.Fail
	})
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "phase.p", Kind: ledger.KindGate,
		Phase: "p", Attempt: 1, Verdict: verdict.Fail,
	}})
	cause := verdict.New(code.Outcome).On("phase.p").Is(verdict.Fail)
	s.add(&ledger.Record{
		Type: "end", Run: "r1",
		End: &ledger.End{
			Verdict: verdict.Fail, Reason: verdict.New(code.Finished),
			Locked: map[string]verdict.Reason{"feature.sinks": cause, "phase.q": cause},
		},
	})
	want := "Decode 20.1 → 441 tok/s, 22× the baseline (at least 21× at 95% confidence): 1 of 4 ports accepted; p " +
		"failed and locks " +
		"sinks; wip is fast but answers garbage"
	if got := s.summary().Answer.String(); got != want {
		t.Errorf("%q, wanted %q", got, want)
	}
	// A port alone in the phase that locks others is named once, with what it locks.
	s.feature("draft", true, set("head=mxfp4"), "baseline", base, base, 0.4, 0.3)
	want = strings.Replace(want, "1 of 4", "2 of 4", 1)
	want = strings.Replace(want, "p failed and locks sinks; wip is fast but answers garbage",
		"wip is fast but answers garbage and locks sinks", 1)
	if got := s.summary().Answer.String(); !strings.HasSuffix(got, want[strings.Index(want, "2 of 4"):]) {
		t.Errorf("%q, wanted the end of %q", got, want)
	}
	short := map[string]string{}
	for _, r := range s.summary().Rows {
		short[r.Node] = r.Short()
	}
	if short["feature.cache"] != "" || short["feature.wip"] != "answers garbage" ||
		short["feature.sinks"] != "locked by p" {
		t.Errorf("%q", short)
	}
}

func TestBrief(t *testing.T) {
	because := func(text string) []verdict.Reason {
		return []verdict.Reason{verdict.Say("broken", "{error}", verdict.Text("error", text))}
	}
	rule := func(name string, v verdict.Verdict, reasons ...verdict.Reason) verdict.Rule {
		return verdict.Rule{Name: name, Role: verdict.RoleCriterion, Verdict: v, Decides: true, Reasons: reasons}
	}
	level := func(name string, v verdict.Verdict, why ...verdict.Reason) ledger.Level {
		return ledger.Level{Name: name, Verdict: v, Reasons: why}
	}
	kernels := level("kernels", verdict.Fail, because("312 of 400 are wrong")...)
	unread := rule("decode", verdict.Invalid, verdict.New(code.Missing).On("chat.tg").From(kernels.Reason()))
	decode, memory := rule("decode", verdict.Pass, because("enough")...),
		rule("memory", verdict.Fail, because("2 GB")...)
	died := verdict.New(code.EngineDied)
	alternatives := []ledger.Alternative{{Name: "spec[short]"}, {Name: "spec[long]", Chosen: true}}
	not := verdict.New(code.NotConfirmed).On("vllm.prod").Is(verdict.Invalid).From(kernels.Reason())
	for want, d := range map[string]ledger.Decision{
		"decode: enough": {Kind: ledger.KindFeature, Verdict: verdict.Pass, Rules: []verdict.Rule{decode}},
		// What decided comes first, whatever the order in the plan.
		"memory: 2 GB, +1 more": {
			Kind: ledger.KindFeature, Verdict: verdict.Fail,
			Rules: []verdict.Rule{decode, memory},
		},
		"2 rules": {
			Kind: ledger.KindGate, Verdict: verdict.Pass,
			Rules: []verdict.Rule{decode, decode},
		},
		"spec[long] wins: decode: enough": {
			Kind: ledger.KindFeature, Verdict: verdict.Pass,
			Rules: []verdict.Rule{decode}, Alternatives: alternatives,
		},
		"decode: enough, confirmed on vllm.prod": {
			Kind: ledger.KindFeature, Verdict: verdict.Pass,
			Rules:         []verdict.Rule{decode},
			Confirmations: []ledger.Confirmation{{Engine: "vllm.prod", Verdict: verdict.Pass}},
		},
		not.String(): {
			Kind: ledger.KindFeature, Verdict: verdict.Invalid,
			Rules:         []verdict.Rule{decode},
			Confirmations: []ledger.Confirmation{{Engine: "vllm.prod", Verdict: verdict.Invalid, Reason: not}},
		},
		"memory: 2 GB": {
			Kind: ledger.KindFeature, Verdict: verdict.Fail,
			Rules: []verdict.Rule{memory}, Confirmations: []ledger.Confirmation{{Engine: "vllm.prod"}},
		},
		// The feature has the cause, and its gate the level.
		"level kernels failed: 312 of 400 are wrong": {
			Kind: ledger.KindFeature, Verdict: verdict.Invalid,
			Levels: []ledger.Level{level("smoke", verdict.Pass), kernels}, Rules: []verdict.Rule{unread},
		},
		"decode: level kernels failed": {
			Kind: ledger.KindGate, Verdict: verdict.Invalid,
			Rules: []verdict.Rule{unread},
		},
		"smoke, kernels": {
			Kind: ledger.KindQualify, Verdict: verdict.Pass,
			Levels: []ledger.Level{level("smoke", verdict.Pass), level("kernels", verdict.Pass)},
		},
		died.String(): {
			Kind: ledger.KindFeature, Verdict: verdict.Error,
			Reasons: []verdict.Reason{verdict.New(code.Level).On("smoke").From(died)},
		},
		"nothing came": {
			Kind: ledger.KindStep, Verdict: verdict.Fail,
			Reasons: because("nothing came"),
		},
		"": {
			Kind: ledger.KindPhase, Verdict: verdict.Pass,
			Reasons: because("step exec make: pass"),
		},
	} {
		if got := Brief(&d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWorkOn(t *testing.T) {
	dir := t.TempDir()
	st := must.Get(store.Open(dir))(t)
	defer st.Close()
	want := func(state string, held bool) Work {
		t.Helper()
		w := WorkOn(st)
		if w.State != state || w.Held != held {
			t.Fatalf("%+v, want %s, held %v", w, state, held)
		}
		return w
	}
	// Every run begins in an hour: the clock is set back behind each.
	record := func(r *ledger.Record) {
		t.Helper()
		r.Time = time.Now().UTC().Add(time.Hour)
		must.Do(t, st.Append(r))
	}
	begin := func(run string) {
		t.Helper()
		record(&ledger.Record{
			Type: "run", Run: run,
			RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "mxflow test"},
		})
	}
	sign := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, "lock"), []byte(text), 0o644))
	}
	want(None, false)
	l := must.Get(store.Lock(dir))(t)
	must.Do(t, l.Begin("r-1"))
	want(None, false)
	begin("r-1")
	if w := want(UnderWay, true); w.Run != "r-1" || w.Holder == nil || w.Holder.PID == 0 || w.Holder.Started.IsZero() {
		t.Errorf("%+v", w)
	}
	must.Do(t, l.Unlock())
	want(Killed, false)
	// Who comes later is not who began that run.
	l = must.Get(store.Lock(dir))(t)
	want(Killed, true)
	must.Do(t, l.Begin("r-2"))
	want(Killed, true)
	// Who has not said it may be at work on any.
	for _, text := range []string{"", `{"pid":`} {
		sign(text)
		want(Unknown, true)
	}
	begin("r-2")
	must.Do(t, l.Begin("r-2"))
	want(UnderWay, true)
	record(&ledger.Record{
		Type: "end", Run: "r-2",
		End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)},
	})
	want(Ended, true)
	must.Do(t, l.Unlock())
	want(Ended, false)
}

var failed = verdict.New(code.Outcome).On("baseline").Is(verdict.Fail)

// TestLocked: what is locked stands in the plan's order, each under its phase, the features too, which do not name it.
func TestLocked(t *testing.T) {
	s := newStory(t)
	s.nodes = []string{
		"baseline", "phase.z.step.exec.build", "feature.kv.qualify", "feature.kv", "feature.b",
		"phase.z", "feature.a", "phase.y",
	}
	s.begin("r1")
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{
		Verdict: verdict.Fail, Reason: verdict.New(code.Finished),
		Locked: map[string]verdict.Reason{
			"feature.a": failed, "feature.b": failed, "feature.kv": failed, "phase.y": failed, "phase.z": failed,
			"phase.z.step.exec.build": failed,
		},
	}})
	var got []string
	for _, r := range s.summary().Rows {
		if !r.Locked.IsZero() {
			got = append(got, r.Phase+":"+r.Node)
		}
	}
	want := []string{
		"z:phase.z.step.exec.build", "z:feature.kv", "z:feature.b", "z:phase.z",
		"y:feature.a", "y:phase.y",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRows: rows stand in the plan's order whatever was decided last, a node that was decided since it was locked is
// locked no more, and what the plan has no more stands behind all others and says so.
func TestRows(t *testing.T) {
	s := newStory(t)
	decide := func(node string, attempt int) {
		s.add(&ledger.Record{
			Type: "decision", Run: "r1",
			Decision: &ledger.Decision{Node: node, Kind: ledger.KindGate, Attempt: attempt, Verdict: verdict.Pass},
		})
	}
	rows := func(want ...string) {
		t.Helper()
		var got []string
		for _, r := range s.summary().Rows {
			text := r.Node + " open"
			switch {
			case r.Gone:
				text = r.Node + " gone"
			case !r.Locked.IsZero():
				text = r.Node + " locked"
			case r.Decided != nil:
				text = r.Node
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	start := func(run string, nodes ...string) {
		s.add(&ledger.Record{
			Type: "run", Run: run,
			RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "test", Nodes: nodes},
		})
	}
	start("r1", "phase.a", "phase.b", "phase.c", "phase.d", "phase.e", "phase.old")
	decide("phase.b", 1)
	decide("phase.old", 1)
	decide("phase.a", 1)
	rows("phase.a", "phase.b", "phase.c open", "phase.d open", "phase.e open", "phase.old")
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{
		Verdict: verdict.Fail, Reason: verdict.New(code.Finished),
		Locked: map[string]verdict.Reason{
			"phase.c": failed, "phase.d": failed,
			"phase.e": verdict.New(code.NotTargeted),
		},
	}})
	rows("phase.a", "phase.b", "phase.c locked", "phase.d locked", "phase.e locked", "phase.old")
	start("r2", "phase.a", "phase.b", "phase.c", "phase.d", "phase.e", "phase.old")
	decide("phase.c", 1)
	// What --target left out of r1 is open in r2, which goes on.
	rows("phase.a", "phase.b", "phase.c", "phase.d locked", "phase.e open", "phase.old")
	start("r3", "phase.c", "phase.b", "phase.new", "phase.d", "phase.a")
	decide("phase.c", 2)
	rows("phase.c", "phase.b", "phase.new open", "phase.d locked", "phase.a", "phase.old gone")
	for _, d := range s.summary().InForce() {
		if d.Node == "phase.old" {
			t.Error("phase.old stands")
		}
	}
}

// TestOverruled: a waiver stands beside what was decided, never in its place, and one that
// does not hold any more is shown as such.
func TestOverruled(t *testing.T) {
	now, s := time.Now().UTC(), newStory(t)
	s.at = now.Add(-time.Hour)
	waive := func(node string, until time.Time) {
		s.add(&ledger.Record{Type: "waiver", Run: "r1", Waiver: &ledger.Waiver{
			Node: node, Attempt: 1,
			Verdict: verdict.Fail, Reason: "known", By: "kim", Expires: until,
		}})
	}
	s.begin("r1")
	for _, node := range []string{"phase.holds", "phase.ended", "phase.plain"} {
		s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
			Node: node, Kind: "gate", Phase: strings.TrimPrefix(node, "phase."), MeasureKey: "m", DecisionKey: "d",
			Attempt: 1, Verdict: verdict.Fail,
			Reasons: []verdict.Reason{verdict.Say("broken", "{error}", verdict.Text("error", "decode: slower"))},
		}})
	}
	waive("phase.holds", now.Add(time.Hour))
	waive("phase.ended", now.Add(-time.Minute))

	var states []string
	for _, r := range s.summary().Rows {
		if r.Overruled.State != "" {
			states = append(states, r.Node+" "+r.Word()+" "+r.Overruled.State)
		}
	}
	want := "phase.holds fail, waived waived|phase.ended fail waiver expired"
	must.Equal(t, "overruled", strings.Join(states, "|"), want)
	page := markdown(t, s)
	must.Contain(t, "the page has no", page,
		"| holds | **fail, waived** | waived by kim until ", "known<br>decode: slower |",
		"| ended | **fail** | waiver by kim expired ",
		"| plain | **fail** | decode: slower |",
	)
}

// TestDeciding: of an inconclusive decision it is the rule whose test is open, not the first.
func TestDeciding(t *testing.T) {
	rule := func(name string, v verdict.Verdict, test *verdict.Test) verdict.Rule {
		of := []verdict.Comparison{{Verdict: v, Test: test}}
		return verdict.Rule{Name: name, Decides: true, Verdict: v, Comparisons: of}
	}
	open := &verdict.Test{Form: verdict.Ratio, Stop: stats.Ended}
	withdrawn := &verdict.Test{Form: verdict.Ratio, Stop: stats.Passed, Note: verdict.Say("test.drift", "drift")}
	exact := &verdict.Test{Form: verdict.Exact}
	const pass, fail, undecided = verdict.Pass, verdict.Fail, verdict.Inconclusive
	for name, c := range map[string]struct {
		of    verdict.Verdict
		rules []verdict.Rule
		want  string
	}{
		"the open one": {
			undecided, []verdict.Rule{rule("a", undecided, withdrawn), rule("b", undecided, open)}, "b",
		},
		"the first open": {undecided, []verdict.Rule{rule("a", undecided, open), rule("b", undecided, open)}, "a"},
		"tested": {
			undecided, []verdict.Rule{rule("a", undecided, exact), rule("b", undecided, withdrawn)}, "b",
		},
		"of the verdict":    {fail, []verdict.Rule{rule("a", undecided, open), rule("b", fail, exact)}, "b"},
		"the first to pass": {pass, []verdict.Rule{rule("a", pass, withdrawn), rule("b", pass, withdrawn)}, "a"},
	} {
		must.Equal(t, name, Deciding(&ledger.Decision{Verdict: c.of, Rules: c.rules}).Name, c.want)
	}
}

// TestAsked: what nothing was accepted by has its number, what was asked, and how sure it is.
func TestAsked(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	decided := func(v verdict.Verdict, metric, relation string, is, low, high, wanted float64) *ledger.Decision {
		test := &verdict.Test{
			Form: verdict.Ratio, Metric: metric, Stat: "median", Unit: "tok/s", Relation: relation, Against: "baseline",
			More: true, Estimate: at(is), Low: at(low), High: at(high), Threshold: wanted,
		}
		return &ledger.Decision{
			Kind: ledger.KindFeature, Verdict: v, Statistics: &gates.Settings{FalsePass: 0.01, FalseFail: 0.05},
			Rules: []verdict.Rule{{
				Name: "fast", Decides: true, Verdict: v, Comparisons: []verdict.Comparison{{Verdict: v, Test: test}},
			}},
		}
	}
	const not20 = "; if not, at most 1 in 20 tests would show it"
	for want, d := range map[string]*ledger.Decision{
		"decodes 39% slower (at most 10% was allowed; at least 26%" + not20 + ")": decided(
			verdict.Fail, "chat.tg", "gain", -0.39, -0.5, -0.26, -0.1),
		"decodes 2.0% slower (no loss was allowed; at least 1.0%" + not20 + ")": decided(
			verdict.Fail, "chat.tg", "gain", -0.02, -0.03, -0.01, 0),
		"decodes 4.0% faster (≥ +10% was asked; at most +7.1%" + not20 + ")": decided(
			verdict.Fail, "chat.tg", "gain", 0.04, 0.01, 0.0709, 0.1),
		"prefills 9.0% faster (≥ +10% was asked; between +5.0% and +14%)": decided(
			verdict.Inconclusive, "chat.pp", "gain", 0.09, 0.05, 0.131, 0.1),
		"": decided(verdict.Invalid, "chat.tg", "gain", 0.04, 0.01, 0.07, 0.1),
	} {
		must.Equal(t, want, asked(d), want)
	}
}

func TestMetricWord(t *testing.T) {
	for metric, want := range map[string]string{
		"tg": "decode", "memory_gb": "memory", "memory_in_use_gb": "memory in use", "startup_s": "startup",
		"requests_per_s": "requests per s", "tok_s": "tok s", "energy_per_token": "energy per token",
	} {
		must.Equal(t, metric, MetricWord(metric), want)
	}
}
