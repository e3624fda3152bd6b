package levels

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

var kernelsKind = Kind{
	Schema: plans.Schema{
		Doc: "Every knob value of the variant proves that it took effect: each must_see glob is in the engine's log and no must_not_see glob is, and the engine says of itself what must_see observes.",
		Example: `level "kernels" {
  from = ["log"]
}`,
		Attrs: []plans.Attr{
			{Name: "from", Type: plans.Strings, Default: []any{"log"}, OneOf: []string{"log"}, Doc: "Where evidence is looked for. Profiler traces come with a later version."},
			{Name: "timeout", Type: plans.Duration, Default: "5m", Doc: "Time limit of the request that is sent where no level before it sent one."},
		},
	},
	make: func(b *plans.Block) (level, error) {
		k := &kernels{}
		return k, b.Decode(k)
	},
}

type kernels struct {
	Timeout plans.Dur `json:"timeout"`
}

func (k *kernels) run(ctx context.Context, q *qualification) (verdict.Verdict, []verdict.Reason, error) {
	if !q.answered {
		// Kernels are chosen at the first request, so there must have been one.
		limit := time.Duration(k.Timeout)
		if _, err := q.Client.Complete(ctx, openai.Request{
			Prompt: "Hello", MaxTokens: 4, Timeouts: openai.Timeouts{Total: limit, First: limit, Stall: limit},
		}); err != nil {
			return "", nil, err
		}
		q.answered = true
	}
	wanted := variant.EvidenceFor(q.Lab.Plan, q.variant.Knobs)
	var globs []string
	for _, e := range wanted {
		globs = append(append(globs, e.MustSee...), e.MustNotSee...)
	}
	v, reasons, err := k.proved(ctx, q, wanted, globs)
	if err != nil {
		return v, reasons, err
	}
	if observes(wanted) {
		seen, not, err := q.Look(ctx, q.variant)
		if err != nil {
			return "", nil, err
		}
		v, reasons = judgeObserved(wanted, seen, not, v, reasons)
	}
	if at := q.logAt(); v != verdict.Pass && len(globs) > 0 && at != "" {
		reasons = append(reasons, verdict.New(code.LogAt, verdict.Text("path", at)))
	}
	return v, reasons, nil
}

// logAt is where the log is kept, below the state directory; empty where there is
// none.
func (q *qualification) logAt() string {
	path := q.Inst.LogPath()
	if path == "" || q.Lab.Store == nil {
		return ""
	}
	dir := q.Lab.Store.Dir()
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(filepath.Join(filepath.Base(dir), rel))
}

// proved is the verdict over the engine's log.
func (k *kernels) proved(ctx context.Context, q *qualification, wanted []variant.Evidence, globs []string) (verdict.Verdict, []verdict.Reason, error) {
	if len(globs) == 0 {
		return judgeKernels(wanted, nil)
	}
	if q.Inst.LogPath() == "" {
		return verdict.Inconclusive, verdict.Because(code.LogUnknown), nil
	}
	scan, err := q.ScanProof(ctx, wanted, globs)
	if err != nil {
		return "", nil, err
	}
	if scan.Lines() == 0 {
		return verdict.Inconclusive, verdict.Because(code.LogEmpty), nil
	}
	v, reasons, err := judgeKernels(wanted, scan.Seen())
	switch {
	case err != nil:
	case !launch.Fresh(q.Record.Engine):
		v, reasons = judgePartial(code.LogBeganBefore, wanted, scan.Seen(), v, reasons)
	case logBroken(q.Inst):
		// An error and not inconclusive: it is tried again, and says nothing of the variant.
		if judged, _ := judgePartial(code.LogBrokeOff, wanted, scan.Seen(), v, reasons); judged != v {
			return "", nil, &verdict.Fault{Reason: verdict.New(code.LogBrokeOff)}
		}
	case scan.Cut():
		v, reasons = judgePartial(code.LogCut, wanted, scan.Seen(), v, reasons)
	}
	return v, reasons, err
}

// judgeKernels is the verdict over what was seen. A knob value without evidence
// is unproven, and unproven is not a pass.
func judgeKernels(wanted []variant.Evidence, seen map[string]logscan.Match) (verdict.Verdict, []verdict.Reason, error) {
	v := verdict.Pass
	if len(wanted) == 0 {
		return verdict.Inconclusive, verdict.Because(code.NoKnobs), nil
	}
	// Of what is not proved only that is said which speaks against it.
	var against, proofs []verdict.Reason
	for _, e := range wanted {
		if len(e.MustSee)+len(e.MustNotSee)+len(e.MustObserve)+len(e.MustNotObserve) == 0 {
			v = verdict.Join(v, verdict.Inconclusive)
			against = append(against, factOf(e, code.Unproven))
		}
		for _, glob := range e.MustSee {
			if m, ok := seen[glob]; ok {
				proofs = append(proofs, factOf(e, code.Seen, verdict.Text("glob", glob), verdict.Int("line_no", m.LineNo), verdict.Text("line", logscan.Short(m.FirstLine))))
			} else {
				v = verdict.Fail
				against = append(against, factOf(e, code.NotSeen, verdict.Text("glob", glob)))
			}
		}
		for _, glob := range e.MustNotSee {
			if m, ok := seen[glob]; ok {
				v = verdict.Fail
				against = append(against, factOf(e, code.WronglySeen, verdict.Text("glob", glob), verdict.Int("line_no", m.LineNo), verdict.Text("line", logscan.Short(m.FirstLine))))
			}
		}
	}
	if v == verdict.Pass {
		by := "log"
		if observes(wanted) {
			by = "engine"
		}
		return v, append(verdict.Because(code.Proved, verdict.Int("knobs", len(wanted)), verdict.Text("by", by)), proofs...), nil
	}
	return v, against, nil
}

// observes reports whether any of the evidence is an observation.
func observes(wanted []variant.Evidence) bool {
	return slices.ContainsFunc(wanted, func(e variant.Evidence) bool { return len(e.MustObserve)+len(e.MustNotObserve) > 0 })
}

// judgeObserved adds to the verdict over the log what was observed: each value
// that must be seen, and none that must not. What is not observed proves nothing,
// either way.
func judgeObserved(wanted []variant.Evidence, seen map[string]ledger.Observed, not map[string]verdict.Reason, v verdict.Verdict, reasons []verdict.Reason) (verdict.Verdict, []verdict.Reason) {
	own := verdict.Pass
	var against, proofs []verdict.Reason
	for _, e := range wanted {
		look := func(want map[string]any, must bool) {
			for _, what := range slices.Sorted(maps.Keys(want)) {
				o, ok := seen[what]
				name, is, from := verdict.Text("name", what), verdict.Text("is", o.String()), verdict.Text("from", o.From)
				switch {
				case !ok:
					own = verdict.Join(own, verdict.Inconclusive)
					against = append(against, factOf(e, code.NotObserved, name).From(orUnasked(not[what])))
				case must && o.Value != want[what]:
					own = verdict.Fail
					against = append(against, factOf(e, code.ObservedOther, name, is, from, verdict.Text("must", ledger.Observed{Value: want[what], Unit: o.Unit}.String())))
				case !must && o.Value == want[what]:
					own = verdict.Fail
					against = append(against, factOf(e, code.WronglyObserved, name, is, from))
				default:
					proofs = append(proofs, factOf(e, code.Observed, name, is, from))
				}
			}
		}
		look(e.MustObserve, true)
		look(e.MustNotObserve, false)
	}
	switch {
	case v == verdict.Pass && own == verdict.Pass:
		return v, append(reasons, proofs...)
	case v == verdict.Pass:
		return own, against // what the log proves is not what is missing
	}
	return verdict.Join(v, own), append(against, reasons...)
}

func orUnasked(why verdict.Reason) verdict.Reason {
	if why.IsZero() {
		return verdict.New(code.Unasked)
	}
	return why
}

// logBroken reports whether an engine's log could not be followed to this moment.
func logBroken(inst engine.Instance) bool {
	followed, ok := inst.(interface{ LogBroken() bool })
	return ok && followed.LogBroken()
}

// judgePartial is the verdict where the log is not whole: it begins in the
// middle, because the server was running before the launch, or its middle was
// dropped. What is there still speaks, for and against; what is missing says
// nothing.
func judgePartial(why code.Code, wanted []variant.Evidence, seen map[string]logscan.Match, v verdict.Verdict, reasons []verdict.Reason) (verdict.Verdict, []verdict.Reason) {
	excluded := false
	for _, e := range wanted {
		for _, glob := range e.MustNotSee {
			if _, ok := seen[glob]; ok {
				return v, reasons // it was seen, whatever is missing
			}
			excluded = true
		}
	}
	if v == verdict.Fail || v == verdict.Pass && excluded {
		return verdict.Inconclusive, append(verdict.Because(why), reasons...)
	}
	return v, reasons
}

// factOf is a fact about the value of a knob.
func factOf(e variant.Evidence, what code.Code, args ...verdict.Arg) verdict.Reason {
	return verdict.New(what, append(args, verdict.Text("value", e.Value))...).On(e.Knob)
}
