package plans

import (
	"fmt"
	"math/rand"
	"testing"
)

// TestNothingThatCanHoldIsCalledAContradiction tries rules that are said never to
// pass with values around all bounds that they name.
func TestNothingThatCanHoldIsCalledAContradiction(t *testing.T) {
	r := newRules(t)
	rnd := rand.New(rand.NewSource(8))
	bounds := []float64{-0.1, 0, 0.1, 0.25}
	comparison := func() string {
		limit := bounds[rnd.Intn(len(bounds))]
		op := []string{"<", "<=", ">", ">="}[rnd.Intn(4)]
		switch rnd.Intn(7) {
		case 0:
			return fmt.Sprintf("chat.tg.gain %s %v", op, limit)
		case 1:
			return fmt.Sprintf("chat.tg %s %v * chat.tg.base", op, 1+limit)
		case 2:
			return fmt.Sprintf("%v %s chat.ttft.gain", limit, op)
		case 3:
			return fmt.Sprintf("chat.ttft.change %s %v", op, limit)
		case 4:
			return fmt.Sprintf("chat.errors %s 1", []string{"==", "<", ">", "<="}[rnd.Intn(4)])
		case 5:
			return fmt.Sprintf("levels.smoke %s 'pass'", []string{"==", "!="}[rnd.Intn(2)])
		}
		return "levels.smoke in ['fail', 'inconclusive']"
	}
	var rule func(depth int) string
	rule = func(depth int) string {
		switch n := rnd.Intn(5); {
		case depth == 0 || n == 0:
			return comparison()
		case n == 1:
			return "not (" + rule(depth-1) + ")"
		case n == 2:
			return "(" + rule(depth-1) + " or " + rule(depth-1) + ")"
		}
		return "(" + rule(depth-1) + " and " + rule(depth-1) + ")"
	}
	var shares []float64
	for _, b := range bounds {
		shares = append(shares, b-0.01, b, b+0.01)
	}
	reported := 0
	for range 1500 {
		var rules []*Rule
		for i := range 1 + rnd.Intn(3) {
			src := rule(2)
			p, errs := r.compile(src, "criterion")
			if len(errs) > 0 {
				t.Fatal(src, errs)
			}
			rules = append(rules, &Rule{Name: fmt.Sprint(i), Expr: src, Program: p})
		}
		c := &planCheck{plan: r.ns.plan, ns: r.ns}
		all := &joint{c: c, kind: "criterion"}
		never := false
		for _, rule := range rules {
			for _, part := range rule.Program.Logic.parts() {
				if f := factOf("criterion", rule, part); f != nil {
					found := all.add(f)
					never = never || found != nil && !found.point
				}
			}
		}
		for _, rule := range rules {
			never = never || len(all.refuted(rule, rule.Program.Logic)) > 0
		}
		if !never {
			continue
		}
		reported++
		for _, tg := range shares {
			for _, ttft := range shares {
				for n, word := range map[float64]string{0: "pass", 1: "fail", 2: "inconclusive"} {
					if held(t, rules, tg, ttft, n, word) {
						t.Fatalf("%q hold with tg %+v, ttft %+v, %v errors and %s", exprs(rules), tg, ttft, n, word)
					}
				}
			}
		}
	}
	if reported < 100 {
		t.Errorf("%d rules are reported", reported)
	}
}

func exprs(rules []*Rule) (list []string) {
	for _, r := range rules {
		list = append(list, r.Expr)
	}
	return list
}

// held evaluates rules at changes of two metrics, a count and a word.
func held(t *testing.T, rules []*Rule, tg, ttft, errors float64, word string) bool {
	t.Helper()
	value := func(in *Input) any {
		change := map[string]float64{"tg": tg, "ttft": ttft}[in.Metric]
		switch {
		case in.Kind == InputLevel:
			return word
		case in.Metric == "errors":
			return errors
		case in.Relation == Gain && in.Better == "lower":
			return -change
		case in.Ratio():
			return change
		case in.Relation == Base:
			return 100.0
		}
		return 100 * (1 + change)
	}
	compare := func(l *Leaf) bool {
		left, _ := l.Left.Value(value)
		right, _ := l.Right.Value(value)
		a, aok := left.(float64)
		b, bok := right.(float64)
		if !aok || !bok {
			list := anyList(right)
			for _, w := range append(list, right) {
				if s, ok := w.(string); ok && s == left {
					return l.Op != "!="
				}
			}
			return l.Op == "!="
		}
		a, b = rounded(a), rounded(b)
		return map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b}[l.Op]
	}
	for _, r := range rules {
		if !r.Program.Logic.Holds(compare, nil) {
			return false
		}
	}
	return true
}
