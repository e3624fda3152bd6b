package plans

import (
	"encoding/json"
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Registry declares what levels, steps and engine kinds accept. It is filled by the
// packages that implement them, so a new level is one file in its own package.
type Registry struct {
	Levels  map[string]Schema
	Steps   map[string]Schema
	Engines map[string]EngineKind
	// EngineParts are the blocks in an engine besides process, ready and stop, by
	// keyword; ValueParts those in a knob's value besides its evidence.
	EngineParts map[string]Part
	ValueParts  map[string]Part
	// Dataset reads the content of a file of prompts; name is for messages. Nil accepts
	// any content.
	Dataset func(name string, data []byte) (DataRows, error)
	// Unified reports whether a GPU of this machine shares the host's memory, so it
	// has none of its own to read. Nil means that none does.
	Unified func() bool
	// Decision checks error rates and launches per arm; its error names the mistake and
	// the values on offer. Nil accepts anything.
	Decision func(falsePass, falseFail float64, least, most int) error
}

type Schema struct {
	Doc   string
	Attrs []Attr
	// Example is a block of this kind for the manual.
	Example string
	// Label says what the block's name is for; empty if blocks of this kind have none (a
	// step always has one).
	Label string
	// Parts are the blocks that may be in it, by keyword.
	Parts map[string]Part
	// Finds are the numbers that a level with that block finds, which rules can read; nil
	// finds none.
	Finds func(b *Block) []LevelResult
	// Asks is set for a level that sends requests: a command has no server to answer
	// them, so a plan may not have the level for one.
	Asks bool
	// Against is set for a level that compares answers with the parent's; a command has
	// none.
	Against bool
	// Fits returns what an engine lacks to go through a level; nil if any engine will do.
	Fits func(b *Block, e *Engine) []AttrError
	// Longest is how many tokens the longest request of a level has, prompt and answer
	// together; nil if its requests are short.
	Longest func(b *Block) int
	// Check checks decoded attributes for what types cannot express; each AttrError that
	// it returns becomes one error, at its attribute.
	Check func(b *Block) []AttrError
}

// AttrError is a mistake in one attribute of a block.
type AttrError struct {
	// Attr is the attribute's name; empty means the block as a whole.
	Attr string
	// Part is the block inside the engine that the mistake is in; nil means the engine
	// itself.
	Part *Block
	// Code is the stable name of this kind of mistake; plans/load/testdata/codes.txt lists
	// each.
	Code    string
	Summary string
	Detail  string
}

type Attr struct {
	Name     string
	Type     AttrType
	Required bool
	// Default is filled in if the plan gives no value; nil leaves it absent.
	Default any
	// Unit is shown in docs: "tokens", "requests".
	Unit string
	// Min bounds numbers from below when MinSet.
	Min    float64
	MinSet bool
	// Max bounds numbers from above if it is not zero.
	Max float64
	// OneOf restricts strings; for a reference it is the words allowed besides blocks of
	// type Ref.
	OneOf []string
	// Filled refuses a blank text and an empty list, Unique two equal elements of a list.
	Filled, Unique bool
	// Program means that only a program gets to see the value, so it may be secret.
	Program bool
	// Note means that it is text for readers of reports, part of no digest.
	Note bool
	// Ref is the block type a reference must name ("workload").
	Ref string
	Doc string
	// Needs is what a required attribute is for, in the message that it is missing; empty
	// is Doc.
	Needs string
	// Excludes are attributes and blocks beside which it is not written, Requires those
	// without which it has no effect, Unless those without which it is required: any of
	// them, by name or as "name=value".
	Excludes, Requires, Unless []string
}

// AttrType is the type of an attribute, in words that docs show.
type AttrType string

const (
	String   AttrType = "string"
	Bool     AttrType = "bool"
	Number   AttrType = "number"
	Int      AttrType = "integer"
	Duration AttrType = "duration" // "90s", "15m"
	Strings  AttrType = "list of strings"
	Ints     AttrType = "list of integers" // a single integer is a list of one
	Numbers  AttrType = "list of numbers"  // a single number is a list of one
	Map      AttrType = "map of strings"
	Refs     AttrType = "list of references"

	// The types below have decoders of their own in plans/load.

	Reference AttrType = "reference"
	Values    AttrType = "map of values"
	Overrides AttrType = "map of strings or null"
	Factors   AttrType = "map of numbers"
	Choices   AttrType = "map of knobs to their values"
	Beaten    AttrType = "map of workloads to maps of metrics to numbers"
	RuleText  AttrType = "rule"
	TypeExpr  AttrType = "type"
	Condition AttrType = "condition"
	Anything  AttrType = "anything"

	// Columns: addresses, each alone or as a map of column and heading.
	Columns AttrType = "list of columns"
	// Bounds: a least and a greatest number.
	Bounds AttrType = "map of min and max to numbers"
	// Alternatives: one knob and the values of it that are tried.
	Alternatives AttrType = "map of one knob to a list of its values"
)

// EngineKind is what the plan language knows about an engine kind.
type EngineKind struct {
	Doc string
	// Example is an engine block of this kind for the manual.
	Example string
	// NeedsProcess means that the plan must say how to start it, unless another block
	// does.
	NeedsProcess bool
	// Settings are the accepted settings; nil accepts any.
	Settings []Attr
	// Variables are all environment variables specific to this kind that its engines
	// read, if known; they share a prefix that ends in an underscore.
	Variables []string
	// Observed is what engines of this kind report about themselves.
	Observed []Observed
	// Check checks a decoded engine of this kind for what its parts alone cannot show,
	// such as a launcher that the kind cannot have. Nil checks nothing.
	Check func(e *Engine) []AttrError
	// Doubt returns what is hardly intended in an engine of a plan without errors. Nil doubts
	// nothing.
	Doubt func(p *Plan, e *Engine) []AttrError
}

// Part is a block inside an engine or a knob value whose shape is declared
// outside this package: a launcher, an observation, a source revision.
type Part struct {
	Schema
	// Label says what the block's label names; empty if it has none.
	Label string
	Times Times
	// Launcher means that the block is how the engine is launched. An engine has one of
	// these or a process block.
	Launcher bool
	// Observes returns what the block adds to the observations of its engine; nil adds
	// nothing.
	Observes func(*Block) []Observed
}

// Times is how often a block may be in its place, in words.
type Times string

const (
	Once     Times = "exactly one"
	AtMost1  Times = "at most one"
	AtLeast1 Times = "at least one"
	AnyTimes Times = "any number"
)

// TypeText is the type of an attribute in words, with its unit and bounds.
func (a Attr) TypeText() string {
	words := string(a.Type)
	switch {
	case a.Type == Reference:
		words = "reference to " + OrList(append([]string{a.Ref}, a.OneOf...))
	case a.Type == Refs:
		words = "list of references to " + a.Ref
	case len(a.OneOf) > 0:
		words += ": " + OrList(a.OneOf)
	}
	if a.Unit != "" {
		words += ", " + a.Unit
	}
	switch {
	case a.MinSet && a.Max != 0:
		words += fmt.Sprintf(", %s to %s", NumberText(a.Min), NumberText(a.Max))
	case a.MinSet:
		words += ", at least " + NumberText(a.Min)
	}
	return words
}

// NumberText is a number as a person writes it: 1000000, not 1e+06.
func NumberText(n float64) string {
	text, err := json.Marshal(n)
	if err != nil || n == float64(int64(n)) {
		return fmt.Sprintf("%d", int64(n))
	}
	return string(text)
}

// OrList is "a, b or c".
func OrList(words []string) string { return verdict.Joined(words, "or") }
