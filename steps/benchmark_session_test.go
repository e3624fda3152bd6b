package steps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Two candidates share the launches of their parent, in rounds that turn around;
// who is settled drops out, and the rest goes on.
func TestSessionSharesAndStops(t *testing.T) {
	r := newRig(t, speeds{"base": wobble(100, 0.02), "x": wobble(200, 0.02), "y": wobble(118, 0.05)})
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
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
			t.Errorf("%s: %s, %d launches of %d, %+v", r.members[i].Feature.Name, level.Verdict, len(out.Launches), want, level.Reasons)
		}
	}
}

// A launch that the machine disturbed is made again in its place; one that broke
// takes its candidate out, and the other goes on.
func TestSessionReplacesAndDrops(t *testing.T) {
	r := newRig(t, speeds{"base": wobble(100, 0.02), "x": wobble(200, 0.02), "y": wobble(200, 0.02)})
	r.spoil = func(l *ledger.Launch, n int) {
		switch {
		case n == 1:
			l.Invalid, l.Disturbed = []verdict.Reason{fact("the GPU was throttled")}, true
		case l.VariantKey == "y" && l.Ordinal == 2:
			l.OK, l.Error = false, fact("the engine died")
		}
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.short(); !strings.HasPrefix(got, "bxxyy"+"xb"+"xbbx") && !strings.HasPrefix(got, "bxxyyxbxb") {
		t.Errorf("launched %s", got)
	}
	// What is made again keeps its number, and has its own place in the order.
	if got := fmt.Sprint(r.numbers[:4], r.orders[:4]); got != "[1 2 2 3] [1 2 3 4]" {
		t.Errorf("numbers and orders %s", got)
	}
	level, out := r.conclusion(t, 0)
	if level.Verdict != verdict.Pass || slices.Contains(out.Launches, "s-1.x.1") || !slices.Contains(out.Launches, "s-1.x.1r1") ||
		!slices.ContainsFunc(level.Reasons, verdict.New(code.LaunchReplaced).On("s-1.x.1").From(fact("the GPU was throttled")).Equal) {
		t.Errorf("x: %+v, %v", level, out.Launches)
	}
	level, out = r.conclusion(t, 1)
	if level.Verdict != verdict.Error || !lost(level.Reasons[0], "s-1.y.2", "the engine died") || !slices.Contains(out.Launches, "s-1.y.2") {
		t.Errorf("y: %+v, %v", level, out.Launches)
	}
}

// lost reports whether a reason is that a launch does not count, and why.
func lost(r verdict.Reason, launch, why string) bool {
	return r.Code == code.LaunchLost && r.Subject == launch && len(r.Causes) == 1 && r.Causes[0].Equal(fact(why))
}

// A machine that disturbs the same launch again and again is not fit to measure.
func TestSessionGivesUp(t *testing.T) {
	r := newRig(t, speeds{"base": wobble(100, 0.02), "x": wobble(200, 0.02), "y": wobble(200, 0.02)})
	r.spoil = func(l *ledger.Launch, _ int) { l.Invalid, l.Disturbed = []verdict.Reason{fact("shared GPU")}, true }
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.short(); got != "bbb" {
		t.Errorf("launched %s", got)
	}
	if level, _ := r.conclusion(t, 0); level.Verdict != verdict.Invalid || !lost(level.Reasons[0], "s-1.baseline.1r2", "shared GPU") {
		t.Errorf("%+v", level)
	}
}

// Wherever a session is cut, going on makes the launches that it lacks and no
// other, and comes to the same end.
func TestSessionGoesOn(t *testing.T) {
	speed := speeds{"base": wobble(100, 0.02), "x": wobble(200, 0.02), "y": wobble(118, 0.05)}
	whole := newRig(t, speed)
	if err := whole.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole.all) + 1 {
		r := newRig(t, speed)
		r.all = slices.Clone(whole.all[:cut])
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := ids(r.all), ids(whole.all); got != want {
			t.Errorf("cut after %d:\n%s\n%s", cut, got, want)
		}
	}
}

// More launches than before go on behind the last round: a launch of the parent
// that was made without the candidate did not stand beside its own.
func TestSessionComesBack(t *testing.T) {
	speed := speeds{"base": wobble(100, 0.02), "x": wobble(200, 0.02), "y": wobble(118, 0.05)}
	r := newRig(t, speed)
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	rounds := r.members[1].Rounds
	again := newRig(t, speed)
	again.all = r.all
	again.members = again.members[:1]
	again.members[0].Least = 6
	if err := again.run(t.Context()); err != nil {
		t.Fatal(err)
	}
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
