package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/yamlbody"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// The comments in which an example says what its apply is given, how it ends, and what
// becomes of its nodes.
var (
	applyArgs   = regexp.MustCompile(`(?m)^# apply: (.+)$`)
	exitStatus  = regexp.MustCompile(`(?m)^# exit status: ([0-9]+)$`)
	nodeVerdict = regexp.MustCompile(
		`(?m)^# ((?:baseline|feature|phase)\S*): (pass|inconclusive|fail|invalid|error|locked)$`)
)

// What patient looks for in a plan.
var (
	maxLag       = regexp.MustCompile(`(?m)^ *max_lag *=.*\n`)
	maxLagYAML   = regexp.MustCompile(`\bmax_lag: \S+`)
	workloadLine = regexp.MustCompile(`(?m)^workload "[^"]+" \{$`)
)

// TestEvidencePlans: plans that reports of real runs name stay valid, and those for engines that this
// machine may lack.
func TestEvidencePlans(t *testing.T) {
	files := globbed("../../docs/internals/evidence/plans/*.hcl", "testdata/plans/foreign_*.hcl")
	if len(files) < 7 {
		t.Fatalf("only %d plans", len(files))
	}
	vars := map[string]string{"server": "serve", "model": "m", "models": "models", "answer": "Paris"}
	for _, file := range files {
		text := must.Read(t, file)
		if strings.Contains(text, "foreign.hcl") {
			text += must.Read(t, "testdata/plans/foreign.hcl")
		}
		given := maps.Clone(vars)
		maps.DeleteFunc(given, func(name, _ string) bool { return !strings.Contains(text, "\nvariable \""+name+"\"") })
		if res := load.Path(file, steps.Registry(), load.Options{Vars: given}); !res.OK() {
			t.Errorf("%s: %v", file, res.Diagnostics)
		}
	}
}

// TestExamples plans every example and, where MXFLOW_TEST_LONG is set, applies it, so that
// none of them is a promise that nobody keeps. How late the client may be is not what they
// are about, and tests run where much else does, so each is applied as it stands but for
// that.
func TestExamples(t *testing.T) {
	t.Parallel()
	files := globbed("../../examples/*/plan.hcl")
	if len(files) == 0 {
		t.Fatal("no examples")
	}
	var disturbed scenario.Aside[examplePlan]
	t.Cleanup(func() { // when all that runs in parallel has ended
		for _, e := range disturbed.List {
			e.again(t)
		}
	})
	for _, file := range files {
		e := examplePlan{name: filepath.Base(filepath.Dir(file)), file: file}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e.read(t)
			e.plans(t)
			if !inFull() {
				t.Skipf("%s takes ten seconds and more: set MXFLOW_TEST_LONG=1", e.name)
			}
			ended := e.apply(t)
			agree(t, ended.state, ended.plan, ended.printed)
			if !ended.asWanted {
				t.Logf("%s ended with %s beside others, want %s%s, and is applied again alone:\n%s", file, ended.exit,
					e.wanted, ended.others(), ended.out)
				disturbed.Add(e)
				return
			}
			if e.name == "quickstart" { // of others, what was invalid would be tried again
				e.appliesAsYAML(t, ended)
			}
		})
	}
}

// TestExampleAgent runs the loop of examples/agent: of five ports only the honest one is paid, and
// what it is paid is on record.
func TestExampleAgent(t *testing.T) {
	if !inFull() {
		t.Skip("some fifty launches take a minute: set MXFLOW_TEST_LONG=1")
	}
	a := &agent{t: t, dir: t.TempDir()}
	must.Do(t, os.CopyFS(a.dir, os.DirFS(filepath.Join("..", "..", "examples", "agent"))))
	seal := a.command("seal", "--by", "kim", "--knob", "port", "--features", "5", "--launches", "150", "plan.hcl")
	if out, err := seal.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	loop, cache := exec.Command("go", "run", "main.go"), exec.Command("go", "env", "GOCACHE")
	folder, err := cache.Output()
	must.Do(t, err)
	loop.Dir = a.dir
	loop.Env = append(seal.Env, "GOCACHE="+strings.TrimSpace(string(folder)),
		"PATH="+filepath.Dir(scenario.Program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := loop.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	tries := map[string]int{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line) // "honest attempt 1 pass pays 0.424 …"
		if len(words) < 6 || words[4] != "pays" {
			t.Fatalf("it says %q", line)
		}
		port, got := words[0], words[3]
		tries[port]++
		pays, err := strconv.ParseFloat(words[5], 64)
		must.Do(t, err)
		switch honest := port == "honest"; {
		case honest && got == "inconclusive": // on a busy machine
			t.Log("too much else runs here to show the honest one's gain")
		case honest && (got != "pass" || pays < 0.05 || pays > 0.5), !honest && (got == "pass" || pays != 0):
			t.Errorf("%s is %s and pays %v", port, got, pays)
		case (port == "lying" || port == "broken") && got != "invalid":
			t.Errorf("%s is %s", port, got)
		}
	}
	if want := map[string]int{"honest": 1, "useless": 1, "lucky": 3, "lying": 1, "broken": 1}; !maps.Equal(tries,
		want) {
		t.Errorf("it tried %v, want %v", tries, want)
	}
}

// examplePlan is a plan that says how its apply ends.
type examplePlan struct {
	name, file, wanted, text string
	// args is what its apply is given, such as a variable.
	args []string
	// verdicts are those of its nodes, as far as it lists them.
	verdicts map[string]verdict.Verdict
}

// locked stands for the verdict of a node that was not run.
const locked verdict.Verdict = "locked"

// read reads the example and what it says of itself.
func (e *examplePlan) read(t *testing.T) {
	t.Helper()
	e.text = must.Read(t, e.file)
	wanted := exitStatus.FindStringSubmatch(e.text)
	if wanted == nil {
		t.Fatalf("%s does not say how it ends: add a line such as \"# exit status: 0\"", e.file)
	}
	e.wanted = wanted[1]
	if args := applyArgs.FindStringSubmatch(e.text); args != nil {
		e.args = strings.Fields(args[1])
	}
	e.verdicts = map[string]verdict.Verdict{}
	for _, m := range nodeVerdict.FindAllStringSubmatch(e.text, -1) {
		e.verdicts[m[1]] = verdict.Verdict(m[2])
	}
	if e.args != nil && len(e.verdicts) == 0 {
		t.Fatalf("%s stands for a plan of the field and lists no verdicts: add lines such as \"# feature.x: fail\"",
			e.file)
	}
}

// plans plans the example as it stands and as it is applied, which works on any machine.
func (e *examplePlan) plans(t *testing.T) {
	t.Helper()
	ways := [][]string{nil}
	if e.args != nil {
		ways = append(ways, e.args)
	}
	for _, args := range ways {
		exit, out, errs := mxflow(slices.Concat([]string{"plan", "--state", t.TempDir()}, args, []string{e.file})...)
		if exit != 0 {
			t.Errorf("mxflow plan %v %s: %d\n%s%s", args, e.file, exit, out, errs)
		}
	}
}

// applied is how an example ended.
type applied struct {
	exit, out, state, plan string
	// printed is what the apply printed, out what show prints of it.
	printed string
	// asWanted is set where exit status and verdicts are those that the example lists.
	asWanted bool
	// other verdicts than those, by node.
	other map[string]verdict.Verdict
	// open is what kept an inconclusive one from a verdict, see openAt.
	open []code.Kind
}

// apply applies an example in a state directory of its own.
func (e examplePlan) apply(t *testing.T) applied {
	t.Helper()
	ended := applied{plan: patient(t, e.file, e.text), state: t.TempDir()}
	cmd := exec.Command(scenario.Program,
		slices.Concat([]string{"apply", "--state", ended.state}, e.args, []string{ended.plan})...)
	printed, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	ended.printed = string(printed)
	_, ended.out, _ = mxflow("show", "latest", "--state", ended.state, ended.plan)
	ended.exit = strconv.Itoa(cmd.ProcessState.ExitCode())
	verdicts, open := statusOf(t, ended.state, ended.plan)
	ended.open, ended.other = open, map[string]verdict.Verdict{}
	for node, want := range e.verdicts {
		if got := verdicts[node]; got != want {
			ended.other[node] = got
		}
	}
	ended.asWanted = ended.exit == e.wanted && len(ended.other) == 0
	return ended
}

// appliesAsYAML applies the YAML file beside an example that has passed: it is the same
// plan, so nothing is launched for it.
func (e examplePlan) appliesAsYAML(t *testing.T, ended applied) {
	t.Helper()
	file := filepath.Join(filepath.Dir(ended.plan), "plan.yaml")
	must.Write(t, file, maxLagYAML.ReplaceAllString(must.Read(t, file), "max_lag: 1m"))
	launches := func() int {
		st, err := store.OpenReadOnly(ended.state)
		must.Do(t, err)
		return len(st.Launches(store.LaunchFilter{}))
	}
	before := launches()
	exit, out := program(t, "", nil, "apply", "--state", ended.state, file)
	if after := launches(); exit != 0 || after != before {
		t.Errorf("%s after the same plan in HCL: %d, %d launches and then %d\n%s", file, exit, before, after, out)
	}
}

// patient copies an example to a folder of its own, with workloads whose client may
// be late. The copy has the files that lie beside the plan.
func patient(t *testing.T, file, text string) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Dir(file))))
	copied := filepath.Join(dir, filepath.Base(file))
	plan := maxLag.ReplaceAllString(text, "")
	must.Write(t, copied, workloadLine.ReplaceAllString(plan, "$0\n  max_lag = \"1m\""))
	return copied
}

// byNoise reports whether it ended without a verdict by the spread of launches alone, as
// on a machine with many times the work that it has processors for. Every other verdict
// than its own is a fault, and so is an inconclusive one for want of numbers; what is
// locked behind an inconclusive gate is not.
func (a applied) byNoise() bool {
	for _, v := range a.other {
		if v != verdict.Inconclusive && v != locked {
			return false
		}
	}
	return (a.exit == "3" || len(a.other) > 0) && len(a.open) > 0 &&
		!slices.ContainsFunc(a.open, func(c code.Kind) bool {
			return c != "test.could_not_tell" && c != "test.futile" && c != "range.straddles"
		})
}

// others says which nodes ended otherwise than the example lists.
func (a applied) others() (text string) {
	for _, node := range slices.Sorted(maps.Keys(a.other)) {
		text += fmt.Sprintf(", %s is %s", node, cmp.Or(a.other[node], "not there"))
	}
	return text
}

// statusOf is the verdicts of a state by node, and the codes that its inconclusive
// decisions end at.
func statusOf(t *testing.T, state, plan string) (verdicts map[string]verdict.Verdict, open []code.Kind) {
	t.Helper()
	_, out, _ := mxflow("status", "--json", "--state", state, plan)
	var status struct {
		Decisions []*ledger.Decision
		Locked    []struct{ Node string }
	}
	must.Do(t, json.Unmarshal([]byte(out), &status))
	verdicts = map[string]verdict.Verdict{}
	for _, d := range status.Decisions {
		verdicts[d.Node] = d.Verdict
		if d.Verdict == verdict.Inconclusive {
			open = append(open, leaves(d.Why())...)
		}
	}
	for _, l := range status.Locked {
		verdicts[l.Node] = locked
	}
	return verdicts, open
}

// leaves are the codes at which reasons end, without those of what passed.
func leaves(reasons []verdict.Reason) (codes []code.Kind) {
	for _, r := range reasons {
		switch {
		case r.Verdict == verdict.Pass:
		case len(r.Causes) > 0:
			codes = append(codes, leaves(r.Causes)...)
		default:
			codes = append(codes, r.Kind)
		}
	}
	return codes
}

// again applies it once more, alone and from the start. What noise alone keeps from a
// verdict, twice, is no fault of the example.
func (e examplePlan) again(t *testing.T) {
	ended := e.apply(t)
	switch {
	case ended.asWanted:
	case ended.byNoise():
		t.Logf("%s is inconclusive twice, by noise alone:\n%s", e.file, ended.out)
	default:
		t.Errorf("%s ended with %s when it was applied alone, as it was beside others, want %s%s:\n%s", e.file,
			ended.exit, e.wanted, ended.others(), ended.out)
	}
}

// TestExamplesAreExcusedForNoiseOnly: an example is excused for noise, and for nothing else.
func TestExamplesAreExcusedForNoiseOnly(t *testing.T) {
	rule := func(r verdict.Reason) []verdict.Reason {
		passed := verdict.New(code.Rule).Is(verdict.Pass).From(verdict.Say("value.seen", "{value}"))
		return []verdict.Reason{passed, verdict.New(code.Rule).Is(verdict.Inconclusive).
			From(verdict.New(code.NotAsWanted).Is(verdict.Inconclusive).From(r))}
	}
	spread := leaves(rule(verdict.Say("test.could_not_tell", "undecided")))
	absent := leaves(rule(verdict.New(code.Missing)))
	of := func(verdicts ...verdict.Verdict) map[string]verdict.Verdict {
		m := map[string]verdict.Verdict{}
		for i, v := range verdicts {
			m[fmt.Sprintf("feature.%d", i)] = v
		}
		return m
	}
	for _, tt := range []struct {
		name  string
		ended applied
		want  bool
	}{
		{"noise", applied{exit: "3", open: spread}, true},
		{"no numbers", applied{exit: "3", open: absent}, false},
		{"noise and no numbers", applied{exit: "3", open: slices.Concat(spread, absent)}, false},
		{"a fail", applied{exit: "2", open: spread}, false},
		{"no reasons", applied{exit: "3"}, false},
		{"noise that locks", applied{exit: "2", other: of(verdict.Inconclusive, locked), open: spread}, true},
		{
			"a verdict beside noise",
			applied{exit: "2", other: of(verdict.Inconclusive, verdict.Pass), open: spread},
			false,
		},
		{"a node that is not there", applied{exit: "2", other: of(""), open: spread}, false},
		{"locked without noise", applied{exit: "2", other: of(locked)}, false},
	} {
		must.Equal(t, tt.name, tt.ended.byNoise(), tt.want)
	}
}

// TestExamplesInYAML: these examples have the same plan in both syntaxes, with each way to
// apply it: results of one count for the other. -update writes plan.yaml from plan.hcl.
func TestExamplesInYAML(t *testing.T) {
	names := load.Names(steps.Registry())
	usage := regexp.MustCompile(`(?m)^(#.*)plan\.hcl`)
	_, schema := printedSchema(t)
	for _, name := range []string{"quickstart", "mxfp4_v2", "frameworks", "protocol"} {
		e := examplePlan{name: name, file: filepath.Join("..", "..", "examples", name, "plan.hcl")}
		e.read(t)
		path := strings.TrimSuffix(e.file, ".hcl") + ".yaml"
		if *update {
			text, err := yamlbody.FromHCL([]byte(e.text), func(attr string) bool { return names[attr] })
			must.Do(t, err)
			head := scaffold.YAMLSchema +
				"\n# plan.hcl in YAML: the same plan, so results of one count for the other. The schema is\n" +
				"# printed by mxflow schema.\n#\n"
			text = append([]byte(head), usage.ReplaceAll(text, []byte("${1}plan.yaml"))...)
			if text, err = yamlbody.Format(text, load.TopLevel()); err == nil {
				err = os.WriteFile(path, text, 0o644)
			}
			must.Do(t, err)
		}
		options := []load.Options{{}}
		if len(e.args) > 0 {
			if e.args[0] != "--var" || len(e.args) != 2 {
				t.Fatalf("%s: %v", e.file, e.args)
			}
			name, value, _ := strings.Cut(e.args[1], "=")
			options = append(options, load.Options{Vars: map[string]string{name: value}})
		}
		for _, o := range options {
			in, out := load.Path(e.file, steps.Registry(), o), load.Path(path, steps.Registry(), o)
			if len(in.Diagnostics)+len(out.Diagnostics) > 0 || in.Plan.Digest() != out.Plan.Digest() {
				t.Errorf("%s is another plan than plan.hcl (go test ./cmd/mxflow -run TestExamplesInYAML -update "+
					"writes it): %v",
					path, out.Diagnostics)
			}
		}
		if err := checkedBy(t, schema, must.Read(t, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if code, out, errs := mxflow("fmt", "--check", path); code != 0 {
			t.Errorf("%s is not formatted: %s%s", path, out, errs)
		}
	}
}
