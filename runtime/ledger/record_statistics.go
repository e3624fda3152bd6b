package ledger

import "github.com/mxflow/mxflow/gates/verdict"

// Statistics are the settings by which the rules of a decision were decided.
type Statistics struct {
	FalsePass float64 `json:"false_pass"`
	FalseFail float64 `json:"false_fail"`
	// Min and Max are launches an arm.
	Min int `json:"min"`
	Max int `json:"max"`
	// Alternatives competed for one place; absent for one.
	Alternatives int `json:"alternatives,omitempty"`
	// Version is that of the way of deciding.
	Version string `json:"version,omitempty"`
}

// Noise is a pooled standard deviation of the logs of launches.
type Noise struct {
	SD float64 `json:"sd"`
	DF float64 `json:"df"`
}

// Evidence is what the rules of a decision read about one feature. With the
// launches that it names, the decision can be made again.
type Evidence struct {
	Feature   string `json:"feature"`
	Candidate Arm    `json:"candidate"`
	Parent    Arm    `json:"parent"`
	Root      Arm    `json:"root"`
	// Levels, Knobs, Outcome, Accepted, Broken and Cause as gates.Feature has them.
	Levels   map[string]verdict.Verdict `json:"levels,omitempty"`
	Knobs    map[string]string          `json:"knobs,omitempty"`
	Outcome  verdict.Verdict            `json:"outcome,omitempty"`
	Accepted bool                       `json:"accepted,omitempty"`
	Broken   verdict.Verdict            `json:"broken,omitempty"`
	Cause    verdict.Reason             `json:"cause,omitzero"`
	// Session is that of the launches, Max the most launches of each arm that its
	// benchmark made, and Noise the launch noise that was recorded before the
	// session began, by metric address: it floors the standard deviation of launches.
	Session string           `json:"session,omitempty"`
	Max     int              `json:"max,omitempty"`
	Noise   map[string]Noise `json:"noise,omitempty"`
}

// Arm is a variant and the IDs of its launches, in the order of their rounds.
type Arm struct {
	Name     string   `json:"name"`
	Launches []string `json:"launches,omitempty"`
}
