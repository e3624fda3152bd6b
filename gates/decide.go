package gates

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Settings are how a set of rules is decided.
type Settings struct {
	// FalsePass, FalseFail, Min and Max as the plan's decision block has them; Max
	// is less where a benchmark makes fewer launches.
	FalsePass, FalseFail float64
	Min, Max             int
	// Alternatives is how many candidates compete for one place (choose): each has
	// that part of the chance of a false pass. 0 and 1 are the same.
	Alternatives int
	// Noise is the stored launch noise by metric address ("chat.tg"): the standard
	// deviation of the logs of launches.
	Noise map[string]Noise
}

// Noise is a pooled standard deviation between launches with its degrees of
// freedom.
type Noise struct {
	SD float64 `json:"sd"`
	DF float64 `json:"df"`
}

// Decide decides rules that all have to hold, each from as many launches as
// there are. The error budget is shared among them: as under one "and".
func Decide(rules []*plans.Rule, ev *Evidence, s Settings) []verdict.Rule {
	panic("to be built")
}

// Open lists the features of which more launches could settle what is not
// decided yet, given how the rules came out: none once one of them has failed.
func Open(rules []verdict.Rule) []string {
	panic("to be built")
}
