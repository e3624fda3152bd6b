package steps

import (
	"context"
	"sync"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
)

// promptSpec is what is asked of a cell's prompts; data are the files that were
// read already.
func promptSpec(w *plans.Workload, cell plans.Cell, data *datasets) (prompt.Spec, error) {
	spec := prompt.Spec{
		Cell: cell.Address, Seed: int64(w.Seed), API: openai.API(w.API), Tokens: cell.Prompt,
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

// Sender sends what workloads ask for, and holds what the recordings of one apply
// share. The zero value has sent nothing.
type Sender struct {
	mu sync.Mutex
	// calibrator knows how far the measuring client is off.
	calibrator Calibrator
	// learned is what is known of tokenizers, by set of prompts.
	learned map[string]*prompt.Knowledge
	// built are the prompts of each cell, see prompts.
	built map[string]prompt.Prompts
	// datasets are the files of prompts that were read.
	datasets datasets
}

// prompts builds the prompts of a cell once for all launches of this apply, so
// that every arm is sent the very same ones. A comparison of engines has a set
// of its own, since its reference may count tokens in another way.
func (l *Sender) prompts(ctx context.Context, client *openai.Client, set string, w *plans.Workload, cell plans.Cell) (prompt.Prompts, error) {
	key := promptKey(set, w, cell)
	l.mu.Lock()
	p, ok := l.built[key]
	l.mu.Unlock()
	if ok {
		return p, nil
	}
	spec, err := promptSpec(w, cell, &l.datasets)
	if err != nil {
		return p, err
	}
	spec.Learned = l.learn(set)
	if p, err = prompt.Build(ctx, client, spec); err != nil {
		return p, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built == nil {
		l.built = map[string]prompt.Prompts{}
	}
	l.built[key] = p
	return p, nil
}

// learn is what is known of the tokenizer that a set of prompts is made with.
func (l *Sender) learn(set string) *prompt.Knowledge {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.learned == nil {
		l.learned = map[string]*prompt.Knowledge{}
	}
	if l.learned[set] == nil {
		l.learned[set] = &prompt.Knowledge{}
	}
	return l.learned[set]
}
