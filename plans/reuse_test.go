package plans

import (
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const (
	teamEngines   = "engine \"embedded\" \"tiny\" {\n  settings = { threads = var.threads }\n}\n"
	teamProtocols = "include = [\"workloads.hcl\"]\nprotocol \"standard\" {\n  level \"benchmark\" {\n    workloads = [workload.chat]\n  }\n}\n"
	teamWorkloads = "workload \"chat\" {\n  prompt_tokens = 64\n  output_tokens = 16\n}\n"
	ownPlan       = "plan \"p\" {}\nvariable \"threads\" {\n  default = 2\n}\nbaseline {\n  engine   = engine.embedded.tiny\n  protocol = protocol.standard\n}\n"
)

func TestIncludedFilesArePartOfThePlan(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"port/plan.hcl":      "include = [\"../team/engines.hcl\", \"../team/protocols.hcl\", \"../team/engines.hcl\"]\n" + ownPlan,
		"team/engines.hcl":   teamEngines,
		"team/protocols.hcl": teamProtocols,
		"team/workloads.hcl": teamWorkloads,
	})
	path := filepath.Join(dir, "port", "plan.hcl")
	res := Load(path, testRegistry(), Options{})
	if len(res.Diagnostics) > 0 {
		t.Fatal(res.text())
	}
	if p := res.Plan; p.Engine("embedded.tiny") == nil || p.Workload("chat") == nil || p.Dir != filepath.Join(dir, "port") {
		t.Errorf("%+v", p)
	}
	var names []string
	for name := range res.Sources {
		rel, _ := filepath.Rel(dir, name)
		names = append(names, filepath.ToSlash(rel))
	}
	sort.Strings(names)
	if got := strings.Join(names, " "); got != "port/plan.hcl team/engines.hcl team/protocols.hcl team/workloads.hcl" {
		t.Errorf("sources %s", got)
	}
	if string(res.Source) != string(res.Sources[path]) {
		t.Error("the first source is not the plan")
	}
	// What a plan is made of does not matter to its meaning.
	whole := LoadBytes("plan.hcl", []byte(ownPlan+teamEngines+strings.TrimPrefix(teamProtocols, "include = [\"workloads.hcl\"]\n")+teamWorkloads), testRegistry(), Options{})
	if whole.Plan.Digest() != res.Plan.Digest() {
		t.Error("the digest is another one than in a single file")
	}
}

func TestAFolderIsAPlan(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"b_plan.hcl": ownPlan, "a_engines.hcl": teamEngines, "c.hcl": teamProtocols, "workloads.hcl": teamWorkloads,
		"notes.txt": "no plan", ".hidden.hcl": "broken {", "x.auto.mxvars": "threads = 5\n",
	})
	res := Load(dir, testRegistry(), Options{})
	if len(res.Diagnostics) > 0 {
		t.Fatal(res.text())
	}
	if got := res.Plan.Engine("embedded.tiny").Settings["threads"]; got != 5.0 || res.Plan.Dir != dir {
		t.Errorf("threads %v in %s", got, res.Plan.Dir)
	}
}

func TestMistakesNameTheirFile(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"in an included file": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n", "team.hcl": "\nworkload \"chat\" {\n  prompt_tokens = local.x\n  output_tokens = 8\n}\n"},
			"team.hcl:3 Unknown local",
		},
		"syntax of an included file": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n", "team.hcl": "workload {{\n"},
			"team.hcl:1 Argument or block definition required",
		},
		"a rule in an included file": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\n" + ownPlan + teamWorkloads + teamEngines + strings.TrimPrefix(teamProtocols, "include = [\"workloads.hcl\"]\n"), "team.hcl": "phase \"x\" {\n  gate {\n    rule \"r\" {\n      expr = \"feature['y'].decided\"\n    }\n  }\n}\n"},
			"team.hcl:4 Unknown feature",
		},
		"declared in two files": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n" + teamWorkloads, "team.hcl": teamWorkloads},
			"team.hcl:1 Duplicate workload",
		},
		"a plan in an included file": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n", "team.hcl": "plan \"q\" {}\n"},
			"team.hcl:1 Plan block in an included file",
		},
		"a circle": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n", "team.hcl": "include = [\"./plan.hcl\"]\n"},
			"team.hcl:1 Cycle of includes",
		},
		"an included folder": {
			map[string]string{"plan.hcl": "include = [\"team\"]\nplan \"p\" {}\n", "team/x.hcl": teamWorkloads},
			"plan.hcl:1 Cannot include file",
		},
		"an unused attribute": {
			map[string]string{"plan.hcl": "includes = [\"team.hcl\"]\nplan \"p\" {}\n"},
			"plan.hcl:1 Unsupported argument",
		},
	} {
		dir := writeFiles(t, test.files)
		res := Load(filepath.Join(dir, "plan.hcl"), testRegistry(), Options{})
		var got []string
		for _, d := range res.DiagnosticsJSON() {
			got = append(got, filepath.Base(d.File)+":"+strconv.Itoa(d.Line)+" "+d.Summary)
			if d.Snippet == "" {
				t.Errorf("%s: no snippet", name)
			}
		}
		if g := strings.Join(got, " | "); g != test.want {
			t.Errorf("%s: got %s, want %s\n%s", name, g, test.want, res.text())
		}
	}
}
