package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// notesOf are the notes of launches, one that several have once.
func notesOf(launches []*ledger.Launch) (notes []verdict.Reason) {
	type having struct {
		note verdict.Reason
		ids  []string
	}
	var all []having
	for _, launch := range launches {
		for _, n := range launch.Notes {
			i := slices.IndexFunc(all, func(h having) bool { return h.note.Equal(n) })
			if i < 0 {
				i, all = len(all), append(all, having{note: n})
			}
			if !slices.Contains(all[i].ids, launch.ID) {
				all[i].ids = append(all[i].ids, launch.ID)
			}
		}
	}
	for _, h := range all {
		said := verdict.New(code.NoteOf).On(h.ids[0])
		if len(h.ids) > 1 {
			said = verdict.New(code.LaunchesNote, verdict.Int("launches", len(h.ids)), verdict.Int("of", len(launches)))
		}
		notes = append(notes, said.From(h.note))
	}
	return notes
}
