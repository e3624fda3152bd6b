package levels

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

var kernelsKind = Kind{
	Schema: plans.Schema{
		Doc: "Proves that every knob value of the variant took effect. Each must_see glob is in the engine's " +
			"log, no must_not_see glob is, and the engine reports the observations in must_see.",
		Example: plans.Example(examples, `level "kernels" {`),
		Attrs:   plans.Attrs(kernels{}),
	},
	make: func(b *plans.Block) (level, error) {
		k := &kernels{}
		return k, b.Decode(k)
	},
}

type kernels struct {
	Timeout plans.Dur `hcl:"timeout,optional" default:"5m" doc:"Time limit of its request. It sends one only if no earlier level did."`
	_       []string  `hcl:"from,optional" oneof:"log" default:"[\"log\"]" doc:"Where to look for evidence. Evidence in profiles is checked by the level 'profile'."`
}

func (k *kernels) run(ctx context.Context, q *qualification) (*artifact, error) {
	if !q.answered {
		// Kernels are chosen at the first request, so one must have been made.
		limit := time.Duration(k.Timeout)
		if _, err := q.Client.Stream(ctx, openai.Request{
			Prompt: "Hello", MaxTokens: 4, Timeouts: openai.Timeouts{Total: limit, First: limit, Stall: limit},
		}); err != nil {
			return nil, err
		}
		q.answered = true
	}
	a, wanted := &artifact{}, withoutProfileEvidence(variant.EvidenceFor(q.Lab.Variants.Plan, q.variant.Knobs))
	if dir, err := filepath.Abs(q.Lab.Store.Dir()); err == nil {
		if at, err := filepath.Rel(dir, q.Inst.LogPath()); err == nil && q.Inst.LogPath() != "" &&
			filepath.IsLocal(at) {
			a.at = filepath.ToSlash(at)
		}
	}
	if err := a.search(ctx, q, wanted); err != nil || !observes(wanted) {
		return a, err
	}
	var err error
	a.Observed, a.Unobserved, err = q.Look(ctx, q.variant)
	return a, err
}

func (a *artifact) search(ctx context.Context, q *qualification, wanted []variant.Evidence) (err error) {
	if a.log = q.Inst.LogPath(); !inLog(wanted) || a.log == "" {
		return nil
	}
	if a.scan, err = q.ScanProof(ctx, wanted); err != nil {
		return err
	}
	a.Lines, a.Partial = a.scan.Lines(), partOf(q.Record, a.scan)
	if a.Partial.Kind == "" && q.LogBroken() {
		a.Partial = code.LogBrokeOff
	}
	return nil
}

// judge looks at the log up to what the level saw of it, and at the observations.
func (k *kernels) judge(_ context.Context, e *evidence) (verdict.Verdict, []verdict.Reason, error) {
	all := variant.EvidenceFor(e.plan, e.launch.Knobs)
	wanted := withoutProfileEvidence(all)
	if len(all) > 0 && len(wanted) == 0 {
		return verdict.Pass, verdict.Because(code.Of("kernels.by_profile",
			"evidence of {knobs|knob value|knob values} is in the profile"),
			verdict.Int("knobs", len(all))), nil
	}
	if inLog(wanted) && e.scan == nil {
		wanted = redacted(wanted, e.redact)
		if e.launch.Log != "" {
			log, err := e.store.Get(e.launch.Log)
			end := 0 // of what the level saw
			for range e.Lines {
				if n := bytes.IndexByte(log[end:], '\n'); n >= 0 {
					end += n + 1
				} else {
					end = len(log)
				}
			}
			if err == nil {
				kind := variant.EngineKind(e.plan.Engine(e.launch.Block))
				e.scan, err = launch.ScanEvidence(bytes.NewReader(log[:end]), wanted, e.launch, kind)
			}
			if err != nil {
				return "", nil, err
			}
		}
		if e.scan != nil && e.scan.Cut() && e.Partial.Kind == "" { // what the level saw was dropped later
			return "", nil, &verdict.Fault{Reason: verdict.New(code.LevelUnreplayed).On(e.block.Level())}
		}
	}
	v, reasons := judgeProof(wanted, e.scan, e.Partial, e.Observed, e.Unobserved)
	if log, unread := os.Open(e.log); unread == nil {
		nearest(log, reasons, e.launch)
		log.Close()
	}
	if verdict.Holds(reasons, code.LogBrokeOff.Kind) {
		// An error, not inconclusive: it is tried again, and says nothing about the
		// variant.
		return "", nil, &verdict.Fault{Reason: verdict.New(code.LogBrokeOff)}
	}
	if v != verdict.Pass && inLog(wanted) && e.at != "" {
		reasons = append(reasons,
			verdict.Say("kernels.log_at", "log: {path} in the state directory", verdict.Text("path", e.at)))
	}
	return v, reasons, nil
}

// withoutProfileEvidence is the evidence except that of values which only a profile proves; values without
// any stay, as nothing proves them.
func withoutProfileEvidence(wanted []variant.Evidence) []variant.Evidence {
	return slices.DeleteFunc(wanted, func(e variant.Evidence) bool { return e.Traced() && !e.InLogOrReport() })
}

// inLog reports whether any of the evidence is a line of the log.
func inLog(wanted []variant.Evidence) bool {
	return slices.ContainsFunc(wanted, func(e variant.Evidence) bool { return len(e.Globs()) > 0 })
}

// partOf is why a log is incomplete; empty if it is complete.
func partOf(l *ledger.Launch, scan *logscan.Scan) code.Fact {
	switch {
	case !launch.Fresh(l.Engine):
		return code.Of("kernels.log_began_before",
			"the server was already running, so its log starts in the middle and a missing line proves nothing: "+
				"add restart to the endpoint block")
	case verdict.Holds(l.Notes, code.LogBrokeOff.Kind):
		return code.LogBrokeOff
	case scan.Cut():
		return code.Of("kernels.log_cut",
			"the log was too large and lost its middle, so a missing line proves nothing: make the engine log "+
				"less")
	}
	return code.Fact{}
}

// judgeProof is the verdict on the matches in a log, incomplete because of partial if
// that is given, and on the observations.
func judgeProof(wanted []variant.Evidence, scan *logscan.Scan, partial code.Fact, observed map[string]ledger.Observed,
	unobserved map[string]verdict.Reason,
) (v verdict.Verdict, reasons []verdict.Reason) {
	switch {
	case !inLog(wanted):
		v, reasons = judgeKernels(wanted, nil)
	case scan == nil:
		v, reasons = verdict.Inconclusive, verdict.Because(code.Of("kernels.log_unknown",
			"the endpoint's log is not here, so lines of it prove no knob value: observe a page or metric of the "+
				"server, or start it with an executor"))
	case scan.Lines() == 0:
		v, reasons = verdict.Inconclusive, verdict.Because(code.Of("kernels.log_empty",
			"the engine logged nothing, so no knob value is proved"))
	default:
		if v, reasons = judgeKernels(wanted, scan.Matches()); partial.Kind != "" {
			v, reasons = judgePartial(partial, wanted, scan.Matches(), v, reasons)
		}
	}
	if observes(wanted) {
		v, reasons = judgeObserved(wanted, observed, unobserved, v, reasons)
	}
	return v, reasons
}

// nearest adds the lines of a launch's log that are nearest to what was not seen in it, and to
// what is only configured those behind the first request, which could prove it.
func nearest(log io.ReadSeeker, reasons []verdict.Reason, l *ledger.Launch) {
	for i, r := range reasons {
		after := 0
		switch {
		case r.Kind == code.OnlyConfigured.Kind && l.Asked != nil:
			after = *l.Asked
		case r.Kind != code.NotSeen.Kind:
			continue
		}
		if _, err := log.Seek(0, io.SeekStart); err != nil {
			return
		}
		lines, err := logscan.Nearest(log, r.Values["glob"].Text, after)
		if err != nil {
			return
		}
		for _, near := range lines {
			reasons[i].Causes = append(reasons[i].Causes, verdict.Say("kernels.near_line", "line {line_no}: {line}",
				verdict.Int("line_no", near.LineNo), verdict.Text("line", foreign.Short(near.Line))))
		}
		if after > 0 && len(lines) == 0 {
			reasons[i] = r.From(verdict.Say("kernels.nothing_later",
				"none: it logs nothing else after the first request"))
		}
	}
}

// proof is what a launch's log and its observations prove of evidence.
func proof(log io.ReadSeeker, wanted []variant.Evidence, v *variant.Variant, l *ledger.Launch) (verdict.Verdict,
	[]verdict.Reason, error,
) {
	scan, err := launch.ScanEvidence(log, wanted, l, variant.KindOf(v.Spec))
	if err != nil {
		return "", nil, err
	}
	got, reasons := judgeProof(wanted, scan, partOf(l, scan), l.Observed, l.Unobserved)
	nearest(log, reasons, l)
	return got, reasons, nil
}

// RequiresKernels reports whether variants must prove their knobs.
func RequiresKernels(protocol *plans.Protocol) bool {
	return protocol != nil && protocol.Level(kernelsLevel) != nil
}

// KernelsVerdict is what a recorded launch proves about its variant's knobs, by its log and
// observations: the kernels level for a measured launch, as kernels are chosen at every
// start and may differ from qualification. A pass without reasons if the protocol has no
// such level.
func KernelsVerdict(lab *launch.Lab, protocol *plans.Protocol, v *variant.Variant, l *ledger.Launch) (verdict.Verdict,
	[]verdict.Reason, error,
) {
	wanted := withoutProfileEvidence(variant.EvidenceFor(lab.Variants.Plan, v.Knobs))
	if !RequiresKernels(protocol) || len(wanted) == 0 || v.Knobs == nil {
		return verdict.Pass, nil, nil
	}
	wanted = redacted(wanted, lab.Redact)
	if !inLog(wanted) {
		got, reasons := judgeProof(wanted, nil, code.Fact{}, l.Observed, l.Unobserved)
		return got, reasons, nil
	}
	if l.Log == "" {
		return verdict.Inconclusive, verdict.Because(code.Of("kernels.log_not_kept",
			"its log was not kept, so no knob value is proved")), nil
	}
	log, err := lab.Store.Get(l.Log)
	if err != nil {
		return "", nil, err
	}
	return proof(bytes.NewReader(log), wanted, v, l)
}

// redacted is evidence as it appears in a kept log: secrets are removed from that, so
// they are removed here.
func redacted(wanted []variant.Evidence, r *redact.Redactor) []variant.Evidence {
	for i := range wanted {
		wanted[i] = wanted[i].Map(r.Text)
	}
	return wanted
}

// judgeKernels is the verdict on what was seen. A knob value without evidence is
// unproven, and unproven is not a pass.
func judgeKernels(wanted []variant.Evidence, seen map[string]logscan.Match) (verdict.Verdict, []verdict.Reason) {
	v := verdict.Pass
	if len(wanted) == 0 {
		return verdict.Inconclusive, verdict.Because(code.Of("kernels.no_knobs",
			"the plan declares no knobs: nothing to prove"))
	}
	// If not proved, only the objections are reported.
	var against, proofs []verdict.Reason
	for _, e := range wanted {
		if !e.InLogOrReport() {
			v = verdict.Join(v, verdict.Inconclusive)
			against = append(against, factOf(e, code.Of("kernels.unproven",
				"{subject} = {value:q} is unproven: it declares neither must_see nor must_not_see")))
		}
		for _, glob := range e.MustSee {
			m := seen[glob]
			at := []verdict.Arg{
				verdict.Text("glob", glob), verdict.Int("line_no", m.LineNo),
				verdict.Text("line", foreign.Short(m.FirstLine)),
			}
			if m.UsedNo > 0 {
				at = []verdict.Arg{
					verdict.Text("glob", glob), verdict.Int("line_no", m.UsedNo),
					verdict.Text("line", foreign.Short(m.UsedLine)),
				}
			}
			switch {
			case m.Count == 0:
				v = verdict.Fail
				against = append(against, factOf(e, code.NotSeen, verdict.Text("glob", glob)))
			case m.Chosen:
				proofs = append(proofs, factOf(e, code.Of("kernels.seen_chosen",
					"{subject} = {value:q}: seen {glob:q}, where the engine chose it (line {line_no}: {line})"),
					at...))
			case m.UsedNo > 0:
				proofs = append(proofs, factOf(e, code.Of("kernels.seen",
					"{subject} = {value:q}: seen {glob:q} (line {line_no}: {line})"),
					at...))
			case e.AtStart:
				proofs = append(proofs, factOf(e, code.Of("kernels.seen_at_start",
					"{subject} = {value:q}: seen {glob:q} at start only, as at_start allows: a weaker proof "+
						"(line {line_no}: {line})"),
					at...))
			default:
				v = verdict.Fail
				against = append(against, factOf(e, code.OnlyConfigured, at...))
			}
		}
		for _, glob := range e.MustNotSee {
			if m, ok := seen[glob]; ok {
				v = verdict.Fail
				against = append(against, factOf(e, code.Of("kernels.wrongly_seen",
					"{subject} = {value:q}: {glob:q} must not be in the log but is (line {line_no}: {line})"),
					verdict.Text("glob", glob), verdict.Int("line_no", m.LineNo),
					verdict.Text("line", foreign.Short(m.FirstLine))))
			}
		}
	}
	if v == verdict.Pass {
		by := "log"
		if observes(wanted) {
			by = "engine"
		}
		return v, append(verdict.Because(code.Of("kernels.proved",
			"{by=engine?engine reports confirm}{by=engine!log confirms} {knobs|knob value|knob values}"),
			verdict.Int("knobs", len(wanted)), verdict.Text("by", by)), proofs...)
	}
	return v, against
}

// observes reports whether any of the evidence is an observation.
func observes(wanted []variant.Evidence) bool {
	return slices.ContainsFunc(wanted, func(e variant.Evidence) bool {
		return len(e.MustObserve)+len(e.MustNotObserve) > 0
	})
}

// judgeObserved adds observations to the verdict on the log: each required value, and
// none that is excluded. What is not observed proves nothing, either way.
func judgeObserved(wanted []variant.Evidence, seen map[string]ledger.Observed, not map[string]verdict.Reason,
	v verdict.Verdict, reasons []verdict.Reason,
) (verdict.Verdict, []verdict.Reason) {
	own := verdict.Pass
	var against, proofs []verdict.Reason
	for _, e := range wanted {
		look := func(want map[string]any, must bool) {
			for _, what := range slices.Sorted(maps.Keys(want)) {
				o, ok := seen[what]
				name, is, from := verdict.Text("name", what), verdict.Text("is", o.String()),
					verdict.Text("from", o.From)
				switch {
				case !ok:
					why := not[what]
					if why.IsZero() {
						why = verdict.Say("kernels.unasked", "this engine has no observation of that name")
					}
					own = verdict.Join(own, verdict.Inconclusive)
					against = append(against, factOf(e, code.Of("kernels.not_observed",
						"{subject} = {value:q} is unproven: {name} was not observed"),
						name).From(why))
				case must && o.Value != want[what]:
					own = verdict.Fail
					against = append(against, factOf(e, code.Of("kernels.observed_other",
						"{subject} = {value:q}: {name} must be {must} but the engine reports {is} ({from})"),
						name, is, from,
						verdict.Text("must", ledger.Observed{Value: want[what], Unit: o.Unit}.String())))
				case !must && o.Value == want[what]:
					own = verdict.Fail
					against = append(against, factOf(e, code.Of("kernels.wrongly_observed",
						"{subject} = {value:q}: {name} must not be {is} but the engine reports it ({from})"),
						name, is, from))
				case must && o.Configured && e.AtStart:
					proofs = append(proofs, factOf(e, code.Of("kernels.observed_at_start",
						"{subject} = {value:q}: observed {name} {is} at start only, as at_start allows: a weaker "+
							"proof ({from})"),
						name, is, from))
				case must && o.Configured:
					own = verdict.Fail
					against = append(against,
						factOf(e, code.OnlyConfigured, name, is, from, verdict.Text("glob", what)))
				default:
					proofs = append(proofs, factOf(e, code.Of("kernels.observed",
						"{subject} = {value:q}: observed {name} {is} ({from})"),
						name, is, from))
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
		return own, against // what the log proves is not missing
	}
	return verdict.Join(v, own), append(against, reasons...)
}

// judgePartial is the verdict on an incomplete log: it starts in the middle, because the
// server was running before the launch, or its middle was dropped. Lines that are there
// count, for and against; missing ones prove nothing.
func judgePartial(why code.Fact, wanted []variant.Evidence, seen map[string]logscan.Match, v verdict.Verdict,
	reasons []verdict.Reason,
) (verdict.Verdict, []verdict.Reason) {
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
func factOf(e variant.Evidence, what code.Fact, args ...verdict.Arg) verdict.Reason {
	return verdict.New(what, append(args, verdict.Text("value", e.Value))...).On(e.Knob)
}
