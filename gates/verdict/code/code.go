// Package code lists the facts that several packages report, or that code tests for. A
// fact reported in one place is written there.
package code

import "strings"

// Kind names one kind of fact: the ledger keeps it and digests may rest on it, so a
// kind keeps its meaning for good.
type Kind string

// Fact is a kind with its text, in which values stand in braces (see verdict.Reason).
type Fact struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// Evidence reports whether a fact is evidence of a comparison, which is printed in its
// brackets.
func (k Kind) Evidence() bool {
	family, _, _ := strings.Cut(string(k), ".")
	return family == "test" || family == "range" || family == "count"
}

// Graded is the comparison of graded answers with the parent's, in a text.
const Graded = "accuracy {was} → {is} of {n} ({points} points, {lost} lost, {won} won{flips?; {parent} flips {flips}})"

// AgreedAt is how often a parent goes on as a candidate's answers and as its own do, in a text.
const AgreedAt = "{other} agrees at {agreed} of {of} random positions of {part=first?the first tokens of }" +
	"{part=beginning?the first third of }{part=middle?the middle third of }{part=end?the last third of }" +
	"{part=faster?the faster half of }{part=slower?the slower half of }" +
	"{part=least agreed?the least agreed quarter of }its answers to {part=shorter prompts?the shorter prompts of }" +
	"{part=longer prompts?the longer prompts of }{cell}, and at {own} of {own_of} of its own"

func Of(kind Kind, text string) Fact { return Fact{kind, text} }

var (
	// AccuracyLost and AccuracyOpen: a variant lost answers that its parent gets right, or may have.
	// They decide its feature beside the benchmark's numbers.
	AccuracyLost = Of("eval.lost", Graded+": more than the allowed {most}, p-value {p}")
	AccuracyOpen = Of("eval.open",
		Graded+": the drop may be {upper} (allowed {most}){needed?; about {needed} questions would settle it}")

	// ImagePulled: the image Subject is being pulled.
	ImagePulled = Of("apply.image_pulled", "pulling image {subject}")
	Confirmed   = Of("confirmed", "confirmed on engine.{subject}")

	// NotTried: on the engine Subject, as the feature does not pass without it. Values:
	// without (what it is).
	NotTried = Of("confirmation.not_tried", "not tried on engine.{subject}: {without} regardless")
	// ConfirmationNotRun: on the engine Subject; the cause is why.
	ConfirmationNotRun = Of("confirmation.not_run", "not confirmed on engine.{subject}")

	// Rule: the verdict of the rule or criterion Subject, from its causes. Values: role.
	Rule = Of("rule", "{role=criterion?criterion }{subject}: {verdict}")

	// Level: the verdict of the level Subject, from its causes.
	Level   = Of("level", "level {subject}{causes? {verdict:did}}{causes!: {verdict}}")
	Feature = Of("feature", "feature {subject} {verdict:did}")
	Step    = Of("step", "step {subject}: {verdict}")

	// FeatureNotRun and StepNotRun: it was not run, from its causes.
	FeatureNotRun = Of("feature.not_run", "feature {subject} was not run")
	StepNotRun    = Of("step.not_run", "step {subject} was not run")

	// Outcome: the verdict of the node Subject, from its causes.
	Outcome = Of("outcome", "{subject} {verdict:did}")

	// NotTargeted: --target named other nodes.
	NotTargeted = Of("not_targeted", "left out by --target")

	// NotConfirmed: the verdict on the engine Subject, from its causes.
	NotConfirmed = Of("not_confirmed", "not confirmed on engine.{subject}, where it {verdict:did}")
	// First is why work is wanted that was never done.
	First = Of("first", "first")
	// MeasurementChanged is why work is wanted whose identity is another.
	MeasurementChanged = Of("measurement_changed", "{causes?what changed: {causes}}{causes!measurement changed}")

	RetryAfter = Of("retry_after", "retry after {verdict}")

	// Relaxed: a rule was relaxed after its launches were seen; its causes say which.
	Relaxed = Of("relaxed", "rule relaxed after its data were seen{causes? ({causes})}")
	// PreferMoved: alternatives are now chosen by another metric. Values: was, is.
	PreferMoved = Of("relaxed.prefer", "prefer {was} → {is?{is}}{is!nothing}")
	// AskedAfter: when the matrix was measured, no rule read it. Subject: the rule that
	// now does.
	AskedAfter = Of("relaxed.asked_after", "no rule of the measured plan reads {subject}")
	// Withheld: what would be a pass is not one; the cause is why.
	Withheld = Of("relaxed.withheld", "no pass on seen data{causes?: {causes}}; --rerun measures again")

	Tried = Of("tried",
		"try {try} of {subject} against its parent: false pass at most {rate} (first try {of}, all tries "+
			"together {bound})")
	TriesSpent = Of("tried.spent",
		"try {try} of {subject} against its parent: {tries} tries used up its false pass rate of {of}, so no "+
			"result passes; propose another change as another feature")
	TunePinned = Of("caches.pinned",
		"{subject} is measured with one pinned tune per arm: the verdict holds for these tunes only")
	Finished    = Of("finished", "finished")
	Interrupted = Of("interrupted", "interrupted")

	// LaunchBroke: the engine, or what drives it, broke. Values: error. The cause is a
	// diagnosis, if its log shows one.
	LaunchBroke = Of("launch.broke",
		"{cause=engine.diagnosed?{causes} }{error}{cause=engine.diagnosed!{causes?; {causes}}}")
	// WrongPort: the engine serves at another port than the one that is asked, or at another
	// address. Values: port, at (port or address), placeholder, block (what launches it), flag
	// (of ab, in place of that block).
	WrongPort = Of("engine.wrong_port",
		"it listens on {at}, not on {address?127.0.0.1: let it listen on that, or on all addresses}{address!{port}: "+
			"put {placeholder} into its command, or {flag?add {flag}}{flag!write port = {at} in its {block} block}}")
	// WrongModel: a server does not list the model that it is asked for. Values: model,
	// models.
	WrongModel = Of("engine.wrong_model",
		"it was asked for model {model:q} but serves {models}: correct the model's name, or what it serves")
	// Starting: what an engine does whose start takes long. Values: port, listens (where
	// else), ago (since its last line), line, processor (its share of one); each if known.
	Starting = Of("engine.starting",
		"{listens?it listens on {listens}, not on {port}}{listens!it is asked at port {port}}{ago?; its last line was "+
			"{ago} ago{line?: {line}}}{processor?; it uses {processor} of a processor}")
	EngineDied = Of("engine.died",
		"{cause=engine.diagnosed?{causes} }the engine died ({exit}) while answering: "+
			"{error}{cause=engine.diagnosed!{causes?; {causes}}}")
	EngineEnded = Of("engine.ended",
		"{cause=engine.diagnosed?{causes} }the engine exited on its own "+
			"({exit}){cause=engine.diagnosed!{causes?; {causes}}}")
	// Diagnosed: what broke an engine. Values: class (of kinds.Class), blame (of
	// kinds.Blame), means; line_no and line, if its log shows it.
	Diagnosed = Of("engine.diagnosed", "{means} [{class}{line_no?, log line {line_no}: {line}}]")
	// PortShared: another program, by, listened at the engine's port when the launch
	// ended.
	PortShared = Of("engine.port_shared",
		"{cause=engine.diagnosed?{causes} }{by} was listening on the engine's port when the launch ended, and may "+
			"have answered requests{cause=engine.diagnosed!{causes?; {causes}}}")

	// LaunchGone: the worker that made the launch on Subject, another machine, is gone,
	// or its result is incomplete. Values: class (of launch.LostError), error (its last
	// words), job.
	LaunchGone = Of("launch.gone",
		"lost on {subject}: {class=ended?the worker ended}{class=silent?the worker went "+
			"silent}{class=damaged?its result arrived damaged}{class=broke?the worker failed}{class=preempted?its "+
			"job was preempted}{class=time_limit?its job reached its time limit; raise it in the executor block "+
			"(time, activeDeadlineSeconds)}{class=node_failed?the node failed}{class=cancelled?its job was cancelled "+
			"or deleted}{class=requeued?its job was requeued}{class=evicted?its pod was "+
			"evicted}{class=out_of_memory?out of memory by the limit of its job; raise it in the executor block "+
			"(--mem, resources.limits.memory)}{job? (job {job})}{error?: {error}}")

	// WorkerWaits: slot has no worker yet. Values: slot, says (of what starts it).
	WorkerWaits = Of("worker.waits", "waiting for slot {slot}{says?: {says}}")
	// WorkerRefuses: the worker at Subject would not make the same launches. Values: error.
	WorkerRefuses = Of("worker.refuses", "{subject?{subject}: }{error}")

	// Unstopped: something started earlier could not be ended. Values: error.
	Unstopped = Of("launch.unstopped",
		"an earlier launch left processes that could not be ended and may slow the next one: {error}. End them "+
			"and apply again")
	// Altered: engines would inherit something else from mxflow than when it began. The causes are
	// what differs.
	Altered = Of("launch.altered",
		"something changed mxflow while it ran, and with it what engines inherit and how it measures ({causes}). Find "+
			"out what did, which may be an engine, and apply again from a new shell")
	// NotKept: Subject ("output", "log", "metadata") could not be kept. Values: error.
	NotKept = Of("launch.not_kept",
		"{subject=output?its output}{subject=log?the log}{subject=metadata?the launch's metadata} could not be "+
			"saved: {error}")
	NothingObserved = Of("launch.nothing_observed", "nothing was observed: {error}")
	Unobserved      = Of("observation.missing", "{why}")
	GPUShared       = Of("gpu.shared", "shared GPU: {by} after the engine stopped")
	GPUWait         = Of("gpu.wait", "waiting up to {wait} for the GPU: {until}")

	// ReadingsDamaged: whether a GPU was disturbed is unknown. No cell: Subject is the
	// series.
	ReadingsDamaged = Of("machine.readings_damaged",
		"the readings of {subject} are damaged or duplicated, so it is unknown whether the GPU was disturbed")

	// GPUSlowed: a GPU was slowed down for a share of the measured time. Values: gpu,
	// share, by (the driver's reasons).
	GPUSlowed = Of("gpu.slowed",
		"{subject}: GPU {gpu} was slowed down for {share:3} of the measured time ({by}): let it cool down, or "+
			"check its power supply, before measuring again")
	GPUNeighbours = Of("gpu.neighbours",
		"{subject}: processes other than the engine's were on GPU {gpu} for {share:3} of the measured time (up "+
			"to {most} at once): stop them, or choose another GPU")
	ClockWandered = Of("gpu.clock_wandered",
		"{subject}: the SM clock of GPU {gpu} moved between {low} and {high}, not because of a power limit: lock "+
			"the clocks (nvidia-smi -lgc), or let nothing set them, before measuring again")
	// CapacityNone: no rate kept the limits of a search. Values: the metric that missed its
	// limit by most at the lowest rate.
	CapacityNone = Of("capacity.none",
		"{subject}: no rate that was sent keeps its limits: at {rate:3}, the lowest, {kept:3} of the requests have "+
			"{limit?{metric} ≤ {limit:3}}{limit!no error}, required {share:3}: raise the limit, or "+
			"start lower")
	// CapacityBeyond: every rate up to the highest that could be sent kept the limits.
	CapacityBeyond = Of("capacity.beyond",
		"{subject}: capacity is at least {rate:3}, the highest rate that was sent, and not known: raise max_rate, "+
			"or send from a faster client")
	// CapacityFew: the probes near the capacity had too few requests for its percentile.
	CapacityFew = Of("capacity.few",
		"{subject}: capacity is not known: {requests} requests were sent near it ({rate:3}), required {need} for the "+
			"percentile: make probes longer (probe = {longer})")
	SentLate = Of("client.sent_late",
		"{subject}: requests were sent up to {max:3} late (p99 {p99:3}, allowed {limit}): the client could not "+
			"keep up with the schedule")
	WokenLate = Of("client.woken_late",
		"{subject}: machine too busy: the client was delayed by {p99:3} at p99 (limit {limit}, maximum {max:3}); "+
			"stop other load, measure from another machine, or {flag?allow more with {flag}}{flag!raise max_lag of "+
			"the workload}")
	ReadLate = Of("client.read_late",
		"{subject}: {requests} of {of} answers arrived in one read, because the client read up to {max:3} late: "+
			"they show no speed; stop other load, ask for more tokens, or measure from another machine")
	HeldBack = Of("answers.held_back",
		"{requests} of {of} answers of {subject} came in one piece after up to {longest:3} without a token: "+
			"ttft, itl and tg show when they were released, not how fast they were generated; stop other load, ask "+
			"for more tokens, or remove a buffering proxy")
	Unusable  = Of("answers.unusable", "{requests} of {of} answers of {subject} cannot be used: {error}")
	FromCache = Of("prompts.from_cache",
		"prompts were partly answered from a cache ({requests} of {of} requests of {subject}, {tokens} tokens), "+
			"so prefill looks too fast; turn the engine's prefix cache off, or declare what prompts share "+
			"(system_tokens, depth_cached, turns)")
	PrefixHits = Of("prompts.prefix_hits",
		"prompts were partly answered from a cache: by its own counters the engine found {share:3} of the prompt "+
			"tokens of {subject} in its prefix cache, so prefill looks too fast; turn the prefix cache off, or send "+
			"new prompts (another seed)")
	ContextLost = Of("context.lost",
		"{requests} of {of} requests of {subject} missed their context in the engine's prefix cache, by {tokens} "+
			"tokens: is prefix caching on, and large enough?")
	Overlong = Of("answers.overlong",
		"{requests} of {of} answers of {subject} are longer than requested, e.g. {most} tokens for {asked}: the "+
			"server ignores max_tokens or miscounts, and its speeds are for other work")

	// LaunchSays: the cause concerns the launch Subject.
	LaunchSays = Of("launch.says", "launch {subject}")
	// AnswerGarbage: an answer is no text, by the sign that is its cause; AnswersGarbage: those of
	// the variant Subject are not, AnswersWorse: they are worse than its parent's.
	AnswerGarbage = Of("answer.garbage",
		"{subject?{subject} }request {request}{turn?, turn {turn}}{causes?: {causes}} ({excerpt:q})")
	AnswersGarbage = Of("answers.garbage",
		"answers of {subject} are not readable text{causes?: {causes}}, in launch {launch}")
	AnswersWorse = Of("answers.worse",
		"answers of {subject} to {cell} are worse than those of {other} ({answers} of {of})")

	// BitEqual: the candidate's log-probabilities are the parent's, though the value of its knob Subject
	// is proved by what the engine says. It decides nothing.
	BitEqual = Of("quality.bit_equal",
		"{tokens|token has|tokens have} the log-probabilities of {parent} to the last digit, although the engine says "+
			"{subject} = {value:q}: both paths compute alike, or the old one ran, which a trace shows")

	Unlooked = Of("answers.unlooked", `answers{subject? of {subject}} were not checked (coherence = "off")`)

	// EnvironmentChanged: launches of the variant Subject had different environments.
	// Values: advised, if what to do is given elsewhere; EnvironmentApart too.
	EnvironmentChanged = Of("environment.changed",
		"launches of {subject} ran in different environments{causes?: {causes}}.{advised! Make them the same and "+
			"measure "+
			"again, or list what may differ in accept_fingerprint of the baseline}")
	EnvironmentApart = Of("environment.apart",
		"{subject} and {other} ran in different environments{causes?: {causes}}.{advised! Make them the same and "+
			"measure "+
			"again, or list what may differ in accept_fingerprint of the baseline}")

	// DiffersUntested: the variants Subject and other differ in what is not under
	// test. Values: names, and as many values and other_values; knobs.
	DiffersUntested = Of("observation.apart",
		"{subject} and {other} differ in something the plan does not declare: {apart}.{knobs? If knob {knobs} is "+
			"meant to change it, add {quoted} to its changes; otherwise make both the same.}")

	// TreeMoved: the working tree at Subject changed between two launches. Values: one,
	// other, and those of what changed.
	TreeMoved = Of("tree.moved",
		"{subject} changed between launch {one} and launch {other}, in {lost?files that cannot be named, because "+
			"a recorded diff is gone}{lost!{files:10}{files!files that no diff names}{commit? (commit {commit}, "+
			"before {before})}}: do not touch it while measuring, or measure a commit with a source block")
	TreeMovedBefore = Of("tree.moved_before",
		"{subject} changed before launch {launch}, after its state was recorded: apply again")

	// NumbersUnread: a program's output is not what its blocks read. Values: error.
	NumbersUnread = Of("exec.numbers_unread", "its numbers cannot be read: {error}")
	LogBrokeOff   = Of("kernels.log_broke_off",
		"the connection to the docker daemon broke while the log was followed, so a missing line proves nothing: "+
			"check the daemon and apply again")
	NotSeen = Of("kernels.not_seen",
		"{subject} = {value:q}: {glob:q} must be in the log but is not{causes?; nearest: {causes}}")
	// OnlyConfigured: the evidence of a knob's value is from before the first request. The
	// causes are lines from after it. Values: glob, line_no and line, or name, is and from.
	OnlyConfigured = Of("kernels.only_configured",
		"{subject} = {value:q}: {name?{name} is {is} by a line from before the first request ({from})}{name!{glob:q} "+
			"is "+
			"in the log only before the first request (line {line_no}: {line})}: configured, not proven; name "+
			"something that the engine logs or counts while it answers{causes? (after the first request: {causes})}, "+
			"or accept it with at_start")
	QualityMissing = Of("quality.missing",
		"the engine did not return the log-probabilities that its limits need{error?: {error}}")
	QualityNoText = Of("quality.no_text",
		"the engine returned no log-probabilities of a prompt, which max_perplexity_increase needs")

	// NextEvidence: evidence is missing; the cause is why.
	NextEvidence = Of("next.evidence", "evidence is missing for {subject}{causes?: {causes}}")

	// ProfileHidden: some kernels have no names. Values: graphs, launches of CUDA graphs
	// that hide theirs.
	ProfileHidden = Of("profile.hidden",
		"{subject?{subject}: }CUDA graphs hide the kernels{graphs? of {graphs|launch|launches}}: add "+
			"--cuda-graph-trace=node to nsys")
	// ProfileNoFile: nothing was written for Subject, or at all. Values: waited.
	ProfileNoFile = Of("profile.no_file",
		"{subject?{subject}: }the profiler wrote no profile{waited? within {waited}}")

	// NoRule: the decision was made without a rule; the cause is its first reason.
	NoRule           = Of("replay.no_rule", "decided without a rule")
	LaunchUnrecorded = Of("replay.launch_unrecorded",
		"launch {subject}, which {feature?feature {feature}}{feature!the decision} depends on, is not in the "+
			"ledger")
	// NoRawData: the launch Subject has none to decide by; the cause is why.
	NoRawData = Of("replay.no_raw_data", "launch {subject} has no raw data to decide from")
	// LevelUnreplayed: too little is kept of the level Subject to decide it again.
	LevelUnreplayed = Of("replay.level_unreplayed", "level {subject} recorded too little to be decided again")
	// PlanInexact: it compiles to another digest, so rules were compiled from the
	// recorded text. Values: sealed.
	PlanInexact = Of("replay.plan_inexact",
		"The recorded plan has another digest {sealed?without {sealed}, which no run records as it may be "+
			"secret: give the same values (--var, --var-file, MXFLOW_VAR_name or the environment) to check the whole "+
			"plan}{sealed!although all its inputs are recorded: this version of mxflow reads it differently}. Each "+
			"rule was compiled from the text recorded with its decision.")

	// LevelIs: the verdict of the level Subject; the reason is shown elsewhere.
	LevelIs = Of("level.is", "level {subject} {verdict:did}")

	// NoLaunch: no launch of the variant Subject was measured. Values: features, the size
	// of the stack.
	NoLaunch = Of("target.no_launch",
		"no launch of {features?the stack of all {features} accepted features}{features!{subject}} was measured")

	// MeasuredApart: the cell Subject was measured in two ways.
	MeasuredApart = Of("compare.measured",
		"not compared in {subject}: it was measured in two ways (enforced lengths or how tokens are counted)")
	// SideDiffers: the entry Subject of the environment. Values: was, is.
	SideDiffers = Of("compare.environment", "{subject} was {was}{was!unknown}, is {is}{is!unknown}")

	// SettingMoved: the setting Subject had another value. Values: was, is.
	SettingMoved = Of("again.setting_moved", "{subject} was {was~is}, now {is~was}")
	AsWanted     = Of("comparison.as_wanted", "{comparison}")
	NotAsWanted  = Of("comparison.not_as_wanted", "{comparison}")

	// RestsOn: how many launches the value at Subject is from. Values: n; base_n if
	// compared with others, and interval, of 95%.
	RestsOn = Of("value.rests_on",
		"{base_n?{n} against {base_n|launch|launches}}{base_n!{n|launch|launches}}{interval?, 95% CI {interval}}")

	// VerdictTakes: there will be fewer launches than a verdict needs. Values:
	// launches, against; takes; unrecorded, if it takes more as no launch noise is recorded.
	VerdictTakes = Of("test.verdict_takes",
		"{launches|launch|launches}{against? per arm}: a verdict needs {takes}{unrecorded? where no "+
			"launch-to-launch variance is recorded}")
	// SaysNothing: so few show nothing of how launches differ.
	SaysNothing = Of("test.says_nothing",
		"{launches|launch|launches}{against? per arm}: launch-to-launch variance unknown")

	// NotPaired: these launches have none beside them. Values: launches, a list.
	NotPaired = Of("launches.not_paired",
		"not paired with a launch of the other arm, so not counted: {launches:and}")
	Crashed = Of("count.crashed", "{crashes} of {starts} starts crashed")

	// WithinRounds: rounds ran on several places, so arms were compared within them.
	WithinRounds = Of("beside.within_rounds",
		"rounds ran on {places:and}: the arms are compared within each round, by the spread of the rounds' "+
			"differences")
	// Settles: this many launches would likely settle it; SettlesNever: not even the
	// plan's maximum would. Values: launches, against; gap, the estimate's distance from
	// the threshold, and spread, the standard deviation of launches; chance, and more or
	// most, those that the plan makes if it needs others, or its step that measures rows.
	Settles = Of("beside.settles",
		"about {launches|launch|launches}{against? per arm} would probably settle it ({chance} chance, if "+
			"estimate and variance hold){more?, {more} more}{most?; {step?step {step}}{step!the plan} makes at most "+
			"{most}. Continuing needs {step?more launches in it}{step!a larger max in its decision block}, declared "+
			"before the first launch}")
	SettlesNever = Of("beside.settles_never",
		"even {launches|launch|launches}{against? per arm}, the most that a plan can make, would probably not "+
			"settle it: the effect is too close to the threshold for this launch-to-launch variance. Reduce the "+
			"variance")

	// Missing: the input Subject has no value, from its cause.
	Missing  = Of("missing", "{subject}")
	NoReader = Of("missing.no_reader", "no reader for inputs of kind {kind:q}")
	// NoOutcome: the verdict of the feature Subject, or of a level of it, is no evidence,
	// from its cause. Values: level.
	NoOutcome  = Of("missing.no_outcome", "{level?level {level} of }feature {subject} {verdict:did}")
	Unmeasured = Of("launches.none", "no launch of {subject} was measured")
	// Unqualified: Subject has no launch in which a level found a number. Values: metric.
	Unqualified  = Of("launches.unqualified", "no qualification launch of {subject} measured {metric}")
	NotAboveZero = Of("launches.not_above_zero",
		"a {arm?ratio}{arm!test in logs} needs values above zero, but launch {subject}{arm? ({arm})} has "+
			"{value}{arm?; for values that may be zero use .delta}")
	// RoundApart: the launches of a round of Subject ran on two places. Values: round,
	// places.
	RoundApart = Of("launches.round_apart",
		"launches of round {round} of {subject} ran on two places, {places:and}: not comparable, since devices "+
			"differ")
	// SaidUnfit: the observation Subject is of another kind. Values: is, kind.
	SaidUnfit   = Of("launches.said_unfit", "{subject} was observed as {is}, which is not a {kind}")
	NoAverage   = Of("launches.no_average", "{subject}: {error}")
	RowNotFresh = Of("row.not_fresh",
		"its launches were not fresh starts: the server was already running; give its endpoint a restart command")
	LaunchesPerArm = Of("session.launches",
		"{most?decided after {n} of up to {most} launches per arm}{most!{n|launch|launches} per arm}")
	// ReferenceLost: the arm Subject, the baseline where it is not the parent, dropped out
	// of the session; the cause is why. Rules that read it are not decided.
	ReferenceLost = Of("session.reference_lost", "{subject} was not measured")
	// LaunchesKept: n of least to most launches of an interrupted session are on record.
	LaunchesKept = Of("session.launches_kept", "{n} of {least?{least}–}{most} launches recorded")
	// MachineDisturbed: this machine disturbed a launch, which the next apply makes
	// again; the causes are how.
	MachineDisturbed = Of("session.machine_disturbed", "disturbed by this machine; the next apply repeats it")
	// LaunchReplaced: another launch replaces Subject; the cause is why that one does not
	// count.
	LaunchReplaced = Of("session.launch_replaced", "launch {subject} was replaced")
	// LaunchesReplaced: n of the launches of Subject were replaced, and other_n of its parent's; many
	// is set if the cause matters. The causes are why, for a reader who is not shown each.
	LaunchesReplaced = Of("session.replaced",
		"{n} of {of} launches of {subject} and {other_n} of {other_of} of {other} were replaced{causes?: {causes}}"+
			"{many?; if the engine causes this, discarding its slow launches favours it}")
	// Abandoned: mxflow was killed in a run. Values: processes and containers that it left.
	Abandoned = Of("abandoned",
		"did not finish (killed?){processes?; {processes|process|processes} left running, stopped by the "+
			"next apply}{containers?; {containers|container|containers} left behind, removed by the next apply}")
	// CutOff: mxflow did not see the end of launches of the candidate Subject, which were made
	// again. Values: n of its starts (of), and other_n of other_of of other; killed and other_killed
	// of them because mxflow was killed, if any, the others by an interruption; often if that is
	// evidence against it.
	CutOff = Of("session.cut_off",
		"{n} of {of} starts of {subject} and {other_n} of {other_of} of {other} were cut off and made again"+
			"{killed?, {killed} and {other_killed} of them because mxflow was killed}"+
			"{often?: an engine that ends mxflow when it is slow picks its own launches; find what ended mxflow, "+
			"and measure again with --rerun {subject}}")
	// LaunchAgain: a launch starts to replace Subject; the cause is why that one does not
	// count.
	LaunchAgain = Of("session.launch_again", "{causes}")
	// CrashedAgain: the candidate Subject crashed in fresh launches, its parent in none
	// under the same load; the causes are how each broke. Values: launches, other,
	// other_launches.
	CrashedAgain = Of("session.crashed_again",
		"{subject} crashed again in a fresh launch ({launches:and}), while {other} survived the same load in "+
			"{other_launches|launch|launches}{causes?: {causes}}")
	// CrashIs: how a launch, the subject, broke, by its cause.
	CrashIs    = Of("session.crash_is", "{subject}")
	TimedOut   = Of("step.timed_out", "timed out after {limit}{error?: {error}}")
	NotStarted = Of("step.not_started", "{error}")
	GitRefused = Of("git.refused", "{error}")
	RefAlready = Of("git.ref.already", "{subject} is already at {at}")
	RefMade    = Of("git.ref.made", "{subject} created{from? from {from}} at {at}")
	// RefMoved: args: before, after; followed if force follows it.
	RefMoved    = Of("git.ref.moved", "{subject} moved from {before} to {after}")
	RefGone     = Of("git.ref.gone", "{subject} is gone{began?; it began at {began}}{was?; it was at {was}}")
	StressBroke = Of("stress.broke", "{subject}: a request failed: {error}")
	// StressUnended: answers without their end. StressGarbage: answers that are worse
	// text than those before the load; the causes are what was found. Values: answers, of.
	StressUnended = Of("stress.unended",
		"{subject}: {answers} of {of|answer|answers} ended without a finish reason, shorter than requested")
	StressGarbage = Of("stress.garbage",
		"{subject}: {answers} of {of|answer|answers} are not readable text; with random weights, turn coherence off")
	// MemorySlope is within the limit, or has none.
	MemorySlope = Of("stress.memory_slope",
		"{subject}: memory grew by {slope} per 1000 requests (95% interval {within}){limit?, limit {limit}}")

	// TooFast: streams of the cell Subject were faster than is possible. Values: requests,
	// of, highest (events/s), most.
	TooFast = Of("work.too_fast",
		"{subject}: {requests} of {of} answers came at up to {highest:2}, but no stream can exceed {most:2}: they "+
			"were not computed")
	LengthCounted = Of("work.prompt_length",
		"{subject}: the engine counted {least?{least} to }{most} tokens in {requests} of {of} prompts{sent? of "+
			"{sent} tokens} (length by: {method}): it did other work than requested, or miscounts")
	// SettingUnused: the engine does not show that it used the setting Subject. Values:
	// name (of the observation), value. The cause is why it was not observed.
	SettingUnused = Of("work.setting_unused",
		"{subject} is set, but the engine does not show that it used it: {name} {value?is {value}}{value!is not "+
			"seen}{causes? ({causes})}, so it would be measured without it")
	// NotAsked: the parent could be asked nothing of some launches. Values: other, launches.
	NotAsked = Of("work.not_asked",
		"not shown that {subject} answers as {other}: {other} could not continue enough of its "+
			"answers{launches?, in {launches}}")

	// LookedUp: the parent says what Subject said also behind other words. Values: other, agreed,
	// of.
	LookedUp = Of("work.looked_up",
		"not shown that {subject} answers as {other}: {other} says what {subject} said also where another word "+
			"stands before, at {agreed} of {of} positions, so it may look answers up: give {other} a source of its own")

	// Agrees: Subject's answers are its parent's model's. OtherAnswers: they are not.
	// AgreementOpen: that is not shown. SamplesLess: at a temperature, it agrees more often than
	// with its own. SelfDisagrees: the parent does not go on as its own answers do. Values: other,
	// agreed, of, own, own_of, cell, part, least or declared; what would decide: one of unsteady,
	// unreached, recites, all, remedy.
	Agrees = Of("work.agrees",
		"{subject} answers as {other}: {other} agrees at {agreed} of {of} random positions of its "+
			"answers{cell? to {cell}}, and at {own} of {own_of} of its own{declared?; min_agreement = {declared} is "+
			"declared}")
	OtherAnswers = Of("work.other_answers",
		"{subject} does not answer as {other}: "+AgreedAt+" ({least?at most {least} less is "+
			"allowed}{declared?min_agreement = {declared}}): another model, a coarser format, or not computed")
	AgreementOpen = Of("work.agreement_open",
		"not shown that {subject} answers as {other}: "+AgreedAt+" ({least?at most {least} less must be "+
			"shown}{declared?min_agreement = {declared}}){unsteady?. {other} agrees with itself so seldom that "+
			"it hides as many wrong words: one that computes alike each time decides}{unreached?. {unreached} more "+
			"are behind the first "+
			"difference of an answer that cannot be continued, where nothing is known. Completions of text can "+
			"be: api = \"completions\"}{recites?. More of {subject}'s answers than of {other}'s is recited: copied "+
			"from the prompt or other answers, or implied by the few words before it. Prompts with more of their own "+
			"to say decide}{all?. These are all: more requests decide}{remedy?. A port that changes answers on "+
			"purpose declares {remedy}}")
	SamplesLess = Of("work.samples_less",
		"{subject} does not seem to sample as {other}: "+AgreedAt+". Answers that take the likeliest word more often "+
			"are less work than was asked for, and drafts are accepted more often. At temperature 0 that is no matter")
	SelfDisagrees = Of("work.self_disagrees",
		"nothing can be said about {subject}'s answers: {other} goes on as its own answers to {cell} did at only "+
			"{own} "+
			"of {own_of} random positions, so its server does not continue its own text (a stub, sampling, a chat "+
			"template). With {remedy} only speed is measured, and wrong answers pass")

	// Unchecked: the plan of Subject declares answers = "unchecked". Declared: it declares
	// min_agreement. Values: least.
	Unchecked = Of("answers.unchecked",
		`answers of {subject} were not compared with its parent's (answers = "unchecked")`)
	Declared = Of("answers.declared",
		"the answers of {subject} may differ from its parent's: min_agreement = {least}")

	// DecodeBeyond, PrefillBeyond: the cell Subject was faster than the machine can be.
	// Values: steps, most, least (GB), bandwidth (GB/s), room, machine; value, most, each
	// (GFLOP), rate (TFLOP/s), room, machine.
	DecodeBeyond = Of("work.decode_beyond",
		"{subject}: {steps:3} of decoding exceeds the {most:3} possible on {machine}: each reads at least {least:3} "+
			"at {bandwidth:4} of memory bandwidth ({room} more, for clocks above the data sheet): not computed")
	PrefillBeyond = Of("work.prefill_beyond",
		"{subject}: prefill at {value:3} exceeds the {most:3} possible on {machine}: each token takes {each:3} at "+
			"{rate:4} ({room} more, for clocks above the data sheet): not computed, or from a cache")
)
