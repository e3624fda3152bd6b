package yamlbody

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestFormat(t *testing.T) {
	order := []string{"plan", "engine", "workload", "phase"}
	for _, c := range []struct{ name, in, want string }{
		{"as it should be", "plan:\n  p: {}\n", "plan:\n  p: {}\n"},
		{"indented by four, and by none in a list", "plan:\n    p:\n        summary: x\nphase:\n    a:\n        step:\n        -   exec:\n                one: {command: [a]}\n        - exec: {two: {command: [b]}}\n", "plan:\n  p:\n    summary: x\n\nphase:\n  a:\n    step:\n      - exec:\n          one: {command: [a]}\n      - exec: {two: {command: [b]}}\n"},
		{
			"comments, order and empty lines",
			"# yaml-language-server: $schema=x.json\n# What it is for.\n\n# ---- what runs\n\n# The phases.\nphase:\n   # of a\n   a:   {}   # behind\n\n\n   # the end of phases\nengine:\n  e:\n    n:\n\n      model: x\nplan:\n  p: {}\n# the end\n",
			"# yaml-language-server: $schema=x.json\n# What it is for.\n\nplan:\n  p: {}\n\nengine:\n  e:\n    n:\n\n      model: x\n\n# ---- what runs\n\n# The phases.\nphase:\n  # of a\n  a:   {}   # behind\n\n  # the end of phases\n\n# the end\n",
		},
		{
			"texts keep their white space",
			"plan:\n    p:\n        summary: |\n            one\n              # two  \n\n\n            three\n\n    q: \"four\n       # five\"\nengine:\n    e: >-\n        six\n\n        seven\n",
			"plan:\n  p:\n    summary: |\n      one\n        # two  \n\n\n      three\n\n  q: \"four\n    # five\"\n\nengine:\n  e: >-\n    six\n\n    seven\n",
		},
		{"brackets over several lines", "plan:\n    p: {\n      # of a\n      a: 1,\n      b: 2}\n    q: 1\n", "plan:\n  p: {\n    # of a\n    a: 1,\n    b: 2}\n  q: 1\n"},
		{"an alias keeps the order", "phase: &x\n    a: {}\nplan: *x\n", "phase: &x\n  a: {}\n\nplan: *x\n"},
		{"a text with its own indentation", "plan:\n    p: |4\n        four\n         more\n", "plan:\n  p: |4\n      four\n       more\n"},
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
	if got, err := Format([]byte(in), order); err == nil || !strings.Contains(err.Error(), "line 2: a key written with ?") {
		t.Errorf("%q becomes %q: %v", in, got, err)
	}
}

// FuzzFormat: whatever is formatted means the same, loses nothing, and is formatted.
func FuzzFormat(f *testing.F) {
	for _, pattern := range []string{"../load/testdata/valid_yaml/*.yaml", "../load/testdata/invalid_yaml/*.yaml", "../../examples/*/*.yaml"} {
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
