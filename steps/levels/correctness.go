package levels

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels/quality"
	"github.com/mxflow/mxflow/steps/variant"
)

// Correctness is the level that compares answers with the parent's.
const Correctness = plans.CorrectnessLevel

var correctnessKind = Kind{
	Schema: plans.Schema{
		Asks: true, Against: true,
		Doc: "The engine answers as its parent does. After measuring, the parent continues random positions of " +
			"the candidate's measured answers and of its own, and must be shown to agree with the candidate about as " +
			"often as with itself. A protocol without this level has it with its defaults. With a limit on " +
			"log-probabilities, both also get the same prompts at temperature 0 when they are qualified; a broken " +
			"limit fails only if the parent's own launches are not as far apart: the parent is launched once more to " +
			"find out.",
		Example: plans.Example(examples, `level "correctness" {`),
		Attrs:   plans.Attrs(quality.Settings{}),
		Fits: func(b *plans.Block, e *plans.Engine) (errs []plans.AttrError) {
			// Limits on what an engine of that kind does not provide.
			k, ok := kinds.Lookup(e.Kind)
			if !ok {
				return nil
			}
			refuse := func(attr, format string, args ...any) {
				if b.Written[attr] && b.Attrs[attr] != nil { // null takes it back
					detail := fmt.Sprintf(format, args...)
					errs = append(errs,
						plans.AttrError{
							Attr: attr, Code: "not-given-by-engine", Summary: "Engine does not give that",
							Detail: fmt.Sprintf("engine.%s.%s is of kind %q, %s", e.Kind, e.Name, e.Kind, detail),
						})
				}
			}
			gives := k.Ask.LogProbs
			if gives.Top == 0 {
				for _, attr := range []string{"max_kl", "max_kl_p99", "min_argmax_match"} {
					refuse(attr, "which gives no log-probabilities, and %s needs them. Remove it.", attr)
				}
			}
			if gives.Prompt == "" {
				refuse("max_perplexity_increase",
					"which gives no log-probabilities of prompts, and max_perplexity_increase needs them. Remove it.")
			}
			if top, _ := b.Attrs["top"].(float64); gives.Top > 0 && int(top) > gives.Most(e.Settings) {
				refuse("top", "which lists at most %d tokens of a position. Set top to that.", gives.Most(e.Settings))
			}
			return errs
		},
		Finds: func(*plans.Block) []plans.LevelResult { return quality.Finds },
	},
	make: func(b *plans.Block) (level, error) {
		c := &correctness{}
		return c, b.Decode(&c.Settings)
	},
}

type correctness struct{ quality.Settings }

func (c *correctness) ask(p *plans.Plan, protocol *plans.Protocol) quality.Ask {
	var ws []*plans.Workload
	for _, name := range p.SentWorkloads(protocol.Level(plans.BenchmarkLevel)) {
		ws = append(ws, p.Workload(name))
	}
	chats := slices.ContainsFunc(p.Engines, func(e *plans.Engine) bool {
		k, _ := kinds.Lookup(e.Kind)
		return k.Ask.LogProbs.Chat
	})
	return c.AskOf(ws, chats)
}

func (c *correctness) run(ctx context.Context, q *qualification) (*artifact, error) {
	own, err := c.record(ctx, q.Started, q.protocol, q.parent.Answered)
	if err != nil {
		return nil, err
	}
	q.answered, q.against = true, q.parent.Answered
	return &artifact{answers: own}, nil
}

// judge compares the answers with those of the parent's launches, or with those of the
// launch's own variant.
func (c *correctness) judge(_ context.Context, e *evidence) (verdict.Verdict, []verdict.Reason, error) {
	own := e.answers
	if own == nil {
		all, err := quality.Recordings(e.store, []*ledger.Launch{e.launch})
		if err != nil {
			return "", nil, err
		}
		own = all[0]
	}
	if len(e.against) == 0 {
		if v, reasons := quality.AnswersUsable(own); v != "" {
			return v, reasons, nil
		}
		return verdict.Pass, []verdict.Reason{own.Summary()}, nil
	}
	parents, err := quality.Recordings(e.store, e.against)
	if err != nil {
		return "", nil, err
	}
	var v verdict.Verdict
	var reasons []verdict.Reason
	var values quality.Values
	if e.against[0].VariantKey == e.launch.VariantKey {
		v, reasons, values = c.CompareWithItself(append(parents, own))
	} else {
		v, reasons, values = c.Judge(own, parents, e.against[0].Variant)
		if tell := bitEqual(e, own, parents); v == verdict.Pass && !tell.IsZero() {
			reasons = append(reasons, tell)
		}
	}
	for name, value := range sorted.All(values) {
		e.Number(name, value)
	}
	return v, reasons, nil
}

// bitEqual says that a candidate answers with all of a parent's log-probabilities, although its log
// or an observation, which are the engine's word, says that another path ran; nothing otherwise.
func bitEqual(e *evidence, own *quality.Recording, parents []*quality.Recording) (tell verdict.Reason) {
	theirs := variant.EvidenceFor(e.plan, e.against[0].Knobs)
	for _, ev := range variant.EvidenceFor(e.plan, e.launch.Knobs) {
		said := len(ev.MustSee)+len(ev.MustObserve) > 0 && len(ev.MustTrace) == 0
		same := slices.ContainsFunc(theirs, func(o variant.Evidence) bool {
			return o.Knob == ev.Knob && o.Value == ev.Value
		})
		if !said || same {
			continue
		}
		for _, parent := range parents {
			if n := quality.BitEqual(own, parent); n > 0 {
				return verdict.New(code.BitEqual, verdict.Int("tokens", n),
					verdict.Text("parent", e.against[0].Variant),
					verdict.Text("value", ev.Value)).On(ev.Knob)
			}
		}
	}
	return tell
}

// record asks a running engine, with the prompts of earlier launches if there are some.
func (c *correctness) record(ctx context.Context, st *launch.Started, protocol *plans.Protocol,
	before []*ledger.Launch,
) (*quality.Recording, error) {
	var first *quality.Recording
	if kept, err := quality.Recordings(st.Lab.Store, before); err != nil {
		return nil, err
	} else if len(kept) > 0 {
		first = kept[0]
	}
	own, err := c.ask(st.Lab.Variants.Plan, protocol).Record(ctx, st, st.Record.Draw.Seed, first,
		time.Duration(c.Within))
	if err == nil {
		err = own.ReadText(ctx, st)
	}
	if err != nil {
		return nil, err
	}
	return own, st.LeaveArtifact(quality.Answers, own)
}

// correctnessOf is the protocol's level that compares answers when variants are
// qualified; nil if it has none.
func correctnessOf(p *plans.Protocol) (*correctness, error) {
	if p == nil || p.Level(Correctness) == nil {
		return nil, nil
	}
	c := &correctness{}
	if err := p.Level(Correctness).Decode(&c.Settings); err != nil || !c.Limited() {
		return nil, err
	}
	return c, nil
}

// ComparedBy is the level by which a protocol compares answers when variants are qualified;
// empty if it does not.
func ComparedBy(p *plans.Protocol) string {
	switch c, err := correctnessOf(p); {
	case c != nil || err != nil:
		return Correctness
	case p != nil && p.Level(plans.EvalLevel) != nil:
		return plans.EvalLevel
	}
	return ""
}

// Asks is what a protocol's answer-comparing level asks, for keys; nil if it has none.
func Asks(p *plans.Plan, protocol *plans.Protocol) (any, error) {
	c, err := correctnessOf(protocol)
	if c == nil || err != nil {
		return nil, err
	}
	return c.ask(p, protocol), nil
}

// promptSeed is the seed of the prompts of a launch under a protocol: empty if it compares no
// answers, or is asked what before was.
func promptSeed(lab *launch.Lab, protocol *plans.Protocol, v *variant.Variant, before []*ledger.Launch) (ledger.Draw,
	error,
) {
	c, err := correctnessOf(protocol)
	if c == nil || err != nil || v.Command != nil || len(before) > 0 {
		return ledger.Draw{}, err
	}
	return lab.Draws.Next(), nil
}

// References returns launches of a variant with whose answers others are compared, newest
// last: those on record that were asked the same, and those that it makes. None if the
// protocol compares no answers.
func References(ctx context.Context, s *runtime.Scope, lab *launch.Lab, protocol *plans.Protocol, v *variant.Variant,
	many int, out *ledger.Decision,
) ([]*ledger.Launch, error) {
	if ComparedBy(protocol) == "" || v.Command != nil {
		return nil, nil
	}
	c, err := correctnessOf(protocol)
	if err != nil {
		return nil, err
	}
	known := c.recordedReferences(lab, protocol, v, many)
	var slot []*ledger.Launch // launches for the next reference
	for n := 1; len(known) < many; n++ {
		made, err := c.launchReference(ctx, s, lab, protocol, v, known, n)
		if err != nil {
			return nil, err
		}
		out.Launches = append(out.Launches, made.ID)
		if slot = append(slot, made); decide.Replaced(slot) {
			continue
		}
		if !made.OK {
			out.LogTail, out.Exit = made.LogTail, made.Exit
			return nil, &verdict.Fault{Reason: verdict.Say("quality.no_parent",
				"{parent} could not be launched for its answers",
				verdict.Text("parent", v.Name)).On(made.ID).From(made.Error)}
		}
		known, slot = append(known, made), nil
	}
	return known, nil
}

// recordedReferences are the latest launches of a variant that were asked what the level asks,
// newest last.
func (c *correctness) recordedReferences(lab *launch.Lab, protocol *plans.Protocol, v *variant.Variant,
	many int,
) (known []*ledger.Launch) {
	var ask string
	if c != nil {
		ask = runtime.Digest(c.ask(lab.Variants.Plan, protocol))
	}
	questions := protocol.Level(plans.EvalLevel)
	var newest *quality.Recording
	for _, l := range slices.Backward(lab.Store.Launches(store.LaunchFilter{VariantKey: v.Key, OK: true})) {
		if l.Purpose == ledger.ForBenchmark || l.BootID != lab.Boot {
			continue
		}
		if questions != nil {
			graded, err := quality.Graded(lab.Store, l)
			if err != nil || graded.Asked != asked(questions) {
				continue
			}
		}
		if c != nil {
			// One that cannot be read is not a reference; another launch replaces it.
			kept, err := quality.Recordings(lab.Store, []*ledger.Launch{l})
			if err != nil || runtime.Digest(kept[0].Ask) != ask || newest != nil && !newest.Same(kept[0]) {
				continue
			}
			newest = kept[0]
		}
		if known = append(known, l); len(known) == many {
			break
		}
	}
	slices.Reverse(known)
	return known
}

// launchReference launches a variant once more, to answer the questions of its earlier
// launches. It is not measured.
func (c *correctness) launchReference(ctx context.Context, s *runtime.Scope, lab *launch.Lab, protocol *plans.Protocol,
	v *variant.Variant, before []*ledger.Launch, n int,
) (*ledger.Launch, error) {
	id := runtime.QualifyLaunch + runtime.ShortID(s.Run, s.Node.ID, v.Key, s.Attempt, ledger.ForReference, n)
	if made, ok := lab.Store.LaunchByID(id); ok {
		return made, nil // for another row, which could not be compared with it either
	}
	record := &ledger.Launch{ID: id, Session: id, Purpose: ledger.ForReference, Ordinal: n, Order: n, OK: true}
	var err error
	if record.Draw, err = promptSeed(lab, protocol, v, before); err != nil {
		return nil, err
	}
	ev := runtime.Event{Variant: v.Name, Level: ledger.ForReference, Launch: n, Launches: n, LaunchID: id}
	err = lab.Report(s, ev, v, record, func() error {
		_, err := forReference.Make(ctx, lab, lab, s, v, record, answering{protocol.Name, before}, before...)
		return err
	})
	return record, err
}

// answering is the work of a launch whose answers others are compared with.
type answering struct {
	Protocol string           `json:"protocol"`
	Before   []*ledger.Launch `json:"before,omitempty"`
}

var forReference = launch.Function[*launch.Lab, answering, struct{}]{
	Kind: ledger.ForReference,
	Here: func(ctx context.Context, lab *launch.Lab, s *runtime.Scope, v *variant.Variant, record *ledger.Launch,
		with answering,
	) (none struct{}, err error) {
		protocol := lab.Variants.Plan.Protocol(with.Protocol)
		c, err := correctnessOf(protocol)
		if err != nil {
			return none, err
		}
		return none, lab.Use(ctx, s, v, record, func(st *launch.Started) error {
			if b := protocol.Level(plans.EvalLevel); b != nil {
				if _, err := recordEval(ctx, st, b); err != nil {
					return err
				}
			}
			if c == nil {
				return nil
			}
			_, err := c.record(ctx, st, protocol, with.Before)
			return err
		})
	},
}
