package gates

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// taken is one statistic of every launch of an arm.
type taken struct {
	arm      Arm
	values   []float64
	requests int
	digests  []string
	// unit and correction are those of all its launches.
	unit, correction string
}

// lack is why an arm does not give a number.
type lack struct {
	verdict verdict.Verdict
	text    string
	// unmeasured is set where the arm has no launch at all.
	unmeasured bool
}

func lacking(v verdict.Verdict, format string, args ...any) *lack {
	return &lack{verdict: v, text: fmt.Sprintf(format, args...)}
}

// Address is where a launch keeps the metric of an input: "chat.tg".
func Address(in *plans.Input) string {
	if in.Cell == "" {
		return "engine." + in.Metric
	}
	return in.Cell + "." + in.Metric
}

// needs is the statistic that every launch has to have. Counts rest on the
// median: a launch that has none measured nothing that could be counted.
func needs(in *plans.Input) string {
	if in.Counts() || in.Stat == "" {
		return "median"
	}
	return in.Stat
}

// collect takes one statistic from every launch of an arm. A launch without it
// makes the whole arm incomplete: what is missing might have been the bad one.
func collect(a Arm, in *plans.Input) (taken, *lack) {
	t := taken{arm: a}
	address := Address(in)
	if len(a.Launches) == 0 {
		why := lacking(verdict.Inconclusive, "no launch of %s was measured", a.Name)
		why.unmeasured = true
		return t, why
	}
	first := a.Launches[0].Metrics[address]
	t.unit, t.correction = first.Unit, first.Correction
	for _, l := range a.Launches {
		s := l.Metrics[address]
		v, why := valueOf(l, s, in)
		switch {
		case why != nil:
			return taken{arm: a}, why
		case s.Correction != t.correction:
			return taken{arm: a}, lacking(verdict.Invalid, "launch %s corrected %s by a latency of mode %q, and those before it of mode %q, which do not compare", l.ID, address, s.Correction, t.correction)
		case s.Unit != t.unit:
			return taken{arm: a}, lacking(verdict.Invalid, "launch %s gives %s in %q, and those before it in %q: measure all of them in the same way", l.ID, address, s.Unit, t.unit)
		}
		t.values = append(t.values, v)
		t.requests += s.Requests
		if l.Samples != "" {
			t.digests = append(t.digests, l.Samples)
		}
	}
	return t, nil
}

// valueOf is the statistic of one launch.
func valueOf(l Launch, s measure.Summary, in *plans.Input) (float64, *lack) {
	address, stat := Address(in), needs(in)
	if s.N == 0 {
		return 0, lacking(verdict.Inconclusive, "launch %s has no %s%s", l.ID, address, l.whyNot(address))
	}
	v, ok := s.Stats[stat]
	switch least := measure.LeastToDecide(stat); {
	case !ok && s.N >= least:
		return 0, lacking(verdict.Inconclusive, "not enough samples in launch %s: no %s is given of its %d", l.ID, stat, s.N)
	case s.N < least:
		return 0, lacking(verdict.Inconclusive, "not enough samples in launch %s: %d of at least %d", l.ID, s.N, least)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, lacking(verdict.Inconclusive, "%s.%s of launch %s is not a finite number", address, stat, l.ID)
	case in.Stat == "n_requests" && s.Requests < 1:
		return 0, lacking(verdict.Inconclusive, "launch %s does not say how many requests %s comes from", l.ID, address)
	}
	return v, nil
}

// whyNot says why a launch on record has no such metric, and where to look; it goes
// on from a sentence, and is empty where only numbers are known of it.
func (l Launch) whyNot(address string) string {
	if !l.Recorded {
		return ""
	}
	look := " (mxflow show " + l.ID + ")"
	if why := measure.WhyAbsent(l.Metrics, address); why != "" {
		return ": " + why + look
	}
	return look
}

// incomparable says why two arms do not compare; nil where they do.
func (t taken) incomparable(base taken, in *plans.Input) *lack {
	switch {
	case t.unit != base.unit:
		return lacking(verdict.Invalid, "launches of %s give %s in %q and those of %s in %q: measure both in the same way", t.arm.Name, Address(in), t.unit, base.arm.Name, base.unit)
	case t.correction != base.correction:
		return lacking(verdict.Invalid, "launches of %s corrected %s by a latency of mode %q and those of %s of mode %q, which do not compare", t.arm.Name, Address(in), t.correction, base.arm.Name, base.correction)
	}
	return nil
}

func zeroInRatio(err error) error {
	return fmt.Errorf("%w; for values that may be zero use .delta", err)
}

// noRatio names the launch of the arms whose value has no log, and is the error as it
// is where none has such a one.
func noRatio(err error, arms ...taken) error {
	for _, t := range arms {
		for i, v := range t.values {
			if !(v > 0) {
				return zeroInRatio(fmt.Errorf("a ratio needs values above zero, and launch %s (%s) has %v", t.arm.Launches[i].ID, t.arm.Name, v))
			}
		}
	}
	return err
}
