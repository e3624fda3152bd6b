package plans

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Gate is a phase's exit rule.
type Gate struct {
	Rules []*Rule
	Range Range `json:"-"`
}

// Rule is an expr-lang expression with where it stands.
type Rule struct {
	Name string
	Expr string
	// Range is the block; ExprRange the expression's attribute value.
	Range     Range `json:"-"`
	ExprRange Range `json:"-"`
	// Program is the strictly compiled rule, set by Load.
	Program *Program `json:"-"`
}

var gateDoc = &BlockDoc{
	Type: "gate", Times: AtMost1,
	Doc:    "The exit rule of a phase, which unlocks the phases after it. Its verdict is that of its worst rule. Without a gate, a phase passes when its steps and features pass.",
	Blocks: []*BlockDoc{ruleDoc},
	Example: `gate {
  rule "kernel path proven" {
    expr = "levels.kernels == 'pass'"
  }
  rule "decode did not regress" {
    expr = "chat.tg.gain >= -0.03"
  }
}`,
}

var ruleDoc = &BlockDoc{
	Type: "rule", Times: AtLeast1,
	Labels: []Label{{Name: "name", Doc: "What has to hold, as a phrase of one line."}},
	Doc:    "One condition of the gate. " + ruleForms,
	Attrs: []Attr{
		{Name: "expr", Type: RuleText, Required: true, Doc: "A comparison of what was measured. Bare addresses belong to the phase's feature, where it has just one."},
	},
	Example: `rule "decode did not regress" {
  expr = "chat.tg.gain >= -0.03"
}`,
}

var (
	gateSchema = gateDoc.schema()
	ruleSchema = ruleDoc.schema()
)

// maxRuleName is the longest name of a gate's rule, which is a phrase.
const maxRuleName = 200

func (l *loader) decodeGate(b *hcl.Block) *Gate {
	g := &Gate{Range: rangeOf(b.DefRange)}
	lines := map[string]int{}
	f := l.fields(b, gateSchema, "gate")
	for _, rb := range f.blocks {
		name := rb.Labels[0]
		if strings.TrimSpace(name) != name || name == "" || len(name) > maxRuleName || strings.ContainsAny(name, "\n\r") {
			l.fail(rb.LabelRanges[0], "Invalid rule name", "A rule is named by a phrase of one line and up to %d characters, with no space around it.", maxRuleName)
		}
		rule := l.decodeRule(rb, l.fields(rb, ruleSchema, fmt.Sprintf("rule %q", name)), "expr")
		if line := lines[name]; line > 0 {
			l.fail(rb.LabelRanges[0], "Duplicate rule", "The gate has a rule %q already on line %d. Rename or remove one.", name, line)
			continue
		}
		lines[name] = rb.DefRange.Start.Line
		g.Rules = append(g.Rules, rule)
	}
	if len(f.blocks) == 0 {
		l.fail(b.DefRange, "Gate without rules", `A gate that asks for nothing would always open. Add: rule "what has to hold" { expr = "…" }.`)
	}
	return g
}

// decodeRule reads the expression of a rule or criterion. Compiling it is for
// when the whole plan is known.
func (l *loader) decodeRule(b *hcl.Block, f *body, attr string) *Rule {
	r := &Rule{Name: b.Labels[0], Range: rangeOf(b.DefRange), ExprRange: rangeOf(f.at(attr))}
	if a := f.attrs[attr]; a != nil && l.bare(a.Expr) {
		l.fail(a.Expr.Range(), "Rule is not in quotes", `A rule is text in a language of its own. Put it in quotes: %s = "…".`, attr)
		return r
	}
	r.Expr = f.needText(attr, `a comparison in quotes, such as "chat.tg.gain >= 0.1".`)
	if strings.TrimSpace(r.Expr) == "" {
		r.Expr = ""
	}
	return r
}

// bare tells a rule that was written without quotes: the words in it are then
// read as names of the plan language, which has none such.
func (l *evalScope) bare(expr hcl.Expression) bool {
	if text := l.textAt(expr.Range()); len(text) > 0 && (text[0] == '"' || text[0] == '<') {
		return false
	}
	for _, t := range expr.Variables() {
		root := t.RootName()
		_, known := l.ctx.Variables[root]
		if !known || root == "engine" || root == "feature" || root == "target" || root == "imported" {
			return true
		}
	}
	return false
}
