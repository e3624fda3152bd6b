package decide

import (
	"iter"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func WhyNot(l *ledger.Launch) []verdict.Reason {
	if !l.OK {
		return []verdict.Reason{l.Error}
	}
	return l.Invalid
}

// NotCounted is the verdict on what rests on a launch that does not count, and why: an
// engine that broke is an error, and a disturbance by the machine says nothing about the
// port.
func NotCounted(l *ledger.Launch) (verdict.Verdict, []verdict.Reason) {
	switch {
	case !l.OK:
		return verdict.Error, WhyNot(l)
	case l.Disturbed:
		return verdict.Inconclusive, []verdict.Reason{verdict.New(code.MachineDisturbed).From(l.Invalid...)}
	}
	return verdict.Invalid, l.Invalid
}

func Measured(l *ledger.Launch) gates.Launch {
	out := gates.Launch{
		ID: l.ID, Round: l.Ordinal, Place: l.PlaceName(), Samples: l.Samples, Metrics: l.Metrics,
		Stale: l.Engine["fresh"] == "no", Pinned: l.Engine["caches.tuning"] == "pinned", Unobserved: l.Unobserved,
	}
	if out.Samples == "" {
		out.Samples = l.Output
	}
	if l.Observed != nil {
		out.Observed = map[string]any{}
	}
	for name, o := range l.Observed {
		out.Observed[name] = o.Value
	}
	for _, c := range l.Cells {
		if w, _, _ := strings.Cut(c.Cell, "."); c.Unread && !slices.Contains(out.Unread, w) {
			out.Unread = append(out.Unread, w)
		}
	}
	return out
}

// measured gathers what rules on a feature may read from outcomes and recorded launches: a
// decision with its levels, launches and session, and one piece of evidence, under the name of
// the feature that it represents. It returns runtime.ErrUndecided while its variants are
// unknown, and an error for a launch that is not on record: deciding without it would decide
// something else.
func (v *View) measured(f *plans.Feature) (*ledger.Decision, error) {
	f, err := representative(v, f)
	if err != nil {
		return nil, err
	}
	a, err := v.Identities.Arms(f)
	if err != nil {
		return nil, err
	}
	ev := evidenceOf(f, a)
	ev.Answers = v.Plan.Protocol(f.Protocol).Answers()
	out := &ledger.Decision{Variant: a.Candidate.Knobs}
	for _, id := range []string{runtime.QualifyID(f.Name), runtime.BenchmarkID(f.Name)} {
		d := v.Outcome(id)
		switch {
		case d == nil && v.LockedBy(id).IsZero() && (id == runtime.QualifyID(f.Name) || Benchmarked(v.Plan, f)):
			return nil, runtime.ErrUndecided
		case d == nil:
			continue
		}
		out.Levels = append(out.Levels, d.Levels...)
		out.Launches = append(out.Launches, d.Launches...)
		if d.LogTail != nil {
			out.LogTail, out.Exit = d.LogTail, d.Exit
		}
		if d.Session != "" {
			out.Session = d.Session
		}
		if why := rootLost(d); !why.IsZero() {
			ev.Root.Lost = why
		}
		for _, level := range d.Levels {
			ev.Levels[level.Name] = level.Verdict
		}
		if d.Verdict != verdict.Pass && ev.Broken == "" {
			ev.Broken, ev.Cause = Broken(d)
		}
	}
	if out.Session == "" && ev.Broken == "" {
		ev.Broken, ev.Cause = verdict.Invalid, verdict.Say("feature.no_benchmark",
			"nothing was measured: protocol {subject} has no benchmark level").On(f.Protocol)
	}
	ev.Session = out.Session
	v.qualified(&ev, a, f)
	if ev.Broken == "" {
		var rests []*ledger.Launch
		for _, id := range out.Launches {
			launch, ok := v.launch(id)
			if !ok {
				return nil,
					&verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded, verdict.Text("feature", f.Name)).On(id)}
			}
			if launch.Session == out.Session {
				rests = append(rests, launch)
			}
		}
		v.addLaunches(&ev, a, f, rests)
		if len(rests) > 0 && len(ev.Candidate.Launches) == 0 { // they are of other keys
			ev.Broken, ev.Cause = verdict.Invalid, verdict.Say("feature.launches_of_another",
				"what {subject} runs is not what its {n|launch|launches} ran{causes?: {causes:list}}",
				verdict.Int("n", len(rests))).On(f.Name)
			ev.Cause = ev.Cause.From(v.Identities.Changed(f))
		}
	}
	out.Evidence = []gates.Feature{ev}
	return out, nil
}

// evidenceOf is the evidence on a candidate without launches.
func evidenceOf(f *plans.Feature, a Arms) gates.Feature {
	return gates.Feature{
		Name: ruleName(f), Levels: map[string]verdict.Verdict{}, Knobs: a.Candidate.Knobs,
		Candidate: gates.Arm{Name: a.Candidate.Name}, Parent: gates.Arm{Name: a.Parent.Name},
		Root: gates.Arm{Name: a.Root.Name},
	}
}

// addLaunches sorts a session's launches by variant, and adds what else bears on their decision:
// how many there may be, and the noise known before.
func (v *View) addLaunches(ev *gates.Feature, a Arms, f *plans.Feature, launches []*ledger.Launch) {
	_, ev.Max = v.Plan.LaunchesOf(ruleName(f))
	session, work := "", ""
	for _, launch := range launches {
		if !Usable(launch) {
			continue
		}
		session, work = launch.Session, launch.Work
		for key, to := range armsOf(ev, a) {
			if launch.VariantKey == key {
				to.Launches = append(to.Launches, Measured(launch))
			}
		}
	}
	ev.Noise = noiseOf(v, f, a, session, work)
	ev.Try = v.tries(a.Candidate, a.Parent, session, work)
}

// armsOf yields the arms of some evidence by key.
func armsOf(ev *gates.Feature, a Arms) iter.Seq2[string, *gates.Arm] {
	return func(yield func(string, *gates.Arm) bool) {
		_ = yield(a.Candidate.Key, &ev.Candidate) && yield(a.Parent.Key, &ev.Parent) && yield(a.Root.Key, &ev.Root)
	}
}

// qualified adds the launches that qualified the arms, if a level of the protocol finds
// numbers: the candidate's own, and those of parent and baseline beside it or in another
// node.
func (v *View) qualified(ev *gates.Feature, a Arms, f *plans.Feature) {
	if !findsNumbers(v.Plan, f) {
		return
	}
	for _, node := range QualifyingNodes(v.Plan, f) {
		d := v.Outcome(node)
		if d == nil {
			continue
		}
		for _, id := range d.Launches {
			l, ok := v.launch(id)
			if !ok || !Usable(l) || l.Purpose != ledger.ForQualification {
				continue
			}
			for key, to := range armsOf(ev, a) {
				if l.VariantKey == key && to.Qualified.ID == "" {
					to.Qualified = Measured(l)
				}
			}
		}
	}
}

// QualifyingNodes are those whose launches qualified a candidate or what it is compared with: its own and
// the baseline's or, where a level finds numbers that rules read, any.
func QualifyingNodes(p *plans.Plan, f *plans.Feature) []string {
	nodes := []string{runtime.QualifyID(f.Name), runtime.BaselineID}
	if findsNumbers(p, f) {
		for _, c := range p.Candidates() {
			nodes = append(nodes, runtime.QualifyID(c.Name))
		}
	}
	return nodes
}

// findsNumbers reports whether a level that qualifies a feature finds numbers.
func findsNumbers(p *plans.Plan, f *plans.Feature) bool {
	protocol := p.Protocol(f.Protocol)
	return protocol != nil &&
		slices.ContainsFunc(protocol.Levels, func(b *plans.Block) bool { return len(b.Finds) > 0 })
}

// Read completes the evidence of recorded decisions with the launches that it names. A
// launch that is not on record is an error: deciding without it would decide something
// else.
func Read(kept []gates.Feature, launch func(id string) (*ledger.Launch, bool)) (gates.Evidence, error) {
	kept = slices.Clone(kept)
	for i := range kept {
		f := &kept[i]
		for _, arm := range []*gates.Arm{&f.Candidate, &f.Parent, &f.Root} {
			var named []*gates.Launch
			if arm.Qualified.ID != "" {
				named = append(named, &arm.Qualified)
			}
			arm.Launches = slices.Clone(arm.Launches)
			for i := range arm.Launches {
				named = append(named, &arm.Launches[i])
			}
			for _, of := range named {
				l, ok := launch(of.ID)
				if !ok {
					return nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(of.ID)}
				}
				*of = Measured(l)
			}
		}
	}
	return evidence(kept...), nil
}

// evidence are the features of a decision as rules read them.
func evidence(of ...gates.Feature) gates.Evidence {
	out := gates.Evidence{}
	for _, f := range of {
		out[f.Name] = &f
	}
	return out
}
