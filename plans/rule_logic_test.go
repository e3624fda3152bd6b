package plans

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
)

// shape is a tree in brackets, with a ! where the rule wants it to be false.
func (l *Logic) shape() string {
	not := ""
	if l.Negated {
		not = "!"
	}
	switch l.Op {
	case LogicCompare:
		return not + l.Leaf.Text
	case LogicTruth:
		return not + l.Truth.Path
	}
	parts := make([]string, len(l.Args))
	for i, arg := range l.Args {
		parts[i] = arg.shape()
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
		} else if got := p.Logic.shape(); got != c.want {
			t.Errorf("%s\nwant %s\ngot  %s", c.rule, c.want, got)
		}
	}
	p, errs := r.compile(`not (feature["first"].accepted or feature["second"].decided) or feature["first"].chat.tg > 1`, "three")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := `((!feature["first"].accepted and !feature["second"].decided) or feature["first"].chat.tg > 1)`
	if got := p.Logic.shape(); got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}

// randomRule is a rule over few values, so that each comparison comes out both
// ways.
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

// The tree says what the virtual machine says, for whatever is measured.
func TestLogicIsTheRule(t *testing.T) {
	r := newRules(t)
	rnd := rand.New(rand.NewSource(8))
	seen := map[bool]int{}
	for range 500 {
		rule := randomRule(rnd, 5)
		p, errs := r.compile(rule, "three")
		if len(errs) > 0 {
			if errs[0].summary == "Rule reads nothing" {
				continue
			}
			t.Fatalf("%s: %v", rule, errs)
		}
		checkLogic(t, p.Logic, "")
		for range 8 {
			values, env := map[*Input]any{}, map[string]any{}
			for _, in := range p.Inputs {
				switch in.Type {
				case BoolInput:
					values[in] = rnd.Intn(2) == 0
				case WordInput:
					values[in] = []string{"pass", "fail"}[rnd.Intn(2)]
				default:
					values[in] = float64(rnd.Intn(4))
				}
				env[in.Var] = values[in]
			}
			want, err := expr.Run(p.VM, env)
			if err != nil {
				t.Fatal(rule, err)
			}
			got := p.Logic.Holds(func(l *Leaf) bool { return leafHolds(t, l, values) }, func(in *Input) bool { return values[in].(bool) })
			if got != want {
				t.Fatalf("%s is %v, and %s is %v", rule, want, p.Logic.shape(), got)
			}
			seen[got]++
		}
	}
	if seen[true] < 500 || seen[false] < 500 {
		t.Errorf("came out %v", seen)
	}
}

// checkLogic looks at the form of a tree: nothing is joined to its own kind, and
// every comparison has a claim.
func checkLogic(t *testing.T, l *Logic, above string) {
	t.Helper()
	switch l.Op {
	case LogicCompare:
		if l.Leaf == nil || l.Leaf.Claim == nil || l.Leaf.Negated != l.Negated || len(l.Args) > 0 {
			t.Errorf("comparison %+v", l)
		}
	case LogicTruth:
		if l.Truth == nil || l.Truth.Type != BoolInput || len(l.Args) > 0 {
			t.Errorf("truth %+v", l)
		}
	case LogicAnd, LogicOr:
		if l.Op == above || len(l.Args) < 2 || l.Negated {
			t.Errorf("%s below %q: %s", l.Op, above, l.shape())
		}
		for _, arg := range l.Args {
			checkLogic(t, arg, l.Op)
		}
	default:
		t.Errorf("unknown %q", l.Op)
	}
}

func leafHolds(t *testing.T, l *Leaf, values map[*Input]any) bool {
	t.Helper()
	of := func(in *Input) any { return values[in] }
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
		for _, v := range right.([]any) {
			if v == left {
				return true
			}
		}
		return false
	}
	a, b := left.(float64), right.(float64)
	return map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[l.Op]
}
