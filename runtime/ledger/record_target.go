package ledger

import "github.com/mxflow/mxflow/gates/verdict"

// Target is a number to beat as the plan has it: of a target block, or of the
// result of another tool. It stands in the record of a run, so that who is beaten
// can be told without the plan.
type Target struct {
	// Name is the block's, with its type in front where that is "imported":
	// "llamacpp", "imported.benchy". Tool is what measured it.
	Name string `json:"name"`
	Tool string `json:"tool,omitempty"`
	// Path is how rules read it: "target.llamacpp.chat.tg".
	Path string `json:"path"`
	// Address and Stat are what it is held against, as launches keep it: "chat.tg",
	// "median". Address is empty where the plan does not say, and Why says so.
	Address string  `json:"address,omitempty"`
	Stat    string  `json:"stat,omitempty"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit,omitempty"`
	// Sent is what the plan sends in the cell of Address, by which launches of
	// before, that were sent something else, are told apart.
	Sent *Sent `json:"sent,omitempty"`
	// Better is the metric's better direction: "higher" or "lower".
	Better string         `json:"better,omitempty"`
	Why    verdict.Reason `json:"why,omitzero"`
}

// Sent are the dimensions of a cell, as measure.CellRun has them.
type Sent struct {
	Prompt      int     `json:"prompt,omitempty"`
	Output      int     `json:"output,omitempty"`
	Depth       int     `json:"depth,omitempty"`
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
}
