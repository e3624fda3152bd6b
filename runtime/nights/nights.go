// Package nights decides what follows from a night of mxflow watch: which session comes next, whether
// last good moves, whether it is an alarm. It is pure: a state is what the nights on record add up to,
// and simulations of its error rates run the same code (docs/statistics.md).
//
//	                 ┌─ broken ──────────────────────────────► broken
//	                 ├─ open ────────────────────────────────► undecided
//	candidate ─► against last good ─ worse ─► again ─ worse ─► alarm (still worse, while one is unrepaired)
//	                 │                          └─ else ─────► not confirmed
//	                 └─ not worse ─► against the anchor, if due, with the same ends
//	                                    └─ not worse ────────► moved: the candidate is last good
package nights

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Effect is what a session measured by one rule, in logs, turned so that more is better.
type Effect struct {
	// Metric is the address with its statistic. Sign is −1 if less is better.
	Metric string
	Sign   float64
	// Is is the estimate; Low and High are the bounds of the test: a rule up to Low would have passed,
	// one from High on failed. They are −∞ and +∞ if the test had none.
	Is, Low, High float64
	// Margin is the rule's threshold.
	Margin float64
	// Launches of each arm would probably decide; 0 if it is decided, or nobody knows.
	Launches int
}

// Change is a number of Effect as the metric's relative change: −0.02 is 2% less.
func (e Effect) Change(log float64) float64 { return math.Expm1(e.Sign * log) }

// Session is what came of comparing the candidate.
type Session struct {
	Against string
	Again   bool
	Verdict verdict.Verdict
	Effects []Effect
}

// Tonight is the night so far.
type Tonight struct {
	Candidate, Anchor ledger.Version
	Machine           string
	Sessions          []Session
}

// Ask is a session that has to be made.
type Ask struct {
	Against string
	Again   bool
}

// State is what the nights before add up to.
type State struct {
	// Good and Anchor are empty before the first night. Release is the anchor that the plan named.
	Good, Anchor ledger.Version
	Release      string
	Machine      string
	// Chain is last good against the anchor by metric: what the newest session of the two showed,
	// and what each move since then added. Since counts the nights with a session since that one; it
	// is negative if there is none that counts, so one is due.
	Chain map[string]Effect
	Since int
	// Slower counts, by metric, the newest sessions against the anchor in a row that showed it to be
	// worse, by however little.
	Slower map[string]int
	// Open is the night of an alarm that nothing has repaired; nil without one.
	Open *ledger.Watched
	// Undecided counts nights in a row.
	Undecided int
	// Seen is the newest candidate that need not be measured again.
	Seen *ledger.Watched
}

// StateOf adds up nights; trials are the sessions of each.
func StateOf(list []ledger.Watched, trials func(ledger.Watched) []Session) (s State) {
	for _, n := range list {
		s = s.After(n, trials(n))
	}
	return s
}

// Against is the anchor to compare with: the one that the plan names, unless a person accepted a
// version since it did.
func (s State) Against(release ledger.Version) ledger.Version {
	if s.Anchor.ID != "" && (release.ID == s.Release || release.ID == "") {
		return s.Anchor
	}
	return release
}

// Next is the next session of a night, or what follows from those that were made. What last good does not
// decide, the anchor may.
func (s State) Next(t Tonight, every int) (*Ask, ledger.NightOutcome) {
	ends := ledger.NightMoved
	for _, against := range []string{ledger.AgainstGood, ledger.AgainstAnchor} {
		first, again := t.session(against, false), t.session(against, true)
		switch {
		case first == nil && (against == ledger.AgainstGood || s.Due(t, every)):
			return &Ask{Against: against}, ""
		case first == nil || first.Verdict == verdict.Pass:
		case first.Verdict == verdict.Inconclusive:
			ends = ledger.NightUndecided
		case first.Verdict != verdict.Fail:
			return nil, ledger.NightBroken
		case s.Open != nil:
			return nil, ledger.NightWorse
		case again == nil:
			return &Ask{Against: against, Again: true}, ""
		case again.Verdict == verdict.Fail:
			return nil, ledger.NightAlarm
		default:
			return nil, ledger.NightUnconfirmed
		}
	}
	return nil, ends
}

// Due reports whether the candidate, not shown to be worse than last good, has to be compared with the anchor: by
// the number of nights, or because what they measured, multiplied, is less than a rule allows. What was
// measured on another machine, or against another anchor, does not count.
func (s State) Due(t Tonight, every int) bool {
	if t.Anchor.ID == s.Good.ID || t.Anchor.ID == t.Candidate.ID {
		return false
	}
	if s.Since < 0 || s.Since+1 >= every || s.moved(t) {
		return true
	}
	good := t.session(ledger.AgainstGood, false)
	return good == nil || slices.ContainsFunc(good.Effects, func(e Effect) bool {
		before, has := s.Chain[e.Metric]
		return !has || before.Is+e.Is < e.Margin
	})
}

// moved reports whether tonight's numbers do not continue those before: another machine or anchor.
func (s State) moved(t Tonight) bool {
	return t.Machine != s.Machine && s.Machine != "" && t.Machine != "" || t.Anchor.ID != s.Anchor.ID
}

func (t Tonight) session(against string, again bool) *Session {
	for i, x := range t.Sessions {
		if x.Against == against && x.Again == again {
			return &t.Sessions[i]
		}
	}
	return nil
}

// unmeasured is Since without a session against the anchor that counts.
const unmeasured = -1

// After is the state after a night.
func (s State) After(n ledger.Watched, sessions []Session) State {
	t := Tonight{Candidate: n.Candidate, Anchor: n.Anchor, Machine: n.Machine, Sessions: sessions}
	if s.Good.ID == "" { // of a first night that a release begins
		s.Good = n.Good
		s.Anchor = n.Anchor
	}
	s.Release = n.Release
	if n.Outcome == ledger.NightQuiet {
		return s
	}
	if s.moved(t) {
		s.Chain, s.Slower, s.Since = nil, nil, unmeasured
	}
	if s.Anchor = n.Anchor; n.Machine != "" {
		s.Machine = n.Machine
	}
	good, anchor := t.session(ledger.AgainstGood, false), t.session(ledger.AgainstAnchor, false)
	if s.Good.ID == n.Anchor.ID {
		anchor = good
	}
	if s.Since >= 0 {
		s.Since++
	}
	if anchor != nil {
		s.Since = unmeasured // until it passes
		s.Slower = slower(s.Slower, anchor.Effects)
	}
	if n.Outcome != ledger.NightBroken {
		s.Seen = &n
	}
	switch n.Outcome {
	case ledger.NightStart:
		s.Good, s.Chain, s.Since = n.Candidate, map[string]Effect{}, unmeasured
		if n.Candidate.ID == n.Anchor.ID {
			s.Since = 0
		}
	case ledger.NightMoved:
		switch {
		case n.Candidate.ID == n.Anchor.ID:
			s.Chain, s.Slower, s.Since = map[string]Effect{}, nil, 0
		case anchor != nil:
			s.Chain, s.Since = byMetric(anchor.Effects), 0
		case good != nil:
			s.Chain = byMetric(s.Chained(good.Effects))
		}
		s.Good, s.Open, s.Undecided = n.Candidate, nil, 0
	case ledger.NightAccepted:
		s.Good, s.Anchor = n.Candidate, n.Candidate
		s.Chain, s.Slower, s.Open, s.Since, s.Undecided = map[string]Effect{}, nil, nil, 0, 0
	case ledger.NightAlarm:
		s.Open, s.Undecided = &n, 0
	case ledger.NightUndecided:
		s.Undecided++
	case ledger.NightUnconfirmed, ledger.NightWorse:
		s.Undecided = 0
	}
	return s
}

// Chained is a candidate against the anchor by what it was measured to be against last good. The bounds of
// a product are the products of the bounds: wider than one session's, and never too narrow.
func (s State) Chained(effects []Effect) (chain []Effect) {
	for _, e := range effects {
		if before, has := s.Chain[e.Metric]; has || s.Good.ID == s.Anchor.ID {
			e.Is, e.Low, e.High = e.Is+before.Is, e.Low+before.Low, e.High+before.High
			chain = append(chain, e)
		}
	}
	return chain
}

func byMetric(effects []Effect) map[string]Effect {
	of := map[string]Effect{}
	for _, e := range effects {
		of[e.Metric] = e
	}
	return of
}

// slower counts on, for each metric, the sessions in a row whose upper bound is below no change.
func slower(before map[string]int, effects []Effect) map[string]int {
	of := map[string]int{}
	for _, e := range effects {
		if e.High < 0 {
			of[e.Metric] = before[e.Metric] + 1
		}
	}
	return of
}

// shownTwice is how many sessions in a row show that a metric is worse than the anchor's.
const shownTwice = 2

// Shifted are the metrics that two sessions in a row showed to be worse than the anchor's, within what the
// rules allow: no alarm, and said.
func (s State) Shifted() (metrics []string) {
	for m, n := range s.Slower {
		if n >= shownTwice {
			metrics = append(metrics, m)
		}
	}
	slices.Sort(metrics)
	return metrics
}

// Nearest is the effect that is nearest to what its rule forbids; nil without one.
func Nearest(effects []Effect) *Effect {
	var nearest *Effect
	for i, e := range effects {
		if nearest == nil || e.Is-e.Margin < nearest.Is-nearest.Margin {
			nearest = &effects[i]
		}
	}
	return nearest
}

// EffectsOf are what a decision's rules measured of relative changes.
func EffectsOf(d *ledger.Decision) (effects []Effect) {
	for _, r := range d.Rules {
		for _, c := range r.Comparisons {
			t := c.Test
			if t == nil || !t.Relative() || t.Estimate == nil {
				continue
			}
			e := Effect{Metric: t.Metric + "." + t.Stat, Sign: 1, Low: math.Inf(-1), High: math.Inf(1)}
			if t.More == t.Saved { // less is better
				e.Sign = -1
			}
			log := func(x float64) float64 {
				if t.Saved {
					x = -x
				}
				return e.Sign * math.Log1p(x)
			}
			e.Is, e.Margin = log(*t.Estimate), log(t.Threshold)
			low, high := t.Low, t.High
			if !t.More {
				low, high = high, low
			}
			if low != nil {
				e.Low = log(*low)
			}
			if high != nil {
				e.High = log(*high)
			}
			for _, b := range t.Remarks {
				if n := b.Values["launches"].Number; b.Kind == code.Settles.Kind && n != nil {
					e.Launches = int(*n)
				}
			}
			effects = append(effects, e)
		}
	}
	return effects
}

// Trials are the sessions of a night; attempt finds a decision on record.
func Trials(n ledger.Watched, attempt func(node string, attempt int) *ledger.Decision) (list []Session) {
	for _, t := range n.Sessions {
		if d := attempt(t.Node, t.Attempt); d != nil {
			list = append(list, SessionOf(Ask{t.Against, t.Again}, d))
		}
	}
	return list
}

// SessionOf is what a decision came to. A candidate that does not build or start is broken, not worse.
func SessionOf(a Ask, d *ledger.Decision) Session {
	x := Session{Against: a.Against, Again: a.Again, Verdict: d.Verdict, Effects: EffectsOf(d)}
	for _, l := range d.Levels {
		if l.Name != plans.BenchmarkLevel && verdict.Holds(l.Reasons, code.CrashedAgain.Kind) {
			x.Verdict = verdict.Error
		}
	}
	return x
}

// AgainFail is the chance of a false fail that the second session of an alarm keeps to.
const AgainFail = 0.01
