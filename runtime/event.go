package runtime

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Event is one piece of progress. Its JSON form is the stream of apply --json,
// version mxflow.apply/2: fields are added, never renamed.
type Event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Run     string    `json:"run,omitempty"`
	Node    string    `json:"node,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	Feature string    `json:"feature,omitempty"`
	Level   string    `json:"level,omitempty"`
	Variant string    `json:"variant,omitempty"`
	// Launch counts from 1 of at most Launches; those of launches_spared will not be made
	// after all. Again is how many earlier launches of this slot do not count, and Why
	// then why the last one does not.
	Launch   int `json:"launch,omitempty"`
	Launches int `json:"launches,omitempty"`
	// LaunchesLeast is the minimum of Launches, as far as known.
	LaunchesLeast int    `json:"launches_least,omitempty"`
	Again         int    `json:"again,omitempty"`
	LaunchID      string `json:"launch_id,omitempty"`
	// Request counts from 1 of Requests within a launch.
	Request  int `json:"request,omitempty"`
	Requests int `json:"requests,omitempty"`
	// Line is the last of the log of a starting engine, safe to print.
	Line string `json:"line,omitempty"`
	// Look is the state of the tests of Feature, in looked.
	Look    *Look            `json:"look,omitempty"`
	Action  Action           `json:"action,omitempty"`
	Verdict string           `json:"verdict,omitempty"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	// Findings are the facts beside a node's verdict.
	Findings []verdict.Reason `json:"findings,omitempty"`
	// Why is why a node is decided now, why it is locked, why a launch does not count, or
	// how a waiver affects it.
	Why verdict.Reason `json:"why,omitzero"`
	// Waiver is set if a person overrode the verdict of a gate.
	Waiver *ledger.Waiver `json:"waiver,omitempty"`
	// Decision is the outcome in node_done, for observers in this process.
	Decision *ledger.Decision `json:"-"`
	Message  string           `json:"message,omitempty"`
	Seconds  float64          `json:"seconds,omitempty"`
	// Decode is the decode speed of a launch that is done, in tok/s.
	Decode float64 `json:"decode,omitempty"`
	// Elapsed is seconds since the start of the run. At least ETALeast seconds remain, and at most
	// ETAMost: what the fewest and the most launches take that may follow. ETA is likely: in 9 of 10
	// cases half to twice that. The last two are absent if unknown.
	Elapsed  float64 `json:"elapsed,omitempty"`
	ETALeast float64 `json:"eta_least,omitempty"`
	ETA      float64 `json:"eta,omitempty"`
	ETAMost  float64 `json:"eta_most,omitempty"`
	// Made is how many launches of the whole run were made, Left how many may follow.
	Made int  `json:"made,omitempty"`
	Left int  `json:"left,omitempty"`
	Exit *int `json:"exit,omitempty"`
	// Basis is in the last event: what the decisions of the run rest on.
	Basis *Basis `json:"basis,omitempty"`
	// Reward is in the last event, too: what the ports are worth. Of an apply that was refused
	// before it started, that event is "refused", without one.
	Reward *Reward `json:"reward,omitempty"`
	// Tool and Stream are in the first event only.
	Tool   string `json:"tool,omitempty"`
	Stream string `json:"stream,omitempty"`
}

// Action is what an apply does with a node.
type Action string

const (
	// Reuse keeps the recorded outcome.
	Reuse Action = "reuse"
	// Measure does the node's work.
	Measure Action = "measure"
)

// Look is the state of a feature's tests after a round of its session.
type Look struct {
	// Launches counts each arm's launches that count, of at most Most. Next is the number
	// that the next look needs; 0 if no more are made for it.
	Launches int `json:"launches"`
	Most     int `json:"most"`
	Next     int `json:"next,omitempty"`
	// Rules are the rules tested at the last look that tested any, up to a set that
	// launches could still settle. None before the first look.
	Rules []verdict.Rule `json:"rules,omitempty"`
}
