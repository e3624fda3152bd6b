package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/internal/redact"
)

// digestVersion changes when the same plan would get another digest, so an old
// digest is never mistaken for that of a changed plan.
const digestVersion = "mxflow plan v3\n"

// Digest is the SHA-256 of the plan's meaning, in hex: of digestVersion and the JSON of
// the decoded values.
//
// It covers every value that a block ended up with, including defaults, and so summaries
// too. It leaves out comments, formatting, the file's name and place, and variables and
// locals, which count only by their results: the same plan with a value written out has
// the same digest.
//
// The order of blocks of one type does not count, nor that of phases, features, criteria,
// rules, values of a knob, globs and references in after and accept. The order of levels,
// of steps, of arguments and of lists of numbers does.
func (p *Plan) Digest() string {
	text, err := json.Marshal(p.canonical())
	if err != nil {
		// Decoded values are finite numbers, text and maps of them.
		panic("plans: plan cannot be encoded: " + err.Error())
	}
	// A sensitive value counts only by its place: a digest of the value would let
	// everybody who sees the ledger try values.
	text = redact.OnlyWhole(p.Hidden).Bytes(text)
	sum := sha256.Sum256(append([]byte(digestVersion), text...))
	return hex.EncodeToString(sum[:])
}

// canonical is the plan sorted by name wherever order makes no difference.
func (p *Plan) canonical() Plan {
	canonical := *p
	canonical.Variables = nil
	if p.Decision != nil && *p.Decision == usualDecision {
		canonical.Decision = nil // as if it were not written
	}
	canonical.Engines = sortedBy(p.Engines, func(e *Engine) string { return e.Kind + "." + e.Name })
	canonical.Knobs = sortedBy(p.Knobs, func(k *Knob) string { return k.Name })
	for i, k := range canonical.Knobs {
		canonical.Knobs[i] = canonicalKnob(k)
	}
	canonical.Workloads = sortedBy(p.Workloads, func(w *Workload) string { return w.Name })
	canonical.Suites = sortedBy(p.Suites, func(s *Suite) string { return s.Name })
	canonical.Protocols = sortedBy(p.Protocols, func(q *Protocol) string { return q.Name })
	canonical.Targets = sortedBy(p.Targets, func(t *Target) string { return t.Name })
	canonical.Imported = sortedBy(p.Imported, func(i *Imported) string { return i.Name })
	canonical.Phases = sortedBy(p.Phases, func(ph *Phase) string { return ph.Name })
	for i, ph := range canonical.Phases {
		canonical.Phases[i] = canonicalPhase(ph)
	}
	return canonical
}

func canonicalKnob(k *Knob) *Knob {
	c := *k
	c.Changes = slices.Sorted(slices.Values(k.Changes))
	c.Values = sortedBy(k.Values, func(v *KnobValue) string { return v.Name })
	for i, v := range c.Values {
		value := *v
		value.MustNotSee.Log, value.MustNotSee.Trace = sortedTexts(v.MustNotSee.Log), sortedTexts(v.MustNotSee.Trace)
		value.MustSee.Log, value.MustSee.Trace = sortedTexts(v.MustSee.Log), sortedTexts(v.MustSee.Trace)
		c.Values[i] = &value
	}
	return &c
}

func canonicalPhase(ph *Phase) *Phase {
	c := *ph
	c.After, c.AfterDecided = sortedTexts(ph.After), sortedTexts(ph.AfterDecided)
	c.Features = sortedBy(ph.Features, func(f *Feature) string { return f.Name })
	for i, f := range c.Features {
		feature := *f
		feature.Criteria = canonicalRules(f.Criteria)
		feature.Accept = sortedTexts(f.Accept)
		feature.Alternatives, feature.Confirm = nil, nil // they follow from the choices, and from the feature itself
		if c := f.Choose; c != nil {
			feature.Choose = &Choose{Knob: c.Knob, Values: sortedTexts(c.Values), Prefer: c.Prefer}
		}
		for _, c := range sortedBy(f.Confirm, func(f *Feature) string { return f.Engine }) {
			feature.Confirm = append(feature.Confirm, &Feature{Engine: c.Engine, Accept: sortedTexts(c.Accept)})
		}
		c.Features[i] = &feature
	}
	if ph.Gate != nil {
		c.Gate = &Gate{Rules: canonicalRules(ph.Gate.Rules), Range: ph.Gate.Range}
	}
	return &c
}

func canonicalRules(rules []*Rule) []*Rule {
	list := sortedBy(rules, func(r *Rule) string { return r.Name })
	for i, r := range list {
		list[i] = &Rule{Name: r.Name, Expr: strings.TrimSpace(r.Expr), Range: r.Range}
	}
	return list
}

// sortedBy is a sorted copy; nil and empty are the same.
func sortedBy[T any](list []*T, key func(*T) string) []*T {
	c := append([]*T{}, list...)
	slices.SortStableFunc(c, func(a, b *T) int { return strings.Compare(key(a), key(b)) })
	return c
}

func sortedTexts(list []string) []string {
	c := append([]string{}, list...)
	slices.Sort(c)
	return c
}
