package plans

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// loadRule is rulePlan with another criterion for feature first.
func loadRule(attribute string) *Result {
	const old = `criterion "decode" { rule = "chat.tg.gain >= 0.1" }`
	return LoadBytes("plan.hcl", []byte(strings.Replace(rulePlan, old, "criterion \"decode\" {\n"+attribute+"\n}", 1)), testRegistry(), Options{})
}

// mistakesOnly leaves out the warnings: not all that rulePlan declares is used.
func mistakesOnly(res *Result) (list Diagnostics) {
	for _, d := range res.Diagnostics {
		if d.Severity == hcl.DiagError {
			list = append(list, d)
		}
	}
	return list
}

// ruleLine is the line of rulePlan on which the attribute of loadRule begins.
var ruleLine = strings.Count(rulePlan[:strings.Index(rulePlan, "criterion")], "\n") + 2

func TestMistakesAreShownWhereTheyStand(t *testing.T) {
	if ruleLine != 58 {
		t.Fatalf("the fixture has moved to line %d", ruleLine)
	}
	for _, c := range []struct{ attribute, want string }{
		{`  rule = "chat.tgg >= 0.1"`, "58:11-19 Unknown metric"},
		{`  rule = "chat.tg.gain >= 0.1 and levels.kernel == 'pass'"`, "58:35-48 Level not in the protocol"},
		{`  rule = "'äöü€' == levels.kernels"`, "58:11-17 Unknown word"},
		{`  rule = "chat.tg.gain ≥ 0.1"`, "58:24-25 Invalid rule"},
		{`  rule = "chat.tg.gain >= 0.1 and"`, "58:31-34 Invalid rule"},
		{`  rule = "a.b > 1 and c.d > 1"`, "58:11-14 Unknown name in a rule; 58:23-26 Unknown name in a rule"},
		// Escapes, ${ } and indentation may be in between.
		{`  rule = "levels.kernels == \"psas\""`, "58:29-37 Unknown word"},
		{`  rule = "levels.kernels == '\u0070sas' and chat.tgg > 1"`, "58:29-40 Unknown word; 58:45-53 Unknown metric"},
		{`  rule = "chat.tgg >= ${0.1}"`, "58:11-19 Unknown metric"},
		{`  rule = "0.1 <= ${"chat"}.tgg"`, "58:18-31 Unknown metric"},
		{`  rule = "${1 / 10} <= chat.tgg and ${2} < chat.tgf"`, "58:11-41 Unknown metric; 58:44-52 Unknown metric"},
		{"  rule = <<-EOT\n    chat.tg > 1\n      and chat.tgg > 1\n  EOT", "60:11-19 Unknown metric"},
		{"  rule = <<EOT\nchat.tg > 1\n  and chat.tgg > 1\nEOT", "60:7-15 Unknown metric"},
		{"  rule = <<EOT\nchat.tg > 1 and\n  levels.kernels == ${\"'psas'\"}\nEOT", "60:21-32 Unknown word"},
		{"  rule = <<-EOT\n    chat.tg > 1 and\n    chat.pp > 1\n  EOT", ""},
		{"  rule = <<-EOT\n    chat.tgg > 1\n  EOT", "59:5-13 Unknown metric"},
		// ${ and %{ are the plan's, and # is a comment of neither.
		{`  rule = "chat.tg.gain >= $${0.1}"`, "58:27-30 Invalid rule"},
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
			t.Errorf("%s\ngot  %s\nwant %s\n%s", c.attribute, s, c.want, res.text())
		}
	}
}

func TestCaretsOfARule(t *testing.T) {
	const want = `Error: Unknown metric
  on plan.hcl:58:11
   58 │   rule = "chat.ttf <= 0.5 or chat.tg.gain >= 0.1"
      │           ^^^^^^^^
  "ttf" is not a metric of a workload. Did you mean "ttft"?
`
	if got := loadRule(`  rule = "chat.ttf <= 0.5 or chat.tg.gain >= 0.1"`).text(); got != want && got != strings.Replace(want, `"ttft"`, `"ttfr"`, 1) {
		t.Errorf("got\n%s", got)
	}
}

func TestHypothesesNameAMetric(t *testing.T) {
	for metric, want := range map[string]string{
		"chat.tg": "", "chat.tg32": "", "engine.startup_s": "", "chat.ttft.p99": "",
		"chat.tgg":        "Unknown metric",
		"outs.tg":         "Which cell?",
		"levels.kernels":  "Hypothesis without a metric",
		"chat.tg.gain":    "Hypothesis without a metric",
		"chat.tg.base":    "Hypothesis without a metric",
		"knob.moe":        "Hypothesis without a metric",
		"target.a.chat.b": "Unknown target",
	} {
		res := loadRule(`rule = "chat.tg.gain >= 0.1"
}
hypothesis {
  metric  = "` + metric + `"
  expect  = "+10%"
  because = "it should"`)
		got := ""
		for _, d := range mistakesOnly(res) {
			got += d.Summary
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", metric, got, want)
		}
	}
}
