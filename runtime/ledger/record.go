package ledger

import (
	"time"

	"github.com/mxflow/mxflow/engine/measure"
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
}

// End closes a run.
type End struct {
	// Verdict is the join over the gates that were evaluated.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	// Exit is the exit status of the apply.
	Exit int `json:"exit"`
	// Reason is "finished", "interrupted" or what broke.
	Reason string `json:"reason"`
	// Nodes are all nodes of the plan: what is not among them any more stands no
	// longer, whatever was decided about it.
	Nodes []string `json:"nodes,omitempty"`
	// Locked names each node that was not run, and why.
	Locked map[string]string `json:"locked,omitempty"`
}

// Launch is one start of a variant, the unit of replication. Decisions refer to
// launches by ID and never own them.
type Launch struct {
	ID string `json:"id"`
	// Session groups launches that were interleaved with each other.
	Session string `json:"session"`
	// Purpose is "qualification" or "benchmark".
	Purpose string `json:"purpose"`
	// Node is the graph node that asked for the launch.
	Node string `json:"node"`
	// Variant names the arm for people: "baseline", "kv_cache".
	Variant string `json:"variant"`
	// VariantKey is the measurement key of the arm.
	VariantKey string `json:"variant_key"`
	// Block is the plan's engine, "kind.name", and Knobs the value of every knob:
	// what was started in the plan's words. Absent in records of a time before
	// they were kept.
	Block string            `json:"block,omitempty"`
	Knobs map[string]string `json:"knobs,omitempty"`
	// Ordinal counts the launches of this variant in this session, from 1.
	Ordinal int `json:"ordinal"`
	// Order is the launch's place in the session's interleaved order, from 1.
	Order   int       `json:"order"`
	BootID  string    `json:"boot_id,omitempty"`
	Started time.Time `json:"started"`
	// Seconds is the wall time from process start to stop.
	Seconds float64 `json:"seconds"`
	// OK is false when the engine broke; Error then says how.
	OK      bool     `json:"ok"`
	Error   string   `json:"error,omitempty"`
	LogTail []string `json:"log_tail,omitempty"`
	Exit    *int     `json:"exit,omitempty"`
	// Metrics maps an address without its statistic ("chat.tg",
	// "engine.startup_s") to the launch's statistics.
	Metrics map[string]measure.Summary `json:"metrics,omitempty"`
	// Incoherent lists answers that do not read as text, and why, so that
	// garbage cannot count as speed.
	Incoherent []string `json:"incoherent,omitempty"`
	// Notes say what was noticed and does not end the launch: an output that
	// was shorter than asked for, a fallback for token counts.
	Notes []string `json:"notes,omitempty"`
	// Invalid are the causes for which what the launch measured does not count: a
	// throttled or shared GPU, a client that could not keep up, an engine that
	// never reached the concurrency that was asked for.
	Invalid []string `json:"invalid,omitempty"`
	// Disturbed says that these causes lie in the machine and not in the engine, so
	// that another launch may stand in this one's place.
	Disturbed bool `json:"disturbed,omitempty"`
	// Cells are what was sent and when, which Samples and Series are evaluated by.
	Cells []measure.CellRun `json:"cells,omitempty"`
	// Client is how far the measuring client was off when it measured itself.
	Client *measure.Calibration `json:"client,omitempty"`
	// Samples, Series and Log are sha256 digests of artifacts: raw samples and what
	// was sampled beside them as Parquet, the engine's log.
	Samples string `json:"samples,omitempty"`
	Series  string `json:"series,omitempty"`
	Log     string `json:"log,omitempty"`
	// Output is the digest of the JSON that an engine of kind command printed,
	// Prompts that of the texts that were sent, where several engines share them.
	Output  string `json:"output,omitempty"`
	Prompts string `json:"prompts,omitempty"`
	// Engine is what was started: command line, env that was set, versions.
	// Its key "kind" is the kind of engine, which estimates go by.
	Engine map[string]string `json:"engine,omitempty"`
	// Observed is what the engine said of itself, by the observation's name.
	Observed map[string]Observed `json:"observed,omitempty"`
	// Unobserved says why other things that were looked for are not known.
	Unobserved map[string]string `json:"unobserved,omitempty"`
	// Fingerprint is the environment of the launch as far as numbers depend on
	// it, and Metadata the digest of the YAML file with all that was found out.
	Fingerprint map[string]string `json:"fingerprint,omitempty"`
	Metadata    string            `json:"metadata,omitempty"`
	// Trees are the source trees that the engine ran from, by name.
	Trees map[string]Tree `json:"trees,omitempty"`
	// Work is the digest of what was sent, by which way of measuring and on which
	// machine: launches of one variant with one work may be compared.
	Work string `json:"work,omitempty"`
	// Replaces is the launch in whose place this one stands, which broke or did not
	// count for a cause that is recorded there.
	Replaces string `json:"replaces,omitempty"`
}

// Observed is one thing that an engine said of itself.
type Observed struct {
	// Value is a string, a float64 or a bool.
	Value any    `json:"value"`
	Unit  string `json:"unit,omitempty"`
	// From says where it was seen: "log line 12", "GET /version", "metric x".
	From string `json:"from,omitempty"`
	// Line is the line of the log that says so, cut at 300 bytes.
	Line string `json:"line,omitempty"`
}

// Tree is the state of a source tree at a launch.
type Tree struct {
	Path string `json:"path"`
	// Commit is the revision checked out, Diff the digest of the artifact with
	// all that differs from it, empty where the tree is clean.
	Commit string `json:"commit,omitempty"`
	Diff   string `json:"diff,omitempty"`
	// Hash covers every file of the tree that git knows or does not ignore.
	Hash string `json:"hash,omitempty"`
}

// Decision is one decided outcome of a node of the graph.
type Decision struct {
	// Node is the node's address: "baseline", "phase.cutlass.gate".
	Node string `json:"node"`
	// Kind is the node's kind: "qualify", "benchmark", "criteria", "feature",
	// "gate", "step", "phase".
	Kind    string `json:"kind"`
	Phase   string `json:"phase,omitempty"`
	Feature string `json:"feature,omitempty"`
	// MeasureKey and DecisionKey say what the outcome rests on: while both are
	// unchanged the outcome is kept; when only the second changes it is decided
	// again from stored launches.
	MeasureKey  string `json:"measure_key"`
	DecisionKey string `json:"decision_key"`
	// Attempt counts from 1; error and invalid are tried again as a new one.
	Attempt int             `json:"attempt"`
	Verdict verdict.Verdict `json:"verdict"`
	Reasons []string        `json:"reasons,omitempty"`
	// Levels, Rules: what the verdict was joined from.
	Levels []Level `json:"levels,omitempty"`
	Rules  []Rule  `json:"rules,omitempty"`
	// Rows are the table of a comparison of engines.
	Rows []verdict.Row `json:"rows,omitempty"`
	// Launches are the IDs of the launches it rests on.
	Launches []string `json:"launches,omitempty"`
	// Session is the interleaved session it rests on.
	Session string `json:"session,omitempty"`
	// Derived outcomes follow from recorded evidence or from another outcome
	// alone: deciding again on the same keys would say the same.
	Derived bool `json:"derived,omitempty"`
	// Accepted says whether a feature entered the stack.
	Accepted bool `json:"accepted,omitempty"`
	// Variant is the resolved knob values of a feature's candidate or the
	// baseline, for people and for `env`.
	Variant map[string]string `json:"variant,omitempty"`
	// Statistics and Evidence are how rules were decided and what they read.
	Statistics *Statistics `json:"statistics,omitempty"`
	Evidence   []Evidence  `json:"evidence,omitempty"`
	// Alternatives are the candidates of a feature that chooses.
	Alternatives []Alternative `json:"alternatives,omitempty"`
	// Confirmations are what other engines say of a feature.
	Confirmations []Confirmation `json:"confirmations,omitempty"`
	// Interference is how the stack compares with its parts.
	Interference []Interference `json:"interference,omitempty"`
	// Retraction is set where this decision withdraws an earlier one.
	Retraction *Retraction `json:"retraction,omitempty"`
	// Made is what a step made, by what it is: the ID of an image.
	Made map[string]string `json:"made,omitempty"`
	// Hypothesis keeps the claim beside the outcome.
	Hypothesis *Hypothesis `json:"hypothesis,omitempty"`
	// LogTail, Exit: the last lines and exit status of what broke.
	LogTail []string `json:"log_tail,omitempty"`
	Exit    *int     `json:"exit,omitempty"`
	// Seconds is how long the node took.
	Seconds float64 `json:"seconds"`
	// Supersedes is true when an earlier decision of this node exists.
	Supersedes bool `json:"supersedes,omitempty"`
	// Because says why it was decided now: "first", "rules changed",
	// "measurement changed", "retry after error", "--rerun".
	Because string `json:"because,omitempty"`
}

// Hypothesis is the claim made before measuring and what was seen.
type Hypothesis struct {
	Metric   string `json:"metric"`
	Expect   string `json:"expect"`
	Because  string `json:"because,omitempty"`
	Measured string `json:"measured,omitempty"`
	// Outcome is "confirmed", "refuted" or "open", and Test the rule that decided
	// it. PostHoc is set where the claim was made after the launches.
	Outcome string `json:"outcome,omitempty"`
	PostHoc bool   `json:"post_hoc,omitempty"`
	Test    *Rule  `json:"test,omitempty"`
}

// Level is the outcome of one test level.
type Level struct {
	Name    string          `json:"name"`
	Verdict verdict.Verdict `json:"verdict"`
	Reasons []string        `json:"reasons,omitempty"`
	Seconds float64         `json:"seconds"`
}

// Rule, Comparison and Input are decided rules as gates made them.
type (
	Rule       = verdict.Rule
	Comparison = verdict.Comparison
	Input      = verdict.Input
)
