package record

import (
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
)

// SentPrompts are prompts of a launch that its parent may be asked again. It is an artifact.
type SentPrompts struct {
	store.Header
	Cells map[string][]SentPrompt `json:"cells"`
}

// SentPrompt is the conversation that request Index began.
type SentPrompt struct {
	Index  int           `json:"index"`
	Prompt prompt.Prompt `json:"prompt"`
}

// ownPrompt is a prompt of a cell or of one of its probes, whose address Cell is. Number tells the
// requests of all probes apart.
type ownPrompt struct {
	SentPrompt
	Cell   string
	Number int
}

// Of are the prompts of a cell; if its capacity was searched, of all probes.
func (s SentPrompts) Of(cell plans.Cell) (all []ownPrompt) {
	probe := 0
	for address, prompts := range sorted.All(s.Cells) {
		if !cell.Holds(address) {
			continue
		}
		for _, p := range prompts {
			all = append(all, ownPrompt{p, address, probe*mostRequests + p.Index})
		}
		probe++
	}
	return all
}

// mostRequests is more than a cell sends.
const mostRequests = 10_000_000

// SentFile is where a launch keeps them, among its levels' artifacts.
const SentFile = "agreement/sent.json"

// mostSent is how many conversations of a cell are kept.
const mostSent = 64

// keepSent stores some of the prompts that were answered, chosen when all were: nobody
// could know which.
func keepSent(st *launch.Started, sent []sentCell) error {
	kept := &SentPrompts{Cells: map[string][]SentPrompt{}}
	for _, c := range sent {
		random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(st.Record.Draw.Seed + c.cell.Address))))
		for _, i := range random.Perm(len(c.prompts.Measured)) {
			p := c.prompts.Measured[i]
			text, err := json.Marshal(p)
			if err != nil {
				return err
			}
			// What cannot be kept as it was sent cannot be asked again.
			if len(kept.Cells[c.cell.Address]) < mostSent && st.Lab.Redact.Text(string(text)) == string(text) {
				kept.Cells[c.cell.Address] = append(kept.Cells[c.cell.Address], SentPrompt{i, p})
			}
		}
	}
	return st.LeaveArtifact(SentFile, kept)
}
