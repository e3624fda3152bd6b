package ledger

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Record is one leaf of the ledger. Exactly one of the pointers is set, the one
// that Type names.
type Record struct {
	// Type is "run", "launch", "decision", "waiver", "milestone", "key", "removal",
	// "refusal" or "end".
	Type string `json:"type"`
	// Time is when the record was made, UTC.
	Time time.Time `json:"time"`
	// Run is the run (one apply) that made it. A person's waiver or retraction is
	// of the run whose decision it is about, a milestone of the run that it names, a
	// change of keys and a removal of the one before it.
	Run string `json:"run"`

	RunStart *RunStart `json:"run_start,omitempty"`
	Launch   *Launch   `json:"launch,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	End      *End      `json:"end,omitempty"`
	Waiver   *Waiver   `json:"waiver,omitempty"`

	Milestone *Milestone `json:"milestone,omitempty"`
	Key       *Key       `json:"key,omitempty"`
	Removal   *Removal   `json:"removal,omitempty"`
	Refusal   *Refusal   `json:"refusal,omitempty"`
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
	// Goals are what the plan asked of features and phases when the run began, by node:
	// a rule that was relaxed after its launches were seen is told from one that stood
	// before them. OnSeenData is set where a person let such rules decide nevertheless.
	Goals      map[string]Goal `json:"goals,omitempty"`
	OnSeenData bool            `json:"on_seen_data,omitempty"`
	// Targets are the plan's numbers to beat as they were when the run began.
	Targets []Target `json:"targets,omitempty"`
	// Nodes are all nodes of the plan in the order in which the run goes through
	// them: what is not among them any more stands no longer, whatever was decided
	// about it.
	Nodes []string `json:"nodes,omitempty"`
	// Draws is what the run commits itself to draw the texts of its launches from,
	// before the first (Draw).
	Draws string `json:"draws,omitempty"`
	// Inputs are what the plan was compiled with beside its files.
	Inputs *Inputs `json:"inputs,omitempty"`
	// Seal is the digest of the seal that the plan was held against.
	Seal string `json:"seal,omitempty"`
}

// End closes a run.
type End struct {
	// Verdict is the join over the gates that were evaluated.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	// Exit is the exit status of the apply.
	Exit int `json:"exit"`
	// Reason is "finished", "interrupted" or what broke.
	Reason verdict.Reason `json:"reason"`
	// Locked names each node that was not run, and why.
	Locked map[string]verdict.Reason `json:"locked,omitempty"`
}

// Inputs are what a plan was compiled with beside its own files, so that a reader
// compiles it as it was applied.
type Inputs struct {
	// Suite is the suite of workloads that the command line chose.
	Suite string `json:"suite,omitempty"`
	// Variables are the values that were given to the plan's variables, by --var, a
	// file of variables or the environment, each as a plan would write it. One that
	// is not among them had its default.
	Variables map[string]string `json:"variables,omitempty"`
	// Env is what the plan's env() found in the environment.
	Env map[string]string `json:"env,omitempty"`
	// Sealed are, as "var.key" and "env.TOKEN", those that are sensitive, or may be
	// by their name or by what they are a part of: marks made with a key that does
	// not leave the state directory, by which a value can be told from another one
	// and not be guessed.
	Sealed map[string]string `json:"sealed,omitempty"`
}

// Target is a number to beat as the plan has it: of a target block, or of the
// result of another tool. It is in the record of a run, so that who is beaten
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

// Kinds of nodes that decisions are about.
const (
	KindQualify   = "qualify"
	KindBenchmark = "benchmark"
	KindCriteria  = "criteria"
	KindFeature   = "feature"
	KindGate      = "gate"
	KindStep      = "step"
	KindPhase     = "phase"
)

var kinds = []string{KindQualify, KindBenchmark, KindCriteria, KindFeature, KindGate, KindStep, KindPhase}

// What launches are for.
const (
	ForQualification = "qualification"
	// ForStep is the run of a step's program, whose numbers gates read.
	ForStep = "step"
	// ForReference is a launch whose answers tell how far launches of one variant are
	// apart.
	ForReference = "reference"
	ForBenchmark = "benchmark"
)

var purposes = []string{ForQualification, ForReference, ForBenchmark, ForStep}

// Baseline is the node that qualifies what everything is compared with, and the
// name of that variant.
const Baseline = "baseline"
