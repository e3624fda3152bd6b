package levels

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/levels/profiling"
	"github.com/mxflow/mxflow/steps/levels/quality"
	"github.com/mxflow/mxflow/steps/levels/stress"
	"github.com/mxflow/mxflow/steps/variant"
)

// artifactFile is where a launch keeps the artifact of a level, below the level's name.
const artifactFile = "artifact.json"

// artifact is the evidence of a level: the answers of an engine or a program, unless the
// launch keeps them elsewhere.
type artifact struct {
	store.Header
	// Ended and Why are how a program ended, or why the level could not do its work.
	Ended  verdict.Verdict  `json:"ended,omitempty"`
	Why    []verdict.Reason `json:"why,omitempty"`
	Answer string           `json:"answer,omitempty"`
	// Lines is how many lines the log had when the level kernels read it, Partial why
	// they were not all, and Observed and Unobserved the engine's observations.
	Lines      int                        `json:"lines,omitempty"`
	Partial    code.Fact                  `json:"partial,omitzero"`
	Observed   map[string]ledger.Observed `json:"observed,omitempty"`
	Unobserved map[string]verdict.Reason  `json:"unobserved,omitempty"`
	// Load is what the level stress received, except its samples and series.
	Load *stress.Tape `json:"load,omitempty"`
	// Windows are when the level profile took profiles, their files below the level's
	// folder, and Limit what they are compared with.
	Windows []profiling.Window `json:"windows,omitempty"`
	Limit   *limit.Basis       `json:"limit,omitempty"`

	// What a running launch has at hand, and a recorded one keeps elsewhere: the lines of
	// its log, the log's path, and where a person finds it; its answers; the folder of its profiles.
	scan    *logscan.Scan
	log, at string
	answers *quality.Recording
	graded  *quality.Eval
	folder  string
}

// evidence is what a level is judged by: the artifact of a launch that runs, or of a
// recorded one.
type evidence struct {
	*artifact
	store  *store.Store
	plan   *plans.Plan
	block  *plans.Block
	launch *ledger.Launch
	// against are the launches that it is compared with.
	against []*ledger.Launch
	redact  *redact.Redactor

	// numbers and words are the level's results, by address, and derived are files that a
	// running launch keeps of its evidence, by path.
	numbers map[string]measure.Summary
	words   map[string]ledger.Observed
	derived map[string][]byte
}

// Number is a number that the level finds, which its schema declares. One that is not
// finite is left out: a rule that reads it finds none.
func (e *evidence) Number(name string, values ...float64) {
	f := e.block.Finds[slices.IndexFunc(e.block.Finds, func(f plans.LevelResult) bool { return f.Name == name })]
	if s, ok := (measure.Metric{Unit: f.Unit, Better: measure.Better(f.Better)}).Summary(values); ok {
		e.numbers[plans.LevelAddress(e.block.Level(), name)] = s
	}
}

// Word is a word that the level finds, which its schema declares.
func (e *evidence) Word(name, word string) {
	e.words[plans.LevelAddress(e.block.Level(), name)] = ledger.Observed{Value: word, From: e.block.Level()}
}

// readFile is an artifact of the level, by its path below the level's name.
func (e *evidence) readFile(path string) ([]byte, error) {
	sum := e.launch.Left[e.block.Level()+"/"+path]
	if sum == "" {
		return nil,
			fmt.Errorf("launch %s has no %s of level %s: %w", e.launch.ID, path, e.block.Level(), fs.ErrNotExist)
	}
	return e.store.Get(sum)
}

// restore writes the artifacts that a launch left below a path into a folder, except some, and
// reports how many there are.
func restore(from *store.Store, l *ledger.Launch, below, folder string, except ...string) (n int, err error) {
	for path, sum := range sorted.All(l.Left) {
		name, own := strings.CutPrefix(path, below)
		if !own || slices.Contains(except, name) || !filepath.IsLocal(name) {
			continue
		}
		content, err := from.Get(sum)
		to := filepath.Join(folder, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			return n, fmt.Errorf("what launch %s left at %s: %w", l.ID, path, err)
		}
		n++
	}
	return n, nil
}

// judge keeps the artifact of a level, and judges the level by it.
func (q *qualification) judge(ctx context.Context, lv level, a *artifact) (verdict.Verdict, []verdict.Reason, error) {
	if err := q.LeaveArtifact(q.level.Level()+"/"+artifactFile, a); err != nil {
		return "", nil, err
	}
	e := newEvidence(q.Lab.Store, q.Lab.Variants.Plan, q.level, q.Record, q.against)
	e.artifact, e.redact = a, q.Lab.Redact
	v, reasons, err := lv.judge(ctx, e)
	q.Record.Metrics = merged(q.Record.Metrics, e.numbers)
	q.Record.Observed = merged(q.Record.Observed, e.words)
	for path, content := range sorted.All(e.derived) {
		if err == nil {
			err = q.keep(path, content)
		}
	}
	return v, reasons, err
}

func newEvidence(st *store.Store, p *plans.Plan, b *plans.Block, l *ledger.Launch, against []*ledger.Launch) *evidence {
	return &evidence{
		artifact: &artifact{}, store: st, plan: p, block: b, launch: l, against: against,
		numbers: map[string]measure.Summary{}, words: map[string]ledger.Observed{}, derived: map[string][]byte{},
	}
}

func merged[V any](to, some map[string]V) map[string]V {
	for key, v := range some {
		if to == nil {
			to = map[string]V{}
		}
		to[key] = v
	}
	return to
}

// Evaluator evaluates levels of recorded launches, for runtime/replay.
type Evaluator struct{ Store *store.Store }

// Blocks are a protocol's levels for a launch.
func (j Evaluator) Blocks(p *plans.Plan, protocol *plans.Protocol, l *ledger.Launch) []*plans.Block {
	v := &variant.Variant{Arm: decide.Arm{Knobs: l.Knobs}}
	if e := p.Engine(l.Block); e != nil && e.IsCommand() {
		v.Command = &variant.Command{}
	}
	return Of(protocol, v)
}

// Level is the verdict on a level by the artifacts that its launch keeps, with the numbers
// that it finds, by address. If too little is kept, the error is a *verdict.Fault of
// code.LevelUnreplayed.
func (j Evaluator) Level(p *plans.Plan, b *plans.Block, l *ledger.Launch, against []*ledger.Launch) (verdict.Verdict,
	map[string]measure.Summary, error,
) {
	v := &variant.Variant{}
	var err error
	if b.Kind == executionLevel {
		v, err = (&variant.Resolver{Plan: p}).Recorded(l.Variant, l.Block, l.VariantKey, l.Knobs)
	}
	if err != nil {
		return "", nil, err
	}
	lv, err := levelFor(b, v)
	if err != nil {
		return "", nil, err
	}
	e := newEvidence(j.Store, p, b, l, against)
	e.redact = redact.New(p.Secrets())
	if err := j.Store.ReadArtifact(l, b.Level()+"/"+artifactFile, e.artifact); err != nil {
		return "", nil, err
	}
	is, _, err := lv.judge(context.Background(), e)
	return is, e.numbers, err
}
