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
	Labels: []Label{{"name", "What references and rules call it: `feature.<name>`. Unique in the plan."}},
	Doc:    "A feature port under test. Its candidate is its parent with the knobs of `set` changed; both are measured, and the criteria decide whether the port enters the stack.",
	Attrs: []Attr{
		{Name: "summary", Type: String, Doc: "What is ported, in one sentence."},
		{Name: "priority", Type: Int, Default: 0.0, MinSet: true, Max: math.MaxInt32, Doc: "Lower runs first within the phase."},
		{Name: "set", Type: Choices, Required: true, Doc: "Knob values in which the candidate differs from its parent."},
		{Name: "builds_on", Type: Reference, Ref: "feature", OneOf: []string{"baseline", "accepted"}, Doc: "The parent: the baseline (so without it), another feature's candidate, or `accepted`, the stack of everything accepted before it."},
		{Name: "protocol", Type: Reference, Ref: "protocol", Doc: "The levels that it goes through. Without it, the baseline's."},
		{Name: "accept", Type: Strings, Doc: "Names of the criteria that let it into the stack; the others are recorded. Without it, all of them."},
	},
	Blocks: []*BlockDoc{hypothesisDoc, criterionDoc},
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

var criterionDoc = &BlockDoc{
	Type: "criterion", Times: AtLeast1,
	Labels: []Label{{"name", "What `accept` and reports call it."}},
	Doc:    "A success rule of the feature.",
	Attrs: []Attr{
		{Name: "rule", Type: RuleText, Required: true, Doc: "A comparison of what was measured; bare addresses are the feature's own."},
	},
	Example: `criterion "decode" {
  rule = "chat.tg.gain >= 0.10"
}`,
}

var (
	featureSchema   = featureDoc.schema()
	criterionSchema = criterionDoc.schema()
)

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
	l.requireSet(f, ft)
	ft.BuildsOn = l.decodeBuildsOn(f, notes)
	l.featureProtocol(f, ft)
	if h := f.single("hypothesis"); h != nil {
		ft.Hypothesis = l.decodeHypothesis(h)
	}
	ft.Criteria = l.decodeCriteria(f)
	ft.Accept = l.decodeAccept(f, ft.Criteria)
	if fb.first {
		l.checks.features[ft.Name] = notes
		l.checks.order = append(l.checks.order, notes)
	}
	return ft
}

// requireSet refuses a feature that tests nothing.
func (l *loader) requireSet(f *fields, ft *Feature) {
	if f.absent("set") {
		l.fail(f.def, "Nothing under test", `Feature %q sets no knob, so that its candidate is its parent. Add: set = { knob = "value" }.`, ft.Name)
		return
	}
	if v, ok := f.value("set"); ok && v.CanIterateElements() && v.LengthInt() == 0 {
		l.fail(f.at("set"), "Nothing under test", `set is empty, so that the candidate is its parent. Name the knob under test: set = { knob = "value" }.`)
	}
}

func (l *loader) decodeBuildsOn(f *fields, notes *featureNotes) BuildsOn {
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

func (l *loader) featureProtocol(f *fields, ft *Feature) {
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

func (l *loader) decodeCriteria(f *fields) (criteria []*Rule) {
	lines := map[string]int{}
	for _, b := range f.blocks.OfType("criterion") {
		name := b.Labels[0]
		l.checkName(b, 0, inRules)
		cf := l.fields(b, criterionSchema, fmt.Sprintf("criterion %q", name))
		rule := l.decodeRule(b, cf, "rule")
		if line := lines[name]; line > 0 {
			l.fail(b.LabelRanges[0], "Duplicate criterion", "The feature has a criterion %q already on line %d. Rename or remove one.", name, line)
			continue
		}
		lines[name] = b.DefRange.Start.Line
		criteria = append(criteria, rule)
	}
	if len(criteria) == 0 {
		l.fail(f.def, "Feature without criterion", `Nothing would decide whether the port helps. Add: criterion "decode" { rule = "workload.tg.gain >= 0.05" }.`)
	}
	return criteria
}

// decodeAccept is the criteria that let the feature in; all, unless said.
func (l *loader) decodeAccept(f *fields, criteria []*Rule) (accept []string) {
	var all []string
	for _, c := range criteria {
		all = append(all, c.Name)
	}
	v, ok := f.value("accept")
	if !ok {
		return all
	}
	names := f.texts("accept")
	elems, _ := l.elements(f.attrs["accept"].Expr, v)
	if len(elems) == 0 && v.CanIterateElements() {
		l.fail(f.at("accept"), "Empty accept", "With no criterion in accept, nothing would decide. Name at least one, or remove accept: then all of them count.")
	}
	if len(names) != len(elems) {
		return all
	}
	for i, name := range names {
		switch {
		case !contains(all, name):
			l.fail(elems[i].at, "Unknown criterion", "The feature has no criterion %q.%s", name, l.didYouMean(name, all))
		case contains(accept, name):
			l.fail(elems[i].at, "Duplicate criterion in accept", "%q is in the list already. Remove one.", name)
		default:
			accept = append(accept, name)
		}
	}
	return accept
}

// featureNotes are the places in the source that checks of the whole plan point
// at.
type featureNotes struct {
	feature  *Feature
	def      hcl.Range
	parentAt hcl.Range
	setAt    map[string]hcl.Range
}
