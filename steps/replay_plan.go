package steps

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// recordedPlan is a plan as a run recorded it, compiled again.
type recordedPlan struct {
	// res is nil where it could not be compiled, and why says so.
	res *load.Result
	why verdict.Reason
	// exact is set where its digest is the recorded one: then it is the same plan
	// in everything that decides, values of variables included.
	exact bool
	// inputs are what the run recorded of what the plan was compiled with. otherwise
	// are those that are sensitive, and were given another value now than they had
	// then.
	inputs    ledger.Inputs
	otherwise []string
	// probed are the plan with other values of these: see probe.
	probed map[string][]*plans.Plan
	// rules are compiled from recorded text, by feature and text.
	rules map[[2]string]*plans.Rule
}

// planOf is the plan of a run, compiled from the sources that it recorded.
func (r *Replay) planOf(run string) *recordedPlan {
	start := r.runs[run]
	if start == nil {
		return &recordedPlan{why: verdict.New(code.PlanUnrecorded)}
	}
	key := start.PlanDigest + " " + start.PlanSource + " " + start.PlanFile + " " + runtime.Digest(start.Inputs)
	for _, name := range slices.Sorted(maps.Keys(start.PlanSources)) {
		key += " " + name + " " + start.PlanSources[name]
	}
	if p := r.plans[key]; p != nil {
		return p
	}
	p := r.compile(start)
	r.plans[key] = p
	return p
}

// compile writes the recorded sources into a folder of their own, as they lay
// beside each other, and loads them.
func (r *Replay) compile(start *ledger.RunStart) *recordedPlan {
	p := &recordedPlan{rules: map[[2]string]*plans.Rule{}}
	if start.Inputs != nil {
		p.inputs = *start.Inputs
	}
	dir, err := os.MkdirTemp("", "mxflow-replay")
	if err != nil {
		p.why = verdict.OfError(err)
		return p
	}
	defer os.RemoveAll(dir)
	path, err := r.unpack(start, dir)
	if err != nil {
		p.why = verdict.OfError(err)
		return p
	}
	for _, opts := range r.attempts(start, &p.inputs) {
		res := load.Load(path, Registry(), opts)
		if !res.OK() {
			if p.res == nil {
				p.why = verdict.New(code.PlanUncompiled, firstError(res.Diagnostics))
			}
			continue
		}
		if exact := res.Plan.Digest() == start.PlanDigest; p.res == nil || exact {
			p.res, p.exact, p.why = res, exact, verdict.Reason{}
			p.otherwise = r.givenOtherwise(&p.inputs, res)
			if r.probing {
				p.probe(path, opts)
			}
			if exact {
				return p
			}
		}
	}
	return p
}

// autoFiles are the files of variables that a load of the plan would read by
// itself where the plan lay.
func (r *Replay) autoFiles(start *ledger.RunStart) (given []load.Given) {
	files, _ := filepath.Glob(filepath.Join(planFolder(start), "*.auto.mxvars"))
	slices.Sort(files)
	for _, f := range files {
		given = append(given, load.Given{File: f})
	}
	return given
}

// planFolder is the folder that the plan of a run lay in, as it was given.
func planFolder(start *ledger.RunStart) string {
	if planSyntax(start.PlanFile) == "" {
		return start.PlanFile // the plan is a folder
	}
	return filepath.Dir(start.PlanFile)
}

// planSyntax is the ending of a plan file's name, empty for a folder's.
func planSyntax(name string) string {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".hcl", ".yaml", ".yml":
		return ext
	}
	return ""
}

// unpack writes the sources of a plan below dir and returns what to load.
func (r *Replay) unpack(start *ledger.RunStart, dir string) (string, error) {
	folder, sources := planFolder(start), start.PlanSources
	ext := planSyntax(start.PlanFile)
	if len(sources) == 0 {
		if start.PlanSource == "" {
			return "", &verdict.Fault{Reason: verdict.New(code.PlanTextless)}
		}
		name := filepath.Base(start.PlanFile)
		if ext == "" {
			name = "plan.hcl"
		}
		sources = map[string]string{filepath.ToSlash(filepath.Join(folder, name)): start.PlanSource}
	}
	// Included files may lie above the plan's folder.
	root := filepath.Join(dir, strings.Repeat("in/", 1+depthAbove(folder, sources)))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		text, err := r.store.Get(sources[name])
		if errors.Is(err, fs.ErrNotExist) {
			return "", &verdict.Fault{Reason: verdict.New(code.PlanFileGone).On(name)}
		}
		if err != nil {
			return "", &verdict.Fault{Reason: verdict.New(code.PlanFileUnread, verdict.Err(err)).On(name)}
		}
		rel, err := filepath.Rel(folder, filepath.FromSlash(name))
		if err != nil {
			return "", &verdict.Fault{Reason: verdict.New(code.PlanFileElsewhere, verdict.Err(err)).On(name)}
		}
		to := filepath.Join(root, rel)
		if !strings.HasPrefix(to, dir+string(filepath.Separator)) {
			return "", &verdict.Fault{Reason: verdict.New(code.PlanFileElsewhere).On(name)}
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
	}
	if ext == "" {
		return root, nil
	}
	return filepath.Join(root, filepath.Base(start.PlanFile)), nil
}

// depthAbove is how many folders above the plan's its files lie at most.
func depthAbove(folder string, sources map[string]string) (most int) {
	for name := range sources {
		if rel, err := filepath.Rel(folder, filepath.FromSlash(name)); err == nil {
			most = max(most, strings.Count(filepath.ToSlash(rel), "../"))
		}
	}
	return most
}

// firstError is the first mistake in a plan or a rule, empty where none is named.
func firstError(diags lang.Diagnostics) verdict.Arg {
	for _, d := range diags.Errs() {
		return verdict.Text("error", d.Error())
	}
	return verdict.Err(nil)
}
