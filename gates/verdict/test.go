package verdict

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

type Form string

const (
	// Exact: on the values themselves, which have no noise (levels, counts,
	// kernels, knobs).
	Exact Form = "exact"
	// Ratio: Welch's t-test on the logs of the launches of two arms.
	Ratio Form = "ratio"
	// Difference: Welch's t-test on the launches of two arms as they are.
	Difference Form = "difference"
	// LogLevel: a one-sample t-test on the logs of the launches of one arm.
	LogLevel Form = "log level"
	// Level: a one-sample t-test on the launches of one arm as they are.
	Level Form = "level"
	// Range: no t-test; the whole range of the launches against the limit, for a value
	// that a launch has once and that hardly varies, such as memory.
	Range Form = "range"
)

// Test is how a comparison was decided: everything to explain it and to decide it again.
// Threshold, Estimate, Low and High are in the rule's own number, a metric or a relation
// of two. Terms and the contents of Looks are on the scale of the test: logs for Ratio and
// LogLevel, the metric's unit otherwise, turned so that more is what the rule wants.
type Test struct {
	Form Form `json:"form"`
	// Metric is the address of the tested metric without statistic or relation, Stat the
	// statistic that each launch contributes, Arm the arm that was read, Against the arm
	// it was compared with: "" for a level.
	Metric  string `json:"metric,omitempty"`
	Stat    string `json:"stat,omitempty"`
	Unit    string `json:"unit,omitempty"`
	Arm     string `json:"arm,omitempty"`
	Against string `json:"against,omitempty"`
	// Relation is how the rule's own number relates the two arms: "gain" or "change"
	// (relative to the other arm: 0.05 for 5%), "delta" (in Unit), "base" (a level of the
	// other arm) or "" (a level of the first). Saved is set for the gain of a
	// lower-is-better metric: 1 − candidate/base. Negated is set if the comparison is
	// below an odd number of nots.
	Relation string `json:"relation,omitempty"`
	Saved    bool   `json:"saved,omitempty"`
	Negated  bool   `json:"negated,omitempty"`
	// Threshold is the rule's, in its own number (0.10 for +10%), Theta in Terms the same on
	// the scale of the test.
	Threshold float64 `json:"threshold,omitempty"`
	stats.Terms
	// Share is how the error budget was shared among the decision's comparisons, from the
	// whole decision down to this one.
	Share []Share `json:"share,omitempty"`
	// Plan lists the planned looks, in launches per arm; Looks those that were made, the
	// last of which decided if any did.
	Plan  []int        `json:"plan,omitempty"`
	Looks []stats.Look `json:"looks,omitempty"`
	// First is the fewest launches per arm at which a look decides by its p values: two
	// decide only what is clear by recorded noise, and without a record it is later.
	First int `json:"first,omitempty"`
	// Stop is why it ended. A flagged steady check (Note)
	// withdraws the verdict, but does not change how the test ended.
	Stop stats.Outcome `json:"stop"`
	// Values and Base are the launches of the two arms that ran side by side, by round,
	// in the metric's unit; Launches and BaseLaunches their IDs. A look at n uses the
	// first n. Unpaired are launches without one beside them, which no look counts.
	Values       []float64 `json:"values,omitempty"`
	Base         []float64 `json:"base,omitempty"`
	Launches     []string  `json:"launches,omitempty"`
	BaseLaunches []string  `json:"base_launches,omitempty"`
	Rounds       []int     `json:"rounds,omitempty"`
	Unpaired     []string  `json:"unpaired,omitempty"`
	// Places are where the rounds ran, if on more than one: arms are then compared within
	// rounds.
	Places []string `json:"places,omitempty"`
	// More is set if the rule wants more than its threshold, and Estimate is the rule's
	// own number at the last look, or over all launches before there is one. Low and High
	// bound it there: Low (High if less is wanted) is the largest threshold that would
	// pass, the other the smallest that would fail. For a Range they are its ends.
	More     bool     `json:"more,omitempty"`
	Estimate *float64 `json:"estimate,omitempty"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	// Needed is the estimate that would have passed the last look with its spread, in the
	// rule's own number; absent if the look passed or tested nothing.
	Needed *float64 `json:"needed,omitempty"`
	// Each is what an Exact comparison of counts must hold for: "launch" or "pair".
	Each string `json:"each,omitempty"`
	// Note is what else bears on it: a flagged steady check.
	Note Reason `json:"note,omitzero"`
	// Remarks are what a reader should know about the numbers, and decides nothing: where
	// the spread comes from, how many crashed, and how many launches would settle an open
	// test.
	Remarks []Reason `json:"remarks,omitempty"`
}

// ByRecordedNoise reports whether two launches per arm decided, by recorded noise.
func (t *Test) ByRecordedNoise() bool {
	n := len(t.Looks)
	return n > 0 && t.Looks[n-1].N == 2 && t.Looks[n-1].DF > 0
}

// Near reports whether a look's p values would decide, but its estimate is too near the
// threshold for so few launches.
func (t *Test) Near(l stats.Look) bool {
	return l.DF > 0 && min(l.PPass-t.Pass, l.PFail-t.Fail) <= 0 && math.Abs(l.Estimate-t.Theta) < l.Margin
}

// TwoSpeeds says that the bounds come from the margin for starts that may have two speeds,
// not from how much these launches vary; nothing if they do not.
func (t *Test) TwoSpeeds() Reason {
	n := len(t.Looks)
	if n == 0 || t.Looks[n-1].DF == 0 {
		return Reason{}
	}
	l, level := t.Looks[n-1], t.Pass
	if l.Estimate < t.Theta {
		level = t.Fail
	}
	if l.Margin <= stats.Quantile(level, l.DF)*l.SE {
		return Reason{}
	}
	margin := Num("margin", l.Margin, t.Unit)
	if t.Form == Ratio || t.Form == LogLevel {
		margin = Num("margin", math.Expm1(l.Margin), "share")
	}
	return Say("test.two_speeds",
		"the bounds are wider than these launches: a server may start at one of two speeds, of which {n} starts can "+
			"miss one, so {n} decide nothing within {margin:2} of a threshold", Int("n", l.N), margin)
}

// Sure is the fewest launches per arm at which a look decides what is not immediately
// clear.
func (t *Test) Sure() int { return max(3, t.First) }

// Relative reports whether the rule's own number is relative to the other arm.
func (t *Test) Relative() bool { return t.Relation == "gain" || t.Relation == "change" }

// OwnUnit is the unit of the rule's own number: of its threshold, estimate and bounds.
func (t *Test) OwnUnit() string {
	if t.Form == Ratio || t.Relative() {
		return "ratio"
	}
	return t.Unit
}

// Bounded reports whether there is an estimate with both bounds.
func (t *Test) Bounded() bool {
	return t != nil && t.Estimate != nil && t.Low != nil && t.High != nil && !math.IsInf(*t.High-*t.Low, 0) &&
		!math.IsNaN(*t.High-*t.Low)
}

// Bound is what is proved of the number that the rule wants: the largest threshold that would pass,
// or, where less is wanted, the smallest; nil if nothing is.
func (t *Test) Bound() *float64 {
	if t.More {
		return t.Low
	}
	return t.High
}

// N is how many launches per arm its estimate and bounds are of: those of the last look.
func (t *Test) N() int {
	if t == nil || len(t.Looks) == 0 {
		return 0
	}
	return t.Looks[len(t.Looks)-1].N
}

// ByFirst says that a number is of fewer launches than there are, "by the first 4 of 6 launches"; empty if
// it is of all.
func ByFirst(n, of int) string {
	if n == 0 || n >= of {
		return ""
	}
	return fmt.Sprintf("by the first %d of %s", n, Launches(of))
}

// by says by which launches it was decided, unless by all.
func (t *Test) by() string {
	of := len(t.Values)
	if t.Against != "" {
		of = min(of, len(t.Base))
	}
	return ByFirst(t.N(), of)
}

// Change is the estimate with its bounds as the change of the metric's own number: a gain
// of one that is better if lower has the other sign.
func (t *Test) Change() (change, low, high *float64) {
	if !t.Saved {
		return t.Estimate, t.Low, t.High
	}
	negated := func(x *float64) *float64 {
		if x == nil {
			return nil
		}
		y := -*x
		return &y
	}
	return negated(t.Estimate), negated(t.High), negated(t.Low)
}

// Noise is how much launches of one variant differed: a standard deviation of the logs of
// their values, pooled over sessions, with its degrees of freedom.
type Noise struct {
	SD float64 `json:"sd"`
	DF float64 `json:"df"`
	// Gap is how far apart the starts of the two arms' own variants lay, in logs; 0 unless
	// either has enough of them on record to have shown two speeds.
	Gap      float64  `json:"gap,omitempty"`
	Sessions []string `json:"sessions,omitempty"`
}

// Share is one division of the error rates among N parts.
type Share struct {
	Of ShareOf `json:"of"`
	N  int     `json:"n"`
}

func (s Share) Reason() Reason {
	return New(map[ShareOf]code.Fact{
		ShareAll: code.Of("argued.share_all", "false fail divided among {n} conditions"),
		ShareOne: code.Of("argued.share_one",
			"false pass divided among {n} conditions, one of which must hold"),
		ShareAlternatives: code.Of("argued.share_alternatives", "false pass divided among {n} alternatives"),
		ShareTry:          code.Of("argued.share_try", "false pass of try {n}"),
	}[s.Of], Int("n", s.N))
}

// Wider are the bounds that lie farther out than those of the same launches tested for one rule alone, as
// an error rate is shared.
func (t *Test) Wider() (why []Reason) {
	for _, s := range t.Share {
		side := "lower"
		if (s.Of == ShareAll) == t.More {
			side = "upper"
		}
		why = append(why, Say("argued.wider", "{side} bound wider: {causes}", Text("side", side)).From(s.Reason()))
	}
	return why
}

// ShareOf is what kind of parts a division has.
type ShareOf string

const (
	// ShareAll: parts that must all hold, which divide the fail level.
	ShareAll ShareOf = "all"
	// ShareOne: parts of which one must hold, which divide the pass level.
	ShareOne ShareOf = "one"
	// ShareAlternatives: candidates for one place, which divide the pass level.
	ShareAlternatives ShareOf = "alternatives"
	// ShareTry: the N-th try, whose pass level is lower than that of the one before.
	ShareTry ShareOf = "try"
)
