package steps

import (
	"context"
	"maps"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// measuringVersion is part of every measurement key. It changes when the way
// of measuring does, so that old launches are not compared with new ones.
const measuringVersion = "3"

// decidingVersion is part of every decision key. It changes when the way of
// deciding does, so that verdicts of the old way are decided again.
const decidingVersion = "4"

// sealed is the digest of what may hold sensitive values: it changes as they do,
// but a value cannot be guessed from it.
func (l *Resolver) sealed(parts ...any) string {
	return runtime.Digest(l.Seal.Any(parts).([]any)...)
}

// variantKey covers everything that makes two starts the same start. The folder
// is left out: a checkout that was moved measures the same.
func (l *Resolver) variantKey(ctx context.Context, spec engine.Spec) string {
	parts := []any{"variant", spec.Kind, spec.Model, spec.Command, spec.Env, spec.Unset, l.program(ctx, spec)}
	if spec.How() != engine.HowProcess {
		parts = append(parts, string(spec.How()), unpulled(spec.Docker), spec.Compose, spec.Exec, keyless(spec.Endpoint))
	}
	parts = append(parts, sourceKey(spec)...)
	if len(spec.Config) > 0 {
		parts = append(parts, string(spec.Config))
	}
	return l.sealed(parts...)
}

// unpulled is a container without when its image is pulled: which image it is
// stands in the program.
func unpulled(d *engine.Docker) *engine.Docker {
	if d == nil {
		return nil
	}
	bare := *d
	bare.Pull = ""
	return &bare
}

// keyless is an endpoint without its key: a new key opens the same server.
func keyless(e *engine.Endpoint) *engine.Endpoint {
	if e == nil {
		return nil
	}
	bare := *e
	bare.APIKey = ""
	return &bare
}

// evidence is what must and must not be seen for a set of knob values.
type evidence struct {
	Knob, Value         string
	MustSee, MustNotSee []string
	// MustObserve and MustNotObserve are values of observations, by name.
	MustObserve    map[string]any `json:",omitempty"`
	MustNotObserve map[string]any `json:",omitempty"`
}

// evidenceFor lists the kernel evidence of every knob value of a variant.
func evidenceFor(p *plans.Plan, knobs map[string]string) []evidence {
	if len(p.Knobs) == 0 {
		return nil
	}
	out := make([]evidence, 0, len(p.Knobs))
	for _, k := range p.Knobs {
		if v := k.Value(knobs[k.Name]); v != nil {
			out = append(out, evidence{k.Name, v.Name, v.MustSee.Log, v.MustNotSee.Log, v.MustSee.Observed, v.MustNotSee.Observed})
		}
	}
	return out
}

// qualifyKey: the variants, the levels with their settings, and the machine.
func (l *Lab) qualifyKey(protocol *plans.Protocol, vs ...*variant) string {
	var parts []any
	for _, v := range vs {
		parts = append(parts, v.key, evidenceFor(l.Plan, v.knobs))
	}
	parts = append(parts, levelParts(protocol)...)
	return l.sealed("qualify", measuringVersion, l.MachineKey, parts)
}

// levelParts are the levels that a variant is qualified by, with their settings.
func levelParts(protocol *plans.Protocol) (parts []any) {
	for _, level := range qualificationLevels(protocol) {
		parts = append(parts, level.Kind, level.Attrs)
	}
	return parts
}

// benchmarkKey: the arms, what is sent to them, and the machine. The number of
// launches is not part of it: asking for more continues the same session.
func (l *Resolver) benchmarkKey(workloads []*plans.Workload, vs []*variant) string {
	var parts []any
	for _, v := range vs {
		parts = append(parts, v.key)
	}
	return runtime.Digest("benchmark", l.workKey(workloads), parts)
}

// workKey is what is sent and on which machine: launches with one work may be
// compared, and their noise too.
func (l *Resolver) workKey(workloads []*plans.Workload) string {
	var parts []any
	for _, w := range workloads {
		// What people say of it, how long a lost answer is waited for and how
		// answers are judged leave the answers that came as they are.
		sent := *w
		sent.Summary, sent.RequestTimeout, sent.FirstTimeout, sent.StallTimeout, sent.Coherence = "", 0, 0, 0, ""
		parts = append(parts, sent)
	}
	return runtime.Digest("work", measuringVersion, l.MachineKey, parts)
}

// judged is how answers are looked at, for the decision's key.
func judged(workloads []*plans.Workload) (parts []any) {
	for _, w := range workloads {
		parts = append(parts, w.Name, w.Coherence)
	}
	return parts
}

// ruleKey is what a rule decides by besides its evidence: its text, and the
// numbers of targets, which stand elsewhere in the plan.
func ruleKey(r *plans.Rule) []any {
	parts := []any{r.Name, r.Expr}
	if r.Program == nil {
		return parts
	}
	for _, in := range r.Program.Inputs {
		if in.Kind == plans.InputTarget {
			parts = append(parts, in.Path, in.Number)
		}
	}
	return parts
}

// MachineKey is the part of a machine's fingerprint that measurements depend on:
// all of it but the entries that the plan accepts to differ.
func MachineKey(environment map[string]string, p *plans.Plan) string {
	kept := maps.Clone(environment)
	if p != nil && p.Baseline != nil {
		maps.DeleteFunc(kept, func(name, _ string) bool { return isFree(name, p.Baseline.AcceptFingerprint) })
	}
	return runtime.Digest("machine", kept)
}
