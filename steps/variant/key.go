package variant

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// MeasuringVersion is part of every measurement key. It changes when the way
// of measuring does, so that old launches are not compared with new ones.
const MeasuringVersion = "3"

// Sealed is the digest of what may hold sensitive values: it changes as they do,
// but a value cannot be guessed from it.
func (l *Resolver) Sealed(parts ...any) string {
	return runtime.Digest(l.Seal.Any(parts).([]any)...)
}

// variantKey covers everything that makes two starts the same start. The folder
// is left out: a checkout that was moved measures the same.
func (l *Resolver) variantKey(ctx context.Context, spec engine.Spec) string {
	parts := []any{"variant", spec.Kind, spec.Model, spec.Command, spec.Env, spec.Unset, l.Program(ctx, spec)}
	if spec.How() != engine.HowProcess {
		parts = append(parts, string(spec.How()), unpulled(spec.Docker), spec.Compose, spec.Exec, keyless(spec.Endpoint))
	}
	parts = append(parts, sourceKey(spec)...)
	if len(spec.Config) > 0 {
		parts = append(parts, string(spec.Config))
	}
	return l.Sealed(parts...)
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

// benchmarkKey: the arms, what is sent to them, and the machine. The number of
// launches is not part of it: asking for more continues the same session.
func (l *Resolver) BenchmarkKey(workloads []*plans.Workload, vs []*Variant) string {
	var parts []any
	for _, v := range vs {
		parts = append(parts, v.Key)
	}
	return runtime.Digest("benchmark", l.WorkKey(workloads), parts)
}

// WorkKey is what is sent and on which machine: launches with one work may be
// compared, and their noise too.
func (l *Resolver) WorkKey(workloads []*plans.Workload) string {
	var parts []any
	for _, w := range workloads {
		// What people say of it, how long a lost answer is waited for and how
		// answers are judged leave the answers that came as they are.
		sent := *w
		sent.Summary, sent.RequestTimeout, sent.FirstTimeout, sent.StallTimeout, sent.Coherence = "", 0, 0, 0, ""
		parts = append(parts, sent)
	}
	if x := l.Plan.Executor; x != nil {
		// What stands beside a launch, and how much of the host it has, bears on it.
		parts = append(parts, *x)
	}
	return runtime.Digest("work", MeasuringVersion, l.MachineKey, parts)
}

// MachineKey is the part of a machine's fingerprint that measurements depend on:
// all of it but the entries that the plan accepts to differ.
func MachineKey(environment map[string]string, p *plans.Plan) string {
	kept := maps.Clone(environment)
	if p != nil && p.Baseline != nil {
		maps.DeleteFunc(kept, func(name, _ string) bool { return IsFree(name, p.Baseline.AcceptFingerprint) })
	}
	return runtime.Digest("machine", kept)
}

// AcceptedEntries are the entries of fingerprints that may differ by the plan.
func (l *Resolver) AcceptedEntries() []string {
	if l.Plan.Baseline == nil {
		return nil
	}
	return l.Plan.Baseline.AcceptFingerprint
}

// IsFree reports whether an entry may differ. "all" frees all, and "repo.*" all
// source trees.
func IsFree(name string, free []string) bool {
	return slices.Contains(free, name) || slices.Contains(free, plans.AcceptAll) ||
		strings.HasPrefix(name, "repo.") && slices.Contains(free, plans.AcceptRepos)
}
