package verdict

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Rule is one decided rule with everything needed to decide it again. It is defined below
// gates and the ledger, as the one makes it and the other keeps it.
type Rule struct {
	// Name is the rule's label; Role is "criterion", "rule" (of a gate) or
	// "hypothesis".
	Name string `json:"name"`
	Role string `json:"role"`
	// Expr is the rule's text; Source is file:line:column in the plan, or in a question.
	Expr    string  `json:"expr"`
	Source  string  `json:"source"`
	Verdict Verdict `json:"verdict"`
	// Decides is false for a criterion that is recorded but not part of accept.
	Decides     bool         `json:"decides"`
	Reasons     []Reason     `json:"reasons,omitempty"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Inputs      []Input      `json:"inputs,omitempty"`
	// Open names the features for which more launches, within the plan's maximum, could
	// still settle it.
	Open []string `json:"open,omitempty"`
}

// Question is the name of the text of a question that a command asks of a plan: hidden, as a
// plan's folder may be read again where it lies.
const Question = ".question.hcl"

// Where is the rule's place in a file that the user has; of a question, that the command asked it.
func (r Rule) Where() string {
	if strings.HasPrefix(filepath.Base(r.Source), Question+":") {
		return "asked by the command"
	}
	return r.Source
}

// Reason is the rule as a cause of the decision that it belongs to.
func (r Rule) Reason() Reason {
	return New(code.Rule, Text("role", r.Role)).On(r.Name).Is(r.Verdict).From(r.Reasons...)
}

// Estimate is a number that a rule read, for people.
type Estimate struct {
	Value *float64
	// Low and High are the bounds of the test that decided by it, if Decided is set, and
	// else its 95% interval.
	Low, High *float64
	Decided   bool
	// N and BaseN are how many launches of each arm Value is of.
	N, BaseN int
	// Wider are why bounds of the same launches differ between rules.
	Wider []Reason
}

// Estimate is an input's number with its bounds: those of the test that decided by it, at
// the look that decided, as launches after that were made for other comparisons.
func (r Rule) Estimate(in Input) Estimate {
	e := Estimate{Value: in.Value, Low: in.Low, High: in.High, N: in.N, BaseN: in.BaseN}
	t := r.test(in)
	if t == nil || t.Low == nil && t.High == nil {
		return e
	}
	e.Low, e.High, e.Decided, e.N, e.BaseN = t.Low, t.High, true, len(t.Values), len(t.Base)
	e.Wider = t.Wider()
	if n := len(t.Looks); n > 0 && t.Estimate != nil {
		e.Value, e.N, e.BaseN = t.Estimate, min(e.N, t.Looks[n-1].N), min(e.BaseN, t.Looks[n-1].N)
	}
	return e
}

// test is that of the comparison that read an input: of the same launches, as a path can be
// written in several ways, and first the one in which it appears unmodified, as a gain and
// a change have opposite signs. A test relative to the other arm does not bound a
// difference, and one of a single arm does not bound a comparison: then it is nil.
func (r Rule) test(in Input) (found *Test) {
	for _, c := range r.Comparisons {
		t := c.Test
		switch {
		case t == nil, len(t.Values) == 0, len(in.PerLaunch) < len(t.Values), len(in.BasePerLaunch) < len(t.Base):
		case (t.Form == Ratio || t.Form == Range && t.Relative()) != RelativePath(in.Path), len(t.Base) == 0 &&
			len(in.BasePerLaunch) > 0:
		case !slices.Equal(t.Values, in.PerLaunch[:len(t.Values)]),
			!slices.Equal(t.Base, in.BasePerLaunch[:len(t.Base)]):
		case strings.Contains(c.Text, in.Path):
			return t
		case found == nil:
			found = t
		}
	}
	return found
}

// RelativePath reports whether a path in a rule is relative to another arm.
func RelativePath(path string) bool {
	return strings.HasSuffix(path, ".gain") || strings.HasSuffix(path, ".change")
}

const (
	RoleCriterion  = "criterion"
	RoleRule       = "rule"
	RoleHypothesis = "hypothesis"
)

// Comparison is one comparison inside a rule with the values on both sides.
type Comparison struct {
	Text string `json:"text"`
	// Reads are the paths of the inputs on both sides.
	Reads []string `json:"reads,omitempty"`
	// Left and Right are the estimates, words or lists of both sides; for per-launch
	// counts, from minimum to maximum.
	Left  Value  `json:"left"`
	Op    string `json:"op"`
	Right Value  `json:"right"`
	// Turned is set if the plan's own value is on the left.
	Turned bool `json:"turned,omitempty"`
	// Launch is set if per-launch counts do not hold in every launch: the values are
	// those of this launch, the farthest off of all Launches.
	Launch   int `json:"launch,omitempty"`
	Launches int `json:"launches,omitempty"`
	// Holds reports whether the estimates alone fulfil it; for per-launch counts, whether
	// every launch does.
	Holds bool `json:"holds"`
	// Verdict is what the evidence says about it, as the rule wants it (below a not, pass
	// is evidence that it does not hold). Test is how that was decided, nil if it could
	// not be.
	Verdict Verdict `json:"verdict,omitempty"`
	Test    *Test   `json:"test,omitempty"`
}

type Input struct {
	Path string `json:"path"`
	// Value is a number, Text a word; exactly one is set when the input is
	// present, and Missing says why when it is not.
	Value   *float64 `json:"value,omitempty"`
	Text    *string  `json:"text,omitempty"`
	Missing Reason   `json:"missing,omitzero"`
	// Pending is set while deciding before everything is known: the input is missing
	// because it is not decided or measured yet.
	Pending bool   `json:"-"`
	Unit    string `json:"unit,omitempty"`
	// N is the number of the candidate's launches that the value rests on, BaseN of the
	// parent's; NRequests the requests within the candidate's.
	N         int `json:"n,omitempty"`
	BaseN     int `json:"base_n,omitempty"`
	NRequests int `json:"n_requests,omitempty"`
	// Low and High bound a gain or change: 95% Welch interval over launches.
	Low           *float64  `json:"low,omitempty"`
	High          *float64  `json:"high,omitempty"`
	PerLaunch     []float64 `json:"per_launch,omitempty"`
	BasePerLaunch []float64 `json:"base_per_launch,omitempty"`
	// Samples are the digests of the raw samples it rests on.
	Samples []string `json:"samples,omitempty"`
}

func (in Input) Absence() Reason { return New(code.Missing).On(in.Path).From(in.Missing) }

// Line is a value that a rule read on one line, with the estimate of it and its evidence,
// and the values of its launches on lines of their own.
func (in Input) Line(e Estimate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = ", in.Path)
	switch {
	case e.Value != nil && e.Low != nil && e.High != nil:
		b.WriteString(e.In(in.Unit))
	case e.Value != nil && in.Unit == "ratio":
		b.WriteString(Number(*e.Value, in.Unit)) // as in the sentence above it
	case e.Value != nil:
		b.WriteString(Digits(*e.Value, in.Unit, 3))
	case in.Text != nil:
		return b.String() + *in.Text
	default:
		return b.String() + "missing: " + in.Missing.String()
	}
	if in.N > 0 {
		fmt.Fprintf(&b, "  n = %d launches", in.N)
	}
	if in.BaseN > 0 {
		fmt.Fprintf(&b, " against %d", in.BaseN)
	}
	if in.NRequests > 0 {
		fmt.Fprintf(&b, ", %d requests", in.NRequests)
	}
	if e.N < in.N {
		fmt.Fprintf(&b, ", decided on the first %d", e.N)
	}
	for _, why := range e.Wider {
		b.WriteString("; " + why.String())
	}
	if len(in.PerLaunch) > 0 {
		fmt.Fprintf(&b, "\n      launches %s", Value{Numbers: in.PerLaunch}.String())
	}
	if len(in.BasePerLaunch) > 0 {
		fmt.Fprintf(&b, "\n      against  %s", Value{Numbers: in.BasePerLaunch}.String())
	}
	return b.String()
}

// In is an estimate in a unit, with the bounds of the decision that it comes from, or with
// its 95% interval.
func (e Estimate) In(unit string) string {
	if e.Decided {
		return Interval(*e.Value, e.Low, e.High, unit)
	}
	return CI(*e.Value, e.Low, e.High, unit)
}
