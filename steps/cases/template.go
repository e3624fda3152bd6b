package cases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	written "github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps/decide"
)

// Templates writes a case that passes and one that fails for each feature with criteria
// and each gate of a plan, except those that known cases already show. The numbers are
// next to the rules' thresholds, and every case is decided before it is written. One with
// the wrong outcome, because such numbers are not enough for its rules, is written as a
// comment for a person to complete. The text is empty if no case is missing; open counts
// the comments.
func Templates(res *load.Result, known []*Outcome) (text string, open int) {
	var b strings.Builder
	write := func(what, head, feature, phase string, rules []*plans.Rule) {
		for _, want := range []verdict.Verdict{verdict.Pass, verdict.Fail} {
			shown := slices.ContainsFunc(known, func(o *Outcome) bool {
				return o.OK() && o.Case.Feature == feature && o.Case.Phase == phase && o.Verdict == want
			})
			if shown || len(rules) == 0 || phase != "" && len(decide.RowsRead(res.Plan.Phase(phase))) > 0 {
				continue // cases do not cover what a comparison measured
			}
			c := template{plan: res.Plan, pass: want == verdict.Pass, given: map[string]templateGiven{}}
			text := c.text(what+map[bool]string{true: " passes", false: " fails"}[want == verdict.Pass], head, feature, phase, rules, want)
			if found, diags := written.Bytes(res, "template.mxtest.hcl", []byte(text)); !diags.OK() || len(found) != 1 || !Decide(res.Plan, found[0]).OK() {
				open++
				text = fmt.Sprintf("# Fill in measurements with which it comes out as %s:\n# %s\n", want, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n# "))
			}
			b.WriteString("\n" + text)
		}
	}
	for _, ph := range res.Plan.Phases {
		for _, f := range ph.Features {
			write("feature "+f.Name, "feature = feature."+f.Name, f.Name, "", f.Criteria)
		}
		if ph.Gate != nil {
			write("gate "+ph.Name, "gate = phase."+ph.Name, "", ph.Name, ph.Gate.Rules)
		}
	}
	return strings.TrimLeft(b.String(), "\n"), open
}

// template is the content of one case, by feature: every comparison of its rules on one
// side of its threshold.
type template struct {
	plan  *plans.Plan
	pass  bool
	given map[string]templateGiven
	// asked are the numbers given to metrics, by feature and metric, then by the arm
	// compared with.
	asked map[[2]string]map[plans.Against]askedOf
	// beside are the thresholds that numbers were put next to, by subject.
	beside map[string]float64
}

// templateGiven is what a case gives of one feature: attribute → key → value, in HCL.
type templateGiven map[string]map[string]string

func (c *template) set(feature, attribute, key, value string) {
	if c.given[feature] == nil {
		c.given[feature] = templateGiven{}
	}
	if c.given[feature][attribute] == nil {
		c.given[feature][attribute] = map[string]string{}
	}
	c.given[feature][attribute][key] = value
}

func (c *template) text(name, head, feature, phase string, rules []*plans.Rule, want verdict.Verdict) string {
	for _, r := range rules {
		if r.Program != nil && r.Program.Logic != nil {
			c.logic(r.Program.Logic)
		}
	}
	var parts []*plans.Feature
	if f := c.plan.Feature(feature); f == nil {
		parts = decide.GateFeatures(c.plan, c.plan.Phase(phase))
	} else if parts = f.Alternatives; len(parts) == 0 {
		parts = []*plans.Feature{f}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "case %s {\n  %s\n", quotedHCL(name), head)
	for _, f := range parts {
		g := c.given[decide.ReadAs(f)]
		switch {
		case g == nil:
		case len(parts) == 1 && (feature == "" || f.Name == feature):
			g.write(&b, "  ")
		default:
			fmt.Fprintf(&b, "  given %s {\n", quotedHCL(f.Name))
			g.write(&b, "    ")
			b.WriteString("  }\n")
		}
	}
	fmt.Fprintf(&b, "  expect = %q\n}\n", want)
	return b.String()
}

func (g templateGiven) write(b *strings.Builder, indent string) {
	for _, attribute := range slices.Sorted(maps.Keys(g)) {
		values := g[attribute]
		if value, ok := values[""]; ok {
			fmt.Fprintf(b, "%s%s = %s\n", indent, attribute, value)
			continue
		}
		fmt.Fprintf(b, "%s%s = {\n", indent, attribute)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(b, "%s  %q = %s\n", indent, key, values[key])
		}
		fmt.Fprintf(b, "%s}\n", indent)
	}
}

// logic puts every comparison of a rule on the case's side: if all parts hold, so does
// any rule of and and or, and if none does, it does not.
func (c *template) logic(l *plans.Logic) {
	for _, arg := range l.Args {
		c.logic(arg)
	}
	switch {
	case l.Truth != nil && l.Truth.Kind == plans.InputFeature:
		c.set(l.Truth.Feature, "verdict", "", map[bool]string{true: `"pass"`, false: `"fail"`}[c.pass != l.Negated])
	case l.Truth != nil && l.Truth.Kind == plans.InputObserved:
		c.set(l.Truth.Feature, "observed", l.Truth.Name, strconv.FormatBool(c.pass != l.Negated))
	case l.Leaf == nil || l.Leaf.Claim == nil:
	case l.Leaf.Claim.Input != nil:
		c.threshold(l.Leaf.Claim)
	default:
		c.exact(l.Leaf)
	}
}

// threshold gives a metric a number next to a threshold.
func (c *template) threshold(claim *plans.Claim) {
	in, at, step := claim.Input, claim.Threshold, 0.1
	switch {
	case in.Ratio():
	case in.Unit == "share":
		step = min(at, 1-at) / 2
	case in.Relation != plans.Delta:
		step = max(at/10, -at/10)
	case in.Unit == "GB":
		step = max(at/2, -at/2, 0.5)
	default:
		step = max(at/2, -at/2, 5)
	}
	if claim.More != c.pass {
		step = -step
	}
	// Of several thresholds on one number the case is beyond all: the highest if more
	// passes, and the lowest if it must fail.
	key := in.Feature + " " + gates.NoiseKey(in) + " " + string(in.Relation) + " " + string(in.Against)
	if before, ok := c.beside[key]; ok && (claim.More == c.pass) == (before > at) {
		return
	}
	if c.beside == nil {
		c.beside = map[string]float64{}
	}
	c.beside[key] = at
	c.measured(in, at+step)
}

// count gives per-launch counts, and values that a launch has once, a number for which an
// exact comparison is on the case's side.
func (c *template) count(in *plans.Input, op string, at float64, wanted bool) {
	step := 1.0
	if in.Ratio() {
		step = 0.1
	}
	for _, n := range []float64{at, at + step, at - step} {
		holds := map[string]bool{"==": n == at, "!=": n != at, "<": n < at, "<=": n <= at, ">": n > at, ">=": n >= at}
		if holds[op] == wanted {
			c.measured(in, n)
			return
		}
	}
}

// askedOf is a number given to a metric, as an input reads it.
type askedOf struct {
	in *plans.Input
	n  float64
}

// measured gives every launch a value of a metric: the candidate's relative to its
// parent's, and the baseline's relative to the candidate's.
func (c *template) measured(in *plans.Input, n float64) {
	if in.Kind != plans.InputMetric || in.Counts() {
		return
	}
	against := in.Against
	if f := c.plan.Feature(in.Feature); against == plans.Root && f != nil && f.BuildsOn.Kind == plans.OnBaseline {
		against = plans.Parent // the same launches
	}
	key := [2]string{in.Feature, gates.NoiseKey(in)}
	if c.asked == nil {
		c.asked = map[[2]string]map[plans.Against]askedOf{}
	}
	if c.asked[key] == nil {
		c.asked[key] = map[plans.Against]askedOf{}
	}
	c.asked[key][against] = askedOf{in, n}
	c.set(in.Feature, "launches", key[1], "{ "+strings.Join(given(c.asked[key]), ", ")+" }")
}

// given is what a case gives of a metric.
func given(asked map[plans.Against]askedOf) (parts []string) {
	say := func(key string, n float64) { parts = append(parts, key+" = "+strconv.FormatFloat(n, 'g', 4, 64)) }
	candidate := 100.0
	if of, ok := asked[plans.Parent]; ok {
		if of.in.Unit == "share" {
			candidate = 0.5
		}
		if of.in.Relation == plans.Delta && of.in.Unit == "share" {
			say("base", candidate)
		}
		say(map[plans.Relation]string{plans.Gain: "gain", plans.Change: "change", plans.Delta: "delta", plans.Base: "base", plans.Own: "candidate"}[of.in.Relation], of.n)
		switch of.in.Relation {
		case plans.Own:
			candidate = of.n
		case plans.Delta:
			candidate += of.n
		case plans.Gain, plans.Change:
			candidate *= of.ratio()
		}
	}
	root, said := asked[plans.Root]
	if !said {
		return parts
	}
	if of, ok := asked[plans.Parent]; !ok || of.in.Relation == plans.Base {
		say("candidate", candidate)
	}
	switch root.in.Relation {
	case plans.Gain, plans.Change:
		say("root", candidate/root.ratio())
	case plans.Delta:
		say("root", candidate-root.n)
	default:
		say("root", root.n)
	}
	return parts
}

// ratio is the candidate's number over the other arm's.
func (a askedOf) ratio() float64 {
	if a.in.Relation == plans.Gain && a.in.Better == string(measure.Lower) {
		return 1 - a.n
	}
	return 1 + a.n
}

// exact gives a level, a knob or an engine's observation the word that a rule compares it
// with, or another one; or a count a number.
func (c *template) exact(leaf *plans.Leaf) {
	in, constant, op := leaf.Left.Input, leaf.Right.Constant, leaf.Op
	if in == nil {
		in, constant, op = leaf.Right.Input, leaf.Left.Constant, plans.Turned(op)
	}
	same := c.pass != leaf.Negated
	if at, ok := constant.(float64); ok && in != nil {
		c.count(in, op, at, same)
	}
	word, ok := constant.(string)
	if in == nil || !ok || op != "==" {
		return
	}
	attribute := map[plans.InputKind]string{plans.InputLevel: "levels", plans.InputKnob: "knobs", plans.InputObserved: "observed", plans.InputFeature: "verdict"}[in.Kind]
	switch {
	case attribute == "":
	case in.Kind == plans.InputFeature:
		c.set(in.Feature, attribute, "", quotedHCL(map[bool]string{true: word, false: "fail"}[same]))
	case in.Kind == plans.InputObserved && !same:
		c.set(in.Feature, attribute, in.Name, `"something else"`)
	default:
		// A level that did not pass makes the case invalid instead of a fail, and knobs
		// have fixed values: the other comparisons must fail.
		c.set(in.Feature, attribute, in.Name, quotedHCL(word))
	}
}

// quotedHCL is a one-line text in quotes, in plan syntax.
func quotedHCL(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${", "%{", "%%{").Replace(s) + `"`
}
