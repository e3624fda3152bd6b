package main

import (
	"fmt"
	"regexp"
	"strings"

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
		r.named[l.ID] = fmt.Sprintf("launch %d%s (%s)", r.numbers[l.ID], again, armNames(l.Variant))
	}
}

// launchByID is a launch as a sentence of a decision names it.
var launchByID = regexp.MustCompile(`\blaunch [^\s,;:()]+[^\s,;:().]`)

// byNumber names launches as the progress did, where a sentence has their IDs.
func (r *abResult) byNumber(list []string) {
	for i, text := range list {
		list[i] = launchByID.ReplaceAllStringFunc(text, func(found string) string {
			if name := r.named[strings.TrimPrefix(found, "launch ")]; name != "" {
				return name
			}
			return found
		})
	}
}
