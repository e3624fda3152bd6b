package levels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// level is one test level that runs in the qualification launch.
type level interface {
	// run exercises the engine and returns what the level is judged by. An error means
	// that the engine or the harness broke.
	run(ctx context.Context, q *qualification) (*artifact, error)
	// judge is the verdict, of a launch that runs as of a recorded one.
	judge(ctx context.Context, e *evidence) (verdict.Verdict, []verdict.Reason, error)
}

// afterStop is a level whose artifact is complete once the engine has stopped: its profiler's
// files may be only then. It runs after all others.
type afterStop interface {
	level
	complete(q *qualification, a *artifact) error
}

// qualification is what a level can use: the running engine and the variant.
type qualification struct {
	*launch.Started
	variant  *variant.Variant
	protocol *plans.Protocol
	level    *plans.Block
	// parent is what the variant builds on.
	parent Parent
	// hard cuts graceful stops short.
	hard context.Context
	// profiles is where profiles are written, nil if none are taken.
	profiles *profileFolders
	// finish judges a late level, once the engine has stopped; nil if there is none.
	finish func() (ledger.Level, error)
	// against are the launches that the running level compares its own with.
	against []*ledger.Launch
	// answered is true once the engine has generated a token: what it logs at its first
	// request only appears then.
	answered bool
}

// Parent is what a variant builds on.
type Parent struct {
	// Qualified is the launch that qualified it; nil for the baseline, and for a stack
	// that is qualified beside its feature.
	Qualified *ledger.Launch
	// Answered are launches whose answers are compared, see References; for the baseline
	// its own.
	Answered []*ledger.Launch
}

// keep stores content as an artifact of the level, under a path that starts with the
// level's name.
func (q *qualification) keep(path string, content []byte) error {
	return q.Leave(q.level.Level()+"/"+path, content)
}

// Run qualifies one variant in one launch, which runs all levels of the protocol but the
// benchmark. before is the launch that it replaces, nil if it is the first. It also makes
// the prompts of some workloads for all engines of a comparison (record.Fit). Without
// levels there is no launch.
func Run(ctx context.Context, s *runtime.Scope, lab *launch.Lab, protocol *plans.Protocol, v *variant.Variant,
	parent Parent, fit []string, before *ledger.Launch, out *ledger.Decision,
) ([]ledger.Level, *ledger.Launch, error) {
	blocks := Of(protocol, v)
	if len(blocks) == 0 {
		return nil, nil, nil
	}
	if before == nil {
		done := Recorded(s, lab, v)
		decided := func(d ledger.Decided) bool { return slices.Contains(d.Launches, done.ID) }
		// The apply may have been killed before their verdicts were recorded.
		if done != nil && !slices.ContainsFunc(lab.Store.History(s.Node.ID), decided) {
			out.Launches = append(out.Launches, done.ID)
			return done.Levels, done, nil
		}
	}
	id := runtime.QualifyLaunch + runtime.ShortID(s.Run, s.Node.ID, v.Key, s.Attempt)
	ev := runtime.Event{
		Type: "launch_started", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature,
		Variant: v.Name, Level: "qualification", Launch: 1, Launches: 1,
	}
	record := &ledger.Launch{Purpose: ledger.ForQualification, Ordinal: 1, Order: 1, OK: true, Qualifies: s.Key}
	var err error
	if record.Draw, err = promptSeed(lab, protocol, v, parent.Answered); err != nil {
		return nil, nil, err
	}
	if before != nil {
		id += fmt.Sprintf("r%d", before.Order)
		record.Replaces, record.Order = before.ID, before.Order+1
		ev.Again, ev.Why = before.Order, verdict.New(code.LaunchAgain).On(before.ID).From(before.Error)
	}
	record.ID, record.Session, ev.LaunchID = id, id, id
	s.Emit(ev)
	reads := parent.Answered // launches whose artifacts a level may read
	if parent.Qualified != nil {
		reads = append([]*ledger.Launch{parent.Qualified}, reads...)
	}
	levels, err := qualifies.Make(ctx, lab, lab, s, v, record, qualifying{protocol.Name, parent, fit}, reads...)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case levels == nil:
		levels = skippedLevels(blocks,
			ledger.Level{Name: blocks[0].Level(), Verdict: verdict.Error, Reasons: []verdict.Reason{record.Error}})
	case !record.OK && decide.Qualified(levels):
		// It broke after its levels.
		levels = append(levels,
			ledger.Level{Name: engineLevel, Verdict: verdict.Error, Reasons: []verdict.Reason{record.Error}})
	case len(record.Invalid) > 0:
		v, why := decide.NotCounted(record)
		levels = append(levels, ledger.Level{Name: engineLevel, Verdict: v, Reasons: why})
	}
	for i := range levels {
		levels[i].Launch = id
	}
	if record.Levels = levels; !record.OK {
		out.LogTail, out.Exit = record.LogTail, record.Exit
	}
	out.Launches = append(out.Launches, id)
	if err := lab.Keep(s, record); err != nil {
		return nil, nil, err
	}
	ev.Type, ev.Seconds, ev.Why = "launch_done", record.Seconds, verdict.Reason{} // its levels report what broke
	s.Emit(ev)
	slot := []*ledger.Launch{record}
	for l := before; l != nil; l, _ = lab.Store.LaunchByID(l.Replaces) {
		slot = slices.Insert(slot, 0, l)
	}
	if decide.Replaced(slot) {
		return Run(ctx, s, lab, protocol, v, parent, fit, record, out)
	}
	return levels, record, nil
}

// Recorded is the newest launch that ran the levels of a variant for this node as it is now; nil if it counts
// no more. A broken one is repeated.
func Recorded(s *runtime.Scope, lab *launch.Lab, v *variant.Variant) *ledger.Launch {
	all := lab.Store.Launches(store.LaunchFilter{
		VariantKey: v.Key, Purpose: ledger.ForQualification,
		Node: s.Node.ID, OK: true,
	})
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	if s.Forced || s.Key == "" || last.Qualifies != s.Key || len(last.Levels) == 0 || !decide.Usable(last) {
		return nil
	}
	return last
}

// qualifying is the work of a qualification launch.
type qualifying struct {
	Protocol string `json:"protocol"`
	Parent   Parent `json:"parent"`
	// Fit are the workloads whose prompts are made.
	Fit []string `json:"fit,omitempty"`
}

// qualifies runs the levels of a protocol in one launch. There are none if the engine did
// not start.
var qualifies = launch.Function[*launch.Lab, qualifying, []ledger.Level]{
	Kind: ledger.ForQualification,
	Here: func(ctx context.Context, lab *launch.Lab, s *runtime.Scope, v *variant.Variant, r *ledger.Launch,
		with qualifying,
	) ([]ledger.Level, error) {
		protocol := lab.Variants.Plan.Protocol(with.Protocol)
		blocks := Of(protocol, v)
		as := v
		var profiles *profileFolders
		if slices.ContainsFunc(blocks, func(b *plans.Block) bool { return b.Kind == Profile }) {
			folder, err := os.MkdirTemp(lab.RunDir, "profiles-")
			if err == nil {
				err = os.Chmod(folder, 0o777) // the user in a container differs
			}
			if err != nil {
				return nil, fmt.Errorf("no folder for profiles: %w", err)
			}
			defer os.RemoveAll(folder) // what counts is stored as artifacts
			profiles = &profileFolders{folder: folder}
			as, profiles.inside = v.WithProfiler(profiles.folder)
		}
		st, err := lab.Launch(ctx, s, as, r)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil, ctx.Err()
		case st == nil:
			return nil, err
		case err != nil:
			return nil, nil
		}
		q := &qualification{
			Started: st, variant: v, protocol: protocol, parent: with.Parent, hard: s.Force,
			profiles: profiles,
		}
		levels, err := q.runInOrder(ctx, s, blocks)
		if passed := decide.Qualified(levels); err == nil && passed && len(with.Fit) > 0 {
			var ws []*plans.Workload
			for _, name := range with.Fit {
				ws = append(ws, lab.Variants.Plan.Workload(name))
			}
			switch failed := record.Fit(ctx, q.Started, ws); {
			case failed == nil:
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			default: // the engine counts as broken
				q.RecordFailure(failed)
				levels = append(levels,
					ledger.Level{Name: engineLevel, Verdict: verdict.Error, Reasons: []verdict.Reason{q.Record.Error}})
			}
		}
		if err == nil {
			st.Observe(ctx, v)
		}
		st.Stop(s)
		if err == nil && q.finish != nil {
			var l ledger.Level
			if l, err = q.finish(); err == nil {
				levels = append(levels, l)
			}
		}
		if err != nil {
			return nil, err
		}
		return levels, nil
	},
}

// Carry executes an order for a qualification launch, or one that answers for others.
func Carry(ctx context.Context, s *runtime.Scope, lab *launch.Lab, v *variant.Variant,
	o *launch.Order,
) (json.RawMessage, error) {
	if o.Kind == forReference.Kind {
		return forReference.Carry(ctx, lab, s, v, o)
	}
	return qualifies.Carry(ctx, lab, s, v, o)
}

// runInOrder runs one level after the other and stops at the first that does not pass, unless
// it only marks a row: later ones are recorded as invalid, or inconclusive as it is, with the
// root cause. One that is judged late is left to finish.
func (q *qualification) runInOrder(ctx context.Context, s *runtime.Scope, blocks []*plans.Block) ([]ledger.Level,
	error,
) {
	var done []ledger.Level
	for i, b := range blocks {
		lv, err := levelFor(b, q.variant)
		if err != nil {
			return nil, err
		}
		s.Emit(runtime.Event{
			Type: "level_started", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature,
			Level: b.Level(), Variant: q.variant.Name,
		})
		began := time.Now()
		q.level, q.against = b, nil
		l := ledger.Level{Name: b.Level()}
		a, err := lv.run(ctx, q)
		at, isLate := lv.(afterStop)
		if isLate = isLate && err == nil && a.Ended == ""; err == nil && !isLate {
			l.Verdict, l.Reasons, err = q.judge(ctx, lv, a)
		}
		l.Seconds = time.Since(began).Seconds()
		for _, other := range q.against {
			l.Against = append(l.Against, other.ID)
		}
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, context.Canceled) {
				return nil, context.Cause(ctx)
			}
			q.RecordFailure(err)
			l.Verdict, l.Reasons = verdict.Error, []verdict.Reason{q.Record.Error}
		}
		if isLate {
			q.finish = func() (ledger.Level, error) {
				began := time.Now()
				err := at.complete(q, a)
				if err == nil {
					l.Verdict, l.Reasons, err = q.judge(ctx, lv, a)
				}
				l.Seconds += time.Since(began).Seconds()
				if err == nil {
					q.reportLevel(s, l)
				}
				return l, err
			}
			return done, nil // Of puts it after all others
		}
		q.reportLevel(s, l)
		if !decide.Qualified([]ledger.Level{l}) && !(q.variant.Row && q.Record.OK && Marks(q.protocol, l)) {
			return append(done, skippedLevels(blocks[i:], l)...), nil
		}
		done = append(done, l)
	}
	return done, nil
}

// Marks reports whether a level of a row only marks it: it found numbers, and one of them is
// beyond its limit. The row keeps its speed beside them, though it does not count.
func Marks(p *plans.Protocol, l ledger.Level) bool {
	b := plans.Find(p.Levels, func(b *plans.Block) bool { return b.Level() == l.Name })
	return l.Verdict == verdict.Fail && b != nil && len(b.Finds) > 0
}

// reportLevel reports to the observer how a level ended.
func (q *qualification) reportLevel(s *runtime.Scope, l ledger.Level) {
	s.Emit(runtime.Event{
		Type: "level_done", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature,
		Level: l.Name, Variant: q.variant.Name, Verdict: string(l.Verdict), Reasons: l.Reasons, Seconds: l.Seconds,
	})
}

// skippedLevels is a level that did not pass and, as invalid, all that follow it; as
// inconclusive if it was: what one level could not tell, the next did not show to be wrong.
func skippedLevels(blocks []*plans.Block, failed ledger.Level) []ledger.Level {
	out, v := []ledger.Level{failed}, verdict.Invalid
	if failed.Verdict == verdict.Inconclusive {
		v = failed.Verdict
	}
	why := verdict.New(code.LevelIs).On(failed.Name).Is(failed.Verdict)
	for _, b := range blocks[1:] {
		out = append(out, ledger.Level{Name: b.Level(), Verdict: v, Reasons: []verdict.Reason{why}})
	}
	return out
}

func Qualifying(p *plans.Protocol) []*plans.Block {
	var out []*plans.Block
	for _, b := range p.Levels {
		if b.Kind != plans.BenchmarkLevel && (b.Kind != Correctness || ComparedBy(p) == Correctness) {
			out = append(out, b)
		}
	}
	return out
}

// executionLevel is the level that every command has, whatever its protocol: it is run
// once, and its output is examined. It is in no plan.
const executionLevel = "execution"

// engineLevel records a failure of any protocol's launch: an engine that is forced to
// accept drafts, that no prompts can be made for, or that broke after its levels. It
// exists only if that happened.
const engineLevel = "engine"

// kernelsLevel is the level that reads the log.
const kernelsLevel = "kernels"

type execution struct{ of *variant.Command }

func (e execution) run(ctx context.Context, q *qualification) (*artifact, error) {
	q.answered = true
	return &artifact{}, q.Execute(ctx, e.of)
}

func (e execution) judge(ctx context.Context, of *evidence) (verdict.Verdict, []verdict.Reason, error) {
	text, err := of.store.Get(of.launch.Output)
	if err == nil {
		of.numbers, err = e.of.ReadMetrics(ctx, text)
	}
	if err != nil {
		return "", nil, err
	}
	reasons := verdict.Because(code.Of("command.printed", "exit status 0, all {metrics} metrics printed"),
		verdict.Int("metrics", len(e.of.CommandMetrics())))
	for _, m := range e.of.CommandMetrics() {
		s := of.numbers[m.Address()]
		reasons = append(reasons, verdict.Say("command.values", "{subject}: {values} values, median {median}",
			verdict.Int("values", s.N), verdict.Num("median", s.Stats["median"], s.Unit)).On(m.Name))
	}
	return verdict.Pass, reasons, nil
}

// Of returns the levels that a variant's qualification launch runs. A command takes no
// requests, so levels that send some are left out; and an engine of a comparison without
// knobs has no kernels to prove.
func Of(p *plans.Protocol, v *variant.Variant) []*plans.Block {
	blocks := slices.DeleteFunc(Qualifying(p), func(b *plans.Block) bool {
		return v.Command != nil && Kinds[b.Kind].Schema.Asks || v.Knobs == nil && b.Kind == kernelsLevel
	})
	if v.Command != nil {
		return slices.Insert(blocks, 0, &plans.Block{Kind: executionLevel})
	}
	// A profiler disturbs later levels, and may write once the engine has stopped.
	if i := slices.IndexFunc(blocks, func(b *plans.Block) bool { return b.Kind == Profile }); i >= 0 {
		blocks = append(slices.Delete(slices.Clone(blocks), i, i+1), blocks[i])
	}
	return blocks
}

func levelFor(b *plans.Block, v *variant.Variant) (level, error) {
	if b.Kind == executionLevel {
		return execution{v.Command}, nil
	}
	kind, known := Kinds[b.Kind]
	if !known {
		return nil, &verdict.Fault{Reason: verdict.New(code.LevelUnreplayed).On(b.Level())}
	}
	return kind.make(b)
}

// Kind is one kind of level that runs in the qualification launch.
type Kind struct {
	Schema plans.Schema
	make   func(*plans.Block) (level, error)
}

// Kinds: a new one is one file and one line here. The benchmark is not among them, as it
// has its own launches.
var Kinds = map[string]Kind{
	"smoke": smokeKind, "kernels": kernelsKind, "exec": execKind, Correctness: correctnessKind, "stress": stressKind,
	plans.EvalLevel: evalKind,
	Profile:         profileKind,
}
