package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// observed prints what the engines said of themselves, one row a variant. Where
// its launches differ, each value is shown.
func (a *app) observed(launches []*ledger.Launch) {
	var variants []string
	byVariant := map[string][]*ledger.Launch{}
	for _, l := range launches {
		if len(l.Observed) == 0 {
			continue
		}
		if byVariant[l.Variant] == nil {
			variants = append(variants, l.Variant)
		}
		byVariant[l.Variant] = append(byVariant[l.Variant], l)
	}
	var rows [][]string
	for _, v := range variants {
		names := map[string]bool{}
		for _, l := range byVariant[v] {
			for name := range l.Observed {
				names[name] = true
			}
		}
		var said []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			having := slices.DeleteFunc(slices.Clone(byVariant[v]), func(l *ledger.Launch) bool { _, has := l.Observed[name]; return !has })
			said = append(said, name+" "+report.SaidBy(having, name))
		}
		rows = append(rows, []string{v, fmt.Sprint(len(byVariant[v])), strings.Join(said, ", ")})
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable([]string{"variant", "launches", "observed"}, rows)
	}
}
