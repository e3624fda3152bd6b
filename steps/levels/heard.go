package levels

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/profiling"
	"github.com/mxflow/mxflow/steps/stress"
	"github.com/mxflow/mxflow/steps/variant"
)

// heardFile is where a level keeps what it heard.
const heardFile = "heard.json"

// heard is what an engine or a program told a level and what it is judged by, unless the
// launch keeps that elsewhere.
type heard struct {
	Of store.Origin `json:"of"`
	// Answer is the answer to the level smoke.
	Answer string `json:"answer,omitempty"`
	// Lines is how many lines the log had when the level kernels read it, Partial why
	// they were not all, and Observed and Unobserved the engine's observations.
	Lines      int                        `json:"lines,omitempty"`
	Partial    code.Code                  `json:"partial,omitempty"`
	Observed   map[string]ledger.Observed `json:"observed,omitempty"`
	Unobserved map[string]verdict.Reason  `json:"unobserved,omitempty"`
	// Load is what the level stress received, except its samples and series.
	Load *stress.Tape `json:"load,omitempty"`
	// Windows are when the level profile took profiles, their files below the level's
	// folder, and Limit what they are compared with.
	Windows []profiling.Window `json:"windows,omitempty"`
	Limit   *limit.Basis       `json:"limit,omitempty"`
	// Ended is the verdict on a program's end.
	Ended verdict.Verdict `json:"ended,omitempty"`
}

// hear stores what the running level heard.
func (q *qualification) hear(h heard) error {
	h.Of = q.Origin()
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("cannot keep the answers of level %s: %w", q.level.Level(), err)
	}
	return q.keep(heardFile, text)
}

// kept is the evidence to decide a level again.
type kept struct {
	store  *store.Store
	plan   *plans.Plan
	block  *plans.Block
	launch *ledger.Launch
	// against are the launches that it was compared with.
	against []*ledger.Launch
	redact  *redact.Redactor
	heard   heard
	// numbers are those that it finds, by address.
	numbers map[string]measure.Summary
}

// left is an artifact of the level, by its path below the level's name.
func (k *kept) left(path string) ([]byte, error) {
	sum := k.launch.Left[k.block.Level()+"/"+path]
	if sum == "" {
		return nil, fmt.Errorf("launch %s has no %s of level %s: %w", k.launch.ID, path, k.block.Level(), fs.ErrNotExist)
	}
	return k.store.Get(sum)
}

// repeated is a level that can be decided again from what is kept.
type repeated interface {
	level
	again(ctx context.Context, k *kept) (verdict.Verdict, error)
}

// Judge decides levels again, for steps/replay.
type Judge struct{ Store *store.Store }

// Blocks are a protocol's levels for a launch.
func (j Judge) Blocks(p *plans.Plan, protocol *plans.Protocol, l *ledger.Launch) []*plans.Block {
	v := &variant.Variant{Knobs: l.Knobs}
	if e := p.Engine(l.Block); e != nil && e.IsCommand() {
		v.Command = &variant.Command{}
	}
	return Of(protocol, v)
}

// Again decides a level from what its launch keeps, with the numbers that it finds, by
// address. If its kind keeps too little for that, or it never reached a verdict, the
// error is a *verdict.Fault of code.LevelUnreplayed.
func (j Judge) Again(p *plans.Plan, b *plans.Block, l *ledger.Launch, against []*ledger.Launch) (verdict.Verdict, map[string]measure.Summary, error) {
	if b.Kind == executionLevel {
		return j.executed(p, l)
	}
	kind, known := Kinds[b.Kind]
	if !known {
		return "", nil, unreplayed(b)
	}
	lv, err := kind.make(b)
	if err != nil {
		return "", nil, err
	}
	again, ok := lv.(repeated)
	if !ok {
		return "", nil, unreplayed(b)
	}
	k := &kept{
		store: j.Store, plan: p, block: b, launch: l, against: against, numbers: map[string]measure.Summary{}, redact: redact.New(p.Secrets()),
	}
	if b.Kind != Correctness { // which keeps its answers
		text, err := k.left(heardFile)
		if err == nil {
			err = json.Unmarshal(text, &k.heard)
		}
		if err == nil {
			err = j.Store.Origin(l).Check(b.Level()+"/"+heardFile, k.heard.Of)
		}
		if err != nil {
			return "", nil, err
		}
	}
	v, err := again.again(context.Background(), k)
	return v, k.numbers, err
}

// executed reads a command's output again.
func (j Judge) executed(p *plans.Plan, l *ledger.Launch) (verdict.Verdict, map[string]measure.Summary, error) {
	v, err := (&variant.Resolver{Plan: p}).Recorded(l.Variant, l.Block, l.VariantKey, l.Knobs)
	if err != nil {
		return "", nil, err
	}
	text, err := j.Store.Get(l.Output)
	if err != nil {
		return "", nil, err
	}
	numbers, err := v.Command.Measured(context.Background(), text)
	return verdict.Pass, numbers, err
}

// unreplayed is why a level is not decided again.
func unreplayed(b *plans.Block) error {
	return &verdict.Fault{Reason: verdict.New(code.LevelUnreplayed).On(b.Level())}
}
