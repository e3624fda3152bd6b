package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// LeastAlternatives and MostAlternatives bound how many values choose tries: each gets
// its part of the chance of a false pass, and a session with all of them has to end some
// day.
const LeastAlternatives, MostAlternatives = 2, 12

type Feature struct {
	Name       string `hcl:"name,label" doc:"Its name in references and rules: 'feature.<name>'. Unique in the plan."`
	Summary    string `hcl:"summary,optional" doc:"The port, in one sentence."`
	Phase      string
	Priority   int               `hcl:"priority,optional" default:"0" min:"0" max:"2147483647" doc:"Lower runs first within the phase."`
	Set        map[string]string `hcl:"set,optional" type:"map of knobs to their values" unless:"choose" needs:"the knobs that it changes, such as ‹{ knob = \"value\" }›; without any its candidate is its parent." doc:"Knob values in which the candidate differs from its parent. Required unless 'choose' is given."`
	_          struct{}          `hcl:"choose,optional" type:"map of one knob to a list of its values" doc:"One knob and 2 to 12 values to try. Each is measured as an alternative, on top of 'set', and at most one enters the stack. They share the chance of a false pass."`
	_          struct{}          `hcl:"prefer,optional" type:"string" requires:"choose" doc:"Metric that picks the winner of 'choose', such as 'chat.tg'. The largest gain over the parent wins among the alternatives that pass. Without it, the first that a criterion in 'accept' compares with the parent."`
	BuildsOn   BuildsOn          `hcl:"builds_on,optional" type:"reference" ref:"feature" oneof:"baseline|accepted" doc:"The parent: 'baseline' (the default), a feature, or 'accepted'. A feature means its candidate; 'accepted' is the stack of everything accepted before it."`
	Protocol   string            `hcl:"protocol,optional" ref:"protocol" doc:"The levels for it. Without it, the baseline's."`
	Hypothesis *Hypothesis
	Criteria   []*Rule
	Accept     []string `hcl:"accept,optional" doc:"Criteria that let it into the stack. The others are only recorded. Without it, all criteria. '[]' makes it a trial: all criteria give its verdict, and it never enters the stack."`
	// Notes, Improve, BlockedBy and SupersededBy are people's comments: they are shown,
	// decide nothing, and are not part of a digest. SupersededBy names another feature.
	Notes        []string `json:"-" hcl:"notes,optional" doc:"Notes on the port, one per element: decisions, trade-offs. Shown by 'report'; like the three below it is not part of any digest, so editing it neither measures nor decides anything."`
	Improve      []string `json:"-" hcl:"improve,optional" doc:"Possible improvements, one per element. Shown by 'report'."`
	BlockedBy    []string `json:"-" hcl:"blocked_by,optional" doc:"Obstacles outside the plan, such as an upstream issue. One per element. Shown by 'report' while the feature is undecided; it prevents nothing from running."`
	SupersededBy string   `json:"-" hcl:"superseded_by,optional" ref:"feature" doc:"The feature that replaces this one. Shown by 'report'."`
	// Trial means that it never enters the stack, whatever its verdict.
	Trial bool `json:",omitempty"`
	// Choose is what it chooses among; nil if Set holds all of its values.
	Choose *Choose `json:",omitempty"`
	// Alternatives are the candidates of a feature that chooses: each is a feature named
	// "spec[short]", with Of set to this one's name. At most one of them enters the
	// stack, under this one's name.
	Alternatives []*Feature `json:",omitempty"`
	// Confirm repeats the decisive criteria on other engines: each is a feature named
	// "gemm@production", with Engine set and Of set to this one's name.
	Confirm []*Feature `json:",omitempty"`
	// Of is the feature that an alternative or a confirmation belongs to.
	Of string `json:",omitempty"`
	// Engine is "kind.name" if it is not the baseline's.
	Engine string `json:",omitempty"`
	Range  Range  `json:"-"`
}

const (
	// OnBaseline: the plan's baseline variant (the default).
	OnBaseline BuildsOnKind = "baseline"
	// OnFeature: another feature's candidate variant.
	OnFeature BuildsOnKind = "feature"
	// OnAccepted: the stack of everything accepted so far.
	OnAccepted BuildsOnKind = "accepted"
)

// BuildsOnKind is what a feature's parent is.
type BuildsOnKind string

type BuildsOn struct {
	Kind    BuildsOnKind
	Feature string
}

// Choose is what a feature chooses among: several values of one knob.
type Choose struct {
	Knob   string
	Values []string
	// Prefer is the metric, such as "chat.tg", by whose gain the winner is picked
	// among the alternatives that pass. Load fills it in if the plan does not.
	Prefer string
	// Probe reads that gain. Set by Load.
	Probe *Rule `json:"-"`
	// Range is the place of prefer, or of choose if prefer is not written.
	Range Range `json:"-"`
}

// Confirm repeats criteria of a feature on another engine.
type Confirm struct {
	Engine   string   `hcl:"engine" ref:"engine" needs:"the engine to repeat the criteria on, such as engine.kind.name." doc:"The engine to repeat on, other than the baseline's. Knobs apply to it as to the baseline's."`
	Criteria []string `hcl:"criteria,optional" doc:"Names of the criteria to repeat. Without it, those in accept."`
}

// Hypothesis is the claim made before measuring.
type Hypothesis struct {
	Metric  string             `hcl:"metric" needs:"the metric claimed to change, such as \"chat.tg\"." doc:"The metric claimed to change: an address such as 'chat.tg'."`
	Expect  string             `hcl:"expect" needs:"the claim, such as \"+10%\" or \">= 32\"." doc:"Change ('+10%'), bound ('>= -3%') or level ('>= 32'). '+10%' and '-5%' mean at least so much; '>= -3%' is at most 3% less."`
	Because string             `hcl:"because" needs:"why, in one sentence." doc:"Why, in one sentence."`
	Kernels map[string]float64 `json:",omitempty" hcl:"kernels,optional" type:"map of numbers" doc:"Expected speed-up by kernel category: '{ moe = 1.5 }'. The categories are those of a profile; 1.5 is 1.5 times as fast. Once a profile of the parent is on record, 'plan' shows the maximum end-to-end gain from this, and warns if 'expect' is beyond that."`
	// Probe is the claim as a rule: that the metric's change is at least, or at most,
	// some amount, or that its value is beyond a level. A pass confirms the claim and a
	// fail refutes it. It reads one input, unless the claim is the change of a statistic
	// other than the median. Set by Load.
	Probe *Rule `json:"-"`
	Range Range `json:"-"`
	// MetricRange and ExpectRange are the places of these two.
	MetricRange Range `json:"-"`
	ExpectRange Range `json:"-"`
}

// Digest is the SHA-256 of what is claimed and why, in hex: a claim with another
// digest is another claim. White space around its parts does not count.
func (h *Hypothesis) Digest() string {
	claim := []any{
		"mxflow hypothesis v1", strings.TrimSpace(h.Metric), strings.TrimSpace(h.Expect),
		strings.TrimSpace(h.Because),
	}
	if len(h.Kernels) > 0 {
		claim = append(claim, h.Kernels)
	}
	text, err := json.Marshal(claim)
	if err != nil {
		panic("plans: hypothesis cannot be encoded: " + err.Error()) // texts and finite numbers always can
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Decisive are the names of the criteria that decide a feature.
func Decisive(f *Feature) map[string]bool {
	names := map[string]bool{}
	for _, name := range f.Accept {
		names[name] = true
	}
	return names
}
