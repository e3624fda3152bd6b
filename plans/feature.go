package plans

import (
	"fmt"
	"math"

	"github.com/hashicorp/hcl/v2"
)

// Feature is one feature port under test.
type Feature struct {
	Name     string
	Summary  string
	Phase    string
	Priority int
	// Set is the knob values that the candidate differs in from its parent.
	Set      map[string]string
	BuildsOn BuildsOn
	// Protocol is the name of the protocol; the baseline's where the plan names none.
	Protocol   string
	Hypothesis *Hypothesis
	Criteria   []*Rule
	// Accept names the criteria that let the feature into the stack; where the
	// plan says nothing it is all of them.
	Accept []string
	// Choose is what it chooses among; nil where set says all.
	Choose *Choose `json:",omitempty"`
	// Alternatives are the candidates of a feature that chooses (choose): each a
	// feature of its own by the name "spec[short]", with Of set to this one's name.
	// At most one of them enters the stack, under this one's name.
	Alternatives []*Feature `json:",omitempty"`
	// Confirm repeats the decisive criteria on other engines: each a feature by the
	// name "gemm@production" with Engine set and Of this one's name.
	Confirm []*Feature `json:",omitempty"`
	// Of is the feature that an alternative or a confirmation belongs to.
	Of string `json:",omitempty"`
	// Engine is "kind.name" where it is not the baseline's.
	Engine string `json:",omitempty"`
	Range  Range  `json:"-"`
}

// BuildsOnKind is what a feature's parent is.
type BuildsOnKind string

const (
	// OnBaseline: the plan's baseline variant (the default).
	OnBaseline BuildsOnKind = "baseline"
	// OnFeature: another feature's candidate variant.
	OnFeature BuildsOnKind = "feature"
	// OnAccepted: the stack of everything accepted so far.
	OnAccepted BuildsOnKind = "accepted"
)

// BuildsOn is a feature's parent.
type BuildsOn struct {
	Kind BuildsOnKind
	// Feature is set for OnFeature.
	Feature string
}

var featureDoc = &BlockDoc{
	Type: "feature", Times: AnyTimes, Repeats: true,
	Labels: []Label{{Name: "name", Doc: "What references and rules call it: `feature.<name>`. Unique in the plan."}},
	Doc:    "A feature port under test. Its candidate is its parent with the knobs of `set` changed; both are measured, and the criteria decide whether the port enters the stack.",
	Attrs: []Attr{
		{Name: "summary", Type: String, Doc: "What is ported, in one sentence."},
		{Name: "priority", Type: Int, Default: 0.0, MinSet: true, Max: math.MaxInt32, Doc: "Lower runs first within the phase."},
		{Name: "set", Type: Choices, Doc: "Knob values in which the candidate differs from its parent. Required, unless `choose` stands in its place."},
		{Name: "choose", Type: Alternatives, Doc: "One knob and the values to try, 2 to 12 of them: each is measured as an alternative, with `set` for all of them, and at most one enters the stack. Each has its part of the chance of a false pass."},
		{Name: "prefer", Type: String, Doc: "The metric by whose gain over the parent the winner is picked among the alternatives that pass, such as `chat.tg`. Without it, the first that a criterion in `accept` compares with the parent."},
		{Name: "builds_on", Type: Reference, Ref: "feature", OneOf: []string{"baseline", "accepted"}, Doc: "The parent: the baseline (so without it), another feature's candidate, or `accepted`, the stack of everything accepted before it."},
		{Name: "protocol", Type: Reference, Ref: "protocol", Doc: "The levels that it goes through. Without it, the baseline's."},
		{Name: "accept", Type: Strings, Doc: "Names of the criteria that let it into the stack; the others are recorded. Without it, all of them."},
	},
	Blocks: []*BlockDoc{hypothesisDoc, criterionDoc, confirmDoc},
	Example: `feature "gemm" {
  summary = "Grouped GEMM in place of Marlin"
  set     = { moe_kernel = "gemm" }

  hypothesis {
    metric  = "chat.tg"
    expect  = "+10%"
    because = "the grouped GEMM avoids Marlin's dequantisation"
  }
  criterion "decode" {
    rule = "chat.tg.gain >= 0.10"
  }
}`,
}

var featureSchema = featureDoc.schema()

func (l *loader) decodeFeature(fb *featureBlock, ph *Phase) *Feature {
	b := fb.block
	f := l.fields(b, featureSchema, fmt.Sprintf("feature %q", b.Labels[0]))
	ft := &Feature{
		Name: b.Labels[0], Phase: ph.Name, Summary: f.text("summary", ""),
		Priority: f.whole("priority", 0, 0, math.MaxInt32), Range: rangeOf(b.DefRange),
	}
	if ft.Name == string(OnBaseline) || ft.Name == string(OnAccepted) {
		l.fail(b.DefRange, "Reserved name", "%q is what builds_on calls another parent. Choose another name for this feature.", ft.Name)
	}
	notes := &featureNotes{feature: ft, def: b.DefRange, parentAt: b.DefRange}
	ft.Set, notes.setAt = l.decodeSet(f)
	ft.Choose = l.decodeChoose(f, ft, notes)
	l.requireSet(f, ft)
	ft.BuildsOn = l.decodeBuildsOn(f, notes)
	l.featureProtocol(f, ft)
	if h := f.single("hypothesis"); h != nil {
		ft.Hypothesis = l.decodeHypothesis(h)
	}
	ft.Criteria = l.decodeCriteria(f)
	ft.Accept = l.decodeAccept(f, ft.Criteria)
	makeAlternatives(ft)
	l.decodeConfirm(f, ft, notes)
	if fb.first {
		l.checks.features[ft.Name] = notes
		l.checks.order = append(l.checks.order, notes)
	}
	return ft
}

// requireSet refuses a feature that tests nothing.
func (l *loader) requireSet(f *body, ft *Feature) {
	if !f.absent("choose") && f.absent("set") {
		return
	}
	if f.absent("set") {
		l.fail(f.def, "Nothing under test", `Feature %q sets no knob, so that its candidate is its parent. Add: set = { knob = "value" }, or choose = { knob = ["one", "other"] } to try several.`, ft.Name)
		return
	}
	if v, ok := f.value("set"); ok && v.CanIterateElements() && v.LengthInt() == 0 {
		l.fail(f.at("set"), "Nothing under test", `set is empty, so that the candidate is its parent. Name the knob under test: set = { knob = "value" }.`)
	}
}

func (l *loader) decodeBuildsOn(f *body, notes *featureNotes) BuildsOn {
	r := f.ref("builds_on", "feature", "baseline", "accepted")
	if r == nil {
		return BuildsOn{Kind: OnBaseline}
	}
	notes.parentAt = r.at
	if r.key == notes.feature.Name && r.block == "feature" {
		l.fail(r.at, "Feature builds on itself", "Feature %q cannot be its own parent. Name another feature, baseline or accepted.", r.key)
		return BuildsOn{Kind: OnBaseline}
	}
	return BuildsOn{Kind: BuildsOnKind(r.block), Feature: r.key}
}

func (l *loader) featureProtocol(f *body, ft *Feature) {
	if f.absent("protocol") {
		if l.plan.Baseline != nil {
			ft.Protocol = l.plan.Baseline.Protocol
		}
		return
	}
	if r := f.ref("protocol", "protocol"); r != nil {
		ft.Protocol = r.key
	} else {
		l.protocolsInDoubt = true
	}
}

// featureNotes are the places in the source that checks of the whole plan point
// at.
type featureNotes struct {
	feature  *Feature
	def      hcl.Range
	parentAt hcl.Range
	setAt    map[string]hcl.Range
	// chooseAt is where each value to try stands.
	chooseAt map[string]hcl.Range
	confirms []confirmNote
}
