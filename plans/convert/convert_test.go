package convert

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/planstest"
)

func TestCarriageReturnsSurviveConversion(t *testing.T) {
	src := []byte("plan \"p\" {\n summary = \"a\\r${1}\\r\\n$${b}\"\n}\n")
	want := load.Bytes("plan.hcl", src, planstest.Registry(), load.Options{})
	got := load.Bytes("plan.yaml", converted(t, ToYAML, "plan.hcl", src), planstest.Registry(), load.Options{})
	if !got.OK() || got.Plan.Summary != want.Plan.Summary {
		t.Errorf("%q is not %q\n%s", got.Plan.Summary, want.Plan.Summary, planstest.Text(&got.Findings))
	}
}

// convertible are plans that both syntaxes can express.
func convertible(t testing.TB) []string {
	t.Helper()
	valid, _ := filepath.Glob("../load/testdata/valid/*.hcl")
	examples, _ := filepath.Glob("../examples/*/plan.hcl")
	return append(valid, examples...)
}

func converted(t testing.TB, convert func(string, []byte, *plans.Registry) ([]byte, *lang.Findings), name string, src []byte) []byte {
	t.Helper()
	out, res := convert(name, src, planstest.Registry())
	if res != nil {
		t.Fatalf("%s\n%s", planstest.Text(res), src)
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
			want := load.Bytes(path, src, planstest.Registry(), load.Options{})
			if !want.OK() {
				t.Skip("needs the registry of the command")
			}
			inYAML := converted(t, ToYAML, path, src)
			back := converted(t, ToHCL, filepath.Join(dir, "plan.yaml"), inYAML)
			for name, text := range map[string][]byte{"plan.yaml": inYAML, "plan.hcl": back} {
				got := load.Bytes(filepath.Join(dir, name), text, planstest.Registry(), load.Options{})
				if !got.OK() {
					t.Fatalf("%s\n%s", planstest.Text(&got.Findings), text)
				}
				if planstest.Decoded(t, got.Plan) != planstest.Decoded(t, want.Plan) || got.Plan.Digest() != want.Plan.Digest() {
					t.Errorf("%s is another plan\n%s\n%s", name, text, planstest.Decoded(t, got.Plan))
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

// randomPlan writes a valid plan in HCL that expresses things in many ways. Its locals
// end up in the environment of its engine, so that the plan shows them.
type randomPlan struct{ *rand.Rand }

func (r randomPlan) pick(list ...string) string { return list[r.Intn(len(list))] }

func (r randomPlan) join(most int, separator string, make func() string) string {
	var list []string
	for range r.Intn(most + 1) {
		list = append(list, make())
	}
	return strings.Join(list, separator)
}

// word is text that can be in quotes in HCL.
func (r randomPlan) word() string {
	return r.pick("a", "b c", "é", "日本", " ", "  ", ": ", " #", "- ", "*", "&", "!", "%", "@", "'", "{", "}", "[", "]", ",", "|", ">", "=",
		"true", "null", "on", "8", "1e5", "1_0", "0x1f", "2024-01-01", "~", "<<", "$", "$$", "%%", "$${", "%%{", "?", "---", "...", "/", ".5", "-")
}

func (r randomPlan) quoted(depth int) string {
	return `"` + r.join(4, "", func() string {
		switch r.Intn(8) {
		case 0:
			return r.pick(`\n`, `\t`, `\"`, `\\`, `\u00e9`, `\U0001F600`, `\u2028`)
		case 1:
			if depth > 0 {
				return r.pick("${", "${~ ") + r.scalar(depth-1) + r.pick("}", " ~}")
			}
		case 2:
			if depth > 0 {
				return "%{ if " + r.pick("true", "1 == 2") + " }" + r.word() + "%{ else }x%{ endif }"
			}
		}
		return r.word()
	}) + `"`
}

func (r randomPlan) heredoc() string {
	indent := r.pick("", "  ", "    ")
	mark := r.pick("<<EOT\n", "<<-EOT\n")
	body := r.join(4, "", func() string {
		line := indent + r.pick("", " ", "  ") + r.pick("a", "b: c", "# d", "é \"q\" \\n", "${local.word}", "x %{ if true }y%{ endif }", "- e", "$${f}", "")
		return line + "\n"
	})
	return mark + body + indent + "EOT\n"
}

func (r randomPlan) number() string {
	return r.pick("0", "1", "-1", "0.5", "-0.25", "1e3", "1.5e-3", "100000000000000000000", "007", "2.50")
}

// scalar is an expression that can become text.
func (r randomPlan) scalar(depth int) string {
	if depth <= 0 {
		return r.pick("true", "false", r.number(), `"x"`, "local.word", "local.count")
	}
	switch r.Intn(8) {
	case 0:
		return r.quoted(depth - 1)
	case 1:
		return "(" + r.scalar(depth-1) + ")"
	case 2:
		return `upper("` + r.pick("a", "é", "b # c") + `")`
	case 3:
		return "local.count > 1 ? " + r.quoted(depth-1) + " : \"no: \""
	case 4:
		return "max(local.count, " + r.number() + ")"
	case 5:
		return "(\n local.count /* c */ +\n 1 # d\n)"
	}
	return r.scalar(0)
}

func (r randomPlan) value(depth int) string {
	if depth <= 0 {
		return r.scalar(1)
	}
	switch r.Intn(7) {
	case 0:
		return "[" + r.join(4, ", ", func() string { return r.value(depth - 1) }) + "]"
	case 1:
		n := 0
		return "{" + r.join(4, ", ", func() string {
			n++
			key := r.pick("k%d", `"k %d"`, `"k${1}: %d"`, `"$${k}%d"`, `("k%d")`, "%d", `"on%d"`, `"%d"`)
			return fmt.Sprintf(key, n) + r.pick(" = ", " : ") + r.value(depth-1)
		}) + "}"
	case 2:
		return "[for x in [1, 2] : x if x != " + r.number() + "]"
	case 3:
		return `{for k, v in {a = 1} : "${k}: " => v}`
	case 4:
		return "null"
	}
	return r.scalar(depth)
}

func (r randomPlan) plan() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# head\nplan \"p\" {\n summary = %s # why\n}\nlocals {\n word = \"w\"\n count = 2\n", r.quoted(2))
	n := 1 + r.Intn(5)
	for i := range n {
		fmt.Fprintf(&b, " v%d = %s\n", i, r.pick(r.value(3), r.value(3), r.value(2)))
		if r.Intn(3) == 0 {
			fmt.Fprintf(&b, " h%d = %s", i, r.heredoc())
		} else {
			fmt.Fprintf(&b, " h%d = %s\n", i, r.quoted(2))
		}
	}
	b.WriteString("}\nengine \"embedded\" \"tiny\" {\n env = {\n")
	for i := range n {
		fmt.Fprintf(&b, "  V%d = jsonencode(local.v%d)\n H%d = \"${local.h%d}\"\n C%d = \"${local.count}\"\n", i, i, i, i, i)
	}
	b.WriteString(" }\n}\n")
	for i := range r.Intn(3) {
		fmt.Fprintf(&b, "%sworkload \"w%d\" {\n prompt_tokens = %s\n output_tokens = %s\n}\n", r.pick("", "# c\n", "/* d */\n"), i, r.pick("8", "[8, 16]", "local.count"), r.pick("[1]", "2"))
	}
	b.WriteString("phase \"a\" {\n")
	for i := range 1 + r.Intn(4) {
		fmt.Fprintf(&b, " step %q \"s%d\" {\n  command = [%s]\n }\n", r.pick("exec", "exec", "wait"), i, r.pick(`"true"`, `"a", "b: c"`, `"*", "${local.count}"`))
	}
	b.WriteString("}\n")
	return b.String()
}

// TestRandomPlansConvert converts plans that nobody would write to YAML and back, and
// expects them to stay the same.
func TestRandomPlansConvert(t *testing.T) {
	reg := planstest.Registry()
	reg.Steps["wait"] = reg.Steps["exec"]
	random := randomPlan{rand.New(rand.NewSource(1))}
	valid := 0
	for range 300 {
		src := []byte(random.plan())
		want := load.Bytes("plan.hcl", src, reg, load.Options{})
		if !want.OK() {
			continue // the words combined to something else
		}
		valid++
		inYAML, res := ToYAML("plan.hcl", src, reg)
		if res != nil {
			t.Fatalf("%s\n%s", planstest.Text(res), src)
		}
		back, res := ToHCL("plan.yaml", inYAML, reg)
		if res != nil {
			t.Fatalf("%s\n%s\n%s", planstest.Text(res), src, inYAML)
		}
		for name, text := range map[string][]byte{"plan.yaml": inYAML, "plan.hcl": back} {
			got := load.Bytes(name, text, reg, load.Options{})
			if !got.OK() {
				t.Fatalf("%s\n%s\n%s", planstest.Text(&got.Findings), src, text)
			}
			if a, b := planstest.Decoded(t, want.Plan), planstest.Decoded(t, got.Plan); a != b || want.Plan.Digest() != got.Plan.Digest() {
				t.Fatalf("%s is another plan:\n%s\n%s\n%s\n%s", name, src, text, a, b)
			}
		}
	}
	t.Logf("%d plans", valid)
	if valid < 200 {
		t.Errorf("only %d of the random plans are valid", valid)
	}
}
