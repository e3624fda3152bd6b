package record

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/launch"
)

// promptSpec is what a cell's prompts must be; data are the files already read.
func promptSpec(w *plans.Workload, cell plans.Cell, draw, body string, data *datasets) (prompt.Spec, error) {
	spec := prompt.Spec{
		Cell: cell.Address, Seed: cmp.Or(cell.Seed, int64(w.Seed)), Draw: draw, Body: body,
		API: openai.API(w.API), Tokens: cell.Prompt,
		Lengths: lengthsOf(w.PromptLengths), Outputs: lengthsOf(w.OutputLengths),
		CountTemplate: w.CountTemplate, Depth: cell.Depth, SystemTokens: w.SystemTokens, Turns: w.Turns,
		Warmup: cell.Warmup, Requests: cell.Requests,
		Timeouts: openai.Timeouts{Total: w.FirstTimeout, First: w.FirstTimeout, Stall: w.FirstTimeout},
	}
	if w.Trace != nil {
		spec.Trace = w.Trace.Sent
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

// promptKey is the key of a cell's prompts among those that engines share.
func promptKey(w *plans.Workload, cell plans.Cell) string {
	return runtime.Digest("prompts", cell, w.Seed, w.API, w.Warmup, w.Requests)
}

// Fit makes the prompts that all engines of a comparison are sent, with the required
// lengths in tokens of the running engine: others get the same text, however many tokens
// it has for them. It stores them, and names them in the launch's record.
func Fit(ctx context.Context, st *launch.Started, ws []*plans.Workload) error {
	all, learned, data := map[string]prompt.Prompts{}, &prompt.Knowledge{}, &datasets{}
	for _, w := range ws {
		for _, cell := range w.Cells() {
			spec, err := promptSpec(w, cell, "", "", data)
			if err != nil {
				return err
			}
			spec.Learned = learned
			if all[promptKey(w, cell)], err = prompt.Build(ctx, st.Client, spec); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if st.Record.Prompts, err = st.Lab.Store.Put(text); err != nil {
		return fmt.Errorf("cannot keep the prompts: %w", err)
	}
	return nil
}

// fitted are the prompts that Fit made, by promptKey.
func fitted(st *launch.Started) (all map[string]prompt.Prompts, err error) {
	text, err := st.Lab.Store.Get(st.Record.Prompts)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the shared prompts: %w", err)
	}
	return all, nil
}
