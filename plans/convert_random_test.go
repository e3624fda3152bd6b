package plans

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// randomPlan writes a valid plan in HCL that says things in many ways. Its
// locals end up in the environment of its engine, so that the plan shows them.
type randomPlan struct{ *rand.Rand }

func (r randomPlan) pick(list ...string) string { return list[r.Intn(len(list))] }

func (r randomPlan) join(most int, separator string, make func() string) string {
	var list []string
	for range r.Intn(most + 1) {
		list = append(list, make())
	}
	return strings.Join(list, separator)
}

// word is what can stand in quotes in HCL.
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

// TestRandomPlansConvert writes plans that nobody would write in YAML and back,
// and expects them to stay what they are.
func TestRandomPlansConvert(t *testing.T) {
	reg := testRegistry()
	reg.Steps["wait"] = reg.Steps["exec"]
	random := randomPlan{rand.New(rand.NewSource(1))}
	valid := 0
	for range 300 {
		src := []byte(random.plan())
		want := LoadBytes("plan.hcl", src, reg, Options{})
		if !want.OK() {
			continue // words came together to something else
		}
		valid++
		inYAML, res := ToYAML("plan.hcl", src, reg)
		if res != nil {
			t.Fatalf("%s\n%s", res.text(), src)
		}
		back, res := ToHCL("plan.yaml", inYAML, reg)
		if res != nil {
			t.Fatalf("%s\n%s\n%s", res.text(), src, inYAML)
		}
		for name, text := range map[string][]byte{"plan.yaml": inYAML, "plan.hcl": back} {
			got := LoadBytes(name, text, reg, Options{})
			if !got.OK() {
				t.Fatalf("%s\n%s\n%s", got.text(), src, text)
			}
			if a, b := decoded(t, want.Plan), decoded(t, got.Plan); a != b || want.Plan.Digest() != got.Plan.Digest() {
				t.Fatalf("%s is another plan:\n%s\n%s\n%s\n%s", name, src, text, a, b)
			}
		}
	}
	t.Logf("%d plans", valid)
	if valid < 200 {
		t.Errorf("only %d of the random plans are valid", valid)
	}
}
