package plans

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"
)

var update = flag.Bool("update", false, "rewrite golden files")

// testRegistry stands for what levels, steps and engine kinds declare.
func testRegistry() *Registry {
	return &Registry{
		Dataset: testRows,
		Decision: func(falsePass, falseFail float64, least, most int) error {
			_, err := stats.Offer(falsePass, falseFail, least, most, false)
			return err
		},
		Levels: map[string]Schema{
			"smoke": {Attrs: []Attr{
				{Name: "prompt", Type: String, Required: true, Doc: "what is asked."},
				{Name: "expect", Type: String},
				{Name: "pattern", Type: String},
				{Name: "max_tokens", Type: Int, Default: 16, Min: 1, MinSet: true},
			}, Check: func(b *Block) []AttrError {
				if b.Attrs["expect"] == nil && b.Attrs["pattern"] == nil {
					return []AttrError{{Summary: "Smoke test without an answer", Detail: "Say what the answer has to contain: set expect or pattern."}}
				}
				if p, ok := b.Attrs["pattern"].(string); ok {
					if _, err := regexp.Compile(p); err != nil {
						return []AttrError{{Attr: "pattern", Summary: "Invalid pattern", Detail: err.Error()}}
					}
				}
				return nil
			}},
			"kernels": {Attrs: []Attr{{Name: "from", Type: Strings, Required: true, OneOf: []string{"log"}, Doc: "where to look."}}},
			"benchmark": {Attrs: []Attr{
				{Name: "workloads", Type: Refs, Ref: "workload", Doc: "Name what to send."},
				{Name: "suite", Type: Reference, Ref: "suite", Doc: "Name a suite of it."},
				{Name: "launches", Type: Int, Default: 5, Min: 1, MinSet: true},
			}, Check: func(b *Block) []AttrError {
				if list, ok := b.Attrs["workloads"].([]any); ok && len(list) == 0 {
					return []AttrError{{Attr: "workloads", Summary: "Empty workloads", Detail: "Name what to send."}}
				}
				return nil
			}},
		},
		Steps: map[string]Schema{
			"exec": {Attrs: []Attr{
				{Name: "command", Type: Strings, Required: true, Doc: "Name the program and its arguments."},
				{Name: "dir", Type: String},
				{Name: "env", Type: Map},
				{Name: "timeout", Type: Duration, Default: "10m"},
			}},
		},
		Engines: map[string]EngineKind{
			"openai": {NeedsProcess: true},
			"vllm":   {},
			"embedded": {Settings: []Attr{
				{Name: "layers", Type: Int, Min: 1, MinSet: true},
				{Name: "kv_cache", Type: Bool},
				{Name: "moe", Type: String, OneOf: []string{"all", "routed"}},
				{Name: "threads", Type: Int},
			}},
		},
	}
}

// testRows tells rows apart by what is in them.
func testRows(name string, data []byte) (rows DataRows, err error) {
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case !strings.HasPrefix(line, "{"):
			return rows, fmt.Errorf("%s:%d: each line must be one JSON object", name, i+1)
		}
		if rows.Unanswered == 0 && !strings.Contains(line, "output") {
			rows.Unanswered = i + 1
		}
		if rows.Chat == 0 && strings.Contains(line, "messages") {
			rows.Chat = i + 1
		}
		rows.Count++
		rows.Trace = strings.Contains(line, "timestamp")
	}
	return rows, nil
}

// text is the diagnostics as a person would read them.
func (r *Findings) text() string {
	var b strings.Builder
	_ = r.WriteDiagnostics(&b, 100, false)
	return b.String()
}

func TestValidPlansDecodeAsRecorded(t *testing.T) {
	paths, _ := filepath.Glob("testdata/valid/*.hcl")
	if len(paths) == 0 {
		t.Fatal("no fixtures")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			res := Load(path, testRegistry(), Options{})
			if !res.OK() {
				t.Fatalf("diagnostics:\n%s", res.text())
			}
			sameExpectations(t, path, res)
			got, err := json.MarshalIndent(res.Plan, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := strings.TrimSuffix(path, ".hcl") + ".json"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what was decoded; run with -update and look at the difference.\n%s", golden, got)
			}
		})
	}
}

// expectation is the comment by which a fixture says what is wrong with a line.
var expectation = regexp.MustCompile(`# (?:ERROR|WARNING): (.*?)\s*$`)

// TestInvalidPlansAreExplained compares, for each fixture, line and summary of
// all diagnostics with its comments. A mistake of the whole file is expected on
// line 1; several on one line are separated by " | ".
func TestInvalidPlansAreExplained(t *testing.T) {
	paths, _ := filepath.Glob("testdata/invalid/*.hcl")
	if len(paths) < 40 {
		t.Fatalf("%d fixtures", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { checkExpectations(t, path) })
	}
}

// TestPlansThatMayWasteTimeAreQuestioned is the same for plans that would run:
// what is found are warnings, except where a rule could never be decided.
func TestPlansThatMayWasteTimeAreQuestioned(t *testing.T) {
	paths, _ := filepath.Glob("testdata/warnings/*.hcl")
	if len(paths) < 12 {
		t.Fatalf("%d fixtures", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			checkExpectations(t, path)
			for _, d := range Load(path, testRegistry(), Options{}).DiagnosticsJSON() {
				if d.Code == OtherCode || (d.Severity == "error") != (d.Summary == "Too few requests") {
					t.Errorf("%s %s: %s", d.Severity, d.Code, d.Summary)
				}
			}
		})
	}
}

// checkExpectations compares what is wrong with a fixture with what it says.
func checkExpectations(t *testing.T, path string) {
	t.Helper()
	if sameExpectations(t, path, Load(path, testRegistry(), Options{})) == 0 {
		t.Error("the fixture expects nothing")
	}
}

// sameExpectations returns how much was expected.
func sameExpectations(t *testing.T, path string, res *Result) int {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i, line := range strings.Split(string(src), "\n") {
		if m := expectation.FindStringSubmatch(line); m != nil {
			for _, summary := range strings.Split(m[1], " | ") {
				want = append(want, fmt.Sprintf("%d: %s", i+1, summary))
			}
		}
	}
	for _, d := range res.Diagnostics {
		got = append(got, fmt.Sprintf("%d: %s", d.Subject.Start.Line, d.Summary))
		if d.Detail == "" {
			t.Errorf("%s says nothing about how to mend it", d.Summary)
		}
	}
	sort.Strings(want)
	sort.Strings(got)
	if w, g := strings.Join(want, "\n"), strings.Join(got, "\n"); w != g {
		t.Errorf("want\n%s\ngot\n%s\n\n%s", w, g, res.text())
	}
	return len(want)
}
