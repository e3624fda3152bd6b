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
	// Launch counts from 1 of at most Launches; those of launches_spared will not
	// be made after all. Again is how many launches were made in this place before
	// that do not count, and Why then why the last one does not.
	Launch   int `json:"launch,omitempty"`
	Launches int `json:"launches,omitempty"`
	// LaunchesLeast is how many of Launches are made in any case, as far as is known.
	LaunchesLeast int    `json:"launches_least,omitempty"`
	Again         int    `json:"again,omitempty"`
	LaunchID      string `json:"launch_id,omitempty"`
	// Request counts from 1 of Requests within a launch.
	Request  int `json:"request,omitempty"`
	Requests int `json:"requests,omitempty"`
	// Loading is how a start comes along.
	Loading *Loading `json:"loading,omitempty"`
	// Look is where the tests of Feature stand, in looked.
	Look    *Look            `json:"look,omitempty"`
	Action  Action           `json:"action,omitempty"`
	Verdict string           `json:"verdict,omitempty"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	// Findings are what is beside the verdict of a node.
	Findings []verdict.Reason `json:"findings,omitempty"`
	// Why is why a node is decided now, why it is locked, why a launch does not count,
	// or how a waiver bears on it.
	Why verdict.Reason `json:"why,omitzero"`
	// Waiver is set where a person overrode the verdict of a gate.
	Waiver  *ledger.Waiver `json:"waiver,omitempty"`
	Message string         `json:"message,omitempty"`
	Seconds float64        `json:"seconds,omitempty"`
	// Elapsed is seconds since the start of the run. It continues for at least ETALeast
	// seconds and, in 9 of 10 cases, for at most ETA; absent while that is not known.
	Elapsed  float64 `json:"elapsed,omitempty"`
	ETALeast float64 `json:"eta_least,omitempty"`
	ETA      float64 `json:"eta,omitempty"`
	// Made is how many launches of the whole run were made, Left how many may follow.
	Made int  `json:"made,omitempty"`
	Left int  `json:"left,omitempty"`
	Exit *int `json:"exit,omitempty"`
	// Tool and Stream stand in the first event only.
	Tool   string `json:"tool,omitempty"`
	Stream string `json:"stream,omitempty"`
}

// Loading is how an engine's start comes along.
type Loading struct {
	// Stage is the current part, in the word of the engine's kind; empty while
	// none is known.
	Stage string `json:"stage,omitempty"`
	// Log is the last line that the engine wrote, safe to print.
	Log string `json:"log,omitempty"`
	// GPUMemory is what is in use on its GPUs, GPUMemoryTotal what they have; 0 where
	// that is not known.
	GPUMemory      float64 `json:"gpu_memory_gb,omitempty"`
	GPUMemoryTotal float64 `json:"gpu_memory_total_gb,omitempty"`
}

// Look is where the tests of a feature stand after a round of its session.
type Look struct {
	// Launches are those of each arm that count, of at most Most. Next is how many the
	// next look takes; 0 where no more are made for it.
	Launches int `json:"launches"`
	Most     int `json:"most"`
	Next     int `json:"next,omitempty"`
	// Rules are those that were asked, as far as a set of them that launches could still
	// settle; those of the last look that asked. None before the first look.
	Rules []verdict.Rule `json:"rules,omitempty"`
}
