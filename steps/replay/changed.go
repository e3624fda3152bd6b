package replay

import (
	"reflect"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
)

// WouldBe is what another plan would have made of a node, on the recorded launches.
type WouldBe struct {
	Node string `json:"node"`
	Kind string `json:"kind"`
	// Recorded is the recorded verdict, empty if the node was never decided.
	Recorded verdict.Verdict `json:"recorded,omitempty"`
	WouldBe  verdict.Verdict `json:"would_be"`
	Accepted bool            `json:"accepted,omitempty"`
	// Locked is why an apply of this plan would not reach the node: WouldBe is what it
	// would be if it did. RecordedLocked is why it has been locked since the last apply,
	// see report.Locked.
	Locked         verdict.Reason `json:"locked,omitzero"`
	RecordedLocked verdict.Reason `json:"recorded_locked,omitzero"`
	// Unmeasured is set if an apply of this plan would first measure something that never
	// was.
	Unmeasured bool             `json:"unmeasured,omitempty"`
	Reasons    []verdict.Reason `json:"reasons,omitempty"`
	Rules      []verdict.Rule   `json:"rules,omitempty"`

	// Open is set if an apply would, or may, continue the measurement.
	Open bool `json:"-"`
	// Unsure is set if what locks it is something an apply would find out.
	Unsure bool `json:"-"`
}

// changed is a replay with another plan.
type changed struct {
	*Replay
	plan *plans.Plan
	// evidence by feature, with the outcomes under this plan, which are by feature, and
	// for phases by "phase" and name.
	evidence map[string]*gates.Feature
	outcomes map[string]WouldBe
	// found is the evidence on each candidate of the feature being decided, and doubts
	// the objections to it.
	found  map[string]*decide.Found
	doubts map[string]doubt
	// entered is what each feature that this plan has accepted so far sets.
	entered []map[string]string
	// doubted is the best verdict for a feature whose evidence is not of what this plan
	// asks for.
	doubted map[*gates.Feature]verdict.Verdict
	perhaps []perhaps
	graph   *runtime.Graph
	notes   []verdict.Reason
}

// With decides every feature and gate of another plan on the recorded evidence. Nothing
// is measured: a rule that needs unmeasured data says so, and if launches ended because
// the recorded rules were decided, they may be too few.
func (r *Replay) With(p *plans.Plan) (out []WouldBe, notes []verdict.Reason) {
	c := &changed{
		Replay: r, plan: p, found: map[string]*decide.Found{}, doubts: map[string]doubt{},
		evidence: map[string]*gates.Feature{}, outcomes: map[string]WouldBe{}, doubted: map[*gates.Feature]verdict.Verdict{},
	}
	r.probing = true
	g, err := runtime.NewGraph(p)
	if err != nil {
		return []WouldBe{{Kind: string(runtime.KindGate), WouldBe: verdict.Error, Reasons: []verdict.Reason{verdict.OfError(err)}}}, nil
	}
	c.graph = g
	// In the order in which an apply reaches them, whatever their order in the file.
	for _, n := range g.Nodes {
		switch n.Kind {
		case runtime.KindFeature:
			w := c.feature(n.FeatureBlock)
			if by := c.locked(c.graph.Node(runtime.QualifyID(runtime.Candidates(n.FeatureBlock)[0].Name))); !by.why.IsZero() {
				if w.Accepted {
					c.entered = c.entered[:len(c.entered)-1]
					c.evidence[n.Feature].Accepted = false
				}
				w.lock(by)
			}
			w.Reasons = append(w.Reasons, c.relaxed(w)...)
			c.outcomes[n.Feature] = w
			c.remember(n.FeatureBlock, w)
			out = append(out, w)
		case runtime.KindGate, runtime.KindPhase:
			by := c.locked(n)
			if by.why.IsZero() {
				c.notRun(n.PhaseBlock)
			}
			w := c.phase(n.PhaseBlock)
			w.lock(by)
			w.Reasons = append(w.Reasons, c.relaxed(w)...)
			c.outcomes["phase "+n.Phase] = w
			out = append(out, w)
		}
	}
	return out, c.notes
}

// relaxed is the reason that an apply measures again what would pass, because a rule of
// this plan is easier than that of the launches.
func (c *changed) relaxed(w WouldBe) []verdict.Reason {
	d, ok := c.standing(w.Node)
	if !ok || w.WouldBe != verdict.Pass {
		return nil
	}
	var loosened []verdict.Reason
	for _, ev := range d.Evidence {
		node := w.Node
		if w.Kind == string(runtime.KindFeature) {
			node = runtime.FeatureID(ev.Candidate.Name)
		}
		for _, l := range decide.Relaxed(c.store.Records(), decide.Goals(c.plan), node, []ledger.Evidence{ev}) {
			if !slices.ContainsFunc(loosened, l.Equal) {
				loosened = append(loosened, l)
			}
		}
	}
	if len(loosened) == 0 {
		return nil
	}
	return []verdict.Reason{verdict.New(code.MeasuredAnew).From(verdict.New(code.Relaxed).From(loosened...))}
}

// view is what a decision of this plan sees. Steps have passed: whether they did is
// checked before.
func (c *changed) view() *decide.View {
	return &decide.View{
		Plan: c.plan, Graph: c.graph,
		Outcome: func(node string) *ledger.Decision {
			name := runtime.CandidateOf(node)
			w, ok := c.outcomes[name]
			switch {
			case name == "":
				return &ledger.Decision{Verdict: verdict.Pass}
			case !ok, !w.Locked.IsZero() && !w.Unsure:
				return nil
			case w.Unsure:
				return &ledger.Decision{Verdict: verdict.Inconclusive}
			}
			return &ledger.Decision{Verdict: w.WouldBe, Accepted: w.Accepted}
		},
		LockedBy: func(node string) verdict.Reason { return c.outcomes[runtime.CandidateOf(node)].Locked },
		Found: func(f *plans.Feature) (*decide.Found, error) {
			if found := c.found[f.Name]; found != nil {
				return found, nil
			}
			return &decide.Found{Evidence: &gates.Feature{Broken: verdict.Inconclusive, Cause: verdict.New(code.NeverMeasured).On(f.Name)}, Rests: &ledger.Decision{}}, nil
		},
		// What the gate kept of a row; one that it did not read is unmeasured.
		Row: func(row *plans.Row) *gates.Feature {
			if kept := c.evidence[row.Key()]; kept != nil {
				return kept
			}
			return &gates.Feature{Broken: verdict.Inconclusive, Cause: verdict.New(code.NeverMeasured).On(row.Key())}
		},
	}
}

// feature decides the criteria of a feature: of each alternative if it chooses, and on
// each engine that confirms it.
func (c *changed) feature(f *plans.Feature) WouldBe {
	node := runtime.FeatureID(f.Name)
	d, ok := c.standing(node)
	if !ok {
		return c.never(node, string(runtime.KindFeature))
	}
	w := WouldBe{Node: node, Kind: string(runtime.KindFeature), Recorded: c.recorded(node)}
	var replayed Replayed
	ev, err := c.Replay.evidence(&replayed, d.Evidence)
	if err != nil {
		return w.broke(err)
	}
	w.Reasons = c.flaws(node, replayed)
	for _, candidate := range runtime.Candidates(f) {
		kept := ev.Features[candidate.Name]
		if kept == nil {
			w.WouldBe, w.Unmeasured, w.Reasons = verdict.Inconclusive, true, []verdict.Reason{verdict.New(code.NeverMeasured).On(candidate.Name)}
			return w
		}
		c.find(f, candidate, kept, d)
		w.Unmeasured = w.Unmeasured || kept.Broken == verdict.Inconclusive && c.doubted[kept] == verdict.Inconclusive
	}
	all, err := decide.Alternatives(c.view(), f)
	if err != nil {
		return w.broke(err)
	}
	for _, a := range all {
		w.Open = w.Open || c.open(a)
	}
	best := decide.Best(all)
	if w.WouldBe = decide.VerdictOf(all); f.Choose != nil {
		w.Reasons = append(w.Reasons, chosenBy(d, best, w.WouldBe))
	}
	w.Rules = best.Decision.Rules
	w.Reasons = append(w.Reasons, c.says(best)...)
	if w.WouldBe.Unlocks() {
		for _, confirm := range f.Confirm {
			v, why, open := c.confirmed(f, confirm)
			w.WouldBe, w.Open = verdict.Join(w.WouldBe, v), w.Open || open
			w.Reasons = append(w.Reasons, why)
		}
	}
	if w.Accepted = w.WouldBe == verdict.Pass; w.Accepted && f.BuildsOn.Feature != "" && !c.outcomes[f.BuildsOn.Feature].Accepted {
		w.Accepted = false
		w.Reasons = append(w.Reasons, verdict.New(code.WouldNotEnter).On(f.BuildsOn.Feature))
	}
	kept := ev.Features[best.Feature.Name]
	if w.Accepted {
		c.entered = append(c.entered, decide.Enters(f, &ledger.Decision{Variant: kept.Knobs}))
	}
	kept.Outcome, kept.Accepted = w.WouldBe, w.Accepted
	c.evidence[f.Name] = kept
	c.found[f.Name] = &decide.Found{Evidence: kept, Rests: &ledger.Decision{}}
	return w
}

func (w WouldBe) broke(err error) WouldBe {
	w.WouldBe, w.Reasons = verdict.Error, []verdict.Reason{verdict.OfError(err)}
	return w
}

// find is the evidence to decide one candidate of a feature: what decision d kept of it,
// unless something objects.
func (c *changed) find(f, candidate *plans.Feature, kept *gates.Feature, d store.Decided) {
	_, kept.Max = c.plan.LaunchesOf(f.Name)
	levels := d.Levels
	if len(d.Alternatives) > 0 {
		levels = decide.LevelsRead(kept)
	}
	doubt := c.doubt(candidate, kept, d.Run)
	if c.doubted[kept] = doubt.verdict; doubt.other {
		// What was measured is not what this plan asks for.
		kept.Broken, kept.Cause = doubt.verdict, doubt.why
	}
	if doubt.other && doubt.verdict == verdict.Inconclusive {
		levels = nil // they would be run again with the rest
	}
	c.doubts[candidate.Name] = doubt
	c.found[candidate.Name] = &decide.Found{
		Evidence: kept, AtBest: doubt.verdict,
		Rests: &ledger.Decision{Kind: string(runtime.KindFeature), Levels: levels},
	}
}

// says is why a candidate came out as it did.
func (c *changed) says(a *decide.Alternative) []verdict.Reason {
	reasons := wouldSay(a.Decision.Rules)
	if why := c.doubts[a.Feature.Name].why; !why.IsZero() && !holds(reasons, why) {
		reasons = append(reasons, why)
	}
	for _, l := range a.Decision.Levels {
		if l.Verdict != verdict.Pass {
			reasons = append(reasons, verdict.New(code.LevelRecorded).On(l.Name).Is(l.Verdict))
		}
	}
	return reasons
}

// holds reports whether a fact is among some reasons or their causes.
func holds(reasons []verdict.Reason, fact verdict.Reason) bool {
	return slices.ContainsFunc(reasons, func(r verdict.Reason) bool { return r.Equal(fact) || holds(r.Causes, fact) })
}

// chosenBy is which alternative would have won, and what follows if it is not the
// recorded one.
func chosenBy(d store.Decided, best *decide.Alternative, v verdict.Verdict) verdict.Reason {
	if v != verdict.Pass {
		return verdict.New(code.NoneWouldPass)
	}
	for _, alt := range d.Alternatives {
		if alt.Chosen && alt.Name != best.Feature.Name {
			return verdict.New(code.WouldWin, verdict.Text("over", alt.Name)).On(best.Feature.Name)
		}
	}
	return verdict.New(code.WouldWin).On(best.Feature.Name)
}

// open reports whether an apply would make launches for the decided rules, or may.
func (c *changed) open(a *decide.Alternative) bool {
	return c.doubts[a.Feature.Name].verdict != verdict.Pass || slices.ContainsFunc(a.Decision.Rules, func(r verdict.Rule) bool { return len(r.Open) > 0 })
}

// confirmed decides the criteria of a confirmation. An apply would measure what is open.
func (c *changed) confirmed(f, confirm *plans.Feature) (v verdict.Verdict, why verdict.Reason, open bool) {
	d, ok := c.standing(runtime.FeatureID(confirm.Name))
	if !ok {
		return verdict.Inconclusive, verdict.New(code.NeverOnEngine).On(confirm.Engine), true
	}
	var replayed Replayed
	ev, err := c.Replay.evidence(&replayed, d.Evidence)
	if err != nil {
		return verdict.Error, verdict.OfError(err), true
	}
	kept := ev.Features[f.Name]
	if kept == nil {
		return verdict.Inconclusive, verdict.New(code.NothingOnEngine).On(confirm.Engine), true
	}
	c.find(f, confirm, kept, d)
	a, err := decide.Candidate(c.view(), f, confirm)
	if err != nil {
		return verdict.Error, verdict.OfError(err), true
	}
	return a.Decision.Verdict, verdict.New(code.OnEngine).On(confirm.Engine).Is(a.Decision.Verdict).From(c.says(a)...), c.open(a)
}

// wouldSay is why rules came out as they did: those that did not pass, or all.
func wouldSay(rules []verdict.Rule) (reasons []verdict.Reason) {
	worst := slices.ContainsFunc(rules, func(r verdict.Rule) bool { return r.Verdict != verdict.Pass })
	for _, r := range rules {
		if worst && r.Verdict == verdict.Pass {
			continue
		}
		why := decide.Unnamed(r)
		if n, most := madeOf(r); len(r.Open) > 0 && n > 0 {
			why.Causes = append(why.Causes, verdict.New(code.MoreNeeded, verdict.Int("n", n), verdict.Int("most", most)))
		}
		reasons = append(reasons, why)
	}
	return reasons
}

// madeOf is how many launches per arm an open rule rests on, and the maximum.
func madeOf(r verdict.Rule) (n, most int) {
	for _, c := range r.Comparisons {
		if t := c.Test; t != nil && t.Stop == verdict.StopOpen {
			n = len(t.Values)
			if len(t.Plan) > 0 {
				most = max(most, t.Plan[len(t.Plan)-1])
			}
		}
	}
	return n, most
}

// standing is the newest decision about a node that rests on evidence: a retraction or a
// later breakage leaves the launches valid.
func (r *Replay) standing(node string) (d store.Decided, ok bool) {
	history := r.store.History(node)
	for i := len(history) - 1; i >= 0; i-- {
		if len(history[i].Evidence) > 0 {
			return history[i], true
		}
	}
	return d, false
}

// flaws are objections to evidence that is used nevertheless: it shows what the other
// plan would have decided, not that it would pass today.
func (c *changed) flaws(node string, replayed Replayed) (said []verdict.Reason) {
	if n := len(replayed.Differences); n > 0 {
		said = append(said, verdict.New(code.RawDiffer, verdict.Int("differences", n)))
	}
	if d, _, ok := c.store.Latest(node); ok && d.Retraction != nil {
		said = append(said, verdict.New(code.RetractedStays).From(d.Retraction.Of(node)))
	}
	return said
}

// never is the outcome of a node without evidence, which no rule can decide.
func (c *changed) never(node, kind string) WouldBe {
	w := WouldBe{Node: node, Kind: kind, WouldBe: verdict.Inconclusive, Unmeasured: true, Reasons: []verdict.Reason{verdict.New(code.NeverMeasured)}}
	if d, _, ok := c.store.Latest(node); ok {
		w.Recorded, w.Unmeasured, w.Reasons = d.Verdict, false, []verdict.Reason{verdict.New(code.NothingKept).Is(d.Verdict).From(first(d.Reasons)...)}
	}
	return w
}

// recorded is the recorded verdict of a node.
func (c *changed) recorded(node string) verdict.Verdict {
	if d, _, ok := c.store.Latest(node); ok {
		return d.Verdict
	}
	return ""
}

// phase decides a phase's gate, or joins its features if it has none.
func (c *changed) phase(ph *plans.Phase) WouldBe {
	node := runtime.PhaseID(ph.Name)
	w := WouldBe{Node: node, Kind: string(runtime.KindGate), Recorded: c.recorded(node)}
	if ph.Gate == nil {
		w.Kind = string(runtime.KindPhase)
	}
	for _, step := range c.stepsOf(ph) {
		if !step.verdict.Unlocks() {
			w.WouldBe, w.Reasons = step.verdict, []verdict.Reason{step.why}
			return w
		}
	}
	if ph.Gate == nil {
		return c.joined(ph, w)
	}
	if err := c.rows(ph); err != nil {
		return w.broke(err)
	}
	if why := c.unmeasured(ph); !why.IsZero() {
		w.WouldBe, w.Reasons = verdict.Inconclusive, []verdict.Reason{why}
		return w
	}
	d, err := decide.Gate(c.view(), ph)
	if err != nil {
		return w.broke(err)
	}
	w.Rules = d.Rules
	c.openRules(ph, w.Rules)
	w.WouldBe = decide.Whole(w.Kind, nil, w.Rules)
	w.Reasons = wouldSay(w.Rules)
	for _, name := range decide.ReadBy(ph) {
		if v := c.doubted[c.evidence[name]]; v != "" && verdict.Join(w.WouldBe, v) != w.WouldBe {
			w.WouldBe = verdict.Join(w.WouldBe, v)
			w.Reasons = append(w.Reasons, verdict.New(code.ReadsDoubted).On(name))
		}
	}
	return w
}

// rows takes what a phase's gate kept of the comparison rows that it read.
func (c *changed) rows(ph *plans.Phase) error {
	d, ok := c.standing(runtime.PhaseID(ph.Name))
	if !ok {
		return nil
	}
	var replayed Replayed
	ev, err := c.Replay.evidence(&replayed, d.Evidence)
	if err != nil {
		return err
	}
	for _, row := range decide.RowsRead(ph) {
		if kept := ev.Features[row.Key()]; kept != nil {
			c.evidence[row.Key()] = kept
		}
	}
	return nil
}

// joined is a phase without a gate, whose steps have passed.
func (c *changed) joined(ph *plans.Phase, w WouldBe) WouldBe {
	d, err := decide.Phase(c.view(), ph)
	if err != nil {
		return w.broke(err)
	}
	w.WouldBe, w.Reasons = d.Verdict, d.Reasons[len(ph.Steps):]
	return w
}

// openRules marks the gate's rules that read what an apply would measure again, or the
// outcome of a feature that it would continue: they neither pass nor fail.
func (c *changed) openRules(ph *plans.Phase, rules []verdict.Rule) {
	for i, r := range ph.Gate.Rules {
		if r.Program == nil || i >= len(rules) {
			continue
		}
		for _, in := range r.Program.Inputs {
			kept := c.evidence[in.Feature]
			anew := kept != nil && kept.Broken == verdict.Inconclusive && c.doubted[kept] == verdict.Inconclusive
			outcome := in.Kind == plans.InputFeature && slices.ContainsFunc(c.perhaps, func(p perhaps) bool { return p.feature.Name == in.Feature })
			unsure := c.outcomes[in.Feature].Unsure
			if v := &rules[i].Verdict; (anew || outcome || unsure) && (*v == verdict.Pass || *v == verdict.Fail) {
				*v = verdict.Inconclusive
				rules[i].Reasons = append(rules[i].Reasons, verdict.New(code.OutcomeUnknown).On(in.Feature))
			}
		}
	}
}

// unmeasured names a feature that a gate reads and that was never measured; no fact if
// there is none.
func (c *changed) unmeasured(ph *plans.Phase) verdict.Reason {
	for _, r := range ph.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Feature != "" && c.evidence[in.Feature] == nil {
				return verdict.New(code.ReadsUnmeasured, verdict.Text("feature", in.Feature)).On(r.Name).From(c.outcomes[in.Feature].Reasons...)
			}
		}
	}
	return verdict.Reason{}
}

// stepsOf are the recorded outcomes of a phase's steps: that of a step that was never
// run, or differs from the one that was, is unknown.
func (c *changed) stepsOf(ph *plans.Phase) (out []doubt) {
	for _, b := range ph.Steps {
		d, run, ok := c.store.Latest(runtime.StepID(ph.Name, b.Kind, b.Name))
		step := b.Kind + " " + b.Name
		if !ok {
			out = append(out, doubt{verdict: verdict.Inconclusive, why: verdict.New(code.StepNeverRun).On(step)})
			continue
		}
		recorded := c.planOf(run)
		switch was := stepIn(recorded, ph.Name, b); {
		case recorded.res == nil:
			out = append(out, doubt{verdict: verdict.Inconclusive, why: verdict.New(code.StepUnknown, recorded.lacking()...).On(step).From(recorded.why)})
		case was == nil || !reflect.DeepEqual(was.Attrs, b.Attrs):
			out = append(out, doubt{verdict: verdict.Inconclusive, why: verdict.New(code.StepOther).On(step)})
		default:
			out = append(out, doubt{verdict: d.Verdict, why: verdict.New(code.StepRecorded).On(step).Is(d.Verdict)})
		}
	}
	return out
}

// stepIn is the step of that kind and name in a phase of the recorded plan.
func stepIn(p *recordedPlan, phase string, b *plans.Block) *plans.Block {
	if p.res == nil || p.res.Plan.Phase(phase) == nil {
		return nil
	}
	return plans.Find(p.res.Plan.Phase(phase).Steps, func(was *plans.Block) bool { return was.Kind == b.Kind && was.Name == b.Name })
}

// lock is what would stop an apply before a node.
type lock struct {
	why verdict.Reason
	// unsure is set if only an apply would find out whether it stops there.
	unsure bool
}

// locked is what would stop an apply of this plan before a node; for a feature, before
// the first node that measures it. No fact if nothing would. The baseline is the
// evidence's: measurements against another one are doubted separately.
func (c *changed) locked(n *runtime.Node) lock {
	if n == nil {
		return lock{}
	}
	var unsure lock
	for _, need := range n.Needs {
		by := c.bars(need)
		if !by.why.IsZero() && !by.unsure {
			return by
		}
		if unsure.why.IsZero() {
			unsure = by
		}
	}
	return unsure
}

// bars is why a node's need, given this plan's outcomes, keeps an apply from it; no fact
// if it does not.
func (c *changed) bars(need runtime.Need) lock {
	on := c.graph.Node(need.On)
	if on == nil || need.Mode == runtime.Settled {
		return lock{}
	}
	switch on.Kind {
	case runtime.KindStep:
		// It needs those before it in its phase.
		for i, step := range c.stepsOf(on.PhaseBlock) {
			if !step.verdict.Unlocks() {
				b := on.PhaseBlock.Steps[i]
				return lock{wouldBe(runtime.StepID(on.Phase, b.Kind, b.Name), step.verdict), step.verdict != verdict.Fail}
			}
			if on.PhaseBlock.Steps[i] == on.StepBlock {
				break
			}
		}
	case runtime.KindGate, runtime.KindPhase:
		return c.outcomes["phase "+on.Phase].bars(need, runtime.PhaseID(on.Phase))
	case runtime.KindFeature:
		return c.outcomes[on.Feature].bars(need, on.ID)
	}
	return lock{}
}

// bars is why an outcome does not meet a need.
func (w WouldBe) bars(need runtime.Need, id string) lock {
	unmet := need.Mode == runtime.Passed && !w.WouldBe.Unlocks() || need.Mode == runtime.Decided && !w.WouldBe.Decided()
	switch {
	case !w.Locked.IsZero():
		return lock{w.Locked, w.Unsure}
	case unmet:
		return lock{wouldBe(id, w.WouldBe), w.WouldBe != verdict.Fail}
	}
	return lock{}
}

func wouldBe(node string, v verdict.Verdict) verdict.Reason {
	return verdict.New(code.WouldBe).On(node).Is(v)
}

// lock marks an outcome that an apply would not reach. What it would be by the
// measurements stays: whoever fixes what is below it wants to know.
func (w *WouldBe) lock(by lock) {
	if by.why.IsZero() {
		return
	}
	w.Locked, w.Unsure, w.Accepted = by.why, by.unsure, false
	w.Reasons = append([]verdict.Reason{verdict.New(code.NotReached).From(by.why)}, w.Reasons...)
}

// notRun is the verdict that readers of a locked feature get.
func (w WouldBe) notRun() verdict.Verdict {
	if w.Unsure {
		return verdict.Inconclusive
	}
	return verdict.Invalid
}

// notRun removes the evidence of features that a phase's gate reads and that an apply
// would not reach.
func (c *changed) notRun(ph *plans.Phase) {
	if ph.Gate == nil {
		return
	}
	for _, name := range decide.ReadBy(ph) {
		kept, of := c.evidence[name], c.outcomes[name]
		if kept == nil || of.Locked.IsZero() {
			continue
		}
		if !of.Unsure {
			kept.Outcome = ""
		}
		kept.Broken, kept.Cause = of.notRun(), runtime.FeaturePart(c.plan.Feature(name)).NotRun(of.Locked)
		c.doubted[kept] = verdict.Join(c.doubted[kept], of.notRun())
	}
}
