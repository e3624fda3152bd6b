package gates

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// tree makes a random and/or tree over n leaves, each of its own feature.
func tree(r *rand.Rand, leaves []*plans.Compare, op string) *plans.Cond {
	if len(leaves) == 1 {
		return &plans.Cond{Compare: leaves[0]}
	}
	other := map[string]string{plans.And: plans.Or, plans.Or: plans.And}[op]
	node := &plans.Cond{Op: op}
	for len(leaves) > 0 {
		n := 1 + r.IntN(len(leaves))
		if len(node.Args) == 0 {
			n = min(n, len(leaves)-1)
		}
		node.Args = append(node.Args, tree(r, leaves[:n], other))
		leaves = leaves[n:]
	}
	return node
}

// TestThreeValues: a rule is decided exactly if its result does not depend on its
// undecided comparisons, and more launches are requested for exactly those comparisons
// that could still change the result.
func TestThreeValues(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	values := []verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Inconclusive}
	for range 400 {
		n := 1 + r.IntN(5)
		leaves := make([]*plans.Compare, n)
		c := &ruling{findings: map[*plans.Compare]*finding{}}
		names := map[*plans.Compare]string{}
		var undecided []*plans.Compare
		for i := range leaves {
			leaves[i] = &plans.Compare{}
			v := values[r.IntN(3)]
			f := &finding{Comparison: verdict.Comparison{Verdict: v}}
			names[leaves[i]] = fmt.Sprint("f", i)
			if v == verdict.Inconclusive {
				undecided = append(undecided, leaves[i])
				f.open = []string{names[leaves[i]]}
			}
			c.findings[leaves[i]] = f
		}
		l := tree(r, leaves, []string{plans.And, plans.Or}[r.IntN(2)])
		holds := func(assigned int) bool {
			var of func(l *plans.Cond) bool
			of = func(l *plans.Cond) bool {
				switch l.Op {
				case plans.And:
					return !slices.ContainsFunc(l.Args, func(arg *plans.Cond) bool { return !of(arg) })
				case plans.Or:
					return slices.ContainsFunc(l.Args, of)
				}
				if i := slices.Index(undecided, l.Compare); i >= 0 {
					return assigned>>i&1 == 1
				}
				return c.findings[l.Compare].Verdict == verdict.Pass
			}
			return of(l)
		}
		all := 1 << len(undecided)
		passes := 0
		for a := range all {
			if holds(a) {
				passes++
			}
		}
		want := verdict.Inconclusive
		switch passes {
		case all:
			want = verdict.Pass
		case 0:
			want = verdict.Fail
		}
		var matter []string
		for i, leaf := range undecided {
			for a := range all {
				if holds(a) != holds(a^1<<i) {
					matter = append(matter, names[leaf])
					break
				}
			}
		}
		slices.Sort(matter)
		got, open := c.join(l)
		if got != want || !slices.Equal(open, matter) {
			t.Fatalf("%s, open %v; want %s, open %v", got, open, want, matter)
		}
	}
}

func TestOpen(t *testing.T) {
	rule := func(v verdict.Verdict, decides bool, open ...string) verdict.Rule {
		return verdict.Rule{Verdict: v, Decides: decides, Open: open}
	}
	pending := rule(verdict.Invalid, true)
	pending.Inputs = []verdict.Input{{Path: "levels.benchmark", Pending: true}}
	for i, c := range []struct {
		rules []verdict.Rule
		want  []string
	}{
		{nil, nil},
		{[]verdict.Rule{rule(verdict.Pass, true), rule(verdict.Inconclusive, true, "a", "b")}, []string{"a", "b"}},
		{[]verdict.Rule{rule(verdict.Inconclusive, true, "b", "c"), rule(verdict.Inconclusive, true, "a", "b")}, []string{"a", "b", "c"}},
		{[]verdict.Rule{rule(verdict.Inconclusive, true), rule(verdict.Inconclusive, true, "a")}, []string{"a"}},
		{[]verdict.Rule{rule(verdict.Fail, true), rule(verdict.Inconclusive, true, "a")}, nil},
		{[]verdict.Rule{rule(verdict.Fail, false), rule(verdict.Inconclusive, true, "a")}, []string{"a"}},
		{[]verdict.Rule{rule(verdict.Pass, true), rule(verdict.Inconclusive, false, "a")}, []string{"a"}},
		{[]verdict.Rule{rule(verdict.Invalid, true), rule(verdict.Inconclusive, true, "a")}, nil},
		{[]verdict.Rule{rule(verdict.Error, true), rule(verdict.Inconclusive, true, "a")}, nil},
		{[]verdict.Rule{rule("strange", true), rule(verdict.Inconclusive, true, "a")}, nil},
		{[]verdict.Rule{pending, rule(verdict.Inconclusive, true, "a")}, []string{"a"}},
	} {
		if got := Open(c.rules); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}

// TestOpenOfRules: what a rule's own logic leaves open, with launches.
func TestOpenOfRules(t *testing.T) {
	unclear, clear, worse := "chat.tg.gain >= 0.209", "chat.tg.gain >= 0.1", "chat.tg.gain >= 0.9"
	for _, c := range []struct {
		rule string
		want verdict.Verdict
		open bool
	}{
		{unclear, "inconclusive", true},
		{unclear + " and " + clear, "inconclusive", true},
		{unclear + " and " + worse, "fail", false},
		{unclear + " or " + worse, "inconclusive", true},
		{unclear + " or " + clear, "pass", false},
		{"not (" + unclear + " and " + clear + ")", "inconclusive", true},
		{unclear + " or levels.kernels == 'pass'", "pass", false},
		{unclear + " and levels.kernels == 'fail'", "fail", false},
		{unclear + " and levels.benchmark == 'pass'", "inconclusive", true},
	} {
		got := decided(compiled(t, c.rule), full())
		if got.Verdict != c.want || (len(got.Open) > 0) != c.open {
			t.Errorf("%s: %s, open %v: %q", c.rule, got.Verdict, got.Open, verdict.Lines(got.Reasons))
		}
	}
	// While a session runs, inputs that are still to come settle nothing.
	later := with(func(f *Feature) { delete(f.Levels, "benchmark"); f.Outcome, f.Accepted = "", false })
	for _, rule := range []string{unclear + " and levels.benchmark == 'pass'", unclear + ` and feature["f"].accepted`} {
		if got := decided(compiled(t, rule), later); got.Verdict != verdict.Invalid || !slices.Equal(Open([]verdict.Rule{got}), []string{"f"}) {
			t.Errorf("%s: %s, open %v: %q", rule, got.Verdict, got.Open, verdict.Lines(got.Reasons))
		}
	}
	rules := []*plans.Rule{compiled(t, unclear), compiled(t, `feature["f"].accepted`)}
	if got := Open(Decide(rules, later, usual)); !slices.Equal(got, []string{"f"}) {
		t.Errorf("beside an outcome that stands for later: %v", got)
	}
}

// compiledOnce caches compiled rules for the tests that make many decisions.
func compiledOnce(t testing.TB, text string) *plans.Rule {
	t.Helper()
	if keptRules[text] == nil {
		keptRules[text] = compiled(t, text)
	}
	return keptRules[text]
}

var keptRules = map[string]*plans.Rule{}

// Numbers of a server that was running before its launches decide nothing, neither way;
// levels, knobs and targets do not depend on them.
func TestStaleLaunchesDecideNothing(t *testing.T) {
	last := func(a *Arm) { a.Launches[len(a.Launches)-1].Stale = true }
	both := func(f *Feature) { last(&f.Candidate); last(&f.Parent) }
	for _, c := range []struct {
		rule   string
		change func(f *Feature)
		want   verdict.Verdict
		says   string
	}{
		{"chat.tg.gain >= 0.10", both, verdict.Inconclusive, "pass by the numbers, but launches of f were not fresh starts"},
		{"chat.tg.gain >= 1.0", both, verdict.Inconclusive, "fail by the numbers, but launches of f were"},
		{"chat.tg.gain >= 0.10", func(f *Feature) { last(&f.Parent) }, verdict.Inconclusive, "launches of baseline were"},
		{"chat.tg >= 35", func(f *Feature) { last(&f.Candidate) }, verdict.Inconclusive, "launches of f were"},
		{"chat.tg >= 35", func(f *Feature) { last(&f.Parent) }, verdict.Pass, ""},
		{"chat.tg >= 35 and chat.tg.root.change > 0", func(f *Feature) { last(&f.Candidate); last(f.Root) }, verdict.Inconclusive, "launches of f were"},
		{"levels.kernels == 'pass'", both, verdict.Pass, ""},
		{"levels.kernels == 'fail'", both, verdict.Fail, ""},
	} {
		got := decided(compiled(t, c.rule), with(c.change))
		reasons := verdict.Semicolons(got.Reasons)
		if got.Verdict != c.want || !strings.Contains(reasons, c.says) {
			t.Errorf("%s: %s: %s\nwant %s with %q", c.rule, got.Verdict, reasons, c.want, c.says)
		}
		for _, cmp := range got.Comparisons {
			if stale := c.says != ""; (cmp.Verdict == verdict.Inconclusive) != stale {
				t.Errorf("%s: %s is %s", c.rule, cmp.Text, cmp.Verdict)
			}
		}
		if c.says != "" && !strings.Contains(reasons, "chat.tg") {
			t.Errorf("%s: the numbers are not shown: %s", c.rule, reasons)
		}
	}
}

// In a table of engines the numbers stay, but no row with them passes, nor any row
// compared with them.
func TestStaleRowsDecideNothing(t *testing.T) {
	row := func(name string, running bool) Contender {
		c := contender(name, []float64{200, 220}, []float64{5, 5})
		c.Launches[1].Stale = running
		return c
	}
	for _, c := range []struct {
		own, reference bool
		want           []verdict.Verdict
	}{
		{false, false, []verdict.Verdict{verdict.Pass, verdict.Pass}},
		{true, false, []verdict.Verdict{verdict.Inconclusive, verdict.Pass}},
		{false, true, []verdict.Verdict{verdict.Inconclusive, verdict.Inconclusive}},
	} {
		rows := Compare([]Contender{row("own", c.own), row("reference", c.reference)}, "reference")
		for i, want := range c.want {
			if rows[i].Verdict != want || len(rows[i].Cells) == 0 || (want != verdict.Pass) != (!rows[i].Why.IsZero()) {
				t.Errorf("%+v: row %s is %s (%s) with %d numbers, want %s", c, rows[i].Name, rows[i].Verdict, rows[i].Why.String(), len(rows[i].Cells), want)
			}
		}
	}
}
