package plans

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// convertible are plans that both syntaxes can say.
func convertible(t testing.TB) []string {
	t.Helper()
	valid, _ := filepath.Glob("testdata/valid/*.hcl")
	examples, _ := filepath.Glob("../examples/*/plan.hcl")
	return append(valid, examples...)
}

// decoded is all that a plan came out as, but for where it stands.
func decoded(t testing.TB, p *Plan) string {
	t.Helper()
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func converted(t testing.TB, convert func(string, []byte, *Registry) ([]byte, *Findings), name string, src []byte) []byte {
	t.Helper()
	out, res := convert(name, src, testRegistry())
	if res != nil {
		t.Fatalf("%s\n%s", res.text(), src)
	}
	return out
}

// TestConvertedPlansAreEqual writes each plan in YAML and back, and loads all
// three.
func TestConvertedPlansAreEqual(t *testing.T) {
	for _, path := range convertible(t) {
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(path)
			want := LoadBytes(path, src, testRegistry(), Options{})
			if !want.OK() {
				t.Skip("needs the registry of the command")
			}
			inYAML := converted(t, ToYAML, path, src)
			back := converted(t, ToHCL, filepath.Join(dir, "plan.yaml"), inYAML)
			for name, text := range map[string][]byte{"plan.yaml": inYAML, "plan.hcl": back} {
				got := LoadBytes(filepath.Join(dir, name), text, testRegistry(), Options{})
				if !got.OK() {
					t.Fatalf("%s\n%s", got.text(), text)
				}
				if decoded(t, got.Plan) != decoded(t, want.Plan) || got.Plan.Digest() != want.Plan.Digest() {
					t.Errorf("%s is another plan\n%s\n%s", name, text, decoded(t, got.Plan))
				}
			}
			again, once := converted(t, ToYAML, path, back), converted(t, ToYAML, path, hclwrite.Format(src))
			if string(again) != string(once) {
				t.Errorf("the second conversion differs:\n%s\n%s\n%s", once, back, again)
			}
		})
	}
}

func TestCommentsAreKept(t *testing.T) {
	const src = `# About the file.

/* About the plan. */
plan "p" { # beside the brace
  // above
  summary = "s" # behind
  # at the end
}

# first
workload "a" {
  # in a list
  prompt_tokens = [
    # low
    1, # one
    2,
    # nothing more
  ]
  output_tokens = 1
}
# second
workload "b" {
  prompt_tokens = 1
  output_tokens = max(
    # kept in the text
    1, 2)
}
# last
`
	inYAML := converted(t, ToYAML, "plan.hcl", []byte(src))
	back := converted(t, ToHCL, "plan.yaml", inYAML)
	for _, word := range []string{
		"About the file.", "About the plan.", "beside the brace", "above", "behind", "at the end", "first",
		"in a list", "low", "one", "nothing more", "second", "kept in the text", "last",
	} {
		if n := strings.Count(string(inYAML), "# "+word+"\n"); n != 1 {
			t.Errorf("%q stands %d times in\n%s", word, n, inYAML)
		}
		if n := strings.Count(string(back), "# "+word+"\n"); n != 1 {
			t.Errorf("%q stands %d times in\n%s", word, n, back)
		}
	}
}
