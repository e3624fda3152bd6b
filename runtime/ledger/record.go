package ledger

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Record is one leaf of the ledger. Exactly one of the pointers is set, the one
// that Type names.
type Record struct {
	// Type is "run", "launch", "decision", "waiver" or "end".
	Type string `json:"type"`
	// Time is when the record was made, UTC.
	Time time.Time `json:"time"`
	// Run is the run (one apply) that made it. A person's waiver or retraction is
	// of the run whose decision it is about.
	Run string `json:"run"`

	RunStart *RunStart `json:"run_start,omitempty"`
	Launch   *Launch   `json:"launch,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	End      *End      `json:"end,omitempty"`
	Waiver   *Waiver   `json:"waiver,omitempty"`
}

// RunStart opens a run.
type RunStart struct {
	Plan       string `json:"plan"`        // name of the plan
	PlanFile   string `json:"plan_file"`   // as given
	PlanDigest string `json:"plan_digest"` // over canonical decoded values
	PlanSource string `json:"plan_source"` // sha256 of the plan file, an artifact; of its first file
	// PlanSources are all files of a plan that has several, name to artifact: its
	// own, the results of other tools that rules read, the prompts it sends.
	PlanSources map[string]string `json:"plan_sources,omitempty"`
	Tool        string            `json:"tool"`        // mxflow version
	Environment map[string]string `json:"environment"` // fingerprint: os, arch, cpu, cores, kernel
	BootID      string            `json:"boot_id,omitempty"`
	// Hypotheses are the digests of the claims that the plan made when the run
	// began, by feature: a claim that a run before the measurement had is none
	// that was made up after it.
	Hypotheses map[string]string `json:"hypotheses,omitempty"`
	// Targets are the plan's numbers to beat as they were when the run began.
	Targets []Target `json:"targets,omitempty"`
	// Nodes are all nodes of the plan in the order in which the run goes through
	// them; a run that is killed has no end that says so.
	Nodes []string `json:"nodes,omitempty"`
	// Inputs are what the plan was compiled with beside its files.
	Inputs *Inputs `json:"inputs,omitempty"`
}

// End closes a run.
type End struct {
	// Verdict is the join over the gates that were evaluated.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	// Exit is the exit status of the apply.
	Exit int `json:"exit"`
	// Reason is "finished", "interrupted" or what broke.
	Reason verdict.Reason `json:"reason"`
	// Nodes are all nodes of the plan: what is not among them any more stands no
	// longer, whatever was decided about it.
	Nodes []string `json:"nodes,omitempty"`
	// Locked names each node that was not run, and why.
	Locked map[string]verdict.Reason `json:"locked,omitempty"`
}
