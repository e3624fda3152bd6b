package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/script"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
)

// envFlags are what mxflow env is asked for.
type envFlags struct {
	vars    []load.Given
	format  string
	engine  string
	shows   bool
	envOnly bool
}

func newEnvCommand(a *app) *cobra.Command {
	var f envFlags
	c := &cobra.Command{
		Use:   "env FEATURE|accepted|baseline [PLAN]",
		Short: "Print what reproduces a variant: environment, flags, command line",
		Long: `Prints a variant of the plan as a shell script: the variables that are set and
unset, and the command line by which the engine is started. accepted is the stack
of all features that were accepted, as the state directory has it; while it is
empty that is the baseline. Nothing is started, and no lock is needed.

Sensitive values are left out: a script without them ends with a message that
names what has to be set, rather than starting an engine with a wrong key.
--show-secrets writes them out.

Formats: shell (a script to run or to source), dotenv (NAME='value', for compose
and its like), json, docker (the docker run command alone, of an engine with a
docker block). In a script MXFLOW_PORT is where the engine listens.`,
		Example: "  mxflow env accepted plan.hcl > serve.sh && sh serve.sh\n  mxflow env kv_cache --engine vllm.production plan.hcl\n  eval \"$(mxflow env --env-only accepted plan.hcl)\"",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if a.json {
				if f.format != "" && f.format != "json" {
					return fmt.Errorf("--json is --format json; take away one of --json and --format %s", f.format)
				}
				f.format = "json"
			}
			r, err := recipeOf(a, args, f)
			if err != nil {
				return err
			}
			return printRecipe(a, r, f)
		},
	}
	varFlag(c, &f.vars)
	c.Flags().StringVar(&f.format, "format", "", "shell, dotenv, json or docker (default shell)")
	c.Flags().StringVar(&f.engine, "engine", "", "another engine of the plan, as kind.name (default: the baseline's)")
	c.Flags().BoolVar(&f.shows, "show-secrets", false, "write sensitive values out")
	c.Flags().BoolVar(&f.envOnly, "env-only", false, "leave the command out: to be sourced")
	a.jsonFlag(c, "print as JSON, as --format json does")
	return c
}

// printRecipe writes past the last net for secrets, which would change a script
// that holds none: what is sensitive is a variable in it, or wanted.
func printRecipe(a *app, r *script.Recipe, f envFlags) error {
	r.Shows = f.shows
	text, err := r.Write(f.format, a.secrets, f.envOnly)
	if err == nil {
		_, err = fmt.Fprint(bare(a.stdout), strings.TrimRight(text, "\n")+"\n")
	}
	return err
}

// givenThen says which variables, and which values of the environment that the plan
// reads, were others when the plan was applied last, as far as its record tells.
func givenThen(st *store.Store, loaded *load.Result) []string {
	if st == nil || len(st.Runs()) == 0 {
		return nil
	}
	runs := st.Runs()
	v, err := st.Run(runs[len(runs)-1].ID)
	if err != nil || v.Start == nil || v.Start.Inputs == nil {
		return nil
	}
	c := &givenChange{then: v.Start.Inputs, loaded: loaded, now: loaded.Inputs()}
	var notes []string
	if v.Start.PlanDigest != loaded.Plan.Digest() {
		notes = slices.Concat(
			noteOf(c.changed("var.", c.then.Variables), "It was applied with %s: give that again (--var, --var-file) for what was measured."),
			noteOf(c.changed("env.", c.then.Env), "It was applied with %s in the environment, which the plan reads: set that again for what was measured."),
			c.onlyNow())
	}
	return append(notes, c.sealed(st)...)
}

// givenChange is what a plan was given when it was applied, and what it is given now.
type givenChange struct {
	then   *ledger.Inputs
	loaded *load.Result
	now    plans.Inputs
}

// comesTo is what an input, "var.x" or "env.X", comes to now, be it given or a default.
// The plan may not ask for it any more.
func (c *givenChange) comesTo(id string) (text string, asked bool) {
	if name, ok := strings.CutPrefix(id, "var."); ok {
		return c.loaded.VariableText(name)
	}
	name := strings.TrimPrefix(id, "env.")
	text, set := c.now.Env[name]
	return text, set || c.reads(name)
}

// changed are inputs of the record that come to something else now.
func (c *givenChange) changed(prefix string, then map[string]string) (changed []string) {
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if text, asked := c.comesTo(prefix + name); asked && text != then[name] {
			changed = append(changed, name+" = "+oneLine(then[name]))
		}
	}
	return changed
}

// onlyNow is what was not given then, so that the plan's own values counted.
func (c *givenChange) onlyNow() []string {
	// What may be secret is named and not shown.
	shown, err := steps.InputsOf(c.loaded, func(string) (string, error) { return "", nil })
	if err != nil {
		return nil
	}
	var only []string
	add := func(prefix string, now, then, shown map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			_, was := then[name]
			_, sealed := c.then.Sealed[prefix+name]
			text, plain := shown[name]
			switch {
			case was || sealed:
			case plain:
				only = append(only, name+" = "+oneLine(text))
			default:
				only = append(only, name)
			}
		}
	}
	add("var.", c.now.Variables, c.then.Variables, shown.Variables)
	add("env.", c.now.Env, c.then.Env, shown.Env)
	return noteOf(only, "Given now, and not when it was applied: %s. Leave that out for what was measured.")
}

// sealed are the sensitive inputs that are not known to be what they were.
func (c *givenChange) sealed(st *store.Store) []string {
	key, err := store.KnownSecretKey(st.Dir())
	var others []string
	for _, id := range slices.Sorted(maps.Keys(c.then.Sealed)) {
		if text, asked := c.comesTo(id); asked && (err != nil || redact.Sealed(key, text) != c.then.Sealed[id]) {
			others = append(others, id)
		}
	}
	return noteOf(others, "Not known to be what it was applied with: %s, which no record has, since it may be secret. Give it again for what was measured.")
}

// reads reports whether the text of the plan has the name of an environment variable.
func (c *givenChange) reads(name string) bool {
	for _, text := range c.loaded.Sources {
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return bytes.Contains(c.loaded.Source, []byte(name))
}

func noteOf(list []string, format string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(format, strings.Join(list, ", "))}
}

// recipeOf resolves the variant that the arguments name.
func recipeOf(a *app, args []string, f envFlags) (*script.Recipe, error) {
	path, err := planFile(a, args[1:])
	if err != nil {
		return nil, err
	}
	loaded, g, err := a.load(path, load.Options{Inputs: f.vars})
	if err != nil {
		return nil, err
	}
	p := loaded.Plan
	if p.Baseline == nil {
		return nil, fmt.Errorf("plan %s has no baseline, and so no variants: it compares nothing", p.Name)
	}
	st, err := store.OpenReadOnly(a.stateDir(path))
	if errors.Is(err, fs.ErrNotExist) {
		st, err = nil, ledgerGone(a.stateDir(path))
	}
	if err != nil {
		return nil, err
	}
	if st != nil {
		defer st.Close()
		if err := apply.SamePlan(st, p); err != nil {
			return nil, err
		}
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: st})
	if err != nil {
		return nil, err
	}
	r := &script.Recipe{Plan: p.Name, Variant: strings.TrimPrefix(args[0], "feature."), Engine: p.Baseline.Engine}
	if err := resolve(r, p, lab, st); err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes, givenThen(st, loaded)...)
	if f.engine != "" {
		r.Engine = f.engine
	}
	r.Spec, r.Kind, err = lab.VariantSpec(r.Engine, r.Knobs)
	if err != nil {
		return nil, fmt.Errorf("%s of plan %s: %w", r.Variant, p.Name, err)
	}
	return r, nil
}

// planFile is the plan that is named, or else the one that was applied last in
// this folder.
func planFile(a *app, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	st, err := a.reader(nil)
	if err != nil {
		return "", err
	}
	defer st.Close()
	runs := st.Runs()
	if len(runs) == 0 {
		return "", errors.New("nothing was applied here: name the plan")
	}
	given := runs[len(runs)-1].PlanFile
	for _, path := range []string{given, filepath.Base(given)} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the plan that was applied here, %s, is gone: name the plan", given)
}

// resolve finds the variant's knob values.
func resolve(r *script.Recipe, p *plans.Plan, lab *steps.Lab, st *store.Store) error {
	var stack report.Stack
	if st != nil {
		stack = report.AcceptedStack(st)
		if runs := st.Runs(); len(runs) > 0 {
			if v, err := st.Run(runs[len(runs)-1].ID); err == nil && v.Start != nil && v.Start.PlanDigest != p.Digest() {
				r.Notes = append(r.Notes, "The plan, or a variable of it, has changed since it was applied.")
			}
		}
	}
	r.Knobs = p.DefaultKnobs()
	switch r.Variant {
	case "baseline":
		return nil
	case "accepted":
		return resolveStack(r, p, stack)
	}
	var f *plans.Feature
	names := []string{"accepted", "baseline"}
	for _, c := range p.Candidates() {
		names = append(names, c.Name)
		if c.Name == r.Variant {
			f = c
		}
	}
	if f == nil {
		return fmt.Errorf("plan %s has no feature %q.%s", p.Name, r.Variant, lang.Suggest(r.Variant, names))
	}
	if f.Engine != "" {
		r.Engine = f.Engine
	}
	return resolveFeature(r, p, f, st, stack)
}

// resolveStack lays the accepted features over the plan's baseline.
func resolveStack(r *script.Recipe, p *plans.Plan, stack report.Stack) error {
	if len(stack.Features) == 0 {
		r.Notes = append(r.Notes, "Nothing was accepted: this is the baseline.")
	}
	for _, f := range stack.Features {
		r.Stack = append(r.Stack, f.Feature)
		for _, knob := range slices.Sorted(maps.Keys(f.Set)) {
			if p.Knob(knob) == nil {
				return fmt.Errorf("feature %s was accepted with knob %s = %s, and the plan no longer has that knob: use the plan that was applied, or apply this one", f.Feature, knob, f.Set[knob])
			}
		}
		maps.Copy(r.Knobs, f.Set)
	}
	return nil
}

// resolveFeature takes what was measured; before that, what the plan says.
func resolveFeature(r *script.Recipe, p *plans.Plan, f *plans.Feature, st *store.Store, stack report.Stack) error {
	says := "Not decided yet: this is the variant as the plan has it now."
	if st != nil {
		decided, knobs := decidedAs(st, f)
		if decided != "" {
			says = decided
		}
		if len(knobs) > 0 {
			maps.Copy(r.Knobs, knobs)
			for knob := range r.Knobs {
				if p.Knob(knob) == nil {
					return fmt.Errorf("feature %s was measured with knob %s, and the plan no longer has that knob: use the plan that was applied, or apply this one", f.Name, knob)
				}
			}
			r.Notes = append(r.Notes, says)
			return nil
		}
	}
	if len(f.Alternatives) > 0 {
		return fmt.Errorf("feature %s chooses among %s, and has not chosen yet: name one of them", f.Name, strings.Join(plans.Names(f.Alternatives, func(alt *plans.Feature) string { return alt.Name }), ", "))
	}
	r.Knobs = p.PlannedKnobs(f, stack.Knobs)
	r.Notes = append(r.Notes, says)
	return nil
}

// decidedAs says what was decided about a candidate, and with which knob values it was
// measured; empty where nothing was decided.
func decidedAs(st *store.Store, f *plans.Feature) (says string, knobs map[string]string) {
	if f.Of != "" && f.Engine == "" {
		return alternativeAs(st, f)
	}
	d, _, ok := st.Latest(runtime.FeatureID(f.Name))
	switch {
	case !ok || len(d.Variant) == 0:
		return "", nil
	case f.Engine != "":
		return fmt.Sprintf("Decided: %s on engine.%s; %s is %s.", d.Verdict, f.Engine, f.Of, acceptedWord(st, f.Of)), d.Variant
	}
	return fmt.Sprintf("Decided: %s, %s.", d.Verdict, acceptedWord(st, f.Name)), d.Variant
}

// alternativeAs is of a candidate of a feature that chooses: the feature's decision
// has what became of it.
func alternativeAs(st *store.Store, f *plans.Feature) (says string, knobs map[string]string) {
	for _, d := range slices.Backward(st.History(runtime.FeatureID(f.Of))) {
		i := slices.IndexFunc(d.Alternatives, func(alt ledger.Alternative) bool { return alt.Name == f.Name })
		if i < 0 {
			continue // an outcome that was withdrawn does not name them
		}
		for _, ev := range d.Evidence {
			if ev.Feature == f.Name && len(ev.Candidate.Launches) > 0 {
				if l, ok := st.LaunchByID(ev.Candidate.Launches[0]); ok {
					knobs = l.Knobs
				}
			}
		}
		if d.Alternatives[i].Chosen {
			return fmt.Sprintf("Decided: %s, chosen; %s is %s.", d.Alternatives[i].Verdict, f.Of, acceptedWord(st, f.Of)), knobs
		}
		return fmt.Sprintf("Decided: %s, not chosen.", d.Alternatives[i].Verdict), knobs
	}
	return "", nil
}

// acceptedWord is whether a feature stands in the stack.
func acceptedWord(st *store.Store, feature string) string {
	if d, _, ok := st.Latest(runtime.FeatureID(feature)); ok && d.Accepted {
		return "accepted"
	}
	return "not accepted"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
