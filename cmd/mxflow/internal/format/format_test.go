package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/planstest"
)

// formatted is text laid out, which must be the same when laid out again.
func formatted(t testing.TB, name, text string) string {
	t.Helper()
	out, problems := Plan(name, []byte(text))
	if problems != nil {
		t.Fatalf("%s\n%s", planstest.Text(problems), text)
	}
	again, problems := Plan(name, out)
	if problems != nil || string(again) != string(out) {
		t.Errorf("formatted twice it is\n%s\nand before\n%s", again, out)
	}
	return string(out)
}

func TestFormattingKeepsWhatAPlanSays(t *testing.T) {
	paths, _ := filepath.Glob("../../../../plans/load/testdata/valid/*.hcl")
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before := load.Bytes(path, src, planstest.Registry(), load.Options{})
		crooked := strings.ReplaceAll(strings.ReplaceAll(string(src), "  ", "\t "), " = ", "=")
		after := load.Bytes(path, []byte(formatted(t, path, crooked)), planstest.Registry(), load.Options{})
		if before.Plan.Digest() != after.Plan.Digest() {
			t.Errorf("%s means something else now", path)
		}
	}
}

// TestFormatHeredoc: what a heredoc holds stays as it is, and moves nothing else.
func TestFormatHeredoc(t *testing.T) {
	const text = `plan "p" {}
locals {
  t = <<-EOT
      mxflow_heredoc0

      ${join(
        ", ",
        ["a", <<X
    inner ${upper(
"x")}
X
        ]
      )}
    EOT
  after   =   {
    a = 1
  }
  u = <<EOT
EOT
}
`
	want := strings.Replace(text, "after   =   {", "after = {", 1)
	if got := formatted(t, "plan.hcl", text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFormatYAML(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"indentation", "plan:\n    p:\n        summary:   s\n", "plan:\n  p:\n    summary: s\n"},
		{
			"comments and empty lines", "# what it is\n\nplan:\n   p: {}   # one\n\n\n\nworkload:\n   # sent\n   chat:\n\n      prompt_tokens: 8\n      output_tokens: [ 1,2 ]\n",
			"# what it is\n\nplan:\n  p: {} # one\n\nworkload:\n  # sent\n  chat:\n\n    prompt_tokens: 8\n    output_tokens: [1, 2]\n",
		},
		{"texts over lines", "plan:\n  p:\n     summary: |\n        one\n\n        two\n\n          three\n", "plan:\n  p:\n    summary: |\n      one\n\n      two\n\n        three\n"},
		{"folded texts", "plan:\n  p:\n     summary: >-\n        one\n\n        two\n", ""},
		{"quoted texts", "plan:\n  p:\n     summary: \"one\n\n        two\"\n", ""},
		{"Windows", "plan:\r\n  p:\r\n     summary: s\r\n", "plan:\n  p:\n    summary: s\n"},
		{"anchors", "plan:\n  p: {}\nknob:\n  a:   &k\n    default: x\n  b:   *k\n", "plan:\n  p: {}\nknob:\n  a: &k\n    default: x\n  b: *k\n"},
		{"lists", "plan:\n  p: {}\nphase:\n- a: {}\n- b: {}\n", "plan:\n  p: {}\nphase:\n  - a: {}\n  - b: {}\n"},
	} {
		if got := formatted(t, "plan.yaml", c.text); got != c.want && c.want != "" {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a.hcl": "plan {", "b.hcl": strings.Repeat("a {\n", 200_000), "c.hcl": strings.Repeat("(", 200_000),
		"a.yaml": "plan: [", "b.yaml": "plan: {}\nplan: {}\n", "c.yaml": strings.Repeat("[", 5000), "d.yaml": "\xff",
	} {
		out, problems := Plan(name, []byte(text))
		if out != nil || problems == nil || len(problems.Diagnostics) == 0 || problems.Diagnostics[0].Detail == "" {
			t.Errorf("%s was formatted, or refused without a word: %d bytes", name, len(out))
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("plan \"p\" {\nsummary=\"s\"\n}\n", false)
	f.Add("plan: {p: {summary: s}}\n", true)
	f.Add("plan:\n p:\n  summary: |\n   a\n\n   b\n", true)
	f.Fuzz(func(t *testing.T, text string, yaml bool) {
		name := "plan.hcl"
		if yaml {
			name = "plan.yaml"
		}
		out, problems := Plan(name, []byte(text))
		if problems != nil {
			return
		}
		again, problems := Plan(name, out)
		if problems != nil {
			t.Fatalf("what was formatted cannot be read any more: %s\n%q\n%q", planstest.Text(problems), text, out)
		}
		if yaml && string(again) != string(out) {
			t.Errorf("formatted twice %q is %q and then %q", text, out, again)
		}
	})
}
