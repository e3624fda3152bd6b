package steps

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// notesOf are the notes of launches, one that several have once.
func notesOf(launches []*ledger.Launch) (notes []string) {
	having := map[string]int{}
	for _, launch := range launches {
		for i, n := range launch.Notes {
			if slices.Index(launch.Notes, n) == i {
				having[n]++
			}
		}
	}
	for _, launch := range launches {
		for _, n := range launch.Notes {
			switch having[n] {
			case 0: // said already
				continue
			case 1:
				notes = append(notes, launch.ID+": "+n)
			default:
				notes = append(notes, fmt.Sprintf("%d of %d launches: %s", having[n], len(launches), n))
			}
			having[n] = 0
		}
	}
	return notes
}
