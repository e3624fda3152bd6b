package rules_test

import (
	"fmt"
	"math"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/planstest"
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
		{"100 * chat.tg.gain >= 10", "ratio: chat.tg.gain >= 0.1"},
		{"chat.ttft.gain > 0.2", "ratio: chat.ttft.gain > 0.2"},
		{"chat.ttft.change < 0.05", "ratio: chat.ttft.change < 0.05"},
		{"chat.tg.root.gain >= 1.5", "ratio: chat.tg.root.gain >= 1.5"},
		{"2 * chat.ttft.delta < 30", "difference: chat.ttft.delta < 15"},
		{"chat.error_rate.delta <= 0.01", "difference: chat.error_rate.delta <= 0.01"},
		{"chat.accept_rate.change >= -0.1", "ratio: chat.accept_rate.change >= -0.1"},
		{"0 < chat.tg.gain < 1", "ratio: chat.tg.gain > 0; ratio: chat.tg.gain < 1"},
		// A metric and its own base.
		{"chat.tg * 10 >= 11 * chat.tg.base", "ratio: chat.tg.change >= 0.1"},
		{"-1 * chat.tg <= chat.tg.base * -1.1", "ratio: chat.tg.change >= 0.1"},
		{"chat.tg >= 1.1 * chat.tg.base", "ratio: chat.tg.change >= 0.1"},
		{"0.97 * chat.tg.base <= chat.tg", "ratio: chat.tg.change >= -0.03"},
		{"chat.tg > chat.tg.base", "ratio: chat.tg.change > 0"},
		{"not (chat.ttft.p50 > 1.05 * chat.ttft.base)", "ratio: chat.ttft.change <= 0.05"},
		{"chat.ttft.max <= 1.05 * chat.ttft.base.max", "ratio: chat.ttft.max.change <= 0.05"},
		{"chat.tg >= 2 * chat.tg.root", "ratio: chat.tg.root.change >= 1"},
		{"chat.error_rate <= chat.error_rate.base", "difference: chat.error_rate.delta <= 0"},
		{"chat.error_rate <= 0.5 * chat.error_rate.base", "ratio: chat.error_rate.change <= -0.5"},
		{"chat.tg.cv <= chat.tg.base.cv", "difference: chat.tg.cv.delta <= 0"},
		// Levels.
		{"chat.tg >= 32", "log level: chat.tg >= 32"},
		{"chat.tg >= 1.05 * target.llamacpp.chat.tg", "log level: chat.tg >= 60.7425"},
		{"2 * chat.ttft.p95 < 600", "log level: chat.ttft.p95 < 300"},
		{"chat.tg.base >= 30", "log level: chat.tg.base >= 30"},
		{"chat.tg.root.mean >= 30", "log level: chat.tg.root.mean >= 30"},
		{"gpu.power_w <= 300", "log level: gpu.power_w <= 300"},
		{"chat.error_rate <= 0.01", "level: chat.error_rate <= 0.01"},
		{"chat.queue < 5", "level: chat.queue < 5"},
		{"chat.tg.cv <= 0.05", "level: chat.tg.cv <= 0.05"},
		{"chat.tg > -1", "level: chat.tg > -1"},
		{"chat.accept_length >= 2", "level: chat.accept_length >= 2"},
		// Values that a launch has once.
		{"engine.memory_gb <= 80", "range: engine.memory_gb <= 80"},
		{"engine.memory_gb.delta <= 1", "range: engine.memory_gb.delta <= 1"},
		{"gpu.memory_gb <= 1.05 * gpu.memory_gb.base", "range: gpu.memory_gb.change <= 0.05"},
		{"gpu.memory_gb.gain >= 0.1", "range: gpu.memory_gb.gain >= 0.1"},
		// Counts, words and outcomes.
		{"engine.crashes == 0", "exact"},
		{"chat.errors <= 0.5 * chat.errors.base", "exact"},
		{"chat.tg.n_requests < 10 * chat.tg.base.n_requests", "exact"},
		{"chat.cached_tokens == 0 and chat.tg.n >= 4", "exact; exact"},
		{"levels.smoke in ['pass'] and knob.moe != 'all'", "exact; exact"},
	} {
		p, errs := r.compile(c.rule, "criterion")
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.rule, errs)
		} else if got := planstest.ClaimsOf(p); got != c.want {
			t.Errorf("%s\nwant %s\ngot  %s", c.rule, c.want, got)
		}
	}
}

// What a gate reads from a feature is a claim about that feature.
func TestClaimsOfOtherFeatures(t *testing.T) {
	r := newRules(t)
	p, errs := r.compile(`feature["second"].chat.tg >= 1.1 * feature["second"].chat.tg.base and feature["first"].chat.tg.gain > 0`, "three")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got, want := planstest.ClaimsOf(p), `ratio: feature["second"].chat.tg.change >= 0.1; ratio: feature["first"].chat.tg.gain > 0`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	in := p.Leaves[0].Claim.Input
	if in.Feature != "second" || in.Relation != plans.Change || in.Unit != "" || in.Stat != "median" || in.Metric != "tg" || in.Cell != "chat" || in.Against != plans.Parent {
		t.Errorf("made up %+v", in)
	}
	for _, known := range p.Inputs {
		if known == in {
			t.Error("what is made up is none of the rule's inputs")
		}
	}
}

// TestNearestForms: a refusal says what to write, and that is accepted.
func TestNearestForms(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, summary, form string }{
		{"chat.tg == 31.5", "Equal to a measurement", "chat.tg >= 30.87 and chat.tg <= 32.13"},
		{"chat.tg.gain == 0", "Equal to a measurement", "chat.tg.gain >= -0.02 and chat.tg.gain <= 0.02"},
		{"-2 * chat.tg == -63", "Equal to a measurement", "chat.tg >= 30.87 and chat.tg <= 32.13"},
		{"chat.tg.base == chat.tg", "Equal to a measurement", "chat.tg.change >= -0.02 and chat.tg.change <= 0.02"},
		{"chat.ttft.p99 == chat.ttft.base.p99", "Equal to a measurement", "chat.ttft.p99 >= 0.98 * chat.ttft.base.p99 and chat.ttft.p99 <= 1.02 * chat.ttft.base.p99"},
		{"chat.tg in [31.5, 30]", "Equal to a measurement", "chat.tg >= 30 and chat.tg <= 31.5"},
		{"chat.tg not in [31.5, 30]", "Equal to a measurement", "(chat.tg >= 30 and chat.tg <= 31.5)"},
		{"chat.error_rate == 0", "Equal to a measurement", "chat.errors == 0"},
		{"chat.queue == 0", "Equal to a measurement", "chat.queue <= 0.02"},
		{"gpu.throttled_share == 1", "Equal to a measurement", "gpu.throttled_share >= 0.98"},
		{"engine.memory_gb == 80", "Equal to a measurement", "engine.memory_gb >= 80 and engine.memory_gb <= 80"},
	} {
		_, errs := r.compile(c.rule, "criterion")
		if len(errs) != 1 || errs[0].Summary != c.summary || !strings.HasSuffix(errs[0].Detail, " Write instead: "+c.form+".") {
			t.Errorf("%s: %v, want %s", c.rule, errs, c.form)
			continue
		}
		if _, errs := r.compile(c.form, "criterion"); len(errs) > 0 {
			t.Errorf("%s is refused as well: %v", c.form, errs)
		}
	}
}

// shownForms are the rules that a message gives as examples.
var shownForms = regexp.MustCompile(`(?:feature\["[a-z]+"\]\.)?[a-z_]+(?:\.[a-z_0-9]+)+ [<>]= -?[0-9.]*[0-9]`)

// TestArithmetic: a rule has a number times a value, and nothing else that computes. The
// refusal says what to write.
func TestArithmetic(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, summary, says string }{
		{"chat.tg / chat.tg.base >= 0.97", "Arithmetic in a rule", "as in chat.tg >= 0.97 * chat.tg.base."},
		{"chat.ttft / 1000 <= 2", "Arithmetic in a rule", "Write 0.001 * chat.ttft."},
		{"1000 / chat.tpot > 30", "Arithmetic in a rule", "Compare each value by itself"},
		{"chat.tg / 0 > 2", "Arithmetic in a rule", "Compare each value by itself"},
		{"chat.tg - chat.tg.base >= 2", "Arithmetic in a rule", "as in chat.tg.delta."},
		{"chat.tg >= 0.9 * chat.tg.base + 5", "Arithmetic in a rule", "0.9 * chat.tg.base + 5 is more than"},
		{"chat.tg * chat.pp > 2", "Arithmetic in a rule", "Compare each value by itself"},
		{"2 * (3 * chat.tg) > 2", "Arithmetic in a rule", "Compare each value by itself"},
		{"-chat.tg.gain <= -0.1", "Arithmetic in a rule", "put the sign on the number"},
		{"chat.tg > 0.5 * 600", "Arithmetic in a rule", "write ${0.5 * 600} in its place"},
		{"2 * levels.smoke == 'pass'", "Wrong type in a rule", "levels.smoke is a word"},
		{"abs(chat.tg.change) <= 0.02", "Function in a rule", "chat.tg.change >= -0.02 and chat.tg.change <= 0.02"},
		{"max(chat.ttft, chat.e2e) <= 500", "Function in a rule", "each argument of max by itself"},
		{"500 > (chat.ttft | min(chat.e2e))", "Function in a rule", "each argument of min by itself"},
		{"round(chat.tg) >= 5", "Function in a rule", "calls no functions"},
	} {
		_, errs := r.compile(c.rule, "criterion")
		if len(errs) != 1 || errs[0].Summary != c.summary || !strings.Contains(errs[0].Detail, c.says) {
			t.Errorf("%s: %v, want %s: …%s…", c.rule, errs, c.summary, c.says)
		}
	}
}

// If no form means the same, the message names addresses of the rule to go on with.
func TestNextBestForms(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, rule, summary, says string }{
		{"criterion", "chat.prompt_tokens.cv > chat.tg.cv", "Different measurements compared", "chat.prompt_tokens.change >= 0.05 and chat.tg.gain >= 0.05"},
		{"criterion", "chat.tg.base >= chat.tg.root", "Nothing of the candidate", "chat.tg.root.change, against its parent chat.tg.change"},
		{"three", `feature["first"].chat.tg > feature["second"].chat.tg`, "Features compared", `feature["first"].chat.tg.gain >= 0.05 and feature["second"].chat.tg.gain >= 0.05`},
		{"criterion", "chat.tg.gain <= -1", "Comparison can never hold", "more than -1"},
		{"criterion", "chat.ttft.gain >= 10", "Comparison can never hold", "less than 1"},
		{"criterion", "gpu.memory_gb.gain >= 1", "Comparison can never hold", "less than 1"},
		{"criterion", "not (chat.ttft.gain < 1)", "Comparison can never hold", "less than 1"},
		{"criterion", "chat.tg.change > -2", "Comparison always holds", "more than -1"},
		{"criterion", "chat.tg > -2 * chat.tg.base", "Comparison always holds", "more than -1"},
		{"criterion", "0 * chat.tg > 2", "Comparison reads nothing", "0 whatever is measured"},
		{"criterion", "chat.tg > 0.5 * chat.tg.p50", "Compared with itself", "the same value"},
		{"criterion", "2 * chat.tg > chat.pp", "Different measurements compared", "chat.tg.gain >= 0.05 and chat.pp.gain >= 0.05"},
		{"criterion", "chat.tg.delta >= 0.1 * chat.tg.base", "Different measurements compared", "chat.tg.gain >= 0.05, or with a constant"},
		{"criterion", "chat.errors < 0.1 * chat.tg.n_requests", "Units do not match", "count with requests"},
		{"criterion", "chat.tg >= 1e308 * target.llamacpp.chat.tg", "Not a number", "not a finite number"},
	} {
		_, errs := r.compile(c.rule, c.place)
		if len(errs) != 1 || errs[0].Summary != c.summary || !strings.Contains(errs[0].Detail, c.says) {
			t.Errorf("%s: %v, want %s: …%s…", c.rule, errs, c.summary, c.says)
			continue
		}
		if strings.Contains(errs[0].Summary, "hold") {
			continue // it quotes the rule
		}
		for _, form := range shownForms.FindAllString(strings.ReplaceAll(errs[0].Detail, c.rule, ""), -1) {
			if _, errs := r.compile(strings.TrimSuffix(form, "."), c.place); len(errs) > 0 && form != "chat.tg.gain >= 0.10" {
				t.Errorf("%s: shows %s, which is refused: %v", c.rule, form, errs)
			}
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
		return fmt.Sprintf("not (%s %s %s)", left, plans.Denied[op], right)
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
		for range 300 {
			limit := math.Round(rnd.Float64()*1000+1) / 1000
			op := []string{"<", "<=", ">", ">="}[rnd.Intn(4)]
			rule := spelling(rnd, c.x, op, limit)
			p, errs := r.compile(rule, "criterion")
			if len(errs) > 0 {
				t.Fatalf("%s: %v", rule, errs)
			}
			got := p.Leaves[0].Claim
			if got.Form != c.form || got.Input == nil || got.Input.Relation != c.rel || got.More != strings.HasPrefix(op, ">") ||
				got.Strict != (len(op) == 1) || math.Abs(got.Threshold-limit) > 1e-9*max(1, limit) {
				t.Fatalf("%s\nis %s, want %s: … %s %v", rule, planstest.ClaimText(got), c.form, op, limit)
			}
		}
	}
}

// If a claim holds for some numbers, so does the comparison.
func TestClaimsAgreeWithTheirComparisons(t *testing.T) {
	r := newRules(t)
	rnd := rand.New(rand.NewSource(7))
	for _, rule := range []string{
		"chat.tg >= 1.1 * chat.tg.base", "0.97 * chat.tg.base <= chat.tg", "chat.tg.base < 0.8 * chat.tg", "chat.tg.delta > 2",
		"-3 * chat.tg >= -100", "not (2 * chat.tg.base >= 3 * chat.tg)", "-1 * chat.tg.base > chat.tg * -0.9",
	} {
		p, errs := r.compile(rule, "criterion")
		if len(errs) > 0 {
			t.Fatal(rule, errs)
		}
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
			l := p.Leaves[0]
			left, _ := l.Left.Value(func(in *plans.Input) any { return of(in) })
			right, _ := l.Right.Value(func(in *plans.Input) any { return of(in) })
			a, b := left.(float64), right.(float64)
			holds := map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[l.Op] != l.Negated
			x := of(l.Claim.Input)
			if claimed := (x > l.Claim.Threshold) == l.Claim.More; claimed != holds && math.Abs(x-l.Claim.Threshold) > 1e-9 {
				t.Fatalf("%s of %v and %v is %v, and %s is %v", rule, own, base, holds, planstest.ClaimText(l.Claim), claimed)
			}
		}
	}
}

// shape is a tree in brackets, with a ! if the rule wants it to be false.
func shape(l *plans.Logic) string {
	not := ""
	if l.Negated {
		not = "!"
	}
	switch l.Op {
	case plans.LogicCompare:
		return not + l.Leaf.Text
	case plans.LogicTruth:
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
		{"chat.tg > 1 && (chat.pp > 1 && (chat.e2e < 1 && chat.ttft < 1))", "(chat.tg > 1 and chat.pp > 1 and chat.e2e < 1 and chat.ttft < 1)"},
		{"chat.tg > 1 or chat.pp > 1 and chat.e2e < 1", "(chat.tg > 1 or (chat.pp > 1 and chat.e2e < 1))"},
		{"not (chat.tg > 1 or chat.pp > 1) and chat.e2e < 1", "(!chat.tg > 1 and !chat.pp > 1 and chat.e2e < 1)"},
		{"not (chat.tg > 1 and not (chat.pp > 1 or chat.e2e < 1))", "(!chat.tg > 1 or chat.pp > 1 or chat.e2e < 1)"},
		{"1 < chat.tg < 2", "(1 < chat.tg and chat.tg < 2)"},
		{"not (1 < chat.tg < 2)", "(!1 < chat.tg or !chat.tg < 2)"},
		{"levels.smoke not in ['fail'] and !(chat.tg > 1)", "(!levels.smoke in ['fail'] and !chat.tg > 1)"},
	} {
		p, errs := r.compile(c.rule, "criterion")
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.rule, errs)
		} else if got := shape(p.Logic); got != c.want {
			t.Errorf("%s\nwant %s\ngot  %s", c.rule, c.want, got)
		}
	}
	p, errs := r.compile(`not (feature["first"].accepted or feature["second"].decided) or feature["first"].chat.tg > 1`, "three")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := `((!feature["first"].accepted and !feature["second"].decided) or feature["first"].chat.tg > 1)`
	if got := shape(p.Logic); got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}

// randomRule is a rule over few values, so that each comparison has both outcomes.
func randomRule(rnd *rand.Rand, depth int) string {
	if depth == 0 {
		tg := `feature["first"].chat.tg`
		switch rnd.Intn(5) {
		case 0:
			return fmt.Sprintf(`feature[%q].%s`, []string{"first", "second"}[rnd.Intn(2)], []string{"accepted", "decided"}[rnd.Intn(2)])
		case 1:
			return fmt.Sprintf("%d < %s <= %d", rnd.Intn(4), tg, rnd.Intn(4))
		case 2:
			return `feature["second"].levels.smoke ` + []string{"== 'pass'", "!= 'pass'", "in ['fail', 'pass']", "not in ['fail']"}[rnd.Intn(4)]
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
func logicHolds(t *testing.T, l *plans.Logic, value func(*plans.Input) any) bool {
	t.Helper()
	switch l.Op {
	case plans.LogicCompare:
		return leafHolds(t, l.Leaf, value) != l.Negated
	case plans.LogicTruth:
		return value(l.Truth) != l.Negated
	}
	for _, arg := range l.Args {
		if logicHolds(t, arg, value) != (l.Op == plans.LogicAnd) {
			return l.Op == plans.LogicOr
		}
	}
	return l.Op == plans.LogicAnd
}

// plainNames are the addresses in random rules as variables, for expr-lang itself.
var plainNames = strings.NewReplacer(`feature["first"].chat.tg`, "tg", `feature["second"].levels.smoke`, "smoke", `feature["first"].engine.crashes`, "crashes",
	`feature["first"].accepted`, "accepted1", `feature["second"].accepted`, "accepted2", `feature["first"].decided`, "decided1", `feature["second"].decided`, "decided2")

// The tree and expr-lang agree, whatever is measured.
func TestLogicIsTheRule(t *testing.T) {
	r := newRules(t)
	rnd := rand.New(rand.NewSource(8))
	seen := map[bool]int{}
	for range 500 {
		rule := randomRule(rnd, 5)
		p, errs := r.compile(rule, "three")
		if len(errs) > 0 {
			if errs[0].Summary == "Rule reads nothing" {
				continue
			}
			t.Fatalf("%s: %v", rule, errs)
		}
		checkLogic(t, p.Logic, "")
		for range 8 {
			values, env := map[*plans.Input]any{}, map[string]any{}
			for _, in := range p.Inputs {
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
			got := logicHolds(t, p.Logic, func(in *plans.Input) any { return values[in] })
			if got != want {
				t.Fatalf("%s is %v, and %s is %v", rule, want, shape(p.Logic), got)
			}
			seen[got]++
		}
	}
	if seen[true] < 500 || seen[false] < 500 {
		t.Errorf("came out %v", seen)
	}
}

// checkLogic checks the form of a tree: nothing is joined to its own kind, and every
// comparison has a claim.
func checkLogic(t *testing.T, l *plans.Logic, above string) {
	t.Helper()
	switch l.Op {
	case plans.LogicCompare:
		if l.Leaf == nil || l.Leaf.Claim == nil || l.Leaf.Negated != l.Negated || len(l.Args) > 0 {
			t.Errorf("comparison %+v", l)
		}
	case plans.LogicTruth:
		if l.Truth == nil || l.Truth.Type != plans.BoolInput || len(l.Args) > 0 {
			t.Errorf("truth %+v", l)
		}
	case plans.LogicAnd, plans.LogicOr:
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

func leafHolds(t *testing.T, l *plans.Leaf, of func(*plans.Input) any) bool {
	t.Helper()
	left, err := l.Left.Value(of)
	if err != nil {
		t.Fatal(err)
	}
	right, err := l.Right.Value(of)
	if err != nil {
		t.Fatal(err)
	}
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
