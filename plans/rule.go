package plans

import (
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Denied maps a comparison operator to its negation.
var Denied = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// Rule is an expr-lang expression and its place.
type Rule struct {
	Name string
	Expr string
	// Range is the block; ExprRange the expression's attribute value.
	Range     Range `json:"-"`
	ExprRange Range `json:"-"`
	// Program is the strictly compiled rule, set by Load.
	Program *Program `json:"-"`
}

func (r *Rule) Leaves() []*Leaf {
	if r.Program == nil {
		return nil
	}
	return r.Program.Leaves
}

func (r *Rule) Inputs() []*Input {
	if r.Program == nil {
		return nil
	}
	return r.Program.Inputs
}

// Program is a rule after strict compilation: what it reads, and what it compares.
type Program struct {
	// Inputs are the values the rule reads, each once, in order of appearance.
	Inputs []*Input
	// Leaves are its comparisons, in order of appearance.
	Leaves []*Leaf
	// Logic is how and, or and not join its comparisons; their error budget follows it.
	Logic *Logic
}

// Leaf is one comparison of a rule.
type Leaf struct {
	// Text is the comparison as written, evenly spaced.
	Text string
	Op   string
	// Left and Right are its operands.
	Left, Right *Operand
	// Negated is set under an odd number of nots: the rule wants it not to hold.
	Negated bool
	// Claim is how it is decided; never nil in a plan that Load accepts.
	Claim *Claim
	// At and Length are where it is in the rule, in characters.
	At, Length int `json:"-"`
}

// Inputs are the inputs of both sides.
func (l *Leaf) Inputs() []*Input { return append(l.Left.Inputs(), l.Right.Inputs()...) }

// InputKind is what an address leads to.
type InputKind string

const (
	// InputMetric: a per-request metric of a cell, or a per-launch metric
	// (then Cell is empty).
	InputMetric InputKind = "metric"
	// InputLevel: the verdict of a test level, a word.
	InputLevel InputKind = "level"
	// InputFound: a number that a level found in the qualification launch. It has no
	// known noise, so it is compared as it is.
	InputFound InputKind = "found"
	// InputFeature: verdict, accepted or decided of a feature.
	InputFeature InputKind = "feature"
	// InputTarget: a declared number to beat.
	InputTarget InputKind = "target"
	// InputKnob: the candidate's value of a knob, a word.
	InputKnob InputKind = "knob"
	// InputObserved: a word or truth value that the candidate's engine reports about
	// itself, or that a level found, see Words.
	InputObserved InputKind = "observed"
)

// Relation is what a metric is compared with.
type Relation string

const (
	// Own: the candidate's own value.
	Own Relation = ""
	// Base: the parent's value.
	Base Relation = "base"
	// Gain: relative improvement in the metric's better direction.
	Gain Relation = "gain"
	// Change: signed relative change.
	Change Relation = "change"
	// Delta: signed absolute change.
	Delta Relation = "delta"
)

// Against names an arm that a candidate is compared with, as rules write it.
type Against string

const (
	// Parent is what the candidate builds on; rules do not name it.
	Parent Against = ""
	// Root is the plan's baseline.
	Root Against = "root"
)

// Suffix is what an address has for the arm, after the metric.
func (a Against) Suffix() string {
	if a == Parent {
		return ""
	}
	return "." + string(a)
}

// Unsent is a workload that is not sent: it is not in the chosen Suite or, if none was
// chosen, not in the benchmark of Protocol, while Suites ("--suite deep") do send it.
type Unsent struct {
	Workload, Suite, Protocol string
	Suites                    []string
}

// Input is one address that a rule reads, resolved against the plan.
type Input struct {
	// Path is the address as written.
	Path string
	Kind InputKind
	// Feature is the feature whose value it is.
	Feature string
	// Words are those that a level may find in the qualification launch, separated by
	// commas; empty if no level finds the value.
	Words string `json:",omitempty"`
	// Row is set if the value belongs to a row of a comparison: then Feature is Row.Key,
	// and the value is compared with the reference.
	Row *Row `json:",omitempty"`
	// Cell is the cell's address ("chat", "chat.o32"), or "gpu", "host" or
	// "command"; Metric and Stat follow.
	Cell, Metric, Stat string
	// Unsent is set if, by the plan itself, no launch has the value.
	Unsent   *Unsent
	Relation Relation
	// Against is the arm that the value is of, or is compared with.
	Against Against
	// Name is the level, target, knob, observation or the feature's property.
	Name string
	// Number is the value of a target, and Block the type of its block if that is
	// another: "imported".
	Number float64
	Block  string
	// Unit of the value; empty for ratios and words.
	Unit string
	// Of is the unit of the metric itself, whatever Stat and Relation are.
	Of string `json:"-"`
	// Better is the metric's better direction.
	Better string
	// Type is the type that the rule sees.
	Type InputType
}

// Row is what a gate reads from a step: an engine that it compares, a cell of a matrix
// or, without Engine, the numbers that a step of kind Of found.
type Row struct {
	Phase, Step, Engine string
	Of                  string `json:",omitempty"`
}

// BaselineRow is what levels found about the baseline, before anything is ported.
var BaselineRow = Row{}

// baselineKey is how rules and evidence name BaselineRow; no feature may have this name.
const baselineKey = "baseline"

// Key is how rules and evidence name the row; no feature has such a name.
func (r *Row) Key() string {
	if *r == BaselineRow {
		return baselineKey
	}
	if r.Finds() {
		return "step." + r.Step
	}
	return fmt.Sprintf("%s.%s[%q]", r.Kind(), r.Step, r.Engine)
}

// SameStep reports whether two keys belong to what one step measured, rather than to
// features.
func SameStep(a, b string) bool {
	step := func(key string) string {
		kind, rest, ok := strings.Cut(key, ".")
		if !ok || kind != CompareStep && kind != MatrixStep {
			return ""
		}
		return kind + "." + rest[:max(0, strings.IndexAny(rest, ".["))]
	}
	return step(a) != "" && step(a) == step(b)
}

// OfMatrix reports whether a key belongs to what a matrix measured.
func OfMatrix(key string) bool { return strings.HasPrefix(key, MatrixStep+".") }

// Finds reports whether the row is numbers that a step found.
func (r *Row) Finds() bool { return r.Engine == "" }

// Kind is the kind of the step.
func (r *Row) Kind() string {
	if r.Of == "" {
		return CompareStep
	}
	return r.Of
}

// InputType is the type of an input in a rule.
type InputType string

const (
	NumberInput InputType = "number"
	WordInput   InputType = "word"
	BoolInput   InputType = "bool"
)

// Counts reports whether the value is a number of launches or requests, not something
// that they measured.
func (in *Input) Counts() bool { return in.Stat == "n" || in.Stat == "n_requests" }

// Counted reports whether each launch counts the value by itself: crashes, errors,
// tokens of requests.
func (in *Input) Counted() bool { return in.Kind == InputMetric && in.Exact() && !in.Counts() }

// Comparing reports whether the value is computed from two arms.
func (in *Input) Comparing() bool { return in.Relation == Delta || in.Ratio() }

// Ratio reports whether the value is a relative change, shown in per cent.
func (in *Input) Ratio() bool { return in.Relation == Gain || in.Relation == Change }

// MayBeZero reports whether the value is a count, a share or waiting, which need not
// occur, rather than a speed, size or time, which is more than zero and is averaged in
// logs.
func (in *Input) MayBeZero() bool {
	if m, ok := measure.Lookup(in.Metric); ok && m.MayBeZero {
		return true
	}
	switch in.Unit {
	case "count", "share", "requests", "°C":
		return true
	}
	return in.Unit == "tokens" && in.Cell != ""
}

// Measured reports whether the value comes from a run, rather than being known
// as soon as the plan is read.
func (in *Input) Measured() bool { return in.Kind != InputTarget && in.Kind != InputKnob }

// UnitWord is the input's unit with a word for ratios, which are not plain numbers:
// comparing a gain with tokens per second is a mistake.
func (in *Input) UnitWord() string {
	if in.Ratio() || (in.Kind == InputMetric && in.Stat == "cv") {
		return RatioUnit
	}
	return in.Unit
}

// Claim is a comparison in the one form in which statistics decide it: a number measured
// by launches is more, or less, than a threshold. Load derives it from the comparison as
// written, whichever side the number is on and however it is scaled (chat.tg >= 0.97 *
// chat.tg.base is a change of at least −3%).
type Claim struct {
	// Form is how it is decided. Range stands for a value that a launch has once and that
	// hardly varies, whether it is compared as a change, a delta or a level: its Input's
	// Relation says which.
	Form verdict.Form
	// Input is what is tested, with Relation Gain, Change, Delta, Own or Base. Its Stat
	// is what each launch contributes, for all relations. For a comparison of a metric
	// with its own base it is synthesized (a Change or Delta), has no variable and is not
	// an input that the rule names. Nil if Form is Exact.
	Input *Input
	// More is set if the rule wants more than the threshold, after every not in front of
	// the comparison was pushed into it. It refers to Input's number as it is: for a
	// metric that is better lower, more gain is better, but less change or a lower level
	// is.
	More bool
	// Strict is set if equality is not enough.
	Strict bool
	// Threshold is in Input's own number and unit: 0.10 for a gain or change of 10% (a
	// gain of a metric that is better lower is 1 − candidate/base, less than 1; any other
	// ratio is candidate/base − 1, more than −1), and a number of the metric's unit for a
	// delta or level. For LogLevel it is more than 0.
	Threshold float64
}

// Tested reports whether deciding it takes a test on several launches.
func (c *Claim) Tested() bool {
	return c != nil && c.Form != verdict.Exact && c.Form != verdict.Range
}

// Logic is the rule as a tree with every not pushed down into its comparisons:
// the error budget follows it.
type Logic struct {
	// Op is "and", "or", "compare" or "truth".
	Op string
	// Args are the parts of and and or; at least two, and none of the same Op.
	Args []*Logic
	// Leaf is the comparison of Op compare, Truth the yes-or-no input of Op truth, and
	// Negated whether the rule wants it to be false. The claim of a leaf already takes
	// Negated into account.
	Leaf    *Leaf
	Truth   *Input
	Negated bool
}

// The values of Logic.Op.
const (
	LogicAnd     = "and"
	LogicOr      = "or"
	LogicCompare = "compare"
	LogicTruth   = "truth"
)

// Parts are the conditions that must all hold for the rule to hold.
func (l *Logic) Parts() []*Logic {
	if l.Op == LogicAnd {
		return l.Args
	}
	return []*Logic{l}
}

// Operand is one side of a comparison: an input, a number times an input, or a constant.
type Operand struct {
	// Text is the operand as written, evenly spaced.
	Text string
	// Type is number, word, bool or list.
	Type InputType
	// Unit is RatioUnit, a catalogue unit, or empty for a plain number.
	Unit string
	// Input is set when the operand is nothing but one input, Of when it is Factor times
	// one.
	Input, Of *Input
	Factor    float64
	// Constant is a float64, a string, a bool or, on the right of in, a []any of these.
	Constant any
}

// Inputs is the input that the operand reads, if it reads one.
func (o *Operand) Inputs() []*Input {
	switch {
	case o.Input != nil:
		return []*Input{o.Input}
	case o.Of != nil:
		return []*Input{o.Of}
	}
	return nil
}

// Value computes the operand, given the values of inputs. It must be a finite number.
func (o *Operand) Value(of func(*Input) any) (any, error) {
	v := o.Constant
	switch {
	case o.Input != nil:
		v = of(o.Input)
	case o.Of != nil:
		n, ok := of(o.Of).(float64)
		if !ok {
			return nil, fmt.Errorf("%s is not a number", o.Of.Path)
		}
		v = o.Factor * n
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("%s is not a finite number", o.Text)
	}
	if v == nil {
		return nil, fmt.Errorf("%s has no value", o.Text)
	}
	return v, nil
}

// RatioUnit is the unit of an operand that is a relative change or spread.
const RatioUnit = "ratio"

// Quantity is an input without its spelling: chat.tg, chat.tg.median and chat.tg.p50 are
// the same.
func (in *Input) Quantity() Input {
	q := *in
	q.Path, q.Unsent = "", nil
	if q.Stat == "p50" {
		q.Stat = "median"
	}
	return q
}

// Exact reports whether an input has no noise that a threshold would have to stay clear
// of: words, outcomes and counts. Numbers of the plan are exact too.
func (in *Input) Exact() bool {
	if in.Kind != InputMetric {
		return true
	}
	return in.Counts() || in.Stat != "std" && in.Stat != "cv" && in.Occurs()
}

// Occurs reports whether the input is something that occurs or does not: crashes, errors,
// tokens of requests. Tokens per step (accept_length) are an average.
func (in *Input) Occurs() bool {
	if in.Of == "count" {
		return true
	}
	m, ok := measure.LookupIn(in.Metric, measure.PerRequest)
	return ok && m.Unit == "tokens" && !measure.OfCommand(in.Cell)
}

// Once reports whether a launch has the value once and it hardly varies between launches:
// memory, and numbers that an engine reports about itself.
func (in *Input) Once() bool {
	if in.Kind == InputFound || in.Of == "GB" || strings.HasPrefix(in.Metric, "observed.") {
		return true
	}
	m, ok := measure.LookupIn(in.Metric, measure.PerLaunch)
	return ok && m.Observed && in.Cell == ""
}

// Positive reports whether the value is always more than zero, and so has a logarithm.
func (in *Input) Positive() bool {
	switch {
	case in.Relation != Own && in.Relation != Base, in.MayBeZero(), in.Stat == "std", in.Stat == "cv":
		return false
	case measure.OfCommand(in.Cell):
		return in.Better != "" // else it may be anything
	}
	return in.Metric != "itl" || in.Stat != "min" // tokens that come at once
}

// Form is how a claim about an input is decided.
func (in *Input) Form(threshold float64) verdict.Form {
	switch {
	case in.Once():
		return verdict.Range
	case in.Ratio():
		return verdict.Ratio
	case in.Relation == Delta:
		return verdict.Difference
	case in.Positive() && threshold > 0:
		return verdict.LogLevel
	}
	return verdict.Level
}

// LaunchAddress is where a launch keeps the metric of an input.
func (in *Input) LaunchAddress() string {
	switch {
	case in.Kind == InputFound:
		return FoundAddress(in.Name, in.Metric)
	case in.Cell == "":
		return "engine." + in.Metric
	}
	return in.Cell + "." + in.Metric
}

// Flipped maps a comparison operator to the one for exchanged sides.
var Flipped = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

// Turned is the operator that means the same with the sides exchanged.
func Turned(op string) string {
	if turned, order := Flipped[op]; order {
		return turned
	}
	return op
}
