package rules_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
)

func TestClaims(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		// A number of the plan, on either side, and scaled.
		{"chat.tg.gain >= 0.10", "ratio: chat.tg.gain >= 0.1"},
		{"0.10 <= chat.tg.gain", "ratio: chat.tg.gain >= 0.1"},
		{"not (chat.tg.gain < 0.10)", "ratio: chat.tg.gain >= 0.1"},
		{"not (not (chat.tg.gain > 0.10))", "ratio: chat.tg.gain > 0.1"},
		{"-1 * chat.tg.gain <= -0.1", "ratio: chat.tg.gain >= 0.1"},
		{"chat.ttft.change < 0.05", "ratio: chat.ttft.change < 0.05"},
		{"chat.tg.root.gain >= 1.5", "ratio: chat.tg.root.gain >= 1.5"},
		{"2 * chat.ttft.delta < 30", "difference: chat.ttft.delta < 15"},
		{"0 < chat.tg.gain < 1", "ratio: chat.tg.gain > 0; ratio: chat.tg.gain < 1"},
		// A metric and its own base.
		{"-1 * chat.tg <= chat.tg.base * -1.1", "ratio: chat.tg.change >= 0.1"},
		{"chat.tg >= 1.1 * chat.tg.base", "ratio: chat.tg.change >= 0.1"},
		{"0.97 * chat.tg.base <= chat.tg", "ratio: chat.tg.change >= -0.03"},
		{"not (chat.ttft.p50 > 1.05 * chat.ttft.base)", "ratio: chat.ttft.change <= 0.05"},
		{"chat.ttft.max <= 1.05 * chat.ttft.base.max", "ratio: chat.ttft.max.change <= 0.05"},
		{"chat.ttft.p99.gain >= 0.1", "ratio: chat.ttft.p99.gain >= 0.1"},
		{"chat.ttft.root.p99.delta <= 5", "difference: chat.ttft.root.p99.delta <= 5"},
		{"chat.tg >= 2 * chat.tg.root", "ratio: chat.tg.root.change >= 1"},
		{"chat.error_rate <= chat.error_rate.base", "difference: chat.error_rate.delta <= 0"},
		{"chat.error_rate <= 0.5 * chat.error_rate.base", "ratio: chat.error_rate.change <= -0.5"},
		{"chat.tg.cv <= chat.tg.base.cv", "difference: chat.tg.cv.delta <= 0"},
		// Levels.
		{"chat.tg >= 32", "log level: chat.tg >= 32"},
		{"chat.tg >= 1.05 * target.llamacpp.chat.tg", "log level: chat.tg >= 60.7425"},
		{"2 * chat.ttft.p95 < 600", "log level: chat.ttft.p95 < 300"},
		{"chat.tg.base >= 30", "log level: chat.tg.base >= 30"},
		{"chat.error_rate <= 0.01", "level: chat.error_rate <= 0.01"},
		{"chat.tg.cv <= 0.05", "level: chat.tg.cv <= 0.05"},
		{"chat.tg > -1", "level: chat.tg > -1"},
		// Values that a launch has once.
		{"engine.memory_gb <= 80", "range: engine.memory_gb <= 80"},
		{"engine.memory_gb.delta <= 1", "range: engine.memory_gb.delta <= 1"},
		{"gpu.memory_gb <= 1.05 * gpu.memory_gb.base", "range: gpu.memory_gb.change <= 0.05"},
		// Counts, words and outcomes.
		{"engine.crashes == 0", "exact"},
		{"chat.errors <= 0.5 * chat.errors.base", "exact"},
		{"chat.tg.n_requests < 10 * chat.tg.base.n_requests", "exact"},
		{"chat.cached_tokens == 0 and chat.tg.n >= 4", "exact; exact"},
		{"levels.smoke in ['pass'] and knob.moe != 'all'", "exact; exact"},
		// A number in per cent, where a ratio or a share is meant; what only looks like one is none.
		{"chat.tg.gain >= 20%", "ratio: chat.tg.gain >= 0.2"},
		{"-3% <= chat.tg.gain", "ratio: chat.tg.gain >= -0.03"},
		{"chat.tg >= 97% * chat.tg.base", "ratio: chat.tg.change >= -0.03"},
		{"chat.error_rate <= .5%", "level: chat.error_rate <= 0.005"},
		{"chat.tg.cv <= 5%", "level: chat.tg.cv <= 0.05"},
		{"not (chat.ttft.p99.change > 1e1%)", "ratio: chat.ttft.p99.change <= 0.1"},
		{"chat.tg >= 5%", `Units do not match at "chat.tg >= 5"`},
		{"engine.crashes <= 5%", `Units do not match at "engine.crashes <= 5"`},
		{"chat.tg32.gain % 5 == 0", `Not allowed in a rule at "chat.tg32.gain % 5"`},
		{"chat.tg32 % > 5", `Invalid rule at ">"`},
		{"chat.tg32% > 5", `Invalid rule at ">"`},
		{"levels.smoke == '5%'", `Unknown word at "'5%'"`},
		{`levels.smoke == "\"5%"`, `Unknown word at "\"\\\"5%\""`},
	} {
		p, errs := r.compile(c.rule, "criterion")
		got := mistakes(c.rule, errs)
		if p != nil {
			got = planstest.ComparesOf(p)
		}
		must.Equal(t, c.rule, got, c.want)
	}
}

// What a gate reads from a feature is a claim about that feature.
func TestClaimsOfOtherFeatures(t *testing.T) {
	r := newRules(t)
	p := r.sound(t,
		`feature["second"].chat.tg >= 1.1 * feature["second"].chat.tg.base and feature["first"].chat.tg.gain > 0`,
		"three")
	if got, want := planstest.ComparesOf(p),
		`ratio: feature["second"].chat.tg.change >= 0.1; ratio: feature["first"].chat.tg.gain > 0`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	in := p.Compares()[0].Metric
	if in.Feature != "second" || in.Relation != plans.Change || in.Unit != "" || in.Stat != "median" ||
		in.Metric != "tg" || in.Cell != "chat" || in.Against != plans.Parent {
		t.Errorf("made up %+v", in)
	}
	for _, known := range p.Inputs() {
		if known == in {
			t.Error("what is made up is none of the rule's inputs")
		}
	}
}

// TestUndecidable: what no launches can decide is refused.
func TestUndecidable(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, rule, summary, says string }{
		{"criterion", "chat.tg == 31.5", "Equal to a measurement", "Set a lower and an upper bound"},
		{"criterion", "chat.tg not in [31.5, 30]", "Equal to a measurement", "chat.tg in [31.5, 30]"},
		{"criterion", "chat.prompt_tokens > chat.tg.cv", "Units do not match", "tokens with a ratio"},
		{
			"criterion", "chat.errors.change > chat.tg.cv", "Count and measurement in one comparison",
			"chat.tg.cv varies",
		},
		{
			"criterion", "chat.tg.base >= chat.tg.root", "Different measurements compared",
			"compares chat.tg.root and chat.tg.base",
		},
		{
			"three", `feature["first"].chat.tg > feature["second"].chat.tg`, "Different measurements compared",
			"with its own base",
		},
		{"criterion", "chat.tg.gain <= -1", "Comparison can never hold", "more than -1"},
		{"criterion", "gpu.memory_gb.gain >= 1", "Comparison can never hold", "less than 1"},
		{"criterion", "not (chat.ttft.gain < 1)", "Comparison can never hold", "less than 1"},
		{"criterion", "chat.tg.change > -2", "Comparison always holds", "more than -1"},
		{"criterion", "0 * chat.tg > 2", "Comparison reads nothing", "0 whatever is measured"},
		{"criterion", "chat.tg > 0.5 * chat.tg.p50", "Compared with itself", "the same value"},
		{"criterion", "chat.tg.delta >= 0.1 * chat.tg.base", "Different measurements compared", "or with a number"},
		{"criterion", "chat.errors < 0.1 * chat.tg.n_requests", "Units do not match", "count with requests"},
		{"criterion", "chat.tg >= 1e308 * target.llamacpp.chat.tg", "Not a number", "not a finite number"},
		{"criterion", "chat.tg / chat.tg.base >= 0.97", "Arithmetic in a rule", "as in chat.tg >= 0.97 * chat.tg.base"},
		{
			"criterion", "chat.tg >= 0.9 * chat.tg.base + 5", "Arithmetic in a rule",
			"0.9 * chat.tg.base + 5 is more than",
		},
		{"criterion", "2 * (3 * chat.tg) > 2", "Arithmetic in a rule", "each value by itself"},
		{"criterion", "-chat.tg.gain <= -0.1", "Not allowed in a rule", "belongs to a number"},
		{"criterion", "2 * levels.smoke == 'pass'", "Wrong type in a rule", "levels.smoke is a word"},
		{"criterion", "abs(chat.tg.change) <= 0.02", "Not allowed in a rule", "calls no functions"},
		// A level or a feature is never waived, so no rule may wait for it.
		{
			"criterion", "levels.kernels == 'waived'", "Unknown word",
			"one of pass, inconclusive, fail, never \"waived\". Only gates are waived",
		},
		{
			"three", `feature["first"].verdict in ['pass', 'waived']`, "Unknown word",
			"is one of pass, inconclusive, fail",
		},
		{
			"criterion", "levels.kernels != 'error'", "Unknown word",
			"never \"error\". A verdict of invalid or error is not evidence",
		},
	} {
		_, errs := r.compile(c.rule, c.place)
		if len(errs) != 1 || errs[0].Summary != c.summary || !strings.Contains(errs[0].Detail, c.says) {
			t.Errorf("%s: %v, want %s: …%s…", c.rule, errs, c.summary, c.says)
		}
	}
}

// spelling is a random way to write "x op limit": both sides are multiplied by a number,
// and the sides may be exchanged.
func spelling(rnd *rand.Rand, x, op string, limit float64) string {
	left, right := x, fmt.Sprint(limit)
	if n := math.Round(rnd.Float64()*1800-900) / 100; n != 0 && rnd.Intn(3) > 0 {
		left, right = fmt.Sprintf("%s * %v", x, n), fmt.Sprint(n*limit)
		if n < 0 {
			op = plans.Flipped[op]
		}
	}
	if rnd.Intn(2) == 0 {
		left, right, op = right, left, plans.Flipped[op]
	}
	if rnd.Intn(3) == 0 {
		denied := map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
		return fmt.Sprintf("not (%s %s %s)", left, denied[op], right)
	}
	return fmt.Sprintf("%s %s %s", left, op, right)
}

func TestSpellingsOfOneClaim(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct {
		x    string
		form verdict.Form
		rel  plans.Relation
	}{
		{"chat.tg.gain", verdict.Ratio, plans.Gain},
		{"chat.ttft.delta", verdict.Difference, plans.Delta},
		{"chat.e2e", verdict.LogLevel, plans.Own},
		{"gpu.memory_gb", verdict.Range, plans.Own},
	} {
		rnd := rand.New(rand.NewSource(6))
		for range 150 {
			limit := math.Round(rnd.Float64()*1000+1) / 1000
			op := []string{"<", "<=", ">", ">="}[rnd.Intn(4)]
			rule := spelling(rnd, c.x, op, limit)
			got := r.sound(t, rule, "criterion").Compares()[0]
			if got.Form != c.form || got.Metric == nil || got.Metric.Relation != c.rel ||
				got.AtLeast != strings.HasPrefix(op, ">") ||
				got.Strict != (len(op) == 1) || math.Abs(got.Threshold-limit) > 1e-9*max(1, limit) {
				t.Fatalf("%s\nis %s, want %s: … %s %v", rule, planstest.CompareText(got), c.form, op, limit)
			}
		}
	}
}

// If a claim holds for some numbers, so does the comparison.
func TestClaimsAgreeWithTheirComparisons(t *testing.T) {
	r := newRules(t)
	rnd := rand.New(rand.NewSource(7))
	for _, rule := range []string{
		"chat.tg >= 1.1 * chat.tg.base", "0.97 * chat.tg.base <= chat.tg", "chat.tg.base < 0.8 * chat.tg",
		"chat.tg.delta > 2",
		"-3 * chat.tg >= -100", "not (2 * chat.tg.base >= 3 * chat.tg)", "-1 * chat.tg.base > chat.tg * -0.9",
	} {
		p := r.sound(t, rule, "criterion")
		for range 200 {
			own, base := 1+99*rnd.Float64(), 1+99*rnd.Float64()
			of := func(in *plans.Input) float64 {
				switch in.Relation {
				case plans.Base:
					return base
				case plans.Change:
					return own/base - 1
				case plans.Delta:
					return own - base
				}
				return own
			}
			l, holds := p.Compares()[0], logicHolds(t, p, func(in *plans.Input) any { return of(in) })
			x := of(l.Metric)
			if claimed := (x > l.Threshold) == l.AtLeast; claimed != holds && math.Abs(x-l.Threshold) > 1e-9 {
				t.Fatalf("%s of %v and %v is %v, and %s is %v", rule, own, base, holds,
					planstest.CompareText(l), claimed)
			}
		}
	}
}

// shape is a tree in brackets, with a ! if the rule wants it to be false.
func shape(l *plans.Cond) string {
	not := ""
	if l.Negated {
		not = "!"
	}
	switch {
	case l.Compare != nil && l.Compare.Negated:
		return "!" + l.Compare.Text
	case l.Compare != nil:
		return l.Compare.Text
	case l.Truth != nil:
		return not + l.Truth.Path
	}
	parts := make([]string, len(l.Args))
	for i, arg := range l.Args {
		parts[i] = shape(arg)
	}
	return "(" + strings.Join(parts, " "+l.Op+" ") + ")"
}

func TestLogic(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		{"chat.tg > 1", "chat.tg > 1"},
		{"not (chat.tg > 1)", "!chat.tg > 1"},
		{"chat.tg > 1 and chat.pp > 1 and chat.e2e < 1", "(chat.tg > 1 and chat.pp > 1 and chat.e2e < 1)"},
		{
			"chat.tg > 1 && (chat.pp > 1 && (chat.e2e < 1 && chat.ttft < 1))",
			"(chat.tg > 1 and chat.pp > 1 and chat.e2e < 1 and chat.ttft < 1)",
		},
		{"chat.tg > 1 or chat.pp > 1 and chat.e2e < 1", "(chat.tg > 1 or (chat.pp > 1 and chat.e2e < 1))"},
		{"not (chat.tg > 1 or chat.pp > 1) and chat.e2e < 1", "(!chat.tg > 1 and !chat.pp > 1 and chat.e2e < 1)"},
		{"not (chat.tg > 1 and not (chat.pp > 1 or chat.e2e < 1))", "(!chat.tg > 1 or chat.pp > 1 or chat.e2e < 1)"},
		{"1 < chat.tg < 2", "(1 < chat.tg and chat.tg < 2)"},
		{"not (1 < chat.tg < 2)", "(!1 < chat.tg or !chat.tg < 2)"},
		{"levels.smoke not in ['fail'] and !(chat.tg > 1)", "(!levels.smoke in ['fail'] and !chat.tg > 1)"},
	} {
		must.Equal(t, c.rule, shape(r.sound(t, c.rule, "criterion")), c.want)
	}
	got := shape(r.sound(t,
		`not (feature["first"].accepted or feature["second"].decided) or feature["first"].chat.tg > 1`, "three"))
	if want := `((!feature["first"].accepted and !feature["second"].decided) or feature["first"].chat.tg > 1)`; got !=
		want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}

// randomRule is a rule over few values, so each comparison has both outcomes.
func randomRule(rnd *rand.Rand, depth int) string {
	if depth == 0 {
		tg := `feature["first"].chat.tg`
		switch rnd.Intn(5) {
		case 0:
			return fmt.Sprintf(`feature[%q].%s`, []string{"first", "second"}[rnd.Intn(2)],
				[]string{"accepted", "decided"}[rnd.Intn(2)])
		case 1:
			return fmt.Sprintf("%d < %s <= %d", rnd.Intn(4), tg, rnd.Intn(4))
		case 2:
			return `feature["second"].levels.smoke ` + []string{
				"== 'pass'", "!= 'pass'", "in ['fail', 'pass']",
				"not in ['fail']",
			}[rnd.Intn(4)]
		case 3:
			return `feature["first"].engine.crashes == ` + fmt.Sprint(rnd.Intn(3))
		}
		return fmt.Sprintf("%s %s %d", tg, []string{"<", "<=", ">", ">="}[rnd.Intn(4)], rnd.Intn(4))
	}
	a := "(" + randomRule(rnd, rnd.Intn(depth)) + ")"
	switch rnd.Intn(5) {
	case 0:
		return []string{"not ", "!"}[rnd.Intn(2)] + a
	case 1, 2:
		return a + []string{" and ", " && "}[rnd.Intn(2)] + "(" + randomRule(rnd, rnd.Intn(depth)) + ")"
	}
	return a + []string{" or ", " || "}[rnd.Intn(2)] + "(" + randomRule(rnd, rnd.Intn(depth)) + ")"
}

// logicHolds evaluates a rule's tree on values.
func logicHolds(t *testing.T, l *plans.Cond, value func(*plans.Input) any) bool {
	t.Helper()
	switch {
	case l.Compare != nil:
		return leafHolds(t, l.Compare, value) != l.Compare.Negated
	case l.Truth != nil:
		return value(l.Truth) != l.Negated
	}
	for _, arg := range l.Args {
		if logicHolds(t, arg, value) != (l.Op == plans.And) {
			return l.Op == plans.Or
		}
	}
	return l.Op == plans.And
}

// plainNames are the addresses in random rules as variables, for expr-lang itself.
var plainNames = strings.NewReplacer(`feature["first"].chat.tg`, "tg", `feature["second"].levels.smoke`, "smoke",
	`feature["first"].engine.crashes`, "crashes",
	`feature["first"].accepted`, "accepted1", `feature["second"].accepted`, "accepted2", `feature["first"].decided`,
	"decided1", `feature["second"].decided`, "decided2")

// The tree and expr-lang agree, whatever is measured.
func TestLogicIsTheRule(t *testing.T) {
	r := newRules(t)
	rnd := rand.New(rand.NewSource(8))
	seen := map[bool]int{}
	for range 300 {
		rule := randomRule(rnd, 5)
		p, errs := r.compile(rule, "three")
		if len(errs) > 0 {
			if errs[0].Summary == "Rule reads nothing" {
				continue
			}
			t.Fatalf("%s: %v", rule, errs)
		}
		checkLogic(t, p, "")
		for range 8 {
			values, env := map[*plans.Input]any{}, map[string]any{}
			for _, in := range p.Inputs() {
				switch in.Type {
				case plans.BoolInput:
					values[in] = rnd.Intn(2) == 0
				case plans.WordInput:
					values[in] = []string{"pass", "fail"}[rnd.Intn(2)]
				default:
					values[in] = float64(rnd.Intn(4))
				}
				env[plainNames.Replace(in.Path)] = values[in]
			}
			want, err := expr.Eval(plainNames.Replace(rule), env)
			if err != nil {
				t.Fatal(rule, err)
			}
			got := logicHolds(t, p, func(in *plans.Input) any { return values[in] })
			if got != want {
				t.Fatalf("%s is %v, and %s is %v", rule, want, shape(p), got)
			}
			seen[got]++
		}
	}
	if seen[true] < 300 || seen[false] < 300 {
		t.Errorf("came out %v", seen)
	}
}

// checkLogic checks the form of a tree: nothing is joined to its own kind, and every comparison has a claim.
func checkLogic(t *testing.T, l *plans.Cond, above string) {
	t.Helper()
	switch {
	case l.Compare != nil:
		if l.Compare.Form == "" || l.Negated || l.Op != "" || l.Truth != nil || len(l.Args) > 0 {
			t.Errorf("comparison %+v", l)
		}
	case l.Truth != nil:
		if l.Truth.Type != plans.BoolInput || l.Op != "" || len(l.Args) > 0 {
			t.Errorf("truth %+v", l)
		}
	case l.Op == plans.And, l.Op == plans.Or:
		if l.Op == above || len(l.Args) < 2 || l.Negated {
			t.Errorf("%s below %q: %s", l.Op, above, shape(l))
		}
		for _, arg := range l.Args {
			checkLogic(t, arg, l.Op)
		}
	default:
		t.Errorf("unknown %q", l.Op)
	}
}

func leafHolds(t *testing.T, l *plans.Compare, of func(*plans.Input) any) bool {
	t.Helper()
	left := must.Get(l.Left.Value(of))(t)
	right := must.Get(l.Right.Value(of))(t)
	switch l.Op {
	case "==":
		return left == right
	case "!=":
		return left != right
	case "in":
		return slices.Contains(right.([]any), left)
	}
	a, b := left.(float64), right.(float64)
	return map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[l.Op]
}
