package plans

import (
	"fmt"
	"slices"
)

var criterionDoc = &BlockDoc{
	Type: "criterion", Times: AtLeast1,
	Labels: []Label{{Name: "name", Doc: "What `accept` and reports call it."}},
	Doc:    "A success rule of the feature.",
	Attrs: []Attr{
		{Name: "rule", Type: RuleText, Required: true, Doc: "A comparison of what was measured; bare addresses are the feature's own."},
	},
	Example: `criterion "decode" {
  rule = "chat.tg.gain >= 0.10"
}`,
}

var criterionSchema = criterionDoc.schema()

func (l *loader) decodeCriteria(f *body) (criteria []*Rule) {
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
func (l *loader) decodeAccept(f *body, criteria []*Rule) []string {
	var all []string
	for _, c := range criteria {
		all = append(all, c.Name)
	}
	if f.absent("accept") {
		return all
	}
	return l.decodeNames(f, "accept", criteria, all)
}

// decodeNames reads a list of criteria by name; fallback where it is wrong.
func (l *loader) decodeNames(f *body, attr string, criteria []*Rule, fallback []string) (names []string) {
	v, ok := f.value(attr)
	if !ok {
		return fallback
	}
	var all []string
	for _, c := range criteria {
		all = append(all, c.Name)
	}
	list := f.texts(attr)
	elems, _ := l.elements(f.attrs[attr].Expr, v)
	if len(elems) == 0 && v.CanIterateElements() {
		l.fail(f.at(attr), "Empty "+attr, "With no criterion in %s, nothing would decide. Name at least one, or leave %s out.", attr, attr)
	}
	if len(list) != len(elems) {
		return fallback
	}
	for i, name := range list {
		switch {
		case !slices.Contains(all, name):
			l.fail(elems[i].at, "Unknown criterion", "The feature has no criterion %q.%s", name, l.didYouMean(name, all))
		case slices.Contains(names, name):
			l.fail(elems[i].at, "Duplicate criterion in "+attr, "%q is in the list already. Remove one.", name)
		default:
			names = append(names, name)
		}
	}
	return names
}
