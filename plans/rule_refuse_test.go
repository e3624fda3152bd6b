package plans

import (
	"strings"
	"testing"
	"time"
)

func TestRulesThatAreRefused(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		// Nothing is read, or it does not matter.
		{"1 < 2", `Comparison reads nothing at "1 < 2"`},
		{"true", `Constant in a rule at "true"`},
		{"chat.tg.gain > 0 or true", `Constant in a rule at "true"`},
		{"chat.tg.gain > 0 or 1 == 1", `Comparison reads nothing at "1 == 1"`},
		{"chat.tg.gain > 0 or target.llamacpp.chat.tg > 1", `Comparison reads nothing at "target.llamacpp.chat.tg > 1"`},
		{"knob.moe == 'routed'", `Rule reads nothing at "knob.moe == 'routed'"`},
		{"'pass' in ['pass']", `Comparison reads nothing at "'pass' in ['pass'"`},
		{"chat.tg >= chat.tg.median", `Compared with itself at "chat.tg >= chat.tg.median"`},
		{"chat.tg >= chat.tg", `Compared with itself at "chat.tg >= chat.tg"`},
		{"chat.tg + 1 > chat.tg + 1", `Compared with itself at "chat.tg + 1 > chat.tg + 1"`},
		// Not a yes or no.
		{"chat.tg.gain", `Not a yes or no at "chat.tg.gain"`},
		{"chat.tg.gain + 1", `Not a yes or no at "chat.tg.gain + 1"`},
		{"levels.kernels", `Not a yes or no at "levels.kernels"`},
		{"chat.tg > 1 and chat.ttft", `Not a yes or no at "chat.ttft"`},
		{"'yes'", `Not a yes or no at "'yes'"`},
		{"0.1", `Not a yes or no at "0.1"`},
		// Types and units.
		{"chat.tg == 'fast'", `Cannot compare at "chat.tg == 'fast'"`},
		{"levels.kernels == 1", `Cannot compare at "levels.kernels == 1"`},
		{"levels.kernels == true", `Cannot compare at "levels.kernels == true"`},
		{"levels.kernels >= 'pass'", `Cannot order at "levels.kernels >= 'pass'"`},
		{"levels.kernels + 1 > 0", `Wrong type in a rule at "levels.kernels"`},
		{"'a' + 'b' == 'ab'", `Wrong type in a rule at "'a'"; Wrong type in a rule at "'b'"`},
		{"-levels.kernels > 0", `Wrong type in a rule at "levels.kernels"`},
		{"chat.tg > chat.ttft", `Units do not match at "chat.tg > chat.ttft"`},
		{"chat.ttft < engine.startup_s", `Units do not match at "chat.ttft < engine.startup_s"`},
		{"chat.tg.gain >= target.llamacpp.chat.tg", `Units do not match at "chat.tg.gain >= target.llamacpp.chat.tg"`},
		{"max(chat.tg, chat.pp, chat.ttft) > 1", `Units do not match at "max(chat.tg, chat.pp, chat.ttft"`},
		{"chat.tg.n > chat.tg.n_requests", `Units do not match at "chat.tg.n > chat.tg.n_requests"`},
		{"chat.tg != 5", `Always different at "chat.tg != 5"`},
		{"levels.smoke == levels.kernels", `Compare with a word at "levels.smoke == levels.kernels"`},
		{"chat.tg.gain > 1/0", `Not a number at "1/0"`},
		{"chat.tg.gain > 1e308 * 10", `Not a number at "1e308 * 10"`},
		// Words.
		{"levels.kernels == 'passed'", `Unknown word at "'passed'"`},
		{"levels.kernels != 'failed'", `Unknown word at "'failed'"`},
		{"levels.kernels != 'invalid'", `Unknown word at "'invalid'"`},
		{"'Pass' == levels.kernels", `Unknown word at "'Pass'"`},
		{"levels.kernels in ['pass', 'ok', 'good']", `Unknown word at "'ok'"; Unknown word at "'good'"`},
		{"knob.moe == 'router' and chat.tg > 1", `Unknown word at "'router'"`},
		{"levels.kernels == ''", `Unknown word at "''"`},
		// Lists.
		{"levels.kernels in []", `Empty list at "["`},
		{"levels.kernels in 'pass'", `Not a list at "'pass'"`},
		{"levels.kernels in ['pass', 1]", `Mixed list at "1"`},
		{"levels.kernels in [levels.smoke]", `Not a constant at "levels.smoke"`},
		{"levels.kernels in [['pass']]", `Not allowed in a rule at "['pass'"`},
		{"chat.tg in 1..5", `Operator not allowed in a rule at "1..5"`},
		{"[1] == [1]", `Not allowed in a rule at "[1"; Not allowed in a rule at "[1"`},
		// What expr-lang has and rules have not.
		{"let x = 1; x < chat.tg", `Not allowed in a rule at "x"`},
		{"chat[let k = 'tg'; k].median > 1", `Dynamic member in a rule at "chat[let k"`},
		{"chat[levels.smoke] > 1", `Dynamic member in a rule at "chat[levels.smoke"`},
		{"chat['t' + 'g'] > 1", `Dynamic member in a rule at "chat['t' + 'g'"`},
		{"chat.tg[0] > 1", `Dynamic member in a rule at "chat.tg[0"`},
		{"$env.chat.tg > 1", `Unknown name in a rule at "$env.chat.tg"`},
		{"$env['chat'].tg > 1", `Unknown name in a rule at "$env['chat'].tg"`},
		{"chat?.tg > 1", `Optional chaining in a rule at "chat?.tg"`},
		{"(chat.tg ?? 5) > 1", `Operator not allowed in a rule at "chat.tg ?? 5"`},
		{"chat.tg > 1 ? true : false", `Conditional in a rule at "chat.tg > 1 ? true : false"`},
		{"chat.tg > nil", `nil in a rule at "nil"`},
		{"all([], # > 5)", `Unknown function at "all([], # > 5"`},
		{"any([1], {true})", `Unknown function at "any([1], {true"`},
		{"median([]) > 0", `Unknown function at "median(["`},
		{"median(chat.tg) > 0", `Unknown function at "median(chat.tg"`},
		{"abs() > chat.tg", `Wrong number of arguments at "abs"`},
		{"abs(chat.tg, 1) > 1", `Wrong number of arguments at "abs(chat.tg, 1"`},
		{"max(chat.tg) > 1", `Wrong number of arguments at "max(chat.tg"`},
		{"chat.tg() > 1", `Not allowed in a rule at "chat.tg"`},
		{"'x'.tg > 1", `Member of an expression at "'x'"`},
		{"(chat.tg).gain > 1", ``},
		{"levels.kernels matches '.*'", `Operator not allowed in a rule at "levels.kernels matches '.*'"`},
		{"levels.kernels contains 'a'", `Operator not allowed in a rule at "levels.kernels contains 'a'"`},
		{"levels.kernels startsWith 'p'", `Operator not allowed in a rule at "levels.kernels startsWith 'p'"`},
		{"chat.tg % 2 == 0", `Operator not allowed in a rule at "chat.tg % 2"`},
		{"chat.tg ** 2 > 0", `Operator not allowed in a rule at "chat.tg ** 2"`},
		{"{a: 1}.a > 0", `Member of an expression at "{"`},
		{"chat.tg > 1; true", `Not allowed in a rule at "chat.tg > 1; true"`},
		{"chat.tg[1:2] > 1", `Not allowed in a rule at "chat.tg["`},
		{"b'pass' == levels.kernels", `Not allowed in a rule at "b'pass'"`},
		{"if chat.tg > 1 { true } else { false }", `Conditional in a rule at "chat.tg > 1 { true } else { false"`},
		// Comparisons where values belong.
		{"not chat.tg.gain >= 0.1", `Misplaced not at "not chat.tg.gain"`},
		{"(chat.tg > 1) == true", `Comparison inside a value at "chat.tg > 1"`},
		{"(chat.tg > 1) + 1 > 1", `Comparison inside a value at "chat.tg > 1"`},
		{"chat.tg == 1 == true", `Comparison inside a value at "chat.tg == 1"`},
		// Every mistake is found at once.
		{"chat.tgg > 1 and levels.kernel == 'pass' or quality.x < 1", `Unknown metric at "chat.tgg"; Level not in the protocol at "levels.kernel"; Not measured by this version at "quality.x"`},
	} {
		p, errs := r.compile(c.rule, "criterion")
		got := mistakes(c.rule, errs)
		switch {
		case c.want == "" && len(errs) == 0:
			if p.VM == nil || len(p.Inputs) == 0 {
				t.Errorf("%s: an empty program", c.rule)
			}
		case c.want != "" && got != c.want:
			t.Errorf("%s\nwant %s\ngot  %s", c.rule, c.want, got)
		}
		for _, e := range errs {
			if e.detail == "" || !strings.HasSuffix(strings.TrimSpace(e.detail), ".") && !strings.HasSuffix(e.detail, "?") {
				t.Errorf("%s: %s says %q", c.rule, e.summary, e.detail)
			}
		}
	}
}

func TestSyntaxMistakesSayWhatWasMeant(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want, hint string }{
		{"chat.tg ≥ 5", `Invalid rule at "≥"`, "Write >="},
		{"chat.tg ≤ 5", `Invalid rule at "≤"`, "Write <="},
		{"chat.ttft <= 500ms", `Invalid rule at "500ms"`, "unit"},
		{"chat.ttft <= 500 ms", `Invalid rule at "500 ms"`, "unit"},
		{"chat.tg.gain >= 10%", `Invalid rule at "10%"`, "0.10 is 10 %"},
		{"chat.tg = 5", `Invalid rule at " = "`, "Write =="},
		{"chat.tg >=", `Invalid rule at "="`, ""},
		{"chat.tg > 5)", `Invalid rule at ")"`, ""},
		{"(chat.tg > 5", `Invalid rule at "5"`, ""},
		{"chat.tg > 'x", `Invalid rule at "x"`, ""},
		{"chat.tg > ${var.x}", `Invalid rule at "${"`, "filled in"},
		{"", "Empty rule at \"nowhere\"", ""},
		{" \t\n", "Empty rule at \"nowhere\"", ""},
		{strings.Repeat("x", 5000), "Rule too long at \"nowhere\"", "4096"},
		{"chat.tg > 1" + strings.Repeat(" + 1", 400), "Rule too long at \"nowhere\"", "500 names"},
		{strings.Repeat("(", 101) + "chat.tg > 1" + strings.Repeat(")", 101), `Rule nested too deeply at "("`, "100"},
	} {
		_, errs := r.compile(c.rule, "criterion")
		if len(errs) != 1 || mistakes(c.rule, errs) != c.want || !strings.Contains(errs[0].detail, c.hint) {
			t.Errorf("%.40s: want %s (%s), got %s %v", c.rule, c.want, c.hint, mistakes(c.rule, errs), errs)
		}
	}
}

// The parser gives two comparisons of a chain the same node, so that a tree of
// a few hundred bytes has more paths than there are atoms.
func TestHostileRulesEndSoon(t *testing.T) {
	r := newRules(t)
	nest := func(n int, open, inner, shut string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	for _, rule := range []string{
		nest(90, "0 < (", "chat.tg", ") < 1"),
		nest(60, "0 < 1 + (", "chat.tg", ") < 1"),
		nest(60, "0 < abs(", "chat.tg", ") < 1"),
		nest(90, "0 < -(", "chat.tg", ") < 1"),
		nest(60, "not (0 < (", "chat.tg", ") < 1)"),
		nest(95, "(", "chat.tg > 1", ") == true"),
		nest(40, "(0 < ", "chat.tg", " < 1).x()"),
		nest(1300, "not ", "chat.tg > 1", ""),
		nest(4000, "-", "chat.tg", ""),
		nest(4000, "!", "chat.tg", ""),
		nest(1500, "1?", "chat.tg", ""),
		nest(1300, "1**", "chat.tg", ""),
		nest(99, "[", "chat.tg", "]"),
		nest(99, "{a:", "chat.tg", "}"),
		nest(2000, "a.", "b", ""),
		nest(700, "let a=", "1", ";"),
		nest(450, "if a{", "1", "}"),
		nest(99, "max(1,", "chat.tg", ") > 1"),
	} {
		start := time.Now()
		_, errs := r.compile(rule, "criterion")
		if took := time.Since(start); took > hang {
			t.Errorf("%.40s… took %v", rule, took)
		}
		if len(errs) == 0 {
			t.Errorf("%.40s… compiles", rule)
		}
	}
}
