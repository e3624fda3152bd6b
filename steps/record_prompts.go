package steps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
)

// promptSpec is what is asked of a cell's prompts.
func promptSpec(w *plans.Workload, cell plans.Cell) (load.PromptSpec, error) {
	spec := load.PromptSpec{
		Cell: cell.Address, Seed: int64(w.Seed), API: openai.API(w.API), Tokens: cell.Prompt,
		Lengths: lengthsOf(w.PromptLengths), Outputs: lengthsOf(w.OutputLengths),
		CountTemplate: w.CountTemplate, Depth: cell.Depth, SystemTokens: w.SystemTokens, Turns: w.Turns, Random: w.Prompts == "random",
		Warmup: cell.Warmup, Requests: cell.Requests,
		Timeouts: openai.Timeouts{Total: w.FirstTimeout, First: w.FirstTimeout, Stall: w.FirstTimeout},
	}
	var err error
	spec.Data, err = datasetOf(w.Data)
	return spec, err
}

func lengthsOf(l *plans.Lengths) *load.Lengths {
	if l == nil {
		return nil
	}
	return &load.Lengths{Distribution: l.Distribution, Min: l.Min, Max: l.Max, Mean: l.Mean, Std: l.Std}
}

// datasetOf reads a data set that the plan was loaded with. Prompts are the same
// for all arms, so a file that has changed since is an error.
func datasetOf(d *plans.Dataset) (*load.Dataset, error) {
	if d == nil {
		return nil, nil
	}
	data, err := os.ReadFile(d.File)
	if err != nil {
		return nil, fmt.Errorf("the dataset cannot be read again: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != d.Digest {
		return nil, fmt.Errorf("the dataset %s was changed after the plan had been read: apply again", d.File)
	}
	return load.ParseDataset(filepath.Base(d.File), data)
}

// prompts builds the prompts of a cell once for all launches of this apply, so
// that every arm is sent the very same ones. A comparison of engines has a set
// of its own, since its reference may count tokens in another way.
func (l *Lab) prompts(ctx context.Context, client *openai.Client, set string, w *plans.Workload, cell plans.Cell) (load.Prompts, error) {
	key := promptKey(set, w, cell)
	l.mu.Lock()
	p, ok := l.built[key]
	l.mu.Unlock()
	if ok {
		return p, nil
	}
	spec, err := promptSpec(w, cell)
	if err != nil {
		return p, err
	}
	spec.Learned = l.learn(set)
	if p, err = load.BuildPrompts(ctx, client, spec); err != nil {
		return p, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built == nil {
		l.built = map[string]load.Prompts{}
	}
	l.built[key] = p
	return p, nil
}

// learn is what is known of the tokenizer that a set of prompts is made with.
func (l *Lab) learn(set string) *load.Learned {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.learned == nil {
		l.learned = map[string]*load.Learned{}
	}
	if l.learned[set] == nil {
		l.learned[set] = &load.Learned{}
	}
	return l.learned[set]
}
