package verdict

import "github.com/mxflow/mxflow/gates/verdict/code"

// Form is how a comparison is decided.
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
	// Range: no t-test; the whole range of the launches against the limit, for
	// what a launch has once and hardly varies, such as memory.
	Range Form = "range"
)

// Test is how a comparison was decided: everything to argue it and to decide it
// again. Threshold, Estimate, Low and High are the rule's own number, a metric or a
// relation of two. Theta, Floor, Resolution and what Looks hold stand on the scale of
// the test: logs for Ratio and LogLevel, the metric's unit otherwise, and turned so
// that more is what the rule wants.
type Test struct {
	Form Form `json:"form"`
	// Metric is the address of what was tested without statistic or relation, Stat
	// the statistic that each launch contributes, Arm the one that was read, Against
	// what it was compared with: "" for a level.
	Metric  string `json:"metric,omitempty"`
	Stat    string `json:"stat,omitempty"`
	Unit    string `json:"unit,omitempty"`
	Arm     string `json:"arm,omitempty"`
	Against string `json:"against,omitempty"`
	// Relation is what the rule's own number is of the two arms: "gain" or "change"
	// (parts of the other arm: 0.05 for 5%), "delta" (in Unit), "base" (a level of the
	// other arm) or "" (a level of the first). Saved is set for the gain of a metric of
	// which less is better: 1 − candidate/base. Negated is set where the comparison
	// stands below an odd number of nots.
	Relation string `json:"relation,omitempty"`
	Saved    bool   `json:"saved,omitempty"`
	Negated  bool   `json:"negated,omitempty"`
	// Threshold is the rule's, in the input's own number (0.10 for +10%), Theta
	// the same on the scale of the test.
	Threshold float64 `json:"threshold,omitempty"`
	Theta     float64 `json:"theta,omitempty"`
	// Pass and Fail are the levels of p at which a look decides, after the error
	// budget was shared among the comparisons of the decision; Share says how, from
	// the whole decision down to this comparison.
	Pass  float64 `json:"pass_level,omitempty"`
	Fail  float64 `json:"fail_level,omitempty"`
	Share []Share `json:"share,omitempty"`
	// Floor is the stored launch noise below which no arm's standard deviation is
	// taken, FloorDF its degrees of freedom; absent without such a record.
	Floor   float64 `json:"floor,omitempty"`
	FloorDF float64 `json:"floor_df,omitempty"`
	// Plan is the looks that were planned, in launches an arm; Looks those that
	// were made, the last of which decided where anything did.
	Plan  []int  `json:"plan,omitempty"`
	Looks []Look `json:"looks,omitempty"`
	// First is the fewest launches an arm at which a look decides by its p values: two
	// decide only what is clear by recorded noise, and without that it is later.
	First int `json:"first,omitempty"`
	// Resolution is what the measurement can tell apart, on the scale of the test,
	// where all launches of an arm tie: their spread is taken as that over √12.
	Resolution float64 `json:"resolution,omitempty"`
	// Stop is why it ended: see the Stop constants. A flagged steady check (Note) takes
	// the verdict away, and not how the test ended.
	Stop Stop `json:"stop"`
	// Values and Base are the launches of the two arms that stood beside each other,
	// by rounds, in the metric's unit; Launches and BaseLaunches their IDs. A look
	// at n is of the first n. Unpaired are launches without one beside them, which
	// no look counts.
	Values       []float64 `json:"values,omitempty"`
	Base         []float64 `json:"base,omitempty"`
	Launches     []string  `json:"launches,omitempty"`
	BaseLaunches []string  `json:"base_launches,omitempty"`
	Rounds       []int     `json:"rounds,omitempty"`
	Unpaired     []string  `json:"unpaired,omitempty"`
	// Places are where the rounds stood, where that was on more than one: arms are then
	// compared within their rounds.
	Places []string `json:"places,omitempty"`
	// More is set where the rule wants more than the threshold of its own number, and
	// Estimate is that number at the last look, or of all launches before there was
	// one. Low and High bound it there: Low (High where less is wanted) is the largest
	// claim that would pass, the other the smallest that would fail. Of a Range they
	// are the ends of the range.
	More     bool     `json:"more,omitempty"`
	Estimate *float64 `json:"estimate,omitempty"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	// Needed is the estimate that would have passed the last look with its spread, in
	// the rule's own number; absent where the look passed or tested nothing.
	Needed *float64 `json:"needed,omitempty"`
	// Each says what an Exact comparison of counts has to hold for: "launch" or "pair".
	Each string `json:"each,omitempty"`
	// Note is what else bears on it: a steady check that was flagged.
	Note Reason `json:"note,omitzero"`
	// Beside is what a reader should know of the numbers, and decides nothing: how well
	// one launch knows its value, where the spread was taken from, how many crashed, and
	// how many launches would settle what is open.
	Beside []Reason `json:"beside,omitempty"`
}

// Clear reports whether two launches an arm decided, by recorded noise.
func (t *Test) Clear() bool {
	n := len(t.Looks)
	return n > 0 && t.Looks[n-1].N == 2 && t.Looks[n-1].DF > 0
}

// Sure is the fewest launches an arm at which a look decides what is not clear at once.
func (t *Test) Sure() int { return max(3, t.First) }

// Relative reports whether the rule's own number is parts of the other arm.
func (t *Test) Relative() bool { return t.Relation == "gain" || t.Relation == "change" }

// Noise is how much launches of one variant differed: a standard deviation of the
// logs of their values, pooled over some sessions, with its degrees of freedom.
type Noise struct {
	SD       float64  `json:"sd"`
	DF       float64  `json:"df"`
	Sessions []string `json:"sessions,omitempty"`
}

// Share is one division of the chances of a wrong verdict among N parts.
type Share struct {
	Of ShareOf `json:"of"`
	N  int     `json:"n"`
}

// Reason is the division as a fact.
func (s Share) Reason() Reason {
	return New(map[ShareOf]code.Code{ShareAll: code.ShareAll, ShareOne: code.ShareOne, ShareAlternatives: code.ShareAlternatives, ShareTry: code.ShareTry, ShareCells: code.ShareCells}[s.Of], Int("n", s.N))
}

// ShareOf is what the parts of a division are of.
type ShareOf string

const (
	// ShareAll: parts that all have to hold, which divide the level of fail.
	ShareAll ShareOf = "all"
	// ShareOne: parts of which one has to hold, which divide the level of pass.
	ShareOne ShareOf = "one"
	// ShareAlternatives: candidates for one place, which divide the level of pass.
	ShareAlternatives ShareOf = "alternatives"
	// ShareTry: the N-th try, whose level of pass is less than that of the one before.
	ShareTry ShareOf = "try"
	// ShareCells: cells of a matrix of which the best was picked, which divide the level
	// that picking makes easier to reach.
	ShareCells ShareOf = "cells"
)

// Stop is why a test ended.
type Stop string

const (
	// StopPass and StopFail: a look decided.
	StopPass Stop = "passed"
	StopFail Stop = "failed"
	// StopScreen: one launch an arm was so far off that more are not worth it.
	StopScreen Stop = "screened"
	// StopFutile: a verdict has less than 5% chance left.
	StopFutile Stop = "futile"
	// StopEnd: all launches were made.
	StopEnd Stop = "ended"
	// StopOpen: it goes on with more launches.
	StopOpen Stop = "open"
)

// Look is one look at the data.
type Look struct {
	// N is launches an arm.
	N        int     `json:"n"`
	Estimate float64 `json:"estimate"`
	// Own is the estimate in the rule's own number.
	Own   *float64 `json:"own,omitempty"`
	SE    float64  `json:"se"`
	DF    float64  `json:"df"`
	T     float64  `json:"t"`
	PPass float64  `json:"p_pass"`
	PFail float64  `json:"p_fail"`
	// Chance is the projected chance of any verdict by the last look; 0 when this
	// look decided or is the last.
	Chance float64 `json:"chance,omitempty"`
}
