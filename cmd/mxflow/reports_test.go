package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// blocks are the examples of a page in one language.
func blocks(t *testing.T, page, language string) (list []string) {
	t.Helper()
	for _, part := range strings.Split(try.Read(t, filepath.Join("../../docs", page)), "```"+language+"\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("an example of %s is not closed", page)
		}
		list = append(list, block)
	}
	return list
}

// TestReportsPage follows docs/reports.md: its commands print what it shows, its feature
// is one, and its keep region stays.
func TestReportsPage(t *testing.T) {
	t.Parallel()
	shown := map[string][]string{}
	for _, language := range []string{"console", "hcl", "markdown"} {
		shown[language] = blocks(t, "reports.md", language)
	}
	dir := t.TempDir()
	plan := try.Read(t, "testdata/plans/tiny.hcl")
	try.Write(t, filepath.Join(dir, "plan.hcl"), plan)
	mxflow := func(args ...string) (int, string) { return program(t, dir, nil, args...) }
	if status, out := mxflow("apply", "--var", "launches=1", "plan.hcl"); status != 3 {
		t.Fatalf("apply ends with %d:\n%s", status, out)
	}
	session := regexp.MustCompile(`s-[0-9a-f]{10}`)
	follow := func(block string) {
		for _, part := range strings.Split(block, "$ mxflow ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if _, out := mxflow(strings.Fields(command)...); session.ReplaceAllString(out, "S") != session.ReplaceAllString(want, "S") {
				t.Errorf("mxflow %s prints\n%sand docs/reports.md has\n%s", command, out, want)
			}
		}
	}
	consoles, features, regions := shown["console"], shown["hcl"], shown["markdown"]
	if len(consoles) != 1 || len(features) != 2 || len(regions) != 1 {
		t.Fatalf("%d, %d and %d examples", len(consoles), len(features), len(regions))
	}
	if res := load.Bytes("plan.hcl", []byte(inPlan("", strings.Replace(features[0], "levels.correctness.kl", "levels.kernels", 1))), steps.Registry(), load.Options{}); !res.OK() {
		t.Errorf("the columns of the page are refused: %s", explained(&res.Findings))
	}
	follow(consoles[0])
	results := filepath.Join(dir, "docs", "BENCHMARK_RESULTS.md")
	text := try.Read(t, results)
	// What it has of a feature is on the feature's page, to the digit.
	row := regexp.MustCompile(`(?m)^\| \[kv_cache\]\S+ \| 1 \| ([^|<]+)<br>([^|<]+) \|`).FindStringSubmatch(text)
	if row == nil {
		t.Fatalf("no row of kv_cache:\n%s", text)
	}
	page := try.Read(t, filepath.Join(dir, "docs", "porting", "FEATURE_kv_cache.md"))
	if want := " tok/s | " + row[1] + " tok/s | " + row[2] + " |"; !strings.Contains(page, want) {
		t.Errorf("no %q in\n%s", want, page)
	}
	region := strings.TrimSpace(regions[0])
	empty := "<!-- keep notes -->\n<!-- /keep -->"
	if !strings.Contains(text, empty) {
		t.Fatalf("no keep region in\n%s", text)
	}
	try.Write(t, results, strings.Replace(text, empty, region, 1))
	if status, out := mxflow("report", "plan.hcl", "--dir", "docs"); status != 0 {
		t.Fatalf("%d: %s", status, out)
	}
	if text = try.Read(t, results); !strings.Contains(text, region) {
		t.Errorf("the region did not stay:\n%s", text)
	}
	const criterion = `
    criterion "decode" { rule = "chat.tg.gain >= 0.05" }
`
	around := `knob "tile" {
  default = "auto"
  value "auto" {
    must_see { log = ["*auto*"] }
  }
  value "64x128" {
    must_see { log = ["*64x128*"] }
  }
}
phase "tiles" {
  feature "tile_auto" {
    set = { tile = "64x128" }` + criterion + `
  }
`
	whole := plan + around + strings.ReplaceAll(features[1], "…", criterion) + "}\n"
	if res := load.Bytes("reports.md", []byte(whole), steps.Registry(), load.Options{Inputs: []load.Given{}}); !res.OK() {
		t.Error(res.Diagnostics)
	}
}
