package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
)

// WouldBe is what another plan makes of a node by the launches on record.
type WouldBe struct {
	Node string `json:"node"`
	Kind string `json:"kind"`
	// Recorded is the recorded verdict, empty if the node was never decided.
	Recorded verdict.Verdict `json:"recorded,omitempty"`
	WouldBe  verdict.Verdict `json:"would_be"`
	Accepted bool            `json:"accepted,omitempty"`
	// Locked is why an apply of this plan would not reach the node, which then is invalid.
	// RecordedLocked is why it has been locked since the last apply, see report.Locked.
	Locked         verdict.Reason `json:"locked,omitzero"`
	RecordedLocked verdict.Reason `json:"recorded_locked,omitzero"`
	// Unmeasured is set if an apply of this plan would first measure something that has no
	// launches on record.
	Unmeasured bool             `json:"unmeasured,omitempty"`
	Reasons    []verdict.Reason `json:"reasons,omitempty"`
	Rules      []verdict.Rule   `json:"rules,omitempty"`
}

// whatIf decides by another plan. It decides as an apply does, but what it sees of a
// measurement is what is on record, if that is of what the plan starts.
type whatIf struct {
	*Replay
	view *decide.View
	// outcomes are what nodes come to, and locked why they are not reached.
	outcomes map[string]*ledger.Decision
	locked   map[string]verdict.Reason
	// unfit is why the launches of a candidate are not of what the plan starts, with the
	// verdict of what rests on them.
	unfit map[string]verdict.Reason
	// open are features of which only an apply can tell what becomes of them.
	open map[string]bool
	// raw has the differences of the raw data that the current node reads, and gone is why
	// some cannot be read.
	raw  *Replayed
	gone error
}

// With decides the features, gates and phases of another plan by the launches on record,
// in the order in which an apply reaches them. Nothing is measured.
func (r *Replay) With(p *plans.Plan) ([]WouldBe, error) {
	g, err := runtime.NewGraph(p)
	if err != nil {
		return nil, err
	}
	w := &whatIf{Replay: r, outcomes: map[string]*ledger.Decision{}, locked: map[string]verdict.Reason{}, unfit: map[string]verdict.Reason{}, open: map[string]bool{}}
	w.view = &decide.View{
		Plan: p, Graph: g, OnSeenData: true, Records: r.store.Records, Arms: w.arms, Launch: w.launch,
		Outcome:  func(node string) *ledger.Decision { return w.outcomes[node] },
		LockedBy: func(node string) verdict.Reason { return w.locked[node] },
	}
	var out []WouldBe
	for _, n := range g.Nodes {
		node := w.node(n)
		if n.Kind == runtime.KindFeature || n.Kind == runtime.KindGate || n.Kind == runtime.KindPhase {
			out = append(out, node)
		}
	}
	return out, nil
}

// node decides a node, unless it is locked.
func (w *whatIf) node(n *runtime.Node) WouldBe {
	out := WouldBe{Node: n.ID, Kind: string(n.Kind)}
	if d, _, ok := w.store.Latest(n.ID); ok {
		out.Recorded = d.Verdict
	}
	if why := w.bars(n); !why.IsZero() {
		w.locked[n.ID] = why
		if why.Verdict != verdict.Fail { // only an apply can tell whether it stops there
			w.open[n.ID] = true
			w.outcomes[n.ID] = &ledger.Decision{Node: n.ID, Kind: string(n.Kind), Verdict: verdict.Inconclusive, Reasons: []verdict.Reason{why}}
			if n.FeatureBlock != nil {
				w.outcomes[n.ID].Variant = runtime.Candidates(n.FeatureBlock)[0].Set
			}
		}
		out.WouldBe, out.Locked = verdict.Invalid, why
		out.Reasons = []verdict.Reason{verdict.Say("whatif.not_reached", "apply would not reach it: {causes}").From(why)}
		return out
	}
	var d *ledger.Decision
	switch n.Kind {
	case runtime.KindStep:
		d = w.step(n)
	case runtime.KindQualify, runtime.KindBenchmark:
		d = w.measurement(n)
	default:
		d = w.decide(n, &out)
	}
	d.Node = n.ID
	w.outcomes[n.ID] = d
	out.WouldBe, out.Accepted, out.Rules = d.Verdict, d.Accepted, d.Rules
	more := slices.ContainsFunc(d.Rules, func(r verdict.Rule) bool { return len(r.Open) > 0 })
	w.open[n.ID] = d.Verdict != verdict.Pass && d.Verdict != verdict.Fail &&
		(d.Verdict != out.Recorded || !d.Verdict.Kept() || out.Unmeasured || more)
	return out
}

// decide decides a feature, a gate or a phase: a feature only if the launches on record are
// of all that the plan starts for it.
func (w *whatIf) decide(n *runtime.Node, out *WouldBe) *ledger.Decision {
	if n.FeatureBlock != nil {
		if v, why := w.lacks(n.FeatureBlock); v != "" {
			out.Unmeasured, out.Reasons = v == verdict.Inconclusive, why
			return &ledger.Decision{Kind: string(n.Kind), Verdict: v, Reasons: why, Variant: runtime.Candidates(n.FeatureBlock)[0].Set}
		}
	}
	w.raw, w.gone = &Replayed{}, nil
	d, err := decide.Node(w.view, n)
	if err = cmp.Or(w.gone, err); err != nil {
		out.Reasons = []verdict.Reason{verdict.OfError(err)}
		return &ledger.Decision{Kind: string(n.Kind), Verdict: verdict.Error, Reasons: out.Reasons}
	}
	if n.Kind == runtime.KindGate {
		w.leaveOpen(n.PhaseBlock, d)
	}
	// That it decides on seen data is what a what-if does, and nobody's choice.
	out.Reasons = slices.DeleteFunc(d.Why(), func(r verdict.Reason) bool { return r.Kind == code.OnSeenData.Kind })
	if len(d.OnSeenData) > 0 && d.Verdict == verdict.Pass {
		out.Reasons = append(out.Reasons, verdict.Say("relaxed.measured_anew",
			"an apply would measure it again: {causes}").From(d.OnSeenData...))
	}
	if differ := len(w.raw.Differences); differ > 0 {
		out.Reasons = append(out.Reasons, verdict.Say("whatif.raw_differ",
			"its raw data contradict the record ({differences} differences, see mxflow audit replay)",
			verdict.Int("differences", differ)))
	}
	if was, _, ok := w.store.Latest(n.ID); ok && was.Retraction != nil {
		out.Reasons = append(out.Reasons, verdict.Say("whatif.retracted_stays",
			"{causes}: apply does not let these launches pass again").From(was.Retraction.Of(n.ID)))
	}
	return d
}

// lacks is why candidates of a feature cannot be decided by what is on record, and the
// verdict that follows; empty if all can.
func (w *whatIf) lacks(f *plans.Feature) (v verdict.Verdict, why []verdict.Reason) {
	var all []verdict.Verdict
	for _, c := range runtime.Candidates(f) {
		if unfit := w.unfit[c.Name]; !unfit.IsZero() {
			all, why = append(all, unfit.Verdict), noted(why, unfit)
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	return verdict.Join(all...), why
}

// leaveOpen makes the rules of a gate inconclusive that read the outcome of a feature of
// which only an apply can tell (neither "accepted" nor "not accepted" holds), or anything
// of one that was not measured.
func (w *whatIf) leaveOpen(ph *plans.Phase, d *ledger.Decision) {
	for i := range d.Rules {
		for _, in := range ph.Gate.Rules[i].Inputs() {
			f := w.outcomes[runtime.FeatureID(in.Feature)]
			if f == nil || f.Verdict != verdict.Inconclusive || !w.open[f.Node] || d.Rules[i].Verdict == verdict.Inconclusive {
				continue
			}
			if v, _ := w.lacks(w.view.Plan.Feature(in.Feature)); in.Kind == plans.InputFeature || v != "" || !w.locked[f.Node].IsZero() {
				d.Rules[i].Verdict = verdict.Inconclusive
				d.Reasons = append(d.Reasons, verdict.Say("whatif.outcome_unknown",
					"the outcome of feature {subject} is unknown").On(in.Feature))
			}
		}
	}
	if len(d.Rules) > 0 {
		d.Verdict = decide.Whole(string(runtime.KindGate), nil, d.Rules)
	}
}

// bars is why an apply would not reach a node; no fact if it would.
func (w *whatIf) bars(n *runtime.Node) verdict.Reason {
	for _, need := range n.Needs {
		if need.Mode == runtime.Settled {
			continue
		}
		if why := w.locked[need.On]; !why.IsZero() {
			return why
		}
		v := w.outcomes[need.On].Verdict
		if need.Mode == runtime.Passed && !v.Unlocks() || need.Mode == runtime.Decided && !v.Decided() {
			return verdict.Say("whatif.would_be", "{subject} {verdict:would}").On(need.On).Is(v)
		}
	}
	return verdict.Reason{}
}

// step is the recorded outcome of a step: inconclusive if none of it, as the plan has it,
// is on record. The rows of a comparison rest on everything that it starts and sends.
func (w *whatIf) step(n *runtime.Node) *ledger.Decision {
	b := n.StepBlock
	why := verdict.Say("whatif.step_never_run",
		"step {subject} was never run: apply would run it; the outcome is unknown").On(b.Kind + " " + b.Name)
	if d, run, ok := w.store.Latest(n.ID); ok {
		was, now := w.planOf(run), w.view.Plan
		rests := func(p *plans.Plan, b *plans.Block) string {
			if b == nil || len(d.Rows) == 0 {
				return runtime.Digest(b)
			}
			return runtime.Digest(b, p.Engines, p.Knobs, p.Workloads, p.Protocols)
		}
		if was.res != nil && len(was.changed) == 0 && rests(was.res.Plan, stepOf(was.res.Plan, n.ID)) == rests(now, b) {
			return d
		}
		why = why.As(code.Of("whatif.step_other",
			"step {subject} is not what was run: apply would run it; the outcome is unknown"))
	}
	return &ledger.Decision{Kind: string(n.Kind), Verdict: verdict.Inconclusive, Reasons: []verdict.Reason{why}}
}

// measurement is the recorded outcome of a candidate's qualification or benchmark, or the
// baseline's, if its launches are of what the plan starts. A baseline that is not on record
// is measured first, and locks nothing.
func (w *whatIf) measurement(n *runtime.Node) *ledger.Decision {
	d, ok := w.newest(n.ID)
	if n.ID == runtime.BaselineID {
		if ok {
			return d.Decision
		}
		return &ledger.Decision{Kind: string(n.Kind), Verdict: verdict.Pass}
	}
	name := n.FeatureBlock.Name
	if n.Kind == runtime.KindQualify {
		w.unfit[name] = w.compare(n.FeatureBlock)
	}
	if w.unfit[name].IsZero() && ok {
		return d.Decision
	}
	if w.unfit[name].IsZero() {
		w.unfit[name] = verdict.New(code.NeverMeasured).Is(verdict.Inconclusive)
	}
	why := w.unfit[name]
	return &ledger.Decision{Kind: string(n.Kind), Verdict: why.Verdict, Reasons: []verdict.Reason{why}}
}

// newest is the newest decision about a node that was not retracted: the launches stay
// what they are.
func (r *Replay) newest(node string) (store.Decided, bool) {
	for _, d := range slices.Backward(r.store.History(node)) {
		if d.Retraction == nil {
			return d, true
		}
	}
	return store.Decided{}, false
}

// launches are those that the measurements of a candidate rest on, the benchmark's last,
// and the run that decided them.
func (w *whatIf) launches(candidate string) (all []*ledger.Launch, benchmarked bool, run string) {
	for _, node := range []string{runtime.QualifyID(candidate), runtime.BenchmarkID(candidate)} {
		d, ok := w.newest(node)
		if !ok {
			continue
		}
		run, benchmarked = d.Run, d.Session != ""
		for _, id := range d.Launches {
			if l, ok := w.store.LaunchByID(id); ok {
				all = append(all, l)
			}
		}
	}
	return all, benchmarked, run
}

// launch is a launch with its metrics derived from its raw data again.
func (w *whatIf) launch(id string) (*ledger.Launch, bool) {
	l, err := w.checked(w.raw, id)
	w.gone = cmp.Or(w.gone, err)
	return l, l != nil
}

// arms are the variants of a candidate, with the keys of their launches on record.
func (w *whatIf) arms(f *plans.Feature) (decide.Arms, error) {
	a, err := decide.ArmsOf(w.view, f)
	all, _, _ := w.launches(f.Name)
	for _, arm := range []*decide.Arm{&a.Candidate, &a.Parent, &a.Root} {
		if l := w.launched(arm, all); l != nil {
			arm.Key = l.VariantKey
		}
	}
	return a, err
}

// launched is the last of some launches with the engine and the knob values of an arm; nil
// if there is none. A knob that came later has no value in it.
func (w *whatIf) launched(arm *decide.Arm, all []*ledger.Launch) *ledger.Launch {
	arm.Knobs = w.view.Plan.DefaultKnobs()
	maps.Copy(arm.Knobs, arm.Set)
	for _, l := range slices.Backward(all) {
		same := l.Block == arm.Engine
		for name, value := range arm.Knobs {
			was, there := l.Knobs[name]
			same = same && (was == value || !there)
		}
		if same {
			return l
		}
	}
	return nil
}

// changesNothing reports whether a knob at this value has no effect.
func changesNothing(v *plans.KnobValue) bool {
	return len(v.Env)+len(v.Settings)+len(v.Args)+len(v.Command)+len(v.Parts) == 0 && v.Image == "" && v.MustSee.Empty() && v.MustNotSee.Empty()
}

// compare is why the launches on record of a candidate are not of what the plan starts for
// it, with the verdict of what rests on them; no fact if they are. Something else makes it
// invalid, what was never launched inconclusive, and so does not knowing. Rules, thresholds,
// targets and how to decide are free to change: that is what another plan is for.
func (w *whatIf) compare(f *plans.Feature) verdict.Reason {
	all, benchmarked, run := w.launches(f.Name)
	if len(all) == 0 {
		return verdict.New(code.NeverMeasured).Is(verdict.Inconclusive)
	}
	recorded := w.planOf(run)
	if recorded.res == nil {
		return verdict.New(code.StartsUnknown, recorded.lacking()...).From(recorded.why).Is(verdict.Inconclusive)
	}
	was := candidateNamed(recorded.res.Plan, f.Name)
	if was == nil {
		return verdict.New(code.StartsUnknown).From(verdict.Say("replay.plan_without",
			"the recorded plan has no {subject}").On(f.Name)).Is(verdict.Inconclusive)
	}
	for _, need := range w.view.Graph.Node(runtime.QualifyID(f.Name)).Needs {
		if f.BuildsOn.Kind == plans.OnAccepted && w.open[need.On] {
			return verdict.Say("whatif.stack_unknown",
				"it builds on the stack, and whether feature {subject} would be in it is unknown: apply would "+
					"measure that one, and this one on top of it if accepted").On(runtime.CandidateOf(need.On)).Is(verdict.Inconclusive)
		}
	}
	a, err := decide.ArmsOf(w.view, f)
	if err != nil {
		return verdict.OfError(err).Is(verdict.Inconclusive)
	}
	then, now := starts{}, starts{}
	then.sends(recorded.res.Plan, was)
	now.sends(w.view.Plan, f)
	var lacking []verdict.Reason
	for _, arm := range []*decide.Arm{&a.Candidate, &a.Parent, &a.Root} {
		if arm == &a.Root && !decide.ReadsRoot(w.view.Plan, f) || arm != &a.Candidate && !benchmarked {
			continue
		}
		l := w.launched(arm, all)
		if now.variant(w.view.Plan, arm.Engine, arm.Knobs); l == nil {
			lacking = append(lacking, verdict.Say("starts.variant", "variant {subject}").On(arm.Name))
			continue
		}
		then.variant(recorded.res.Plan, l.Block, l.Knobs)
	}
	differ, added := then.differ(now)
	lacking = append(lacking, added...)
	switch {
	case len(differ) > 0:
		return verdict.Say("whatif.starts_other",
			"the changed plan starts, sends or requires something other than what was measured ({causes:list}): "+
				"only apply can tell").From(differ...).Is(verdict.Invalid)
	case len(lacking) > 0:
		return verdict.Say("whatif.starts_more",
			"the changed plan needs something never measured ({causes:list}): apply would measure it; the "+
				"outcome is unknown").From(lacking...).Is(verdict.Inconclusive)
	case len(recorded.changed) > 0: // which the digest does not cover
		return verdict.Say("whatif.secrets_unknown",
			"unknown whether sensitive inputs are those measured with ({inputs}): give the same values, or apply "+
				"may measure again",
			verdict.List("inputs", recorded.changed)).Is(verdict.Inconclusive)
	case recorded.exact:
		return verdict.Reason{}
	}
	return verdict.New(code.StartsUnknown).From(verdict.New(code.PlanInexact, recorded.lacking()...)).Is(verdict.Inconclusive)
}

// candidateNamed is a feature, an alternative or a confirmation by its name; nil if the
// plan has none.
func candidateNamed(p *plans.Plan, name string) *plans.Feature {
	return plans.Find(p.Candidates(), func(f *plans.Feature) bool { return f.Name == name })
}

// starts is what a plan starts and sends for a candidate, and what it demands of a launch
// before that counts: the digest of each part, by the fact that names it.
type starts map[string]struct {
	part   verdict.Reason
	digest string
}

func (s starts) put(part verdict.Reason, v ...any) {
	s[part.Key()+runtime.Digest(part.Values)] = struct {
		part   verdict.Reason
		digest string
	}{part, runtime.Digest(v...)}
}

// variant adds an engine with the knob values that change anything.
func (s starts) variant(p *plans.Plan, engine string, knobs map[string]string) {
	if e := p.Engine(engine); e != nil {
		s.put(verdict.Say("starts.engine", "engine {subject}").On(engine), withoutKey(e))
	}
	for name, value := range knobs {
		if k := p.Knob(name); k != nil && k.Value(value) != nil && !changesNothing(k.Value(value)) {
			s.put(verdict.Say("starts.knob_value", "knob {subject} = {value}",
				verdict.Text("value", value)).On(name), k.Value(value), k.Changes)
		}
	}
}

// sends adds the levels that qualify a candidate and the baseline, and the workloads.
func (s starts) sends(p *plans.Plan, f *plans.Feature) {
	levels := func(protocol *plans.Protocol, args ...verdict.Arg) {
		for _, b := range protocol.Levels {
			if b.Kind != plans.BenchmarkLevel {
				s.put(verdict.Say("starts.level", "level {subject} of {candidate}{candidate!the baseline}",
					args...).On(b.Level()), b.Attrs, b.Parts)
			}
		}
	}
	levels(p.Protocol(p.Baseline.Protocol))
	protocol := p.Protocol(f.Protocol)
	levels(protocol, verdict.Text("candidate", f.Name))
	if b := protocol.Level(plans.BenchmarkLevel); b != nil {
		for _, name := range p.Sent(b) {
			bare := *p.Workload(name)
			bare.Summary = ""
			s.put(verdict.Say("starts.workload", "workload {subject}").On(name), bare)
		}
	}
}

// differ are the parts that differ or are only here, and those that only the other has.
func (s starts) differ(now starts) (differ, added []verdict.Reason) {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if s[key].digest != now[key].digest {
			differ = append(differ, s[key].part)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if _, there := s[key]; !there {
			added = append(added, now[key].part)
		}
	}
	return differ, added
}

// withoutKey is an engine without its endpoint's API key: a new key opens the same server.
func withoutKey(e *plans.Engine) *plans.Engine {
	if e.Launch == nil || e.Launch.Attrs["api_key"] == nil {
		return e
	}
	block, bare := *e.Launch, *e
	block.Attrs = maps.Clone(block.Attrs)
	delete(block.Attrs, "api_key")
	bare.Parts = maps.Clone(e.Parts)
	bare.Parts[block.Kind] = []*plans.Block{&block}
	return &bare
}
