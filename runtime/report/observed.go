package report

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// observed is what the engines said of themselves: one row a name, one column a
// variant, so that what differs is seen at once. A name that the launches of a
// variant differ in shows each value.
func (p *page) observed() {
	byVariant := map[string][]*ledger.Launch{}
	var variants []string
	names := map[string]bool{}
	for _, l := range p.st.Launches(store.LaunchFilter{}) {
		if len(l.Observed) == 0 {
			continue
		}
		if byVariant[l.Variant] == nil {
			variants = append(variants, l.Variant)
		}
		byVariant[l.Variant] = append(byVariant[l.Variant], l)
		for name := range l.Observed {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return
	}
	p.line("## What the engines said of themselves")
	p.line("")
	p.head(append([]string{"Observation"}, variants...)...)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := []string{name}
		for _, v := range variants {
			row = append(row, SaidBy(byVariant[v], name))
		}
		p.row(row...)
	}
	p.line("")
}

// SaidBy lists the values that launches have of one observation.
func SaidBy(launches []*ledger.Launch, name string) string {
	const most = 4
	text, seen := "", []string{}
	for _, l := range launches {
		value := l.Observed[name].String()
		if slices.Contains(seen, value) {
			continue
		}
		if seen = append(seen, value); len(seen) > most {
			return text + ", …"
		}
		if text != "" {
			text += ", "
		}
		text += value
	}
	return text
}
