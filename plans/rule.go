package plans

import "github.com/expr-lang/expr/vm"

// Program is a rule after strict compilation: what it reads, what it compares,
// and the expression to run.
type Program struct {
	// Inputs are the values the rule reads, each once, in order of appearance.
	Inputs []*Input
	// Leaves are its comparisons, in order of appearance. All arithmetic of a
	// rule stands inside of them.
	Leaves []*Leaf
	// Logic is how and, or and not join its comparisons, which their error budget
	// follows.
	Logic *Logic
	// VM is the compiled boolean expression over the inputs' variables.
	VM *vm.Program
	// OnlyWorse is what Load warns of where the rule passes only when a metric got
	// worse, else empty.
	OnlyWorse string
}

// Alone is the rule's only comparison where it is nothing but that, else nil.
func (p *Program) Alone() *Leaf {
	if len(p.Leaves) != 1 {
		return nil
	}
	for _, in := range p.Inputs {
		if in.Type == BoolInput {
			return nil // which may stand beside the comparison
		}
	}
	return p.Leaves[0]
}

// Leaf is one comparison of a rule.
type Leaf struct {
	// Text is the comparison as written, evenly spaced.
	Text string
	Op   string
	// Left and Right are its operands.
	Left, Right *Operand
	// Negated is set below an odd number of nots: the rule wants it not to hold.
	Negated bool
	// Claim is how it is decided; never nil in a plan that Load accepts.
	Claim *Claim
	// At and Length are where it stands in the rule, in characters.
	At, Length int `json:"-"`
}

// Inputs are what both sides read.
func (l *Leaf) Inputs() []*Input { return append(l.Left.Inputs(), l.Right.Inputs()...) }

// InputKind says what an address leads to.
type InputKind string

const (
	// InputMetric: a per-request metric of a cell, or a per-launch metric
	// (then Cell is empty).
	InputMetric InputKind = "metric"
	// InputLevel: the verdict of a test level, a word.
	InputLevel InputKind = "level"
	// InputFeature: verdict, accepted or decided of a feature.
	InputFeature InputKind = "feature"
	// InputTarget: a declared number to beat.
	InputTarget InputKind = "target"
	// InputKnob: the candidate's value of a knob, a word.
	InputKnob InputKind = "knob"
	// InputObserved: a word or truth that the candidate's engine says of itself.
	InputObserved InputKind = "observed"
)

// Relation says what a metric is compared with.
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

// Input is one address that a rule reads, resolved against the plan.
type Input struct {
	// Path is the address as written.
	Path string
	// Var is the variable that stands for it in the compiled rule.
	Var  string
	Kind InputKind
	// Feature is the feature whose value it is.
	Feature string
	// Cell is the cell's address ("chat", "chat.o32"), or "gpu", "host" or
	// "command"; Metric and Stat follow.
	Cell, Metric, Stat string
	// Unsent says why no launch has the value, where the plan says so itself: a
	// suite does not send the workload. It continues a sentence.
	Unsent   string
	Relation Relation
	// Root compares with the plan's baseline instead of the parent.
	Root bool
	// Name is the level, target, knob, observation or the feature's property.
	Name string
	// Number is the value of a target, and Block the type of the block that it
	// stands in where that is another: "imported".
	Number float64
	Block  string
	// Unit of the value; empty for ratios and words.
	Unit string
	// Of is the unit of the metric itself, whatever is asked of it.
	Of string `json:"-"`
	// Better is the metric's better direction.
	Better string
	// Type is what the rule sees.
	Type InputType
}

// InputType is the type of an input in a rule.
type InputType string

const (
	NumberInput InputType = "number"
	WordInput   InputType = "word"
	BoolInput   InputType = "bool"
)

// Counts reports whether the value is how many launches or requests there are, and
// nothing that they measured.
func (in *Input) Counts() bool { return in.Stat == "n" || in.Stat == "n_requests" }

// Counted reports whether each launch counts the value by itself: crashes, errors,
// tokens of requests.
func (in *Input) Counted() bool { return in.Kind == InputMetric && in.exact() && !in.Counts() }

// Comparing reports whether the value is made of two arms.
func (in *Input) Comparing() bool { return in.Relation == Delta || in.Ratio() }

// Ratio reports whether the value is a relative change, shown in per cent.
func (in *Input) Ratio() bool { return in.Relation == Gain || in.Relation == Change }

// MayBeZero tells speeds, sizes and times that are more than nothing, and are
// averaged in logs, from counts, shares and waiting that need not occur.
func (in *Input) MayBeZero() bool {
	switch in.Metric {
	case "schedule_lag", "queue", "engine_queue", "goodput":
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

// unitWord is the input's unit with a word for ratios, which are not plain numbers:
// comparing a gain with tokens per second is a mistake.
func (in *Input) unitWord() string {
	if in.Ratio() || (in.Kind == InputMetric && in.Stat == "cv") {
		return RatioUnit
	}
	return in.Unit
}
