package replay

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// recordedPlan is a plan as a run recorded it, compiled again.
type recordedPlan struct {
	// res is nil where it could not be compiled, and why says so.
	res *load.Result
	why verdict.Reason
	// exact is set if its digest is the recorded one: then it is the same plan in
	// everything that decides, values of variables included.
	exact bool
	// inputs are the recorded inputs of the plan's compilation. changed are the sensitive
	// ones that have another value now.
	inputs  plans.Inputs
	changed []string
	// graph is the order of its decisions, and goals what it requires; of a plan that compiles.
	graph *runtime.Graph
	goals map[string]ledger.Goal
	// rules are compiled from recorded text, by feature and text.
	rules map[[2]string]*plans.Rule
}

// Plan is the plan of a run as it was then; nil if it can no longer be compiled. why
// names what is missing, mostly sensitive values, which no run records: a plan that
// compiles without them is right in everything that does not depend on them.
func (r *Replay) Plan(run string) (plan *plans.Plan, why verdict.Reason) {
	p := r.planOf(run)
	needs := p.changed
	if p.res == nil {
		needs = slices.Sorted(maps.Keys(p.inputs.Sealed))
	} else {
		plan = p.res.Plan
	}
	switch {
	case !p.exact && len(needs) > 0:
		return plan, Needs(run, needs)
	case plan == nil:
		return nil, p.why
	}
	return plan, verdict.Reason{}
}

// Needs says that a run does not record inputs, and how to give them again.
func Needs(run string, inputs []string) verdict.Reason {
	names := slices.Clone(inputs)
	for i, name := range names {
		names[i] = strings.Replace(strings.TrimPrefix(name, "env."), "var.", "MXFLOW_VAR_", 1)
	}
	return verdict.Say("replay.plan_sealed",
		"run {subject} does not record values that may be secret: set {set} in the environment as it was then",
		verdict.List("set", names)).On(run)
}

// RecordedInputs are the inputs that a run recorded, which a load of its plan repeats. What is given
// now counts only for sensitive ones, which are not on record.
func (r *Replay) RecordedInputs(run string) *plans.Inputs {
	if start := r.runs[run]; start != nil && start.Inputs != nil {
		return start.Inputs
	}
	return &plans.Inputs{}
}

// planOf is the plan of a run, compiled from the sources that it recorded.
func (r *Replay) planOf(run string) *recordedPlan {
	start := r.runs[run]
	if start == nil {
		return &recordedPlan{why: verdict.Say("replay.plan_unrecorded", "its run did not record its plan")}
	}
	key := start.PlanDigest + " " + start.PlanSource + " " + start.PlanFile + " " + runtime.Digest(start.Inputs)
	for _, name := range slices.Sorted(maps.Keys(start.PlanSources)) {
		key += " " + name + " " + start.PlanSources[name]
	}
	if p := r.plans[key]; p != nil {
		return p
	}
	p := r.compile(run, start)
	r.plans[key] = p
	return p
}

// compile writes the recorded sources into a temporary folder, laid out as they were, and
// loads them.
func (r *Replay) compile(run string, start *ledger.RunStart) *recordedPlan {
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
	path, err := r.unpack(start, filepath.Join(dir, strings.Repeat("in/", mostAbove)), dir)
	if err != nil {
		p.why = verdict.OfError(err)
		return p
	}
	for _, opts := range r.attempts(run, start) {
		res := load.Path(path, r.registry, opts)
		if !res.OK() {
			if p.res == nil {
				p.why = verdict.Say("replay.plan_uncompiled",
					"the recorded plan does not compile: {error}{error!it has errors}",
					firstError(res.Diagnostics))
			}
			continue
		}
		if exact := res.Plan.Digest() == start.PlanDigest; p.res == nil || exact {
			if p.graph, err = runtime.NewGraph(res.Plan); err != nil {
				p.why = verdict.OfError(err)
				return p
			}
			p.res, p.exact, p.why, p.goals = res, exact, verdict.Reason{}, decide.Goals(res.Plan)
			p.changed = r.ChangedInputs(run, res)
			if exact {
				return p
			}
		}
	}
	return p
}

// autoFiles are the variable files that loading the plan would read automatically in its
// original folder.
func (r *Replay) autoFiles(start *ledger.RunStart) (given []load.Given) {
	files, _ := filepath.Glob(filepath.Join(planFolder(start), "*.auto.mxvars"))
	slices.Sort(files)
	for _, f := range files {
		given = append(given, load.Given{File: f})
	}
	return given
}

// planFolder is the folder of a run's plan, as it was given.
func planFolder(start *ledger.RunStart) string {
	if planSyntax(start.PlanFile) == "" {
		return start.PlanFile // the plan is a folder
	}
	return filepath.Dir(start.PlanFile)
}

// planSyntax is the extension of a plan file's name, empty for a folder's.
func planSyntax(name string) string {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".hcl", ".yaml", ".yml":
		return ext
	}
	return ""
}

// Unpack writes the sources of a run's plan below dir, laid out as they were, and returns what to load.
func (r *Replay) Unpack(run, dir string) (string, error) {
	start := r.runs[run]
	if start == nil {
		return "", errors.New("its run did not record its plan")
	}
	above := 0
	for name := range start.PlanSources {
		above = max(above, strings.Count(path.Clean(name)+"/", "../"))
	}
	return r.unpack(start, filepath.Join(dir, strings.Repeat("in/", above)), dir)
}

// unpack writes the sources of a plan in relation to the folder at, all of them below dir, and returns
// what to load.
func (r *Replay) unpack(start *ledger.RunStart, at, dir string) (string, error) {
	sources := start.PlanSources
	if len(sources) == 0 {
		if start.PlanSource == "" {
			return "", &verdict.Fault{Reason: verdict.Say("replay.plan_textless",
				"its run did not keep the plan's text")}
		}
		name := start.PlanFile
		if planSyntax(name) == "" {
			name = filepath.Join(name, "plan.hcl")
		}
		sources = map[string]string{filepath.ToSlash(name): start.PlanSource}
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		text, err := r.store.Get(sources[name])
		if errors.Is(err, fs.ErrNotExist) {
			return "",
				&verdict.Fault{
					Reason: verdict.Say("replay.plan_file_gone", "plan file {subject} was not kept").On(name),
				}
		}
		if err != nil {
			return "", &verdict.Fault{Reason: verdict.Say("replay.plan_file_unread", "plan file {subject}: {error}",
				verdict.Err(err)).On(name)}
		}
		to := filepath.Join(at, filepath.FromSlash(name))
		if !strings.HasPrefix(to, dir+string(filepath.Separator)) ||
			filepath.IsAbs(name) != filepath.IsAbs(start.PlanFile) {
			return "", &verdict.Fault{Reason: verdict.Say("replay.plan_file_elsewhere",
				"plan file {subject} has no path relative to the plan").On(name)}
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o600)); err != nil {
			return "", err
		}
	}
	return filepath.Join(at, start.PlanFile), nil
}

// mostAbove is how many folders above the working folder of its run a plan's files can be.
const mostAbove = 16

// firstError is the first mistake in a plan or a rule, empty where none is named.
func firstError(diags lang.Diagnostics) verdict.Arg {
	for _, d := range diags.Errs() {
		return verdict.Text("error", d.Error())
	}
	return verdict.Err(nil)
}

// attempts are the ways to compile a run's plan again. The inputs that the run recorded
// count; those given now are used only for sensitive ones, which are not recorded: for
// these, variable files still beside the plan are tried; the digest tells whether they
// are unchanged.
func (r *Replay) attempts(run string, start *ledger.RunStart) []load.Options {
	as := r.RecordedInputs(run)
	out := []load.Options{{As: as, Inputs: r.inputs}}
	if len(as.Sealed) > 0 {
		out = slices.Insert(out, 0, load.Options{As: as, Inputs: slices.Concat(r.autoFiles(start), r.inputs)})
	}
	return out
}

// ChangedInputs are the sensitive inputs of a run that have another value in a load of its
// plan, or for which that is unknown.
func (r *Replay) ChangedInputs(run string, res *load.Result) (names []string) {
	start := r.runs[run]
	if start == nil || start.Inputs == nil {
		return nil
	}
	now := res.Inputs()
	for _, name := range slices.Sorted(maps.Keys(start.Inputs.Sealed)) {
		text, ok := now.Variables[strings.TrimPrefix(name, "var.")]
		if strings.HasPrefix(name, "env.") {
			text, ok = now.Env[strings.TrimPrefix(name, "env.")]
		}
		if !ok || r.key == nil || redact.Sealed(r.key, text) != start.Inputs.Sealed[name] {
			names = append(names, name)
		}
	}
	return names
}

// lacking names the unrecorded inputs because of which a recorded plan cannot be
// compiled, or has another digest.
func (p *recordedPlan) lacking() []verdict.Arg {
	if len(p.inputs.Sealed) > 0 {
		return []verdict.Arg{verdict.List("sealed", slices.Sorted(maps.Keys(p.inputs.Sealed)))}
	}
	return nil
}

// RulesFrom is the source of a replay's rules.
type RulesFrom string

const (
	// RulesOfPlan: the recorded plan, whose digest agrees.
	RulesOfPlan RulesFrom = "the recorded plan"
	// RulesAsRecorded: the text of each rule as the decision recorded it, compiled in the
	// recorded plan. Its digest does not agree, because it was given inputs that its run
	// does not record.
	RulesAsRecorded RulesFrom = "the decision's own text"
	// RulesOfLevels: the levels of the recorded plan, whose digest agrees.
	RulesOfLevels RulesFrom = "levels of the recorded plan"
)

// asRecorded is a plan with the rules of a decision compiled from their recorded text, its error rates, and
// the node that is decided by them: for a plan with inputs that its run does not record.
func (p *recordedPlan) asRecorded(d *ledger.Decision) (*plans.Plan, *runtime.Node, verdict.Reason) {
	plan, n := *p.res.Plan, p.graph.Node(d.Node)
	if n == nil || string(n.Kind) != d.Kind {
		return nil, nil, verdict.New(code.PlanInexact, p.lacking()...)
	}
	node := *n
	settings := *plan.Decision
	settings.FalsePass, settings.FalseFail = d.Statistics.FalsePass, d.Statistics.FalseFail
	settings.Min, settings.Max = d.Statistics.Min, d.Statistics.Max
	plan.Decision = &settings
	var failed verdict.Reason
	compiled := func(recorded []verdict.Rule) (rules []*plans.Rule) {
		for _, rec := range recorded {
			rule, why := p.rule(d, rec)
			if rule == nil {
				failed = why
				return nil
			}
			rules = append(rules, rule)
		}
		return rules
	}
	decides := func(f *plans.Feature, recorded []verdict.Rule) *plans.Feature {
		own := *f
		own.Criteria, own.Accept, own.Hypothesis = compiled(recorded), nil, nil
		for _, rec := range recorded {
			if rec.Decides {
				own.Accept = append(own.Accept, rec.Name)
			}
		}
		return &own
	}
	switch node.Kind {
	case runtime.KindGate:
		ph, gate := *node.PhaseBlock, *node.PhaseBlock.Gate
		gate.Rules = compiled(d.Rules)
		ph.Gate = &gate
		node.PhaseBlock = &ph
	default:
		f := decides(node.FeatureBlock, d.Rules)
		f.Alternatives = slices.Clone(f.Alternatives)
		for i, alt := range f.Alternatives {
			if i < len(d.Alternatives) {
				f.Alternatives[i] = decides(alt, d.Alternatives[i].Rules)
			}
		}
		node.FeatureBlock = f
	}
	return &plan, &node, failed
}

// rule is a rule compiled from the recorded text.
func (p *recordedPlan) rule(d *ledger.Decision, rec verdict.Rule) (*plans.Rule, verdict.Reason) {
	feature := d.Feature
	if runtime.Kind(d.Kind) == runtime.KindGate {
		if ph := p.res.Plan.Phase(d.Phase); ph != nil && len(ph.Features) == 1 {
			feature = ph.Features[0].Name
		}
	}
	key := [2]string{feature, rec.Expr}
	if rule := p.rules[key]; rule != nil {
		named := *rule
		named.Name = rec.Name
		return &named, verdict.Reason{}
	}
	rule, diags := p.res.CompileRule(rec.Expr, feature)
	if diags.HasErrors() {
		return nil, verdict.Say("replay.rule_uncompiled",
			"rule {subject:q} no longer compiles: {error}{error!it has errors}",
			firstError(diags)).On(rec.Name)
	}
	p.rules[key] = rule
	named := *rule
	named.Name = rec.Name
	return &named, verdict.Reason{}
}

// candidateNamed is a feature, an alternative or a confirmation by its name; nil if the
// plan has none.
func candidateNamed(p *plans.Plan, name string) *plans.Feature {
	return plans.Find(p.Candidates(), func(f *plans.Feature) bool { return f.Name == name })
}
