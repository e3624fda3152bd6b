package load

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans/lang"
)

// FuzzLoadYAML checks that no text makes Load panic or hang, and that every diagnostic can
// be shown and has a place in the file.
func FuzzLoadYAML(f *testing.F) {
	addFiles(f, "testdata/*valid_yaml/*.yaml")
	f.Fuzz(func(t *testing.T, src []byte) {
		lines := strings.Count(string(src), "\n") + 1
		for _, d := range loadAny(t, "plan.yaml", src).Diagnostics {
			s := d.Subject
			if s != nil && (s.Start.Line < 1 || s.Start.Line > lines || s.Start.Column < 1 ||
				s.End.Byte < s.Start.Byte || s.End.Byte > len(src)) {
				t.Errorf("%s is at %v", d.Summary, s)
			}
		}
	})
}

func addFiles(f *testing.F, pattern string) {
	f.Helper()
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		f.Add(must.Get(os.ReadFile(path))(f))
	}
}

// loadAny loads any text, in time and without an internal error; each diagnostic says how to mend it.
func loadAny(t *testing.T, name string, src []byte) *Result {
	t.Helper()
	start := time.Now()
	res := Bytes(name, src, planstest.Registry(), Options{Vars: map[string]string{"v": "1"}})
	if took := time.Since(start); took > planstest.Hang {
		t.Errorf("took %v", took)
	}
	if text := planstest.Text(&res.Findings); strings.Contains(text, "Internal error") {
		t.Error(text)
	}
	for _, d := range res.Diagnostics {
		if d.Detail == "" {
			t.Errorf("%s does not say how to mend it", d.Summary)
		}
	}
	return res
}

// refused checks that each of the texts is refused, in time and by no internal error.
func refused(t *testing.T, name string, texts map[string]string) {
	t.Helper()
	for what, src := range texts {
		t.Run(what, func(t *testing.T) {
			if loadAny(t, name, []byte(src)).OK() {
				t.Error("was accepted")
			}
		})
	}
}

// FuzzLoad checks the same of HCL, and that a plan it accepts has a digest that survives loading again.
func FuzzLoad(f *testing.F) {
	addFiles(f, "testdata/*valid/*.hcl")
	f.Add([]byte("plan \"p\" {}\nlocals {\n a = [for x in [1] : x]\n b = local.a[*]\n c = \"${local.b[0]}\"\n}\n"))
	f.Add([]byte("plan \"p\" {}\nvariable \"v\" {\n type = object({a = optional(string, \"x\")})\n default = {}\n}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		res := loadAny(t, "plan.hcl", src)
		must.Get(json.Marshal(res.DiagnosticsJSON()))(t)
		if res.OK() && res.Plan.Digest() != loadAny(t, "again.hcl", src).Plan.Digest() {
			t.Error("the digest changed")
		}
	})
}

// numbered is n lines made from their numbers.
func numbered(n int, line func(i int) string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(line(i))
	}
	return b.String()
}

// unknownRules are many rules that misspell one of many long names.
func unknownRules(n int) string {
	long := strings.Repeat("x", 50)
	return "plan \"p\" {}\n" + numbered(1000, func(i int) string {
		return fmt.Sprintf("workload \"%s%d\" {\n prompt_tokens = 1\n output_tokens = 1\n}\n", long, i)
	}) + "phase \"a\" {\n gate {\n" + numbered(n, func(i int) string {
		return fmt.Sprintf("rule \"%d\" {\n rule = \"%sy%d.tg > 1\"\n}\n", i, long, i)
	}) + "}\n}\n"
}

// One slip has one message, however much text it concerns.
func TestOneSlipOneMessage(t *testing.T) {
	yaml := "# a comment\nplan:\n  p:\n    summary: x\nworkload:\n  chat:\n    prompt_tokens: 8\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.hcl", yaml, "YAML in a file named as HCL"},
		{"a.hcl", "---\n" + yaml, "YAML in a file named as HCL"},
		{"a.yaml", planstest.RulePlan, "HCL in a file named as YAML"},
		{"a.yaml", "/* what it\n is for */\nplan \"p\" {\n  summary = \"a: b\"\n}\n", "HCL in a file named as YAML"},
		{
			"a.hcl", strings.Replace(planstest.RulePlan, "workload \"chat\"", "workloads \"chat\"", 1),
			"Unsupported block type",
		},
		{"a.hcl", strings.Replace(planstest.RulePlan, "\nbaseline {", "\nbaselines {", 1), "Unsupported block type"},
	} {
		res := Bytes(c.name, []byte(c.text), planstest.Registry(), Options{})
		if len(res.Diagnostics) != 1 || res.Diagnostics[0].Summary != c.want {
			t.Errorf("%s, %s:\n%s", c.name, c.want, planstest.Text(&res.Findings))
		}
	}
	if res := Bytes("a.hcl", []byte("plan \"p\" {\n  summary = \"x\n}\n"), planstest.Registry(),
		Options{}); lang.CodeOf(res.Diagnostics[0]) == "other-syntax" {
		t.Error("HCL with a slip is not YAML")
	}
	if res := Bytes("a.yaml", []byte("plan:\n p: [\n"), planstest.Registry(),
		Options{}); lang.CodeOf(res.Diagnostics[0]) == "other-syntax" {
		t.Error("YAML with a slip is not HCL")
	}
}

func TestTwoPlansInAFolder(t *testing.T) {
	dir := writeFiles(t, map[string]string{"plan.hcl": planstest.RulePlan, "stricter.hcl": planstest.RulePlan})
	res := Path(dir, planstest.Registry(), Options{})
	if got := summaries(res); got != "Several plans in a folder" ||
		!strings.Contains(res.Diagnostics[0].Detail, "plan.hcl and stricter.hcl") {
		t.Errorf("%s", planstest.Text(&res.Findings))
	}
}

// Output is bounded, and says how much is left out.
func TestManyDiagnostics(t *testing.T) {
	res := loadText(numbered(30, func(i int) string { return fmt.Sprintf("zz%d = 1\n", i) }) + planstest.RulePlan)
	if len(res.Diagnostics.Errs()) != 30 || len(res.DiagnosticsJSON()) < 30 {
		t.Fatalf("%d errors", len(res.Diagnostics.Errs()))
	}
	if text := planstest.Text(&res.Findings); strings.Count(text, "Error:") != lang.MaxShown ||
		!strings.Contains(text, "… and 10 more") {
		t.Errorf("printed:\n%s", text)
	}
}

// TestGenerationIsBounded has plans that would make very much out of little.
func TestGenerationIsBounded(t *testing.T) {
	phases := func(body string) string {
		return "plan \"p\" {}\nlocals {\n  n = [for i in range(300) : \"x${i}\"]\n}\n" + body
	}
	feature := "set = { k = \"on\" }\n criterion \"c\" {\n rule = \"chat.tg.gain > 0\"\n }\n"
	refused(t, "plan.hcl", map[string]string{
		"features of phases": phases("phase \"p\" {\n for_each = local.n\n feature \"f\" {\n for_each = local.n\n" +
			feature + "}\n}\n"),
		"dynamic in dynamic": phases("knob \"k\" {\n default = \"a\"\n dynamic \"value\" {\n for_each = local.n\n " +
			"labels = [value.value]\n content {\n" +
			" dynamic \"must_see\" {\n for_each = local.n\n content {\n log = [\"x\"]\n }\n }\n }\n }\n}\n"),
		"many blocks": phases(numbered(70, func(i int) string {
			return fmt.Sprintf("workload \"w%d\" {\n for_each = local.n\n prompt_tokens = 1\n output_tokens = 1\n}\n",
				i)
		})),
	})
}

// TestDynamicInPhase: dynamic blocks use locals and each, and make no features.
func TestDynamicInPhase(t *testing.T) {
	const step = `dynamic "step" {
    for_each = %s
    labels   = ["exec", "${local.prefix}_${step.value}"]
    content {
      command = ["true"]
    }
  }
`
	inPhase := func(body string) *Result {
		const locals = `locals {
  repos  = ["a", "b"]
  prefix = "port"
  ports  = { x = { on = "routed", least = [0.1, 0.2] } }
}
`
		return loadText(locals + planstest.RulePlan + "phase \"p\" {\n" + body + "}\n")
	}
	res := inPhase(fmt.Sprintf(step, "local.repos") + `
  feature "port" {
    for_each = local.ports
    set      = { moe = each.value.on }
    dynamic "criterion" {
      for_each = each.value.least
      labels   = ["at_least_${criterion.key}"]
      content {
        rule = "chat.tg.gain >= ${criterion.value}"
      }
    }
  }
`)
	ph := sound(t, res).Phase("p")
	got := []string{ph.Steps[0].Name, ph.Steps[1].Name, ph.Features[0].Name, ph.Features[0].Criteria[1].Expr}
	if want := []string{"port_a", "port_b", "port_x", "chat.tg.gain >= 0.2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if res := inPhase("dynamic \"feature\" {\n for_each = [1]\n labels = [\"f\"]\n content {}\n}\n"); !strings.Contains(
		planstest.Text(&res.Findings), "Feature in dynamic") {
		t.Error(planstest.Text(&res.Findings))
	}
	for _, wrong := range []string{"local.repo", "5"} {
		res := inPhase(fmt.Sprintf(step, wrong))
		if text := planstest.Text(&res.Findings); len(res.DiagnosticsJSON()) == 0 {
			t.Errorf("for_each = %s has another fault than that:\n%s", wrong, text)
		}
	}
}
