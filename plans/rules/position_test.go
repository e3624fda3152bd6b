package rules_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/planstest"
)

func loadRule(attribute string) *load.Result {
	return load.Bytes("plan.hcl", planstest.RulePlanWith(attribute), planstest.Registry(), load.Options{})
}

// mistakesOnly drops the warnings: planstest.RulePlan declares things that are not used.
func mistakesOnly(res *load.Result) (list lang.Diagnostics) {
	for _, d := range res.Diagnostics {
		if d.Severity == hcl.DiagError {
			list = append(list, d)
		}
	}
	return list
}

// ruleLine is the line of planstest.RulePlan on which the attribute of loadRule begins.
var ruleLine = strings.Count(planstest.RulePlan[:strings.Index(planstest.RulePlan, "criterion")], "\n") + 2

func TestMistakesAreShownWhereTheyStand(t *testing.T) {
	if ruleLine != 58 {
		t.Fatalf("the fixture has moved to line %d", ruleLine)
	}
	for _, c := range []struct{ attribute, want string }{
		{`  rule = "chat.tgg >= 0.1"`, "58:11-19 Unknown metric"},
		{`  rule = "chat.tg.gain >= 0.1 and levels.kernel == 'pass'"`, "58:35-48 Level not in the protocol"},
		{`  rule = "'äöü€' == levels.kernels"`, "58:11-17 Unknown word"},
		{`  rule = "chat.tg.gain ≥ 0.1"`, "58:24-25 Invalid rule"},
		{`  rule = "chat.tg.gain >= 0.1 and"`, "58:33-34 Invalid rule"},
		{`  rule = "a.b > 1 and c.d > 1"`, "58:11-14 Unknown name in a rule; 58:23-26 Unknown name in a rule"},
		// Escapes, ${ } and indentation may be in between.
		{`  rule = "levels.kernels == \"psas\""`, "58:29-37 Unknown word"},
		{`  rule = "levels.kernels == '\u0070sas' and chat.tgg > 1"`, "58:29-40 Unknown word; 58:45-53 Unknown metric"},
		{`  rule = "chat.tgg >= ${0.1}"`, "58:11-19 Unknown metric"},
		{`  rule = "0.1 <= ${"chat"}.tgg"`, "58:18-31 Unknown metric"},
		{`  rule = "${1 / 10} <= chat.tgg and ${2} < chat.tgf"`, "58:24-32 Unknown metric; 58:44-52 Unknown metric"},
		{"  rule = <<-EOT\n    chat.tg > 1\n      and chat.tgg > 1\n  EOT", "60:11-19 Unknown metric"},
		{"  rule = <<EOT\nchat.tg > 1\n  and chat.tgg > 1\nEOT", "60:7-15 Unknown metric"},
		{"  rule = <<EOT\nchat.tg > 1 and\n  levels.kernels == ${\"'psas'\"}\nEOT", "60:21-32 Unknown word"},
		{"  rule = <<-EOT\n    chat.tg > 1 and\n    chat.pp > 1\n  EOT", ""},
		{"  rule = <<-EOT\n    chat.tgg > 1\n  EOT", "59:5-13 Unknown metric"},
		// ${ and %{ are the plan's, and # is a comment of neither.
		{`  rule = "chat.tg.gain >= $${0.1}"`, "58:29-30 Invalid rule"},
		{`  rule = "chat.tg.gain >= %%{0.1}"`, "58:27-29 Invalid rule"},
		{`  rule = "chat.tg.gain >= ${1 / 10}"`, ""},
		{`  rule = "chat.tg.gain >= 0.1 # or so"`, "58:31-32 Invalid rule"},
	} {
		res := loadRule(c.attribute)
		var got []string
		for _, d := range mistakesOnly(res) {
			got = append(got, fmt.Sprintf("%d:%d-%d %s", d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Column, d.Summary))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s\ngot  %s\nwant %s\n%s", c.attribute, s, c.want, planstest.Text(&res.Findings))
		}
	}
}

// sides shows a leaf by its texts, its unit, and whether it is under a not.
func sides(p *plans.Cond) string {
	var list []string
	for _, l := range p.Compares() {
		s := l.Text + " {" + l.Left.Unit + "|" + l.Right.Unit + "}"
		if l.Negated {
			s = "not " + s
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

func TestLeaves(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		{"chat.tg.gain>=0.10", "chat.tg.gain >= 0.10 {ratio|}"},
		{"  levels.kernels   ==  'pass' ", "levels.kernels == 'pass' {|}"},
		{`levels.kernels in ["pass",'inconclusive']`, `levels.kernels in ["pass", 'inconclusive'] {|}`},
		{"levels.kernels not in ['fail']", "not levels.kernels in ['fail'] {|}"},
		{"not (chat.tg < 1 or not (chat.tg > 0x10))", "not chat.tg < 1 {tok/s|}; chat.tg > 0x10 {tok/s|}"},
		{"0.1 < chat.tg.gain <= 5_0", "0.1 < chat.tg.gain {|ratio}; chat.tg.gain <= 5_0 {ratio|}"},
		{"0 < 2*(chat.tg) < 9", "0 < 2 * chat.tg {|tok/s}; 2 * chat.tg < 9 {tok/s|}"},
		{"chat.tg.gain*-2 < +1 /* a comment */", "chat.tg.gain * -2 < +1 {ratio|}"},
		{"chat.tg >= 1.05 * target.llamacpp.chat.tg", "chat.tg >= 1.05 * target.llamacpp.chat.tg {tok/s|tok/s}"},
		{"chat.tg.cv <= 0.05 && engine.crashes == 0", "chat.tg.cv <= 0.05 {ratio|}; engine.crashes == 0 {count|}"},
	} {
		if got := sides(r.sound(t, c.rule, "criterion")); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.rule, got, c.want)
		}
	}
}

func TestProductsAreFinite(t *testing.T) {
	p := newRules(t).sound(t, "1e300 * chat.pp < 1", "criterion")
	for _, x := range []float64{1e10, math.NaN(), math.Inf(1)} {
		if _, err := p.Compares()[0].Left.Value(func(*plans.Input) any { return x }); err == nil || !strings.Contains(err.Error(), "not a finite number") {
			t.Errorf("of %v: %v", x, err)
		}
	}
}
