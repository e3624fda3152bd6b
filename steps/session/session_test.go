package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// speeds are tokens a second of a variant, launch by launch.
type speeds map[string]func(round int) float64

// wobble is a speed whose launches differ by about a part of it, in a fixed order.
func wobble(mean, part float64) func(int) float64 {
	shape := []float64{0.3, -0.9, 1.1, -0.4, 0.8, -1.2, 0.1, 0.2, -0.6, 0.9, -0.3, 0}
	return func(round int) float64 { return mean * (1 + part*shape[(round-1)%len(shape)]) }
}

// fast are two candidates twice as fast as their parent.
func fast(part float64) speeds {
	return speeds{"base": wobble(100, part), "x": wobble(200, part), "y": wobble(200, part)}
}

// near is a candidate that is settled at once, and one that takes more launches.
var near = speeds{"base": wobble(100, 0.02), "x": wobble(200, 0.02), "y": wobble(118, 0.05)}

// rig is a session whose launches are made up, by a lab that is otherwise real.
type rig struct {
	*session
	made []string
	// numbers are those of the slots, as people count them, and orders of the launches.
	numbers, orders []int
	// told are its events.
	told []runtime.Event
	// spoil changes a launch that was made.
	spoil func(l *ledger.Launch, n int)
}

func newRig(t *testing.T, speed speeds) *rig {
	t.Helper()
	lab := labOf(t, planstest.SharedPlan)
	p := lab.Variants.Plan
	for _, protocol := range p.Protocols { // no engine answers here
		protocol.Levels = append(protocol.Levels,
			&plans.Block{Kind: plans.CorrectnessLevel, Attrs: map[string]any{"answers": "unchecked"}})
	}
	r := &rig{}
	scope := &runtime.Scope{
		Node: &runtime.Node{ID: "feature.x.benchmark"}, Outcomes: &runtime.NodeOutcomes{},
		Emit: func(ev runtime.Event) { r.told = append(r.told, ev) },
	}
	parent := &variant.Variant{Arm: decide.Arm{Name: "baseline", Key: "base"}}
	r.session = &session{lab: lab, view: lab.Launches.View(scope), scope: scope, id: "s-1", ws: p.Workloads}
	for _, f := range p.Phases[0].Features {
		candidate := &variant.Variant{Arm: decide.Arm{Name: f.Name, Key: f.Name}}
		r.members = append(r.members, newMember(p, f, launch.Arms{Candidate: candidate, Parent: parent, Root: parent},
			[]*variant.Variant{parent, candidate}))
	}
	r.launch = func(_ context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
		l := &ledger.Launch{
			ID: launchID(r.id, sl, len(tries)), Session: r.id, VariantKey: sl.variant.Key, Variant: sl.variant.Name,
			Ordinal: sl.ordinal, Order: sl.order, OK: true,
			Fingerprint: map[string]string{"cpu": "one"},
			Metrics: map[string]measure.Summary{"w.tg": {
				Unit: "tok/s", Better: measure.Higher, N: 10, Requests: 10,
				Stats: map[string]float64{"median": speed[sl.variant.Key](sl.ordinal)},
			}},
		}
		if r.spoil != nil {
			r.spoil(l, len(r.made))
		}
		r.made = append(r.made, sl.variant.Key)
		r.numbers, r.orders = append(r.numbers, sl.number), append(r.orders, sl.order)
		return l, nil
	}
	return r
}

// short is what was launched, one letter each: b for the baseline.
func (r *rig) short() string {
	var text strings.Builder
	for _, key := range r.made {
		text.WriteByte(key[0])
	}
	return text.String()
}

func (r *rig) conclusion(t *testing.T, i int) (ledger.Level, *ledger.Decision) {
	t.Helper()
	var level ledger.Level
	out := &ledger.Decision{}
	must.Do(t, r.conclude(t.Context(), r.members[i], out, &level))
	return level, out
}

// Two candidates share the launches of their parent, in rounds that turn around;
// who is settled drops out, and the rest goes on.
func TestSessionSharesAndStops(t *testing.T) {
	r := newRig(t, near)
	must.Do(t, r.run(t.Context()))
	got := r.short()
	// Without recorded noise nothing is settled before four launches an arm.
	if !strings.HasPrefix(got, "bxyyxbyxbbxy") || strings.Count(got, "x") != 4 {
		t.Errorf("launched %s", got)
	}
	if n := strings.Count(got, "y"); n <= 4 || n != strings.Count(got, "b") {
		t.Errorf("y has %d launches and its parent %d: %s", n, strings.Count(got, "b"), got)
	}
	for i, want := range []int{8, 2 * strings.Count(got, "y")} {
		level, out := r.conclusion(t, i)
		if level.Verdict != verdict.Pass || len(out.Launches) != want {
			t.Errorf("%s: %s, %d launches of %d, %+v", r.members[i].Feature.Name, level.Verdict, len(out.Launches),
				want, level.Reasons)
		}
	}
}

// Onlookers hear after each round where the tests of each candidate stand: how many
// launches count, when the next look comes, and what was asked whether it is settled.
func TestSessionTells(t *testing.T) {
	r := newRig(t, near)
	must.Do(t, r.run(t.Context()))
	var x, y []string
	var open int
	for _, ev := range r.told {
		l := ev.Look
		text := fmt.Sprintf("%d/%d next %d", l.Launches, l.Most, l.Next)
		for _, rule := range l.Rules {
			test := rule.Comparisons[0].Test
			text += fmt.Sprintf(" %s %s %s", rule.Name, rule.Verdict, test.Stop)
			if test.Stop == stats.Open && test.Low != nil && test.High != nil && *test.Low < test.Threshold &&
				test.Threshold < *test.High {
				open++
			}
		}
		switch {
		case ev.Type != "looked":
			t.Errorf("%+v", ev)
		case ev.Feature == "x":
			x = append(x, text)
		default:
			y = append(y, text)
		}
	}
	if got := strings.Join(x, ", "); !strings.HasPrefix(got,
		"0/8 next 4, 1/8 next 4, 2/8 next 4, 3/8 next 4 c inconclusive open, 4/8 next 0 c pass passed") {
		t.Errorf("x: %s", got)
	}
	if got := strings.Join(y, ", "); !strings.Contains(got, "4/8 next 6 ") || open == 0 ||
		!strings.Contains(y[len(y)-1], " next 0") {
		t.Errorf("y: %s", got)
	}
}

// A launch that the machine disturbed is made again in its place; one that broke
// takes its candidate out, and the other goes on.
func TestSessionReplacesAndDrops(t *testing.T) {
	r := newRig(t, fast(0.02))
	r.spoil = func(l *ledger.Launch, n int) {
		switch {
		case n == 1:
			l.Invalid, l.Disturbed = []verdict.Reason{fact("the GPU was throttled")}, true
		case l.VariantKey == "y" && l.Ordinal == 2:
			l.OK, l.Error = false, fact("the engine died")
		}
	}
	must.Do(t, r.run(t.Context()))
	if got := r.short(); !strings.HasPrefix(got, "bxxyy"+"xb"+"xbbx") && !strings.HasPrefix(got, "bxxyyxbxb") {
		t.Errorf("launched %s", got)
	}
	// What is made again keeps its number, and has its own place in the order.
	must.Equal(t, "numbers and orders", fmt.Sprint(r.numbers[:4], r.orders[:4]), "[1 2 2 3] [1 2 3 4]")
	level, out := r.conclusion(t, 0)
	if level.Verdict != verdict.Pass || slices.Contains(out.Launches, "s-1.x.1") ||
		!slices.Contains(out.Launches, "s-1.x.1r1") ||
		!slices.ContainsFunc(level.Reasons,
			verdict.New(code.LaunchReplaced).On("s-1.x.1").From(fact("the GPU was throttled")).Equal) {
		t.Errorf("x: %+v, %v", level, out.Launches)
	}
	level, out = r.conclusion(t, 1)
	if level.Verdict != verdict.Error || !lost(level.Reasons[0], "s-1.y.2", "the engine died") ||
		!slices.Contains(out.Launches, "s-1.y.2") {
		t.Errorf("y: %+v, %v", level, out.Launches)
	}
}

// A candidate that dies is launched once more. When it lives the session goes on; when
// it dies again, there or later, it fails, and nobody launches it any more. Where its
// parent has died too, nobody knows whose fault it is.
func TestSessionOfCrashes(t *testing.T) {
	exit := 139
	died := func(l *ledger.Launch, why string) { l.OK, l.Error, l.Exit = false, fact(why), &exit }
	dead := func(ids ...string) func(*ledger.Launch, int) {
		return func(l *ledger.Launch, _ int) {
			if slices.Contains(ids, l.ID) {
				died(l, "segfault")
			}
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(l *ledger.Launch, n int)
		want  verdict.Verdict
		made  string // of x
		code  code.Kind
	}{
		{"once", dead("s-1.x.2"), verdict.Pass, "1 2 2r1 3 4", code.LaunchReplaced.Kind},
		{"twice", dead("s-1.x.2", "s-1.x.2r1"), verdict.Fail, "1 2 2r1", code.CrashedAgain.Kind},
		{"again later", dead("s-1.x.1", "s-1.x.3"), verdict.Fail, "1 1r1 2 3", code.CrashedAgain.Kind},
		{
			"twice and the parent before", dead("s-1.x.2", "s-1.x.2r1", "s-1.baseline.1"), verdict.Error, "",
			"session.launch_lost",
		},
		{"once, and then what is nobody's crash", func(l *ledger.Launch, _ int) {
			if l.VariantKey == "x" && l.Ordinal == 2 {
				if died(l, "segfault"); l.ID != "s-1.x.2" {
					l.Exit = nil
				}
			}
		}, verdict.Error, "1 2 2r1", "session.launch_lost"},
		{"what its log shows to be the plan's mistake", func(l *ledger.Launch, _ int) {
			if l.VariantKey == "x" && l.Ordinal == 2 {
				died(l, "no such flag")
				l.Error, l.Failure = l.Error.From(verdict.New(code.Diagnosed, verdict.Text("class", "config"))),
					ledger.FailurePlan
			}
		}, verdict.Error, "1 2", "session.launch_lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, fast(0.02))
			r.spoil = c.spoil
			must.Do(t, r.run(t.Context()))
			level, out := r.conclusion(t, 0)
			if level.Verdict != c.want || !verdict.Holds(level.Reasons, c.code) {
				t.Errorf("%s: %+v", level.Verdict, level.Reasons)
			}
			var made []string
			for _, l := range r.all {
				if name, own := strings.CutPrefix(l.ID, "s-1.x."); own {
					made = append(made, name)
				}
				if level.Verdict == verdict.Fail && l.VariantKey == "x" && !slices.Contains(out.Launches, l.ID) &&
					!l.OK {
					t.Errorf("%s is none of %s", l.ID, out.Launches)
				}
			}
			must.Equal(t, "launched", strings.Join(made, " "), c.made)
			if level, _ := r.conclusion(t, 1); c.made != "" && level.Verdict != verdict.Pass {
				t.Errorf("y: %s, %+v", level.Verdict, level.Reasons)
			}
			// Asked again it is the same, without a launch.
			again := newRig(t, speeds{})
			if again.all = r.all; c.want != verdict.Error {
				must.Do(t, again.run(t.Context()))
				if level, _ := again.conclusion(t, 0); level.Verdict != c.want {
					t.Errorf("again: %+v", level)
				}
			}
		})
	}
}

// lost reports whether a reason is that a launch does not count, and why.
func lost(r verdict.Reason, launch, why string) bool {
	return r.Kind == "session.launch_lost" && r.Subject == launch && len(r.Causes) == 1 && r.Causes[0].Equal(fact(why))
}

// Launches that others stand in the place of are counted by arm, and many of one arm are
// said to be.
func TestSessionCountsReplaced(t *testing.T) {
	r := newRig(t, fast(0.02))
	r.spoil = func(l *ledger.Launch, _ int) {
		again := strings.HasSuffix(l.ID, "r1")
		if l.VariantKey == "x" && !again && l.Ordinal <= 3 || l.VariantKey == "y" && !again && l.Ordinal == 2 {
			l.Invalid, l.Disturbed = []verdict.Reason{fact("the GPU was throttled")}, true
		}
	}
	must.Do(t, r.run(t.Context()))
	replaced := func(n, of int, more ...verdict.Arg) verdict.Reason {
		return verdict.Say("session.replaced", "", append([]verdict.Arg{
			verdict.Int("n", n), verdict.Int("of", of), verdict.Text("other", "baseline"), verdict.Int("other_n", 0),
			verdict.Int("other_of", 4),
		}, more...)...)
	}
	for i, want := range []verdict.Reason{replaced(3, 7, verdict.Text("many", "yes")).On("x"), replaced(1, 5).On("y")} {
		if level, _ := r.conclusion(t, i); level.Verdict != verdict.Pass ||
			!slices.ContainsFunc(level.Reasons, want.Equal) {
			t.Errorf("%s %+v", level.Verdict, level.Reasons)
		}
	}
}

// A machine that disturbs the same launch again and again is not fit to measure.
func TestSessionGivesUp(t *testing.T) {
	r := newRig(t, fast(0.02))
	r.spoil = func(l *ledger.Launch, _ int) { l.Invalid, l.Disturbed = []verdict.Reason{fact("shared GPU")}, true }
	must.Do(t, r.run(t.Context()))
	must.Equal(t, "launched", r.short(), "bbb")
	level, out := r.conclusion(t, 0)
	if level.Verdict != verdict.Inconclusive || level.Reasons[0].Kind != "session.launch_lost" ||
		level.Reasons[0].Subject != "s-1.baseline.1r2" ||
		!slices.ContainsFunc(level.Reasons[0].Causes,
			verdict.New(code.MachineDisturbed).From(fact("shared GPU")).Equal) {
		t.Errorf("%+v", level)
	}
	// It is no outcome: on a quiet machine the same session goes on with that launch.
	if out.Verdict, out.Reasons = level.Verdict, level.Reasons; out.Reusable() || !out.Disturbed() {
		t.Errorf("kept: %+v", out)
	}
	r.spoil, r.members = nil, newRig(t, speeds{}).members
	must.Do(t, r.run(t.Context()))
	if level, _ := r.conclusion(t, 0); level.Verdict != verdict.Pass || !strings.HasPrefix(r.short(), "bbbbxy") {
		t.Errorf("%s after %s: %+v", level.Verdict, r.short(), level.Reasons)
	}
}

// Wherever a session is cut, going on makes the launches that it lacks and no
// other, and comes to the same end.
func TestSessionGoesOn(t *testing.T) {
	whole := newRig(t, near)
	must.Do(t, whole.run(t.Context()))
	for cut := range len(whole.all) + 1 {
		r := newRig(t, near)
		r.all = slices.Clone(whole.all[:cut])
		must.Do(t, r.run(t.Context()))
		if got, want := ids(r.all), ids(whole.all); got != want {
			t.Errorf("cut after %d:\n%s\n%s", cut, got, want)
		}
	}
}

// More launches than before go on behind the last round: a launch of the parent
// that was made without the candidate did not stand beside its own.
func TestSessionComesBack(t *testing.T) {
	r := newRig(t, near)
	must.Do(t, r.run(t.Context()))
	rounds := r.members[1].Rounds
	again := newRig(t, near)
	again.all = r.all
	again.members = again.members[:1]
	again.members[0].Least = 6
	must.Do(t, again.run(t.Context()))
	if got := again.short(); len(got) != 4 || strings.Count(got, "x") != 2 {
		t.Errorf("launched %s", got)
	}
	for _, l := range again.all[len(r.all):] {
		if l.Ordinal <= rounds {
			t.Errorf("%s is in a round that was over", l.ID)
		}
	}
}

func ids(launches []*ledger.Launch) string {
	var text []string
	for _, l := range launches {
		text = append(text, fmt.Sprintf("%s@%d", l.ID, l.Order))
	}
	return strings.Join(text, " ")
}

// TestInterleave: two arms go ABBA BAAB, any prefix is balanced to within one
// round, and a longer session begins as a shorter one did.
func TestInterleave(t *testing.T) {
	a, b, c := &variant.Variant{Arm: decide.Arm{Name: "A"}}, &variant.Variant{Arm: decide.Arm{Name: "B"}},
		&variant.Variant{Arm: decide.Arm{Name: "C"}}
	for _, x := range []struct {
		arms   []*variant.Variant
		rounds int
		want   string
	}{
		{[]*variant.Variant{a, b}, 1, "AB"},
		{[]*variant.Variant{a, b}, 3, "ABBABA"},
		{[]*variant.Variant{a, b}, 8, "ABBABAABBAABABBA"},
		{[]*variant.Variant{a, b, c}, 3, "ABCCBACBA"},
		{[]*variant.Variant{a}, 2, "AA"},
		{nil, 3, ""},
	} {
		var got strings.Builder
		for round := range x.rounds {
			for _, v := range roundOrder(x.arms, round+1) {
				got.WriteString(v.Name)
			}
		}
		if got.String() != x.want {
			t.Errorf("%d rounds of %d arms: %s, want %s", x.rounds, len(x.arms), got.String(), x.want)
		}
	}
}

// A baseline that does not start beside a stack drops out, and the rest goes on: also
// where somebody looks at what is on record later.
func TestRootDropsOut(t *testing.T) {
	r, made := rootRig(t)
	r.spoil = func(l *ledger.Launch, _ int) {
		if l.VariantKey == "root" && l.Ordinal == 2 {
			l.OK, l.Error = false, verdict.New(code.EngineDied)
		}
	}
	must.Do(t, r.run(t.Context()))
	// Not launched again, nor any more.
	if got := r.short(); strings.Count(got, "r") != 2 || strings.Count(got, "x") != 4 || strings.Count(got, "b") != 4 {
		t.Errorf("launched %s", got)
	}
	again := *r
	again.session = &session{
		lab: r.lab, view: r.view, scope: r.scope, id: r.id, all: r.all, ws: r.ws,
		members: []*member{made()},
	}
	if err := again.lookAtMembers(); err != nil || again.open() {
		t.Errorf("%v, wants more: %v", err, again.open())
	}
	for _, s := range []*rig{r, &again} {
		level, out := s.conclusion(t, 0)
		if level.Verdict != verdict.Pass || len(out.Launches) != 8 || s.members[0].Rounds != 4 {
			t.Errorf("%s, %d launches, %+v", level.Verdict, len(out.Launches), level.Reasons)
		}
		if last := level.Reasons[len(level.Reasons)-1]; last.Kind != code.ReferenceLost.Kind ||
			last.Subject != "root" || last.Causes[0].Kind != "session.launch_lost" {
			t.Errorf("%+v", level.Reasons)
		}
	}
}

// TestRootOfAnotherEnvironment: an environment that is another one than the parent's is no comparison with
// the baseline, and no reason to throw away the rest.
func TestRootOfAnotherEnvironment(t *testing.T) {
	r, _ := rootRig(t)
	r.spoil = func(l *ledger.Launch, _ int) {
		if l.VariantKey == "root" {
			l.Fingerprint = map[string]string{"cpu": "another"}
		}
	}
	must.Do(t, r.run(t.Context()))
	level, _ := r.conclusion(t, 0)
	if last := level.Reasons[len(level.Reasons)-1]; level.Verdict != verdict.Pass ||
		last.Kind != code.ReferenceLost.Kind || last.Causes[0].Kind != code.EnvironmentApart.Kind {
		t.Errorf("%s %+v", level.Verdict, level.Reasons)
	}
	if got := r.short(); strings.Count(got, "r") != 1 {
		t.Errorf("launched %s", got)
	}
}

// rootRig is a rig of one member, whose baseline is not its parent, and how it is made anew.
func rootRig(t *testing.T) (*rig, func() *member) {
	r := newRig(t, speeds{"base": wobble(100, 0.02), "x": wobble(200, 0.02), "root": wobble(210, 0.02)})
	root, m := &variant.Variant{Arm: decide.Arm{Name: "baseline", Key: "root"}}, r.members[0]
	made := func() *member {
		a := launch.Arms{Parent: m.variants[0], Candidate: m.variants[1], Root: root}
		return newMember(r.lab.Variants.Plan, m.Feature, a, []*variant.Variant{a.Parent, a.Candidate, root})
	}
	r.members = []*member{made()}
	return r, made
}

// TestChanged: a node that is measured again says which knob its candidate has otherwise.
func TestChanged(t *testing.T) {
	was := &runtime.Scope{Previous: &ledger.Decision{Variant: map[string]string{"activation": "bf16", "tile": "64"}}}
	for _, c := range []struct {
		scope *runtime.Scope
		trees verdict.Reason
		knobs map[string]string
		want  string
	}{
		{was, verdict.Reason{}, map[string]string{"activation": "mxfp8", "tile": "64"}, "activation bf16 → mxfp8"},
		{was, verdict.Reason{}, map[string]string{"activation": "bf16", "tile": "64", "new": "on"}, ""},
		{
			was, verdict.Say("tree.changed", "tree x changed"),
			map[string]string{"activation": "mxfp8"},
			"tree x changed",
		},
		{&runtime.Scope{}, verdict.Reason{}, map[string]string{"tile": "64"}, ""},
	} {
		must.Equal(t, c.knobs, changed(c.scope, c.trees, c.knobs).String(), c.want)
	}
}
