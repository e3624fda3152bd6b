package plans

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One slip has one message, however much text it is about.
func TestOneSlipOneMessage(t *testing.T) {
	yaml := "# a comment\nplan:\n  p:\n    summary: x\nworkload:\n  chat:\n    prompt_tokens: 8\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.hcl", yaml, "YAML in a file of HCL"},
		{"a.hcl", "---\n" + yaml, "YAML in a file of HCL"},
		{"a.yaml", rulePlan, "HCL in a file of YAML"},
		{"a.yaml", "/* what it\n is for */\nplan \"p\" {\n  summary = \"a: b\"\n}\n", "HCL in a file of YAML"},
		{"a.yml", "include = [\"b.hcl\"]\nplan \"p\" {\n}\n", "HCL in a file of YAML"},
		{"a.hcl", strings.Replace(rulePlan, "workload \"chat\"", "workloads \"chat\"", 1), "Unsupported block type"},
		{"a.hcl", "plan \"p\" {\n}\nload \"chat\" {\n  prompt_tokens = 8\n}\nprotocol \"p\" {\n  level \"benchmark\" {\n    workloads = [workload.chat]\n  }\n}\n", "Unsupported block type"},
		{"a.hcl", strings.Replace(rulePlan, "\nbaseline {", "\nbaselines {", 1), "Unsupported block type"},
	} {
		res := LoadBytes(c.name, []byte(c.text), testRegistry(), Options{})
		if len(res.Diagnostics) != 1 || res.Diagnostics[0].Summary != c.want {
			t.Errorf("%s, %s:\n%s", c.name, c.want, res.text())
		}
	}
	if res := LoadBytes("a.hcl", []byte("plan \"p\" {\n  summary = \"x\n}\n"), testRegistry(), Options{}); CodeOf(res.Diagnostics[0]) == "other-syntax" {
		t.Error("HCL with a slip is not YAML")
	}
	if res := LoadBytes("a.yaml", []byte("plan:\n p: [\n"), testRegistry(), Options{}); CodeOf(res.Diagnostics[0]) == "other-syntax" {
		t.Error("YAML with a slip is not HCL")
	}
}

func TestTwoPlansInAFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plan.hcl", "stricter.hcl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(rulePlan), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res := Load(dir, testRegistry(), Options{})
	if len(res.Diagnostics) != 1 || res.Diagnostics[0].Summary != "Several plans in a folder" || !strings.Contains(res.Diagnostics[0].Detail, "plan.hcl and stricter.hcl") {
		t.Errorf("%s", res.text())
	}
}

// What is printed ends somewhere, and says what is left.
func TestManyDiagnostics(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "zz%d = 1\n", i)
	}
	res := LoadBytes("plan.hcl", []byte(b.String()+rulePlan), testRegistry(), Options{})
	if len(res.Diagnostics.Errs()) != 30 || len(res.DiagnosticsJSON()) < 30 {
		t.Fatalf("%d errors", len(res.Diagnostics.Errs()))
	}
	if text := res.text(); strings.Count(text, "Error:") != maxShown || !strings.Contains(text, "… and 10 more errors") {
		t.Errorf("printed:\n%s", text)
	}
}
