package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
)

// command runs mxflow and returns what it printed.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestScaffoldsAreValidAndFormatted(t *testing.T) {
	for i := range 2 * len(scaffold.Kinds()) {
		kind, args, name := scaffold.Kinds()[i/2], []string(nil), "plan.hcl"
		if i%2 == 1 {
			args, name = []string{"--yaml"}, "plan.yaml"
		}
		dir := filepath.Join(t.TempDir(), "new", "port")
		code, out, errs := command(t, append([]string{"init", "--kind", kind, dir}, args...)...)
		path := filepath.Join(dir, name)
		if code != 0 || !strings.Contains(out, "mxflow validate "+path+"  ") {
			t.Fatalf("%s: exit %d\n%s%s", kind, code, out, errs)
		}
		if code, out, errs = command(t, "validate", path); code != 0 || errs != "" {
			t.Errorf("%s: validate exits %d\n%s%s", kind, code, out, errs)
		}
		if code, out, errs = command(t, "fmt", "--check", path); code != 0 {
			t.Errorf("%s: fmt --check exits %d\n%s%s", kind, code, out, errs)
		}
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(written), "\n\n\n") || strings.Contains(string(written), "<no value>") {
			t.Errorf("%s:\n%s", kind, written)
		}
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.hcl")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, "init", dir); code != 1 || !strings.Contains(errs, "not overwritten") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the plan is now %q", text)
	}
	if code, _, errs := command(t, "init", "--kind", "vlm", dir); code != 1 || !strings.Contains(errs, `Did you mean "vllm"?`) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// init takes a folder. One that is named like a plan was meant as the file.
func TestInitTakesAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.hcl")
	code, _, errs := command(t, "init", path)
	if code != 1 || !strings.Contains(errs, "mxflow init "+filepath.Dir(path)) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s: %v", path, err)
	}
}
