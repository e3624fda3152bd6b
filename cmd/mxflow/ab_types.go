package main

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// abResult is how a comparison came out, as the last line of --json has it.
type abResult struct {
	Type string `json:"type"` // "ab_result"
	// Verdict is empty after an interruption.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Exit    int             `json:"exit"`
	Said    string          `json:"said"`
	// Metric is what was decided about, in Unit; Claim the question in words, and
	// Gain its threshold: the least improvement in the metric's better direction.
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Claim  string  `json:"claim"`
	Gain   float64 `json:"gain"`
	A      abSide  `json:"a"`
	B      abSide  `json:"b"`
	// Change is B's against A's as a share, signed: 0.1 is 10 % more. Low and High
	// bound it as the decision did: a claim of the one would just pass, one of the
	// other just fail.
	Change *float64 `json:"change,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	// Metrics are others of the same launches, which nothing was decided about.
	Metrics []abRow  `json:"metrics,omitempty"`
	Differs []abDiff `json:"differs,omitempty"`
	// Same counts what both were found to have in common.
	Same    int              `json:"same"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	Notes   []verdict.Reason `json:"notes,omitempty"`
	// Moved is what was asked otherwise when these launches were seen first, and how
	// often they were made from the start: then the error rates do not hold.
	Moved   []verdict.Reason `json:"moved,omitempty"`
	Advice  []string         `json:"advice,omitempty"`
	LogTail []string         `json:"log_tail,omitempty"`
	// Stopped is why no more launches were made, as in verdict.Stop.
	Stopped verdict.Stop `json:"stopped,omitempty"`
	// Unfit is the command that did not pass what comes before measuring: "A" or "B".
	Unfit string `json:"unfit,omitempty"`
	Most  int    `json:"most_launches"`
	Run   string `json:"run"`
	State string `json:"state"`
	Plan  string `json:"plan"`

	// numbers are those of the session's launches, and named how the progress called
	// them, "3 again (B)", by ID.
	numbers map[string]int
	named   map[string]string
	test    *verdict.Test
	rates   *ledger.Statistics
	levels  []ledger.Level
}

// abSide is one command and its launches.
type abSide struct {
	Command  string     `json:"command"`
	Kind     string     `json:"kind"`
	Launches []abLaunch `json:"launches"`
	// Replaced is how many more did not count and were made again in their place.
	Replaced int `json:"replaced,omitempty"`
	// Broke is how many of those the server itself ended or could not finish.
	Broke int `json:"broke,omitempty"`
	// Value is the mean of the launches, in logs.
	Value *float64 `json:"value,omitempty"`

	all []*ledger.Launch
}

// abLaunch is one start that counts: its number as the progress had it, its place
// among all starts, and the metric's median.
type abLaunch struct {
	ID     string  `json:"id"`
	Number int     `json:"number"`
	Order  int     `json:"order"`
	Value  float64 `json:"value"`
}
