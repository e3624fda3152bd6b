package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestDies(t *testing.T) {
	exit := 1
	for _, c := range []struct {
		name          string
		l             ledger.Launch
		want, crashed bool
	}{
		{"a good launch", ledger.Launch{OK: true}, false, false},
		{"a command's end", ledger.Launch{OK: true, Exit: &exit}, false, false},
		{"it ended by itself", ledger.Launch{Error: verdict.New(code.LaunchBroke), Exit: &exit}, true, true},
		{"it could not be asked", ledger.Launch{Error: verdict.New(code.LaunchBroke)}, false, false},
		{"a signature without an end", ledger.Launch{Failure: "engine"}, true, false},
		{"its own fault", ledger.Launch{Failure: "engine", Exit: &exit}, true, true},
		{"the plan's mistake", ledger.Launch{Failure: "plan", Exit: &exit}, false, false},
		{"the machine's", ledger.Launch{Failure: "machine", Exit: &exit}, false, false},
		{"the machine's, without an end", ledger.Launch{Failure: "machine"}, false, false},
		{
			"a server that ran before",
			ledger.Launch{Failure: "engine", Exit: &exit, Engine: map[string]string{"fresh": "no"}},
			false, true,
		},
	} {
		must.Equal(t, c.name, isEngineCrash(&c.l), c.want)
		if got := c.l.Crashed(); got != c.crashed {
			t.Errorf("%s: counts as a crash: %v", c.name, got)
		}
	}
}

func TestCrashedAgain(t *testing.T) {
	exit := 1
	launch := func(key string, ok bool, class string) *ledger.Launch {
		l := &ledger.Launch{ID: key + class, VariantKey: key, OK: ok}
		if !ok {
			l.Exit, l.Error, l.Failure = &exit, verdict.New(code.LaunchBroke).
				From(verdict.New(code.Diagnosed, verdict.Text("class", class))), ledger.FailureEngine
		}
		return l
	}
	p, c, crash, oom := launch("p", true, ""), launch("c", true, ""), launch("c", false, "crash"),
		launch("c", false, "oom")
	unlike := launch("p", false, "config")
	unlike.Failure = ledger.FailurePlan
	hung := &ledger.Launch{VariantKey: "p"}
	for _, x := range []struct {
		name        string
		launches    []*ledger.Launch
		died, cause int
	}{
		{"nothing", nil, 0, 0},
		{"none", []*ledger.Launch{p, c}, 0, 0},
		{"one", []*ledger.Launch{p, crash, c}, 0, 0},
		{"two alike", []*ledger.Launch{p, crash, crash}, 2, 1},
		{"two, each its own way", []*ledger.Launch{p, crash, oom}, 2, 2},
		{"two, and one between that lived", []*ledger.Launch{p, crash, c, p, crash}, 2, 1},
		{"no launch of the parent", []*ledger.Launch{crash, crash}, 0, 0},
		{"a parent that died", []*ledger.Launch{p, crash, crash, launch("p", false, "crash")}, 0, 0},
		{"a parent that ended for another cause", []*ledger.Launch{p, unlike, crash, crash}, 0, 0},
		{"a parent that mxflow could not measure, and then could", []*ledger.Launch{hung, p, crash, crash}, 2, 1},
		{"a parent that mxflow could not measure", []*ledger.Launch{hung, crash, crash}, 0, 0},
		{"of others", []*ledger.Launch{p, launch("d", false, "crash"), crash}, 0, 0},
	} {
		died, why := CrashedAgain(Arm{Name: "new", Key: "c"}, Arm{Name: "old", Key: "p"}, x.launches)
		if len(died) != x.died || why.IsZero() != (x.died == 0) || len(why.Causes) != x.cause {
			t.Errorf("%s: %d, %+v", x.name, len(died), why)
		}
	}
}

// Launches that mxflow did not see the end of are counted by arm.
func TestCutOff(t *testing.T) {
	start := func(run, id string) *ledger.Record {
		return &ledger.Record{Run: run, Start: &ledger.Start{Launch: id, Session: "s", VariantKey: id[:1]}}
	}
	done := func(id string) *ledger.Record {
		return &ledger.Record{Launch: &ledger.Launch{ID: id, Session: "s", VariantKey: id[:1], OK: true}}
	}
	killed := func(run string) *ledger.Record {
		return &ledger.Record{Run: run, End: &ledger.End{Reason: verdict.New(code.Abandoned)}}
	}
	stopped := func(run string) *ledger.Record {
		return &ledger.Record{Run: run, End: &ledger.End{Reason: verdict.Say("interrupted", "interrupted")}}
	}
	whole := []*ledger.Record{start("9", "p1"), done("p1"), start("9", "c1"), done("c1")}
	for _, x := range []struct {
		name        string
		before      []*ledger.Record
		said, often bool
	}{
		{"none", nil, false, false},
		{"one", []*ledger.Record{start("1", "c1"), killed("1")}, true, false},
		{"two", []*ledger.Record{start("1", "c1"), killed("1"), start("2", "c1"), killed("2")}, true, true},
		{"its parent's, too", []*ledger.Record{
			start("1", "c1"), killed("1"), start("2", "p1"), killed("2"),
			start("3", "c1"), killed("3"),
		}, true, false},
		{
			"its parent's alone",
			[]*ledger.Record{start("1", "p1"), killed("1"), start("2", "p1"), killed("2")},
			true,
			false,
		},
		{
			"interrupted twice",
			[]*ledger.Record{start("1", "c1"), stopped("1"), start("2", "c1"), stopped("2")},
			true,
			false,
		},
		{"interrupted three times", []*ledger.Record{
			start("1", "c1"), stopped("1"), start("2", "c1"), stopped("2"),
			start("3", "c1"), stopped("3"),
		}, true, true},
		{
			"three at once",
			[]*ledger.Record{start("1", "c1"), start("1", "c2"), start("1", "c3"), killed("1")},
			true,
			false,
		},
		{"killed between launches", []*ledger.Record{
			start("1", "c0"), done("c0"), killed("1"), start("2", "c2"),
			done("c2"), killed("2"),
		}, false, false},
		{"of another", []*ledger.Record{start("1", "d1"), killed("1"), start("2", "d1"), killed("2")}, false, false},
	} {
		records := append(slices.Clone(x.before), whole...)
		records = append(records, start("9", "c3"), killed("9"), start("10", "c3"), killed("10")) // after the decision
		v := &View{Record: ledgerOf(records)}
		why, often := CutOff(v, Arm{Name: "new", Key: "c"}, Arm{Name: "old", Key: "p"},
			[]*ledger.Launch{whole[1].Launch, whole[3].Launch})
		if why.IsZero() == x.said || often != x.often {
			t.Errorf("%s: %v, often %v", x.name, why, often)
		}
	}
}

// TestReplaced is the policy for launches that do not count, by what became of each
// launch of a slot.
func TestReplaced(t *testing.T) {
	outcomes := map[string]*ledger.Launch{
		"sound":     {OK: true},
		"disturbed": {OK: true, Disturbed: true, Invalid: verdict.Because(code.MachineDisturbed)},
		"invalid":   {OK: true, Invalid: verdict.Because(code.FromCache)},
		"lost":      {Failure: ledger.FailureLost},
		"broke":     {Error: verdict.New(code.EngineDied)},
	}
	for _, c := range []struct {
		slot            string
		replaced, lacks bool
	}{
		{"", false, true},
		{"sound", false, false},
		{"disturbed", true, true},
		{"lost", true, true},
		{"invalid", false, false},
		{"broke", false, false},
		{"disturbed disturbed", true, true},
		{"lost lost", true, true},
		{"disturbed lost", true, true},
		{"disturbed disturbed disturbed", false, false},
		{"lost lost lost", false, false},
		{"lost disturbed lost", false, false},
		{"disturbed broke", false, false},
		{"disturbed sound", false, false},
		{"sound lost", true, false}, // its round began again on another place
		{"sound lost lost", true, false},
		{"sound lost lost lost", false, false},
	} {
		var slot []*ledger.Launch
		for name := range strings.FieldsSeq(c.slot) {
			slot = append(slot, outcomes[name])
		}
		must.Equal(t, c.slot, Replaced(slot), c.replaced)
		if got := Lacks(slot); got != c.lacks {
			t.Errorf("%q: lacks %v", c.slot, got)
		}
	}
}

// TestTries: what asks again is counted however it is called and whatever it sets; what
// never could have passed, or has passed, or asks something else is not.
func TestTries(t *testing.T) {
	// session is one of n launches of a parent and a candidate.
	session := func(id, parent, name, key, work string, n int) (l ledgerOf) {
		for i := range n {
			for _, arm := range [][2]string{{"base", parent}, {name, key}} {
				l = append(l, &ledger.Record{Launch: &ledger.Launch{
					ID: fmt.Sprintf("%s.%s.%d", id, arm[0], i+1), Session: id, Purpose: ledger.ForBenchmark,
					Variant: arm[0], VariantKey: arm[1], Work: work, OK: true, Ordinal: i + 1,
				}})
			}
		}
		return l
	}
	came := func(id, name string, v verdict.Verdict, change func(*ledger.Decision)) ledgerOf {
		d := &ledger.Decision{Kind: ledger.KindFeature, Verdict: v, Evidence: []gates.Feature{{
			Name: name, Session: id, Candidate: gates.ArmOf(name, id+"."+name+".1"),
		}}}
		if change != nil {
			change(d)
		}
		return ledgerOf{{Decision: d}}
	}
	join := func(all ...ledgerOf) (l ledgerOf) {
		for _, some := range all {
			l = append(l, some...)
		}
		return l
	}
	// A session whose second round stood beside the first and ended before it.
	beside := session("s1", "p", "f", "c", "w", 4)
	beside = append(ledgerOf{beside[3], beside[0], beside[2], beside[1]}, beside[4:]...)
	own := session("s9", "p", "f", "c", "w", 8)
	failed := join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Fail, nil))
	chose := func(d *ledger.Decision) {
		d.Alternatives = []ledger.Alternative{{Name: "f", Verdict: verdict.Fail}, {Name: "g", Verdict: verdict.Pass}}
	}
	for name, c := range map[string]struct {
		before ledgerOf
		want   int
	}{
		"the first":                 {nil, 0},
		"after a fail":              {failed, 2},
		"rounds stood side by side": {join(beside, came("s1", "f", verdict.Fail, nil)), 2},
		"after two": {join(failed, session("s2", "p", "f", "c", "w", 8),
			came("s2", "f", verdict.Inconclusive, nil)), 3},
		"another knob": {
			join(session("s1", "p", "f", "other", "w", 4), came("s1", "f", verdict.Fail, nil)), 2,
		},
		"another name": {
			join(session("s1", "p", "old", "c", "w", 4), came("s1", "old", verdict.Fail, nil)), 2,
		},
		"another feature": {
			join(session("s1", "p", "g", "d", "w", 4), came("s1", "g", verdict.Fail, nil)),
			0,
		},
		"another parent": {
			join(session("s1", "q", "f", "c", "w", 4), came("s1", "f", verdict.Fail, nil)),
			0,
		},
		"another workload": {
			join(session("s1", "p", "f", "c", "x", 4), came("s1", "f", verdict.Fail, nil)),
			0,
		},
		"after a pass": {
			join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Pass, nil)),
			0,
		},
		"passed, refused by a gate": {join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Pass, nil),
			came("s1", "f", verdict.Fail, nil)), 2},
		"another alternative passed": {
			join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Pass, chose)), 2,
		},
		"a fail, then invalid":    {join(failed, came("s1", "f", verdict.Invalid, nil)), 2},
		"broken off after a look": {session("s1", "p", "f", "c", "w", 4), 2},
		"broken off at two":       {session("s1", "p", "f", "c", "w", 2), 2},
		"broken off before any":   {session("s1", "p", "f", "c", "w", 1), 0},
		"screened": {
			join(session("s1", "p", "f", "c", "w", 1), came("s1", "f", verdict.Fail, nil)),
			0,
		},
		"a parent of others, with it": {session("s1", "root", "f", "c", "w", 4), 0},
	} {
		must.Equal(t, name, triesOf(join(c.before, own).Records(), "f", "c", "p", "s9", "w"), c.want)
		// What came later, or comes next, changes nothing of a session.
		if got := triesOf(join(c.before, own, came("s9", "f", verdict.Fail, nil),
			session("s10", "p", "f", "c", "w", 8)).
			Records(), "f", "c", "p", "s9", "w"); got != c.want {
			t.Errorf("%s, seen later: %d, want %d", name, got, c.want)
		}
	}
	must.Equal(t, "before it begins", triesOf(failed.Records(), "f", "c", "p", "", "w"), 2)
}
