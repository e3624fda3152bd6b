package plans

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// summaries are what was found, in order.
// hang is longer than any machine needs: what takes that long would not end. How
// fast something is stands in benchmarks.
const hang = time.Minute

func summaries(r *Result) string {
	var list []string
	for _, d := range r.Diagnostics {
		list = append(list, d.Summary)
	}
	return strings.Join(list, " | ")
}

func loadText(src string) *Result {
	return LoadBytes("plan.hcl", []byte(src), testRegistry(), Options{})
}

func TestFilesThatAreNoPlan(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none.hcl"), "Plan file not found"},
		{t.TempDir(), "No plan in folder"},
		{write("plan.yaml", "plan: x"), "Missing name | Missing plan block"},
		{write("empty.hcl", ""), "Plan is empty"},
		{write("blank.hcl", " \n\t\n"), "Plan is empty"},
		{write("mark.hcl", "\uFEFF\n"), "Plan is empty"},
		{write("utf16.hcl", "\xff\xfep\x00l\x00"), "Plan is not UTF-8"},
		{write("latin1.hcl", "plan \"p\" {\n  summary = \"caf\xe9\"\n}\n"), "Plan is not UTF-8"},
		{write("nul.hcl", "plan \"p\" {}\n\x00"), "Control character in plan"},
		{write("escape.hcl", "plan \"p\" {} # \x1b[2J"), "Control character in plan"},
		{write("large.hcl", "plan \"p\" {}\n"+strings.Repeat("# more\n", 200_000)), "Plan file too large"},
		{write("line.hcl", "plan \"p\" {} # "+strings.Repeat("x", 20_000)), "Line too long"},
		{write("good.hcl", "plan \"p\" {}\n"), ""},
		{write("windows.hcl", "plan \"p\" {\r\n  summary = \"s\"\r\n}\r\n"), ""},
		{write("bom.hcl", "\uFEFFplan \"p\" {}\n"), ""},
		{"/dev/zero", "Plan file too large"},
	} {
		res := Load(c.path, testRegistry(), Options{})
		if got := summaries(res); got != c.want {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
		}
		if res.Plan == nil {
			t.Errorf("%s: no plan", c.path)
		}
		_ = res.text() // must not stumble over any of these
	}
}

func TestMistakesInTheTextArePlaced(t *testing.T) {
	res := loadText("plan \"p\" {\n  summary = \"caf\xe9\"\n}\n")
	if d := res.DiagnosticsJSON()[0]; d.Line != 2 || d.Column != 17 {
		t.Errorf("at %d:%d", d.Line, d.Column)
	}
}

// TestHostilePlansAreRefusedQuickly holds texts that would overflow the stack
// of the parser, fill the memory or keep the machine busy.
func TestHostilePlansAreRefusedQuickly(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes of text take minutes under the race detector, and nothing here is concurrent")
	}
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	summary := func(expr string) string { return "plan \"p\" {\n  summary = " + expr + "\n}\n" }
	lines := func(s string, n int) string { return "(" + many(s+"\n", n) + ")" }
	list := "[" + many("0,", 3000) + "]"
	for name, src := range map[string]string{
		"parentheses":       summary(lines(many("(", 100), 2000)),
		"open parentheses":  many(many("(", 100)+"\n", 2000),
		"brackets":          summary(lines(many("[", 100), 2000)),
		"braces":            many("a {\n", 20_000),
		"templates":         summary(many(`"${`, 5000)),
		"heredocs":          summary(many("<<A\n${", 5000)),
		"negations":         summary(lines(many("!", 100), 2000)),
		"minuses":           summary(lines(many("-", 100), 2000)),
		"conditionals":      summary(lines("true ? 1 :", 20_000)),
		"conditions":        summary(lines("true ? ", 20_000)),
		"sums":              summary(lines("1 +", 20_000)),
		"nested sums":       summary(many("(", 90) + many(lines("1 +", 100)+"+", 90) + many(")", 90)),
		"indexes":           summary("([" + many("0]\n[", 20_000) + "0])"),
		"splats":            summary("(local" + many("[*]\n", 20_000) + ")"),
		"dotted splats":     summary("(local" + many(".*\n", 20_000) + ")"),
		"calls":             summary(lines(many("f(", 90), 1) + "\n" + many("g()", 2000)),
		"if sequences":      summary("<<A\n" + many("%{ if true }\n", 20_000) + "A"),
		"for sequences":     summary("<<A\n" + many("%{ for a in [1,2] }\n", 20_000) + "A"),
		"triple for":        "locals {\n x = " + list + "\n y = [for a in local.x : [for b in local.x : [for c in local.x : 1]]]\n}\n",
		"loop over much":    "locals {\n x = " + list + "\n y = [for a in local.x : local.x]\n}\n",
		"loop over text":    "locals {\n y = [for a in " + list + " : " + list + "]\n}\n",
		"loop in braces":    "locals {\n y = { for a in [\n1] : \n a => { for b in [1] : b => 1 } }\n}\n",
		"huge exponent":     summary(`"${1e999999999 * 1}"`),
		"huge remainder":    summary("1e900 % 3"),
		"long number":       summary(many("9", 5000)),
		"squares":           "locals {\n a0 = 1e300\n" + squares(40) + "}\n",
		"doubling":          "locals {\n a0 = \"xxxxxxxxxxxxxxxx\"\n" + doublings(60) + "}\n",
		"copies":            "locals {\n a = \"" + many("x", 9000) + "\"\n" + copies(20_000) + "}\n",
		"names":             many("workload \"a\" {\n}\n", 50_000),
		"unknown names":     "plan \"p\" {}\nlocals {\n" + unknowns(20_000) + "}\n",
		"phases":            phases(3000),
		"unknown in rules":  unknownRules(9000),
		"very many phases":  phases(11_000),
		"attributes":        "plan \"p\" {\n" + attributes(40_000) + "}\n",
		"join":              "locals {\n s = \"" + many("x", 9000) + "\"\n l = " + list + "\n j = join(local.s, [for x in local.l : \"${x}\"])\n}\n",
		"mixed list":        "variable \"x\" {\n type = list(any)\n default = [" + many("{a=1},[2],\n", 40_000) + "]\n}\n",
		"types":             "variable \"x\" {\n type = " + many("list(", 99) + "any" + many(")", 99) + "\n default = []\n}\n",
		"closers":           many(many(")]}", 1000)+"\n", 100),
		"comment":           "/*" + many("*\n", 400_000),
		"unclosed heredoc":  summary("<<A\n" + many("x\n", 400_000)),
		"mismatched closer": summary(many("(]\n", 50_000)),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			res := loadText(src)
			if took := time.Since(start); took > hang {
				t.Errorf("took %v", took)
			}
			if res.OK() {
				t.Error("was accepted")
			}
			if s := summaries(res); strings.Contains(s, "Internal error") {
				t.Error(res.text())
			}
		})
	}
}
