package main

import (
	"fmt"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// observed prints what the engines said of themselves, one row a launch.
func (a *app) observed(launches []*ledger.Launch) {
	var rows [][]string
	for _, l := range launches {
		if said := l.Said(); said != "" {
			rows = append(rows, []string{l.ID, l.Variant, said})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable([]string{"launch", "variant", "observed"}, rows)
	}
}
