package main

import (
	"fmt"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// number finds out under which numbers the progress had the launches of a session.
func (r *abResult) number(st *store.Store, session string) {
	r.numbers, r.named = map[string]int{}, map[string]string{}
	if session == "" {
		return
	}
	launches := st.Launches(store.LaunchFilter{Session: session})
	r.numbers = ledger.Numbers(launches)
	for _, l := range launches {
		again := ""
		if l.Replaces != "" {
			again = " again"
		}
		r.named[l.ID] = fmt.Sprintf("%d%s (%s)", r.numbers[l.ID], again, armName(l.Variant))
	}
}
