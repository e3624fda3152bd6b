package steps

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// counts judges whether the launches of an engine count: an engine that answers
// garbage more often than the reference has proved nothing by being fast, and a
// prompt that it had cached was not computed. The verdict is empty where they do.
func counts(own, reference []*ledger.Launch) (verdict.Verdict, verdict.Reason) {
	garbage := func(launches []*ledger.Launch) (list []verdict.Reason) {
		for _, l := range launches {
			list = append(list, l.Incoherent...)
		}
		return list
	}
	for _, l := range own {
		if len(l.Invalid) > 0 {
			return verdict.Invalid, verdict.New(code.LaunchSays).On(l.ID).From(l.Invalid...)
		}
	}
	mine, theirs := garbage(own), garbage(reference)
	if len(mine) > len(theirs) {
		return verdict.Invalid, verdict.New(code.MoreGarbage, verdict.Int("answers", len(mine)), verdict.Int("theirs", len(theirs))).From(mine[0])
	}
	return "", verdict.Reason{}
}

// rowNotes say what to know of a row: engines count the tokens of one text each
// in their own way, so that tok/s of two of them are not of the same text.
func rowNotes(own, reference []*ledger.Launch) []verdict.Reason {
	var notes []verdict.Reason
	if len(own) > 0 && len(reference) > 0 {
		for _, address := range slices.Sorted(maps.Keys(own[0].Metrics)) {
			cell, isPrompt := strings.CutSuffix(address, ".prompt_tokens")
			if !isPrompt {
				continue
			}
			mine, ok := own[0].Metrics[address].Stats["median"]
			theirs, known := reference[0].Metrics[address].Stats["median"]
			if ok && known && mine != theirs {
				notes = append(notes, verdict.New(code.PromptTokens, verdict.Int("own", int(math.Round(mine))), verdict.Int("reference", int(math.Round(theirs)))).On(cell))
			}
		}
	}
	for _, l := range own {
		for _, n := range l.Notes {
			notes = append(notes, verdict.New(code.NoteOf).On(l.ID).From(n))
		}
	}
	return notes
}
