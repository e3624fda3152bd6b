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

// Feature is one feature port under test.
type Feature struct {
	Name     string
	Summary  string
	Phase    string
	Priority int
	// Set is the knob values in which the candidate differs from its parent.
	Set      map[string]string
	BuildsOn BuildsOn
	// Protocol is the name of the protocol; the baseline's if the plan names none.
	Protocol   string
	Hypothesis *Hypothesis
	Criteria   []*Rule
	// Accept names the criteria that let the feature into the stack; all of them if the
	// plan names none.
	Accept []string
	// Notes, Improve, BlockedBy and SupersededBy are what people write beside the
	// numbers: they are shown, decide nothing, and are not part of a digest. SupersededBy
	// names another feature.
	Notes, Improve, BlockedBy []string `json:"-"`
	SupersededBy              string   `json:"-"`
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

// BuildsOn is a feature's parent.
type BuildsOn struct {
	Kind BuildsOnKind
	// Feature is set for OnFeature.
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
	// Range is that of prefer, or of choose if prefer is not written.
	Range Range `json:"-"`
}

// Hypothesis is the claim made before measuring.
type Hypothesis struct {
	// Metric is an address such as "chat.tg".
	Metric string
	// Expect is "+10%", "-5%" or a comparison such as ">= 32".
	Expect  string
	Because string
	// Kernels are the claimed speedups of kernels, by their category in a profile: moe
	// 1.5 claims that they become 1.5 times as fast.
	Kernels map[string]float64 `json:",omitempty"`
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
	claim := []any{"mxflow hypothesis v1", strings.TrimSpace(h.Metric), strings.TrimSpace(h.Expect), strings.TrimSpace(h.Because)}
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
