package report

import (
	"encoding/json"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Said is what two arms answered to one prompt.
type Said struct {
	// Level is where they were asked; Prompt is empty if the record of it has none.
	Level, Prompt string
	// Parent is empty if only the candidate was sent it.
	Parent, Own string
}

// SaidBy are answers of a feature and of its parent to the same prompt: the first to which
// they differ, if there is one. Where no level asked both, an answer that is no text is shown
// alone; nil if there is nothing to show.
func SaidBy(st *store.Store, d *ledger.Decision) *Said {
	e := EvidenceOf(d)
	own, base := qualified(st, e.Candidate, d.Launches), qualified(st, e.Parent, nil)
	if own != nil && base != nil {
		var theirs, ours struct {
			Prompts [][]struct{ Text string }
			Answers [][]struct{ Text string }
		}
		const answers = "correctness/answers.json"
		if read(st, base, answers, &theirs) && read(st, own, answers, &ours) {
			var same *Said
			for c := range min(len(theirs.Prompts), len(ours.Prompts), len(theirs.Answers), len(ours.Answers)) {
				for i := range min(len(theirs.Prompts[c]), len(ours.Prompts[c]), len(theirs.Answers[c]),
					len(ours.Answers[c])) {
					if theirs.Prompts[c][i] != ours.Prompts[c][i] {
						continue
					}
					s := &Said{
						"correctness", ours.Prompts[c][i].Text, theirs.Answers[c][i].Text,
						ours.Answers[c][i].Text,
					}
					if s.Parent != s.Own {
						return s
					}
					if same == nil {
						same = s
					}
				}
			}
			if same != nil {
				return same
			}
		}
		var before, after struct{ Answer string }
		if read(st, base, "smoke/artifact.json", &before) && read(st, own, "smoke/artifact.json", &after) &&
			before.Answer != "" {
			return &Said{Level: "smoke", Parent: before.Answer, Own: after.Answer}
		}
	}
	for _, id := range d.Launches {
		l, ok := st.LaunchByID(id)
		if !ok || len(l.Garbage()) == 0 || l.Samples == "" {
			continue
		}
		samples, err := st.ReadSamples(l)
		for _, s := range samples {
			if err == nil && s.Measured() && s.Text != "" {
				return &Said{Level: "benchmark", Own: s.Text}
			}
		}
	}
	return nil
}

// qualified is the launch that qualified an arm, or another of the same variant, or the one
// among some; nil without one.
func qualified(st *store.Store, a gates.Arm, among []string) (found *ledger.Launch) {
	for _, id := range append([]string{a.Qualified.ID}, among...) {
		if l, ok := st.LaunchByID(id); ok && l.Purpose == ledger.ForQualification {
			return l
		}
	}
	if len(a.Launches) == 0 {
		return nil
	}
	if of, ok := st.LaunchByID(a.Launches[0].ID); ok {
		for _, l := range st.Launches(store.LaunchFilter{VariantKey: of.VariantKey, Purpose: ledger.ForQualification}) {
			found = l
		}
	}
	return found
}

// read is an artifact of a launch, by its path; false if it cannot be read.
func read(st *store.Store, l *ledger.Launch, path string, into any) bool {
	text, err := st.Get(l.Left[path])
	return err == nil && json.Unmarshal(text, into) == nil
}
