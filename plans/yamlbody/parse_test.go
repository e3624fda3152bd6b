package yamlbody

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func open(hclsyntax.Tokens) *hcl.Diagnostic { return nil }

func TestMistakesAreExplainedAndPlaced(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plan:\n  p:\n\tsummary: x\n", "3:1 Tab in indentation"},
		{"workload:\n  chat:\n    a: 1\n\tb: 2\n    c: 3\n", "4:1 Tab in indentation"},
		{"plan:\n  p:\n    summary: a: b\n", "3:15 Colon out of place"},
		{"a:\n  b: 1\n   c: 2\nd: 1\n", "3:5 Colon out of place"},
		{"plan:\n  p:\n    summary: \"x\n  more: 1\nknob: 1\n", "3:5 Quotes are not closed"},
		{"a:\n  log: *Marlin backend*\nb: 1\n", "2:8 Unknown alias"},
		{"a:\n  log: [*Marlin*]\nb: 1\n", "2:3 Invalid YAML"},
		{"a:\n  log: [a, b\nb: 1\nc: 2\n", "2:3 Bracket is not closed"},
		{"a:\n  log: [${x}, 1]\n", "2:3 Bracket is not closed"},
		{"a:\n    b: 1\n  c: 2\nd: 1\n", "3:3 Invalid YAML"},
		{"a:\n  - b\n  c: 1\n", "3:3 Invalid YAML"},
		{"a: 1\n'a': 'b' c\n", "2:1 Invalid YAML"},
		{"a: |\n  x\n y\nb: 1\n", "4:1 Invalid YAML"},
		{"a: @x\nb: 1\n", "1:4 Value starts with a special character"},
		{"b: 1\na: \"\\q\"\nb: 1\n", "2:1 Invalid YAML"},
		{"b: 1\na: >= 3\nb: 1\n", "2:4 Text must start on the next line"},
		{"|A", "1:1 Text must start on the next line"},
		{"a: b\nplain\n", "2:1 Invalid YAML"},
		{"%FOO x\n---\na: 1\n", "1:1 Invalid YAML"},
		{"a: 1\n---\nb: 2\n", "2:1 Several documents"},
		{"---\n# c\na: 1\n---\nb: 2\n", "4:1 Several documents"},
		{"# only\n", "1:1 Plan is empty"},
		{"---\n", "2:1 Not a mapping"},
		{"- a\n", "1:1 Not a mapping"},
		{"plan \"p\" {\n}\n", "1:1 Not a mapping"},
		{"a: 1\na: 2\n", "2:1 Duplicate key"},
		{"a: {b: 1, \"b\": 2}\n", "1:11 Duplicate key"},
		{"8: 1\ntrue: 2\n~: 3\n", "1:1 Key is not text | 2:1 Key is not text | 3:1 Key is not text"},
		{"? [a]\n: b\n", "1:3 Key is not text"},
		{
			"a: !foo bar\nb: !!binary x\nc: !!timestamp 2024-01-01\nd: !!str 8\n",
			"1:4 Tag in plan | 2:4 Tag in plan | 3:4 Tag in plan | 4:4 Tag in plan",
		},
		{"a: &x [*x]\n", "1:8 Alias of itself"},
		{"a: &x {<<: *x}\n", "1:12 Alias of itself"},
		{"a: {<<: 3}\n", "1:5 Cannot merge"},
		{
			"a: 0o17\nb: 0x1f\nc: 1_000\nd: 0777\ne: .5\nf: .inf\ng: +1\n",
			"1:4 Ambiguous number | 2:4 Ambiguous number | 3:4 Ambiguous number | 4:4 Ambiguous number | 5:4 " +
				"Ambiguous number | 6:4 Ambiguous number | 7:4 Ambiguous number",
		},
		{"a: \"\\r ${1}\"\n", "1:4 Carriage return in template"},
		{"a: x ${1 +}\n", "1:11 Invalid expression"},
		{"a: >-\n  x\n  y ${1 +}\n", "1:4 Invalid expression"},
		{"a: \"\\u00e9 ${1 +}\"\n", "1:4 Invalid expression"},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), "1:102 Nested too deep"},
		{strings.Repeat("[", 20_000), "1:10001 Nested too deep"},
	} {
		_, diags := Parse([]byte(c.text), "p.yaml", open)
		var got []string
		for _, d := range diags {
			got = append(got, fmt.Sprintf("%d:%d %s", d.Subject.Start.Line, d.Subject.Start.Column, d.Summary))
			if d.Detail == "" {
				t.Errorf("%q: %s says nothing", c.text, d.Summary)
			}
		}
		must.Equal(t, c.text, strings.Join(got, " | "), c.want)
	}
}

func TestAliasBombs(t *testing.T) {
	bomb, deep := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n", "a0: &a0 [x]\n"
	for i := range 200 {
		if i < 9 {
			bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
		}
		deep += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	long := "a: &a " + strings.Repeat("x", 10_000) + "\nb: [" + strings.Repeat("*a, ", 200) + "]\n"
	for text, want := range map[string]string{
		bomb: "Too many aliases", long: "Too many aliases",
		deep: "Nested too deep",
	} {
		_, diags := Parse([]byte(text), "p.yaml", open)
		if len(diags) == 0 || diags[0].Summary != want || text != deep && len(diags) > 1 {
			t.Errorf("%.20s: %v, want %s", text, diags, want)
		}
	}
}

func TestScalars(t *testing.T) {
	root, diags := Parse([]byte(`
on: off
yes: no
date: 2024-01-01
version: 1.10.0
number: -1.5e3
"true": true
nothing:
tilde: ~
alias: &a {x: 1}
same: *a
merged: {<<: *a, y: 2}
over: {<<: [*a, {x: 3, z: 4}], z: 5}
escaped: $${x} %%{y}
dollar: costs $5 {really}
`), "p.yaml", open)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	v, diags := root.Expr.Value(nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	one := cty.ObjectVal(map[string]cty.Value{"x": cty.NumberIntVal(1)})
	for key, want := range map[string]cty.Value{
		"on": cty.StringVal("off"), "yes": cty.StringVal("no"), "date": cty.StringVal("2024-01-01"),
		"version": cty.StringVal("1.10.0"), "number": cty.NumberIntVal(-1500), "true": cty.True,
		"nothing": cty.NullVal(cty.DynamicPseudoType), "tilde": cty.NullVal(cty.DynamicPseudoType),
		"alias": one, "same": one,
		"merged":  cty.ObjectVal(map[string]cty.Value{"x": cty.NumberIntVal(1), "y": cty.NumberIntVal(2)}),
		"over":    cty.ObjectVal(map[string]cty.Value{"x": cty.NumberIntVal(1), "z": cty.NumberIntVal(5)}),
		"escaped": cty.StringVal("${x} %{y}"), "dollar": cty.StringVal("costs $5 {really}"),
	} {
		if got := v.GetAttr(key); !got.RawEquals(want) {
			t.Errorf("%s is %#v", key, got)
		}
	}
}

// TestNamesInTemplatesArePlaced finds each name at the characters that spell it, or at the
// first line of a text that is not written as it is.
func TestNamesInTemplatesArePlaced(t *testing.T) {
	for text, want := range map[string]string{
		"a: x ${local.here} y\n":               "local.here",
		"a: &n ${local.here}\n":                "local.here",
		"b: 1\na: [1, \"é ${local.here}\"]\n":  "local.here",
		"? k${local.here}\n: v\n":              "local.here",
		"a: 'it''s ${local.here}'\n":           "'it''s ${local.here}'",
		"a: \"\\u00e9 ${local.here}\"\n":       "\"\\u00e9 ${local.here}\"",
		"a: \"over\n  lines ${local.here}\"\n": "\"over",
		"a: over\n  lines ${local.here} and\n": "over",
		"a: |\n  x\n    ${local.here}\n  z\n":  "|",
		"a: >2-\n    x\n\n  z ${local.here}\n": ">2-",
	} {
		root, diags := Parse([]byte(text), "p.yaml", open)
		if len(diags) > 0 {
			t.Errorf("%q: %v", text, diags)
			continue
		}
		uses := root.Expr.Variables()
		if len(uses) != 1 {
			t.Errorf("%q: %d names", text, len(uses))
			continue
		}
		r := hcl.RangeBetween(uses[0][0].SourceRange(), uses[0][1].SourceRange())
		at := strings.Index(text, want)
		line := 1 + strings.Count(text[:at], "\n")
		column := 1 + len([]rune(text[strings.LastIndex(text[:at], "\n")+1:at]))
		if r.Start.Byte != at || r.End.Byte != at+len(want) || r.Start.Line != line || r.Start.Column != column {
			t.Errorf("%q: at %v, want %d:%d", text, r, line, column)
		}
	}
}

func TestFormat(t *testing.T) {
	order := []string{"plan", "engine", "workload", "phase"}
	for _, c := range []struct{ name, in, want string }{
		{"as it should be", "plan:\n  p: {}\n", "plan:\n  p: {}\n"},
		{
			"indented by four, and by none in a list",
			"plan:\n    p:\n        summary: x\nphase:\n    a:\n        step:\n        -   exec:\n " +
				"               one: {command: [a]}\n        - exec: {two: {command: [b]}}\n",
			"plan:\n  p:\n    summary: x\n\nphase:\n  a:\n    step:\n      - exec:\n          one: {command: [a]}\n " +
				"     - exec: {two: {command: [b]}}\n",
		},
		{
			"comments, order and empty lines",
			"# yaml-language-server: $schema=x.json\n# What it is for.\n\n# ---- what runs\n\n# The " +
				"phases.\nphase:\n   # of a\n   a:   {}   # behind\n\n\n   # the end of phases\nengine:\n  e:\n " +
				"   n:\n\n      model: x\nplan:\n  p: {}\n# the end\n",
			"# yaml-language-server: $schema=x.json\n# What it is for.\n\nplan:\n  p: {}\n\nengine:\n  e:\n " +
				"   n:\n\n      model: x\n\n# ---- what runs\n\n# The phases.\nphase:\n  # of a\n  a:   {}   # " +
				"behind\n\n  # the end of phases\n\n# the end\n",
		},
		{
			"texts keep their white space",
			"plan:\n    p:\n        summary: |\n            one\n              # two  \n\n\n            three\n\n " +
				"   q: \"four\n       # five\"\nengine:\n    e: >-\n        six\n\n        seven\n",
			"plan:\n  p:\n    summary: |\n      one\n        # two  \n\n\n      three\n\n  q: \"four\n    # " +
				"five\"\n\nengine:\n  e: >-\n    six\n\n    seven\n",
		},
		{
			"brackets over several lines", "plan:\n    p: {\n      # of a\n      a: 1,\n      b: 2}\n    q: 1\n",
			"plan:\n  p: {\n    # of a\n    a: 1,\n    b: 2}\n  q: 1\n",
		},
		{"an alias keeps the order", "phase: &x\n    a: {}\nplan: *x\n", "phase: &x\n  a: {}\n\nplan: *x\n"},
		{
			"a text with its own indentation", "plan:\n    p: |4\n        four\n         more\n",
			"plan:\n  p: |4\n      four\n       more\n",
		},
		{"carriage returns", "plan:\r\n    p: {}\r\n", "plan:\n  p: {}\n"},
	} {
		got, err := Format([]byte(c.in), order)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%q\nwant\n%q", c.name, err, got, c.want)
			continue
		}
		if again, err := Format(got, order); err != nil || string(again) != c.want {
			t.Errorf("%s, once more: %v\n%q", c.name, err, again)
		}
	}
	const in = "plan:\n    ? p\n    : {}\n"
	if got, err := Format([]byte(in), order); err == nil ||
		!strings.Contains(err.Error(), "line 2: a key written with ?") {
		t.Errorf("%q becomes %q: %v", in, got, err)
	}
}

// FuzzFormat: whatever is formatted means the same, loses nothing, and is formatted.
func FuzzFormat(f *testing.F) {
	for _, pattern := range []string{
		"../load/testdata/valid_yaml/*.yaml", "../load/testdata/invalid_yaml/*.yaml",
		"../../examples/*/*.yaml",
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			text := must.Get(os.ReadFile(path))(f)
			f.Add(string(text))
		}
	}
	order := []string{"plan", "engine", "phase"}
	f.Fuzz(func(t *testing.T, text string) {
		if n, _ := Parse([]byte(text), "plan.yaml", func(hclsyntax.Tokens) *hcl.Diagnostic { return nil }); n == nil {
			t.Skip()
		}
		out, err := Format([]byte(text), order)
		if err != nil {
			return
		}
		if again, err := Format(out, order); err != nil || string(again) != string(out) {
			t.Errorf("%q becomes %q, and that %q: %v", text, out, again, err)
		}
	})
}
