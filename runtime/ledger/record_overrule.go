package ledger

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

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
