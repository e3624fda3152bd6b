package ledger

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Decision is one decided outcome of a node of the graph.
type Decision struct {
	// Node is the node's address: "baseline", "phase.cutlass".
	Node string `json:"node"`
	// Kind is the node's kind: KindQualify and the others.
	Kind    string `json:"kind"`
	Phase   string `json:"phase,omitempty"`
	Feature string `json:"feature,omitempty"`
	// MeasureKey identifies the evidence of the outcome: while it is unchanged, the
	// outcome is reused. DecisionKey identifies the rest of what judges its launches;
	// empty if there is none.
	MeasureKey  string `json:"measure_key"`
	DecisionKey string `json:"decision_key,omitempty"`
	// Attempt counts from 1.
	Attempt int             `json:"attempt"`
	Verdict verdict.Verdict `json:"verdict"`
	// Reasons are the causes of the verdict besides Rules, and Notes the caveats for its
	// readers; Why joins all of them.
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	Notes   []verdict.Reason `json:"notes,omitempty"`
	// Levels, Rules: what the verdict was joined from.
	Levels []Level        `json:"levels,omitempty"`
	Rules  []verdict.Rule `json:"rules,omitempty"`
	// Rows are the table of a comparison of engines. Effects are what knob values do to
	// the metrics of Rows, for a matrix.
	Effects []verdict.Effect `json:"effects,omitempty"`
	Rows    []verdict.Row    `json:"rows,omitempty"`
	// Launches are the IDs of the launches it rests on.
	Launches []string `json:"launches,omitempty"`
	Session  string   `json:"session,omitempty"`
	// Derived outcomes follow from recorded evidence or from another outcome alone:
	// deciding again on the same keys would give the same.
	Derived bool `json:"derived,omitempty"`
	// Accepted reports whether a feature entered the stack.
	Accepted bool `json:"accepted,omitempty"`
	// Variant is the resolved knob values of a feature's candidate or the
	// baseline, for people and for `env`.
	Variant map[string]string `json:"variant,omitempty"`
	// Statistics and Evidence are how rules were decided and what they read.
	Statistics *gates.Settings `json:"statistics,omitempty"`
	Evidence   []gates.Feature `json:"evidence,omitempty"`
	// Alternatives are the candidates of a feature that chooses.
	Alternatives []Alternative `json:"alternatives,omitempty"`
	// Confirmations are the results of other engines for a feature.
	Confirmations []Confirmation `json:"confirmations,omitempty"`
	// Findings are facts beside the verdict that its rules do not read: metrics that got
	// worse, and metrics that contradict each other.
	Findings []verdict.Reason `json:"findings,omitempty"`
	// Made is what a step made, by type, such as the ID of an image.
	Made       map[string]string `json:"made,omitempty"`
	Hypothesis *Hypothesis       `json:"hypothesis,omitempty"`
	// LogTail, Exit: the last lines and exit status of what broke.
	LogTail []string `json:"log_tail,omitempty"`
	Exit    *int     `json:"exit,omitempty"`
	// Seconds is how long the node took.
	Seconds float64 `json:"seconds"`
	// Supersedes is true if an earlier decision of this node exists.
	Supersedes bool `json:"supersedes,omitempty"`
	// Because is why it was decided now: code.First, code.RulesChanged, code.Rerun and
	// the like.
	Because verdict.Reason `json:"because,omitzero"`
}

// Why is what the verdict follows from: the reasons, those of the rules, and the notes.
func (d *Decision) Why() []verdict.Reason { return why(d.Reasons, d.Rules, d.Notes) }

func why(reasons []verdict.Reason, rules []verdict.Rule, notes []verdict.Reason) []verdict.Reason {
	all := slices.Clone(reasons)
	for _, r := range rules {
		all = append(all, r.Reason())
	}
	return append(all, notes...)
}

// Disturbed reports whether nothing was decided because the machine disturbed the
// measurement: that says nothing about the port, and the next apply measures again.
func (d *Decision) Disturbed() bool {
	return d.Verdict == verdict.Inconclusive && verdict.Holds(d.Why(), code.MachineDisturbed.Kind)
}

// Reusable reports whether a later apply keeps the outcome.
func (d *Decision) Reusable() bool { return d.Verdict.Reusable() && !d.Disturbed() }

// Hypothesis is the claim made before measuring and its outcome.
type Hypothesis struct {
	Metric   string         `json:"metric"`
	Expect   string         `json:"expect"`
	Because  string         `json:"because,omitempty"`
	Measured verdict.Reason `json:"measured,omitzero"`
	// Outcome is "confirmed", "refuted" or "open", and Test the rule that decided it.
	// PostHoc is set if the claim was made after the launches.
	Outcome string        `json:"outcome,omitempty"`
	PostHoc bool          `json:"post_hoc,omitempty"`
	Test    *verdict.Rule `json:"test,omitempty"`
}

type Level struct {
	Name    string           `json:"name"`
	Verdict verdict.Verdict  `json:"verdict"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	Seconds float64          `json:"seconds"`
	// Of is the level that Reasons are about, if it is another: correctness, whose answers
	// are compared after the benchmark.
	Of string `json:"of,omitempty"`
	// Launch is the launch that it ran in, and Against are the launches it was compared
	// with: from their artifacts it can be decided again.
	Launch  string   `json:"launch,omitempty"`
	Against []string `json:"against,omitempty"`
}

func (l Level) Reason() verdict.Reason {
	if len(l.Reasons) == 0 {
		return verdict.New(code.LevelIs).On(l.Name).Is(l.Verdict)
	}
	return l.WithoutCauses().From(l.Reasons...)
}

func (l Level) WithoutCauses() verdict.Reason {
	return verdict.New(code.Level).On(cmp.Or(l.Of, l.Name)).Is(l.Verdict)
}

// Alternative is one candidate of a feature that chooses among several.
type Alternative struct {
	// Name is the feature's with the value: "spec[short]"; Set the knobs it sets.
	Name    string            `json:"name"`
	Set     map[string]string `json:"set"`
	Verdict verdict.Verdict   `json:"verdict"`
	Chosen  bool              `json:"chosen,omitempty"`
	Reasons []verdict.Reason  `json:"reasons,omitempty"`
	Rules   []verdict.Rule    `json:"rules,omitempty"`
	Notes   []verdict.Reason  `json:"notes,omitempty"`
}

func (a Alternative) Why() []verdict.Reason { return why(a.Reasons, a.Rules, a.Notes) }

// Confirmation is the outcome of a feature's criteria on another engine. The feature's
// verdict is the join of its own levels and rules with those of its confirmations.
type Confirmation struct {
	// Engine is "kind.name", Node what was decided there.
	Engine string `json:"engine"`
	Node   string `json:"node"`
	// Verdict is absent if it was not tried because the feature did not pass without it.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Reason  verdict.Reason  `json:"reason,omitzero"`
}

// Marks are caveats for readers of a verdict, each once: that rules were relaxed after its launches
// were seen, that it is not the first try, that it speaks of pinned tunes, and that answers are not
// checked, are the old path's to the last digit, or may differ by declaration.
func (d *Decision) Marks() (said []verdict.Reason) {
	all := d.Why()
	for _, l := range d.Levels {
		all = slices.Concat(all, l.Reasons)
	}
	for _, r := range all {
		if r.AnyOf(code.Withheld, code.Tried, code.TriesSpent, code.TunePinned, code.Unchecked, code.Declared,
			code.Unlooked, code.BitEqual) && !slices.ContainsFunc(said, r.Equal) {
			said = append(said, r)
		}
	}
	return said
}

// Tries are the reasons that say which try a decision is, if it is not the first.
func (d *Decision) Tries() []verdict.Reason {
	return slices.DeleteFunc(d.Why(), func(r verdict.Reason) bool {
		return r.Kind != code.Tried.Kind && r.Kind != code.TriesSpent.Kind
	})
}
