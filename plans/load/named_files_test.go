package load

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/plans/planstest"
)

// Files whose content counts are named once, in the form of the plan's own files, and
// their digest is that of the content.
func TestNamedFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"sub/prompts.jsonl": "{\"prompt\": \"a\"}\n",
		"sub/plan.hcl": `plan "p" {}
workload "a" {
  output_tokens = 1
  dataset {
    file = "prompts.jsonl"
  }
}
workload "b" {
  output_tokens = 1
  dataset {
    file = "./prompts.jsonl"
  }
}
imported "serving" {
  file = "../serving.json"
}
imported "absent" {
  file = "absent.json"
}
`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	result := []byte(`{"num_prompts": 1, "duration": 1, "completed": 1, "total_input_tokens": 1, "request_throughput": 1}`)
	if err := os.WriteFile("serving.json", result, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, names := range map[string][]string{
		"sub/plan.hcl":                     {"serving.json", "sub/prompts.jsonl"},
		filepath.Join(dir, "sub/plan.hcl"): {filepath.Join(dir, "serving.json"), filepath.Join(dir, "sub/prompts.jsonl")},
	} {
		files := Path(path, planstest.Registry(), Options{}).Plan.NamedFiles()
		if len(files) != len(names) {
			t.Fatalf("%s: %+v", path, files)
		}
		for i, f := range files {
			if f.Name != filepath.ToSlash(names[i]) || len(f.Digest) != 64 {
				t.Errorf("%s: %+v, want the name %s", path, f, names[i])
			}
			if _, err := os.Stat(f.Path); err != nil || !filepath.IsAbs(f.Path) {
				t.Errorf("%s: %s: %v", path, f.Path, err)
			}
		}
	}
}
