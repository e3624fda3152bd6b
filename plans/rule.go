package plans

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Rule is a condition as text, its place, and what Load makes of it.
type Rule struct {
	Name string `hcl:"name,label" doc:"The requirement, as a word or a one-line phrase. It is the name in reports and in 'accept'."`
	Expr string `hcl:"rule" type:"rule" needs:"a comparison in quotes, such as \"chat.tg.gain >= 0.1\"." doc:"A comparison of measured values, such as 'chat.tg.gain >= 10%'. Bare addresses are those of the feature; in a gate, of the phase's feature, if it has exactly one."`
	// Bound is set instead of a text where a level or a hypothesis makes the comparison;
	// then Expr only shows it.
	Bound *Bound `json:"-"`
	// Range is the block; ExprRange the expression's attribute value.
	Range     Range `json:"-"`
	ExprRange Range `json:"-"`
	// Cond is what must hold, set by Load; nil if the text is wrong.
	Cond *Cond `json:"-"`
}

// Compares are the comparisons of the rule, in order of appearance.
func (r *Rule) Compares() []*Compare { return r.cond().Compares() }

// Inputs are the values that the rule reads, each once, in order of appearance.
func (r *Rule) Inputs() []*Input { return r.cond().Inputs() }

func (r *Rule) cond() *Cond {
	if r == nil {
		return nil
	}
	return r.Cond
}

// Bound is a metric's address, with a relation if it has one, and the number that bounds
// it.
type Bound struct {
	Address, Op string
	Limit       float64
}

const (
	And = "and"
	Or  = "or"
)

// Cond is what must hold: one comparison, one yes-or-no value, or several conditions
// joined by and or or. Every not is pushed down to these: the error budget follows the
// tree.
type Cond struct {
	// Op is And or Or; then Args are at least two, and none of the same Op.
	Op   string
	Args []*Cond
	// Compare is a comparison, which takes its own Negated into account.
	Compare *Compare
	// Truth is a yes-or-no input, and Negated whether it has to be no.
	Truth   *Input
	Negated bool
}

// Parts are the conditions that must all hold for c to hold.
func (c *Cond) Parts() []*Cond {
	if c.Op == And {
		return c.Args
	}
	return []*Cond{c}
}

// Compares are the comparisons of c, in order of appearance.
func (c *Cond) Compares() (all []*Compare) {
	switch {
	case c == nil:
	case c.Compare != nil:
		all = append(all, c.Compare)
	default:
		for _, arg := range c.Args {
			all = append(all, arg.Compares()...)
		}
	}
	return all
}

// Inputs are the values that c reads, each once, in order of appearance.
func (c *Cond) Inputs() (all []*Input) {
	var read []*Input
	switch {
	case c == nil:
	case c.Compare != nil:
		read = c.Compare.Inputs()
	case c.Truth != nil:
		read = append(read, c.Truth)
	default:
		for _, arg := range c.Args {
			read = append(read, arg.Inputs()...)
		}
	}
	for _, in := range read {
		if !slices.Contains(all, in) {
			all = append(all, in)
		}
	}
	return all
}

// Compare is one comparison: as it was written, and in the one form in which it is
// decided, whichever side the number is on and however it is scaled (chat.tg >= 0.97 *
// chat.tg.base is a change of at least −3%).
type Compare struct {
	// Text is the comparison as written, evenly spaced; At and Length are where it is in
	// the rule, in characters.
	Text        string
	At, Length  int `json:"-"`
	Op          string
	Left, Right Operand
	// Negated is set under an odd number of nots: the rule wants it not to hold.
	Negated bool

	// Form is how it is decided. Range stands for a value that a launch has once and that
	// hardly varies, whether it is compared as a change, a delta or a level: its Metric's
	// Relation says which.
	Form verdict.Form
	// Metric is what is compared with Threshold: with Relation Gain, Change, Delta, Own or
	// Base, and Against the arm that it is compared with. Its Stat is what each launch
	// contributes, for all relations. For a comparison of a metric with its own base it is
	// made up (a Change or Delta), and no input that the rule names. Nil for words, lists,
	// equality, and counts compared with each other: then only the sides decide.
	Metric *Input
	// AtLeast is set if the rule wants more than the threshold, after every not in front
	// of the comparison was pushed into it. It refers to Metric's number as it is: for a
	// metric that is better lower, more gain is better, but less change or a lower level
	// is.
	AtLeast bool
	// Strict is set if equality is not enough.
	Strict bool
	// Threshold is in Metric's own number and unit: 0.10 for a gain or change of 10% (a
	// gain of a metric that is better lower is 1 − candidate/base, less than 1; any other
	// ratio is candidate/base − 1, more than −1), and a number of the metric's unit for a
	// delta or level. For LogLevel it is more than 0.
	Threshold float64
}

func (c *Compare) Inputs() (list []*Input) {
	for _, in := range []*Input{c.Left.Input, c.Right.Input} {
		if in != nil {
			list = append(list, in)
		}
	}
	return list
}

// Tested reports whether deciding it takes a test on several launches.
func (c *Compare) Tested() bool {
	return c.Form != verdict.Exact && c.Form != verdict.Range
}

// Operand is one side of a comparison: Factor times an input, or a constant.
type Operand struct {
	// Text is the operand as written, evenly spaced.
	Text string
	// Type is number, word, bool or list.
	Type InputType
	// Unit is RatioUnit, a catalogue unit, or empty for a plain number.
	Unit   string
	Input  *Input
	Factor float64
	// Constant is a float64, a string, a bool or, on the right of in, a []any of these.
	Constant any
}

// Fixed reports whether the operand reads nothing but numbers of the plan.
func (o *Operand) Fixed() bool { return o.Input == nil || o.Input.Kind == InputTarget }

// Value computes the operand, given the values of inputs. It must be a finite number.
func (o *Operand) Value(of func(*Input) any) (any, error) {
	v := o.Constant
	if o.Input != nil {
		v = of(o.Input)
	}
	if o.Input != nil && o.Factor != 1 {
		n, ok := v.(float64)
		if !ok {
			return nil, fmt.Errorf("%s is not a number", o.Input.Path)
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
	Root   Against = "root"
)

// Suffix is what an address has for the arm, after the metric.
func (a Against) Suffix() string {
	if a == Parent {
		return ""
	}
	return "." + string(a)
}

// SuiteGap is a workload that is not sent: it is not in the chosen Suite or, if none was
// chosen, not in the benchmark of Protocol, while Suites ("--suite deep") do send it.
type SuiteGap struct {
	Workload, Suite, Protocol string
	Suites                    []string
}

// Input is one address that a rule reads, resolved against the plan.
type Input struct {
	Path string
	Kind InputKind
	// Feature is the feature whose value it is.
	Feature string
	// Words are the words that a level may report in the qualification launch, separated
	// by commas; empty if no level reports the value.
	Words string `json:",omitempty"`
	// Row is set if the value belongs to a row of a comparison: then Feature is Row.Key,
	// and the value is compared with the reference.
	Row *Row `json:",omitempty"`
	// Cell is the cell's address ("chat", "chat.o32"), or "gpu", "host" or
	// "command"; Metric and Stat follow.
	Cell, Metric, Stat string
	// Unsent is set if, by the plan itself, no launch has the value.
	Unsent   *SuiteGap
	Relation Relation
	// Against is the arm that the value is of, or is compared with.
	Against Against
	// Name is the level, target, knob, observation or the feature's property.
	Name string
	// Number is the value of a target, and Block the type of its block if that is
	// another: "imported".
	Number float64
	Block  string
	// Invalid says why nothing is decided by Number: its file marks itself as no result.
	Invalid string `json:",omitempty"`
	// Unit of the value; empty for ratios and words.
	Unit string
	// Of is the unit of the metric itself, whatever Stat and Relation are.
	Of     string `json:"-"`
	Better string
	Type   InputType
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
	if r.OfNumbers() {
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

// OfNumbers reports whether the row is numbers that a step found.
func (r *Row) OfNumbers() bool { return r.Engine == "" }

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
func (in *Input) MayBeZero() bool { return measure.MayBeZero(in.Cell, in.Metric, in.Unit) }

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
// of: words, outcomes and counts, of what occurs or does not: crashes, errors, tokens of
// requests. Tokens per step (accept_length) are an average. Numbers of the plan are exact
// too.
func (in *Input) Exact() bool {
	switch {
	case in.Kind != InputMetric, in.Counts():
		return true
	case in.Stat == "std", in.Stat == "cv":
		return false
	case in.Of == "count":
		return true
	}
	m, ok := measure.LookupIn(in.Metric, measure.PerRequest)
	return ok && m.Unit == "tokens" && !measure.OfCommand(in.Cell)
}

// OfLevel reports whether a level found the value, or is it.
func (in *Input) OfLevel() bool {
	return in.Kind == InputLevel || in.Kind == InputFound || in.Words != ""
}

// OncePerLaunch reports whether a launch has the value once and it hardly varies between launches:
// memory, and numbers that an engine reports about itself.
func (in *Input) OncePerLaunch() bool {
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
	case in.OncePerLaunch():
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
		return LevelAddress(in.Name, in.Metric)
	case in.Cell == "":
		return "engine." + in.Metric
	}
	return in.Cell + "." + in.Metric
}

// Flipped maps a comparison operator to the one for exchanged sides.
var Flipped = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

// Mirrored is the operator that means the same with the sides exchanged.
func Mirrored(op string) string {
	if turned, order := Flipped[op]; order {
		return turned
	}
	return op
}
