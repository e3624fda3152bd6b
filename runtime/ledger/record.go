package ledger

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Record is one leaf of the ledger. Exactly one of the pointers is set, the one
// that Type names.
type Record struct {
	// Type is "run", "start", "launch", "decision", "waiver", "night" or "end".
	Type string `json:"type"`
	// Time is when the record was made, UTC.
	Time time.Time `json:"time"`
	// Run is the run (one apply) that made it. A person's waiver belongs to
	// the run whose decision it is about, and a night to the newest.
	Run string `json:"run"`

	RunStart *RunStart `json:"run_start,omitempty"`
	Start    *Start    `json:"start,omitempty"`
	Launch   *Launch   `json:"launch,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	End      *End      `json:"end,omitempty"`
	Waiver   *Waiver   `json:"waiver,omitempty"`
	Night    *Night    `json:"night,omitempty"`
}

type RunStart struct {
	Plan       string `json:"plan"`        // name of the plan
	PlanFile   string `json:"plan_file"`   // as given
	PlanDigest string `json:"plan_digest"` // over canonical decoded values
	PlanSource string `json:"plan_source"` // sha256 of the plan file, an artifact; of its first file
	// PlanSources are all files of a plan with several, name to artifact: its own, the
	// results of other tools that rules read, the prompts it sends.
	PlanSources map[string]string `json:"plan_sources,omitempty"`
	Tool        string            `json:"tool"`        // mxflow version
	Environment map[string]string `json:"environment"` // fingerprint: os, arch, cpu, cores, kernel
	BootID      string            `json:"boot_id,omitempty"`
	// Hypotheses are the digests of the plan's hypotheses when the run started, by
	// feature: one that a run before the measurement had was not made up afterwards.
	Hypotheses map[string]string `json:"hypotheses,omitempty"`
	// Goals are the plan's requirements on features and phases when the run started, by
	// node: they tell a rule relaxed after its launches were seen from one that existed
	// before.
	Goals map[string]Goal `json:"goals,omitempty"`
	// Targets are the plan's numbers to beat when the run started.
	Targets []Target `json:"targets,omitempty"`
	// Nodes are all nodes of the plan in the order of the run: a decision about any other
	// node no longer holds.
	Nodes []string `json:"nodes,omitempty"`
	// Draws is the run's commitment to the seeds of its launches' texts, before the first
	// (Draw).
	Draws string `json:"draws,omitempty"`
	// Inputs are those of the plan besides its own files, so a reader can compile it as it
	// was applied.
	Inputs *plans.Inputs `json:"inputs,omitempty"`
	// Since is the first run whose launches count for an engine that cannot be
	// identified: a run that this one resumes; empty for this one.
	Since string `json:"since,omitempty"`
	// Rules is the digest of all that judges in the plan, which excludes the values of its
	// knobs (plans/seal); empty if it could not be read. Seal is the digest of the seal that
	// the plan was checked against.
	Rules string `json:"rules,omitempty"`
	Seal  string `json:"seal,omitempty"`
	// Aside is set if it asked something else of the plan's engine, beside the plan's own
	// applies: readers show those, while its launches are on record for all.
	Aside bool `json:"aside,omitempty"`
	// Reproduces is the record whose decisions it makes again; nil of the plan's own applies.
	Reproduces *Reproduces `json:"reproduces,omitempty"`
}

// Reproduces names another record, and what may differ from it.
type Reproduces struct {
	// Root is the tree hash of its ledger of so many Records, SignedBy the public key that
	// verified it, and Run the run whose plan is applied.
	Root     string `json:"root"`
	Records  int    `json:"records"`
	SignedBy string `json:"signed_by"`
	Run      string `json:"run"`
	// Lock is the digest of the artifact with that ledger: a store's lock.
	Lock string `json:"lock"`
	// Settings are what the applied plan sets otherwise, and Accept names conditions that a person or
	// the plan declares not to matter.
	Settings []plans.Difference `json:"settings,omitempty"`
	Accept   []string           `json:"accept,omitempty"`
}

// Start is a launch that begins. One without a Launch behind it was cut off: by an interruption
// if its run has an End, or mxflow was killed in it.
type Start struct {
	// Launch, Session and VariantKey are its ID, session and VariantKey.
	Launch     string `json:"launch"`
	Session    string `json:"session"`
	VariantKey string `json:"variant_key"`
}

// Name is a short name of the record that is reproduced, fit for a folder.
func (r *Reproduces) Name() string {
	root, _ := base64.StdEncoding.DecodeString(r.Root)
	return fmt.Sprintf("%.8x", root)
}

type End struct {
	// Verdict is the join of the evaluated gates.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Exit    int             `json:"exit"`
	// Reason is "finished", "interrupted" or what broke.
	Reason verdict.Reason `json:"reason"`
	// Locked names each node that was not run, and why.
	Locked map[string]verdict.Reason `json:"locked,omitempty"`
}

// Target is a number to beat in the plan: of a target block, or of another tool's result.
// It is in the record of a run, so standings can be reported without the plan.
type Target struct {
	// Name is the block's, prefixed by its type if that is "imported": "llamacpp",
	// "imported.benchy". Tool is what measured it.
	Name string `json:"name"`
	Tool string `json:"tool,omitempty"`
	// Path is its path in rules: "target.llamacpp.chat.tg".
	Path string `json:"path"`
	// Address and Stat are what it is compared with, as launches keep it: "chat.tg",
	// "median". Address is empty if the plan does not say, and Why is the reason.
	Address string  `json:"address,omitempty"`
	Stat    string  `json:"stat,omitempty"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit,omitempty"`
	// Sent is what the plan sends in the cell of Address, to tell apart earlier launches
	// that were sent something else.
	Sent *measure.Dimensions `json:"sent,omitempty"`
	// Better is the metric's better direction: "higher" or "lower".
	Better string         `json:"better,omitempty"`
	Why    verdict.Reason `json:"why,omitzero"`
}

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

const (
	ForQualification = "qualification"
	// ForStep is the run of a step's program, whose numbers gates read.
	ForStep = "step"
	// ForReference is a launch whose answers show how far apart launches of one variant
	// are.
	ForReference = "reference"
	ForBenchmark = "benchmark"
	// ForAgreement is a launch of a parent that is asked about the answers of a session.
	ForAgreement = "agreement"
)

var purposes = []string{ForQualification, ForReference, ForBenchmark, ForAgreement, ForStep}

// Baseline is the node that qualifies the plan's baseline, and the name of that variant.
const Baseline = "baseline"
