package ab

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

// Plan is the comparison as a plan, for a file in a folder that may not exist yet; the
// servers are started in workDir.
func (q *Question) Plan(folder, workDir string) ([]byte, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Rel(whole, workDir)
	if err != nil {
		return nil, err
	}
	w := &arms.Writer{}
	w.Line("# B against A, as this command compares them:\n#")
	w.Line("#   %s", strings.ReplaceAll(q.CommandLine, "\n", " "))
	w.Line("\nplan \"ab\" {\nsummary = %s\n}\n",
		arms.HCL("Whether B ("+strings.Join(strings.Fields(q.Arms[1].Text), " ")+") "+q.Claim.Says(q.Label())))
	w.Line("engine %s \"ab\" {", arms.HCL(q.Kind.Name))
	w.Text("model", q.Model)
	w.Table("env", q.Shape.Env)
	w.List("args", q.Shape.Args)
	if q.Model != "" || len(q.Shape.Env)+len(q.Shape.Args) > 0 {
		w.Line("")
	}
	if len(q.Images) > 0 {
		w.Line("docker {\nimage = %s", arms.HCL(q.Images[0]))
		if devices, listed := strings.CutPrefix(q.GPUs, "device="); listed {
			w.List("gpus", strings.Split(devices, ","))
		} else {
			w.Text("gpus", q.GPUs)
		}
		if q.Volumes[0] != "" {
			w.Line("volumes = { %s = %s }", arms.HCL(q.Volumes[0]), arms.HCL(q.Volumes[1]))
		}
	} else {
		w.Line("process {\ncommand = %s", arms.HCLList(q.Shape.Command))
		if dir != "." {
			w.Text("dir", filepath.ToSlash(dir))
		}
	}
	if q.Port != 0 {
		w.Number("port", q.Port)
	}
	w.Line("}")
	switch q.Caches {
	case "pinned":
		w.Line("caches {\nstate = \"warm\"\ntuning = \"pinned\"\n}")
	case "cold":
		w.Line("caches {\nstate = \"cold\"\n}")
	}
	if q.Timeout != 0 {
		w.Line("ready {\ntimeout = %s\n}", arms.HCL(q.Timeout.String()))
	}
	w.Line("}\n")

	// How A and B differ, and how each proves what it is: evidence of one must not be seen in
	// the other.
	w.Line("knob \"ab\" {\ndefault = \"A\"")
	w.List("changes", q.Changes)
	signs := [2][]string{q.MustSeeA, q.MustSeeB}
	for i, name := range []string{"A", "B"} {
		own := q.Shape.Own[i]
		w.Line("\nvalue %q {", name)
		w.Table("env", own.Env)
		w.List("args", own.Args)
		w.List("command", own.Command)
		if i < len(q.Images) {
			w.Text("image", q.Images[i])
		}
		not := slices.DeleteFunc(slices.Clone(signs[1-i]), func(g string) bool {
			return slices.ContainsFunc(signs[i], func(mine string) bool { return strings.EqualFold(mine, g) })
		})
		if len(signs[i]) > 0 {
			w.Line("must_see {\nlog = %s\n}", arms.HCLList(signs[i]))
		}
		if len(not) > 0 {
			w.Line("must_not_see {\nlog = %s\n}", arms.HCLList(not))
		}
		w.Line("}")
	}
	w.Line("}\n")

	w.Line("workload \"bench\" {")
	w.Number("prompt_tokens", q.PP)
	w.Number("output_tokens", q.TG)
	if q.Depth != 0 {
		w.Number("depth", q.Depth)
	}
	if q.Concurrency != 1 {
		w.Number("concurrency", q.Concurrency)
	}
	if q.SLO == "" {
		w.Number("requests", q.Requests)
		w.Number("warmup", q.Warmup)
	}
	if q.API != "completions" {
		w.Text("api", q.API)
	}
	if q.MaxLag != 0 {
		w.Text("max_lag", q.MaxLag.String())
	}
	if q.SLO != "" {
		w.Line("slo {")
		for metric, limit := range sorted.All(q.slo.Limits) {
			w.Text(metric, limit.String())
		}
		w.Line("}\ncapacity {")
		if q.slo.Percentile > 0 {
			w.Line("percentile = %v", q.slo.Percentile)
		}
		if q.slo.Errors > 0 {
			w.Line("errors = %v", q.slo.Errors)
		}
		if q.Probe > 0 {
			w.Line("probe = %q\nwarmup = %q", q.Probe, q.Probe/4)
		}
		w.Line("}")
	}
	w.Line("}\n")

	w.Line("protocol \"ab\" {\nlevel \"smoke\" {")
	w.Line("pattern = \"[[:alpha:]]{2}\" # any words; answers of B are compared with those of A")
	if q.API != "completions" {
		w.Text("api", q.API)
	}
	w.Line("}")
	if q.Proves() {
		w.Line("level \"kernels\" {}")
	}
	switch q.Answers {
	case "", "checked":
	case "unchecked":
		w.Line("level \"correctness\" {\nanswers = \"unchecked\"\n}")
	default:
		least, _ := strconv.ParseFloat(q.Answers, 64)
		w.Line("level \"correctness\" {\nmin_agreement = %v\n}", least)
	}
	if q.Eval != "" {
		w.Line("level \"eval\" {")
		w.Line("questions = file(%s)", arms.HCL(filepath.Base(q.Eval)))
		w.Text("api", q.API)
		w.Line("}")
	}
	w.Line("level \"benchmark\" {\nworkloads = [workload.bench]")
	w.Number("launches", q.Most())
	w.Line("}\n}\n\nbaseline {\nengine = engine.%s.ab # with ab = \"A\"\nprotocol = protocol.ab", q.Kind.Name)
	w.List("accept_fingerprint", q.Accept)
	w.Line("}\n")
	w.Phase("ab", "B", map[string]string{"ab": "B"}, "claim", q.Claim.Rule("bench"))
	return w.Format(), nil
}

// flagOf names the flags behind attributes of the plan that have another name there.
var flagOf = map[string]string{
	"prompt_tokens": "pp", "output_tokens": "tg", "max_lag": "max-lag", "accept_fingerprint": "accept",
	"log": "must-see-a, --must-see-b", "questions": "eval",
}

// CheckPlan returns the first mistake in the plan of the question, by the flag that made it. It
// looks for questions where they are, and writes nothing.
func (q *Question) CheckPlan(reg *plans.Registry, workDir string) error {
	dir := filepath.Dir(q.Eval)
	text, err := q.Plan(dir, workDir)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for _, d := range load.Bytes(filepath.Join(dir, "ab.hcl"), text, reg, load.Options{}).Diagnostics {
		if d.Severity == hcl.DiagError {
			name := strings.Fields(lines[d.Subject.Start.Line-1])[0]
			return fmt.Errorf("--%s: %s", cmp.Or(flagOf[name], name), d.Detail)
		}
	}
	return nil
}

// comparisons is the folder where they are kept, below the working folder.
const comparisons = ".mxflow-ab"

// Place is where a comparison is kept.
type Place struct {
	// Folder holds the plan and the state; Work is where servers are started.
	Folder, Plan, State, Work string
}

// Place is the folder of a comparison: the same for the same commands and work, whatever
// the claim and the number of launches.
func (q *Question) Place(state string) (p Place, err error) {
	if p.Work, err = os.Getwd(); err != nil {
		return p, err
	}
	top := comparisons
	if q.Of != nil {
		top = filepath.Join(q.Of.Dir, comparisons)
	}
	of := []any{
		q.Arms[0].Text, q.Arms[1].Text, q.URL, q.Asked, q.Model, q.API, q.PP, q.TG, q.Depth, q.Concurrency,
		q.Requests, q.Warmup, q.Caches,
	}
	if q.SLO != "" {
		of = append(of, q.SLO, q.Probe)
	}
	switch {
	case q.Of != nil:
		of = append(of, q.Of.Name, q.Refs, q.Images, q.Pins, q.Source)
	case len(q.Images) > 0:
		of = append(of, q.Server, q.GPUs)
	}
	p.Folder = filepath.Join(top, runtime.Digest(of...)[:8])
	p.State = filepath.Join(p.Folder, store.DirName)
	if state != "" {
		p.Folder, p.State = state, state
	}
	if p.Plan = filepath.Join(p.Folder, "ab.hcl"); q.Of != nil {
		p.Plan = q.Of.File
	}
	return p, nil
}

// Save writes the plan that is applied, unless it is a user's: then there is no text. The
// folder does not belong to the source tree around it.
func (q *Question) Save(at Place, text []byte) error {
	err := os.MkdirAll(at.Folder, 0o755)
	if top := filepath.Dir(at.Folder); err == nil && filepath.Base(top) == comparisons {
		err = arms.Folder(top)
	}
	if err == nil && text != nil {
		err = os.WriteFile(at.Plan, text, 0o644)
	}
	if err == nil && q.Eval != "" { // a plan reads only what is beside it
		err = os.WriteFile(filepath.Join(at.Folder, filepath.Base(q.Eval)), q.Questions, 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the record: %w", err)
	}
	return nil
}
