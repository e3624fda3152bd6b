package ledger

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Statistics are the settings by which the rules of a decision were decided.
type Statistics struct {
	FalsePass float64 `json:"false_pass"`
	FalseFail float64 `json:"false_fail"`
	// Min and Max are launches an arm.
	Min int `json:"min"`
	Max int `json:"max"`
	// Alternatives competed for one place; absent for one.
	Alternatives int `json:"alternatives,omitempty"`
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
	Cause    string                     `json:"cause,omitempty"`
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

// Alternative is one candidate of a feature that chooses among several.
type Alternative struct {
	// Name is the feature's with the value: "spec[short]"; Set the knobs it sets.
	Name    string            `json:"name"`
	Set     map[string]string `json:"set"`
	Verdict verdict.Verdict   `json:"verdict"`
	Chosen  bool              `json:"chosen,omitempty"`
	Reasons []string          `json:"reasons,omitempty"`
	Rules   []Rule            `json:"rules,omitempty"`
}

// Confirmation is what became of a feature's criteria on another engine. The
// feature's verdict is the join of its own levels and rules with those of its
// confirmations.
type Confirmation struct {
	// Engine is "kind.name", Node what was decided there.
	Engine string `json:"engine"`
	Node   string `json:"node"`
	// Verdict is absent where it was not tried, since the feature did not pass
	// without it.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}

// Retraction withdraws a decided outcome. The decision that holds it has the
// verdict invalid and stands in the place of the one that it withdraws.
type Retraction struct {
	// Node is the outcome that turned out wrong; another one than the decision's
	// where this was locked because it depended on it.
	Node string `json:"node"`
	// Attempt, Verdict and Accepted are what was withdrawn.
	Attempt  int             `json:"attempt"`
	Verdict  verdict.Verdict `json:"verdict"`
	Accepted bool            `json:"accepted,omitempty"`
	Reason   string          `json:"reason"`
	By       string          `json:"by"`
}

// Waiver lets what comes after a gate go on although the gate did not pass. It
// covers one decision about the gate and no later one.
type Waiver struct {
	Node string `json:"node"`
	// Attempt, MeasureKey, DecisionKey and Verdict are those of the decision.
	Attempt     int             `json:"attempt"`
	MeasureKey  string          `json:"measure_key"`
	DecisionKey string          `json:"decision_key"`
	Verdict     verdict.Verdict `json:"verdict"`
	Reason      string          `json:"reason"`
	By          string          `json:"by"`
	Expires     time.Time       `json:"expires"`
	// Revoked takes back the waiver before it: it covers nothing, and Expires is
	// when it was taken back.
	Revoked bool `json:"revoked,omitempty"`
}

// Interference compares the measured gain of a stack with the product of the
// gains of its parts, each measured by itself: 0.05 says that the stack is 5 %
// better than that.
type Interference struct {
	Metric string `json:"metric"`
	// Stack is the measured gain of the whole, Product that of the parts.
	Stack   float64  `json:"stack"`
	Product float64  `json:"product"`
	Parts   []string `json:"parts"`
	// Ratio is (1 + Stack) / (1 + Product) − 1 with its 95 % interval.
	Ratio float64  `json:"ratio"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}
