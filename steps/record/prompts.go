package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
)

// promptSpec is what is asked of a cell's prompts; data are the files that were
// read already.
func promptSpec(w *plans.Workload, cell plans.Cell, draw, body string, data *datasets) (prompt.Spec, error) {
	spec := prompt.Spec{
		Cell: cell.Address, Seed: int64(w.Seed), Draw: draw, Body: body, API: openai.API(w.API), Tokens: cell.Prompt,
		Lengths: lengthsOf(w.PromptLengths), Outputs: lengthsOf(w.OutputLengths),
		CountTemplate: w.CountTemplate, Depth: cell.Depth, SystemTokens: w.SystemTokens, Turns: w.Turns, Random: w.Prompts == "random",
		Warmup: cell.Warmup, Requests: cell.Requests,
		Timeouts: openai.Timeouts{Total: w.FirstTimeout, First: w.FirstTimeout, Stall: w.FirstTimeout},
	}
	var err error
	spec.Data, err = data.read(w.Data)
	return spec, err
}

func lengthsOf(l *plans.Lengths) *prompt.Lengths {
	if l == nil {
		return nil
	}
	return &prompt.Lengths{Distribution: l.Distribution, Min: l.Min, Max: l.Max, Mean: l.Mean, Std: l.Std}
}

// Texts are the prompts that all engines of a comparison are sent. The first
// engine that is asked makes them, with its own tokenizer; the others get the
// same text, however many tokens that is for them. They are kept, so that a
// session that was cut goes on with them.
type Texts struct {
	// Set is the session, the name of these prompts in Sender.built.
	Set string

	mu sync.Mutex
	// sum is the digest of the artifact; empty while nothing was sent.
	sum string
}

// promptKey names the prompts of a cell in Sender.built.
func promptKey(set string, w *plans.Workload, cell plans.Cell) string {
	return runtime.Digest("prompts", set, cell, w.Seed, w.API, w.Warmup, w.Requests)
}

// keep stores the prompts that a complete launch was sent, and refuses others
// than those that were sent before.
func (t *Texts) keep(l *Sender, st *launch.Started, ws []*plans.Workload) error {
	all := map[string]prompt.Prompts{}
	l.mu.Lock()
	for _, w := range ws {
		for _, cell := range w.Cells() {
			key := promptKey(t.Set, w, cell)
			all[key] = l.built[key]
		}
	}
	l.mu.Unlock()
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	sum, err := st.Lab.Store.Put(data)
	if err != nil {
		return fmt.Errorf("the prompts cannot be kept: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sum != "" && t.sum != sum {
		return fmt.Errorf("this launch was sent other prompts than those before it; this is a mistake in mxflow")
	}
	t.sum, st.Record.Prompts = sum, sum
	return nil
}

// Recall takes the prompts of a session that goes on from its launches.
func (t *Texts) Recall(l *Sender, kept *store.Store, launches []*ledger.Launch) error {
	for _, launch := range launches {
		switch {
		case launch.Prompts == "" || launch.Prompts == t.sum:
			continue
		case t.sum != "":
			return fmt.Errorf("launch %s was sent other prompts than those before it", launch.ID)
		}
		data, err := kept.Get(launch.Prompts)
		if err != nil {
			return fmt.Errorf("the prompts of launch %s: %w", launch.ID, err)
		}
		var all map[string]prompt.Prompts
		if err := json.Unmarshal(data, &all); err != nil {
			return fmt.Errorf("the prompts of launch %s: %w", launch.ID, err)
		}
		l.mu.Lock()
		if l.built == nil {
			l.built = map[string]prompt.Prompts{}
		}
		maps.Copy(l.built, all)
		l.mu.Unlock()
		t.sum = launch.Prompts
	}
	return nil
}
