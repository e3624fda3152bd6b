package decide

import (
	"iter"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
		{"a server that ran before", ledger.Launch{Failure: "engine", Exit: &exit, Engine: map[string]string{"fresh": "no"}}, false, true},
	} {
		if got := isEngineCrash(&c.l); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
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
			l.Exit, l.Error, l.Failure = &exit, verdict.New(code.LaunchBroke).From(verdict.New(code.Diagnosed, verdict.Text("class", class))), ledger.FailureEngine
		}
		return l
	}
	p, c, crash, oom := launch("p", true, ""), launch("c", true, ""), launch("c", false, "crash"), launch("c", false, "oom")
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
		{"its parent's, too", []*ledger.Record{start("1", "c1"), killed("1"), start("2", "p1"), killed("2"), start("3", "c1"), killed("3")}, true, false},
		{"its parent's alone", []*ledger.Record{start("1", "p1"), killed("1"), start("2", "p1"), killed("2")}, true, false},
		{"interrupted twice", []*ledger.Record{start("1", "c1"), stopped("1"), start("2", "c1"), stopped("2")}, true, false},
		{"interrupted three times", []*ledger.Record{start("1", "c1"), stopped("1"), start("2", "c1"), stopped("2"), start("3", "c1"), stopped("3")}, true, true},
		{"killed between launches", []*ledger.Record{start("1", "c0"), done("c0"), killed("1"), start("2", "c2"), done("c2"), killed("2")}, false, false},
		{"of another", []*ledger.Record{start("1", "d1"), killed("1"), start("2", "d1"), killed("2")}, false, false},
	} {
		records := append(slices.Clone(x.before), whole...)
		records = append(records, start("9", "c3"), killed("9"), start("10", "c3"), killed("10")) // after the decision
		v := &View{Records: func() iter.Seq2[int, *ledger.Record] { return slices.All(records) }}
		why, often := CutOff(v, Arm{Name: "new", Key: "c"}, Arm{Name: "old", Key: "p"}, []*ledger.Launch{whole[1].Launch, whole[3].Launch})
		if why.IsZero() == x.said || often != x.often {
			t.Errorf("%s: %v, often %v", x.name, why, often)
		}
	}
}
