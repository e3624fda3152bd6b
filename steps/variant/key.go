package variant

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// MeasuringVersion is part of every measurement key. It changes when measuring does, so
// old launches are not compared with new ones.
const MeasuringVersion = "3"

// SecretDigest is the digest of what may contain sensitive values: it changes with them, but a
// value cannot be guessed from it.
func (l *Resolver) SecretDigest(parts ...any) string {
	return runtime.Digest(l.Seal.Any(parts).([]any)...)
}

// variantKey covers everything that makes two starts the same start. The folder is left
// out, and names of files in it are relative to it: a checkout that was moved measures the
// same. If a source's commit or a tree's state is unknown, the key changes when it is known.
func (l *Resolver) variantKey(ctx context.Context, spec engine.Spec) string {
	env := make([]string, 0, 2*len(spec.Env)) // which is digested faster than a map
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		env = append(env, name, spec.Env[name])
	}
	parts := []any{"variant", spec.Kind, spec.Model, spec.Command, env, spec.Unset, l.Program(ctx, spec)}
	if spec.How() != engine.HowProcess {
		if spec.Docker != nil {
			image := *spec.Docker
			image.Pull, spec.Docker = "", &image // the image's identity is in the program
		}
		if spec.Endpoint != nil {
			server := *spec.Endpoint
			server.APIKey, spec.Endpoint = "", &server // a new key opens the same server
		}
		parts = append(parts, string(spec.How()), spec.Docker, spec.Compose, spec.Exec, spec.Endpoint)
	}
	for _, s := range spec.Sources {
		parts = append(parts, "source", s)
	}
	if spec.Caches != nil {
		parts = append(parts, "caches", spec.Caches)
	}
	for _, t := range spec.Trees {
		parts = append(parts, "tree", t)
	}
	identity := l.Counts(spec.Identity)
	for _, f := range identity.Files {
		parts = append(parts, "file", strings.TrimPrefix(f.Path, workingDir(spec)+"/"), f.Digest)
	}
	for _, f := range identity.Folders {
		if f.Holds == source.HoldsPackages {
			parts = append(parts, "package", f.Package, f.List) // wherever it is installed
			continue
		}
		if f.Holds == source.HoldsLibrary {
			parts = append(parts, "library", f.List)
			continue
		}
		parts = append(parts, "folder", strings.TrimPrefix(f.Dir+"/", workingDir(spec)+"/"), f.Holds, f.List)
	}
	if WhyUnidentified(spec) != "" {
		parts = append(parts, "unidentified", l.Since)
	}
	if len(spec.Config) > 0 {
		parts = append(parts, string(spec.Config))
	}
	return l.SecretDigest(parts...)
}

// BenchmarkKey covers the arms, what is sent to them, and the machine. The number of
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
		// Descriptions, the timeout of a lost answer and how answers are judged do not
		// change the answers.
		sent := *w
		sent.Summary, sent.RequestTimeout, sent.FirstTimeout, sent.StallTimeout, sent.Coherence = "", 0, 0, 0, ""
		parts = append(parts, sent)
	}
	if x := l.Plan.Executor; x != nil {
		// Parallel launches, and the launch's share of the host, affect it.
		parts = append(parts, *x)
	}
	return runtime.Digest("work", MeasuringVersion, l.MachineKey, parts)
}

// MachineKey is the part of a machine's fingerprint that measurements depend on: all
// entries but those that the plan accepts to differ.
func MachineKey(environment map[string]string, p *plans.Plan) string {
	if p != nil && p.Executor.IsRemote() {
		return runtime.Digest("machines of the executor") // launches record which each was
	}
	kept := maps.Clone(environment)
	if p != nil && p.Baseline != nil {
		maps.DeleteFunc(kept, func(name, _ string) bool { return IsFree(name, p.Baseline.AcceptFingerprint) })
	}
	return runtime.Digest("machine", kept)
}

// AcceptedEntries are the fingerprint entries that the plan allows to differ.
func (l *Resolver) AcceptedEntries() []string {
	if l.Plan.Baseline == nil {
		return nil
	}
	return l.Plan.Baseline.AcceptFingerprint
}

// Counts is what of an identity the plan does not accept to differ.
func (l *Resolver) Counts(id source.Identity) source.Identity {
	if len(id.Folders) > 0 && IsFree("packages", l.AcceptedEntries()) {
		installed := func(f source.Folder) bool {
			return f.Holds == source.HoldsPackages || f.Holds == source.HoldsLibrary
		}
		id.Folders = slices.DeleteFunc(slices.Clone(id.Folders), installed)
	}
	return id
}

// IsFree reports whether an entry may differ. "all" frees all, and "repo.*" all
// source trees.
func IsFree(name string, free []string) bool {
	return slices.Contains(free, name) || slices.Contains(free, plans.AcceptAll) ||
		strings.HasPrefix(name, "repo.") && slices.Contains(free, plans.AcceptRepos)
}

// Evidence is what must and must not be seen for a set of knob values.
type Evidence struct {
	Knob, Value         string
	MustSee, MustNotSee []string
	// MustObserve and MustNotObserve are values of observations, by name.
	MustObserve    map[string]any `json:",omitempty"`
	MustNotObserve map[string]any `json:",omitempty"`
	// MustTrace and MustNotTrace are looked for in a profile.
	MustTrace, MustNotTrace []string `json:",omitempty"`
	// AtStart lets required lines count that precede the first request.
	AtStart bool `json:",omitempty"`
}

// Globs are the patterns to look for in the log.
func (e Evidence) Globs() []string { return slices.Concat(e.MustSee, e.MustNotSee) }

// InLogOrReport reports whether any of it is logged or reported by the engine.
func (e Evidence) InLogOrReport() bool {
	return len(e.Globs())+len(e.MustObserve)+len(e.MustNotObserve) > 0
}

// Traced reports whether any of it is looked for in a profile.
func (e Evidence) Traced() bool { return len(e.MustTrace)+len(e.MustNotTrace) > 0 }

// Map returns the evidence with f applied to every glob: how secrets are redacted in it,
// as they are in a kept log.
func (e Evidence) Map(f func(string) string) Evidence {
	each := func(globs []string) []string {
		globs = slices.Clone(globs)
		for i := range globs {
			globs[i] = f(globs[i])
		}
		return globs
	}
	e.MustSee, e.MustNotSee = each(e.MustSee), each(e.MustNotSee)
	return e
}

// EvidenceFor lists the kernel evidence of every knob value of a variant.
func EvidenceFor(p *plans.Plan, knobs map[string]string) []Evidence {
	if !slices.ContainsFunc(p.Knobs, func(k *plans.Knob) bool { return !k.Arms }) {
		return nil
	}
	out := make([]Evidence, 0, len(p.Knobs))
	for _, k := range p.Knobs {
		if v := k.Value(knobs[k.Name]); v != nil && !k.Arms {
			out = append(out, Evidence{
				Knob: k.Name, Value: v.Name, MustSee: v.MustSee.Log, MustNotSee: v.MustNotSee.Log,
				MustObserve: v.MustSee.Observed, MustNotObserve: v.MustNotSee.Observed,
				MustTrace: v.MustSee.Trace, MustNotTrace: v.MustNotSee.Trace, AtStart: v.MustSee.AtStart,
			})
		}
	}
	return out
}

// EvidenceKey replaces EvidenceFor in keys: by the evidence of the defaults, and that of the values
// that differ. Plans have many knobs, and variants differ in few, or in one more than their parent:
// each value's evidence is written once.
func (l *Resolver) EvidenceKey(v *Variant) string {
	if v.evidence != "" {
		return v.evidence
	}
	base := l.defaultKnobs()
	l.evidence.Do(func() { l.ofDefaults = l.SecretDigest("evidence", EvidenceFor(l.Plan, base)) })
	write := func(parts ...any) []byte {
		text, _ := json.Marshal(l.Seal.Any(parts)) // a plan's values can be encoded
		return text[1 : len(text)-1]
	}
	list := slices.Concat([]byte("["), write(l.ofDefaults), []byte(",["))
	none := len(list)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.relevantKnobs(v.Arm) {
		value := v.Knobs[k.Name]
		if value == base[k.Name] {
			continue
		}
		of := l.written[[2]string{k.Name, value}]
		if of == nil {
			of = write(k.Name, value, EvidenceFor(&plans.Plan{Knobs: []*plans.Knob{k}}, v.Knobs))
			l.written[[2]string{k.Name, value}] = of
		}
		if len(list) > none {
			list = append(list, ',')
		}
		list = append(list, of...)
	}
	if len(list) == none {
		return l.ofDefaults
	}
	return runtime.DigestJSON(append(list, "]]"...))
}
