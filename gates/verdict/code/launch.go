package code

// How launches break.
const (
	// LaunchBroke: the engine, or what drives it, broke. Args: error. The cause is a
	// diagnosis, if its log shows one.
	LaunchBroke Code = "launch.broke"
	EngineDied  Code = "engine.died"
	EngineEnded Code = "engine.ended"
	// Diagnosed: what broke an engine. Args: class (of kinds.Class), blame (of
	// kinds.Blame), means; line_no and line, if its log shows it.
	Diagnosed Code = "engine.diagnosed"
	// PortShared: another program, by, listened at the engine's port when the launch
	// ended. PortUnseen: whether one does cannot be told.
	PortShared Code = "engine.port_shared"
	PortUnseen Code = "engine.port_unseen"
	// PortAgain: the engine was started again on another port, since the cause.
	PortAgain Code = "engine.port_again"
	// SignalSays: what a signal that ended an engine means, beyond its name. Args:
	// signal.
	SignalSays Code = "engine.signal"
	// LaunchGone: what made the launch on another machine, Subject, is gone, or what it
	// returned is incomplete. Args: class (of launch.Gone), error (its last words), job.
	LaunchGone Code = "launch.gone"
	// PlaceLeft: launches at Subject in this round do not count, as the place was lost
	// before the round was complete.
	PlaceLeft Code = "place.left"
)

// Workers on other machines.
const (
	// WorkerReady: launches are now made at Subject. Args: job.
	WorkerReady Code = "worker.ready"
	// WorkerWaits: slot has no worker yet. Args: slot, says (of what starts it).
	WorkerWaits Code = "worker.waits"
	// WorkerUnstarted: what the executor Subject starts never came up. Args: command,
	// says.
	WorkerUnstarted Code = "worker.unstarted"
	// JobUnstarted: the job of the executor Subject cannot start. Args: job, class
	// (Deleted, PodEnded, or the cluster's reason), says (its message).
	JobUnstarted Code = "job.unstarted"
	// WorkerUncopied: mxflow could not be copied to host Subject. Args: command, says,
	// error.
	WorkerUncopied Code = "worker.uncopied"
	// WorkerRefuses: the worker at Subject would not make the same launches. Args: error.
	WorkerRefuses Code = "worker.refuses"
	// LeftJob: the job Subject, left behind by a killed apply, was cancelled.
	LeftJob Code = "left.job"
)

// Notes on a launch.
const (
	Stopping Code = "launch.stopping"
	// LeftRunning: processes that the engine left behind were ended. Args: n, names.
	LeftRunning Code = "launch.left_running"
	// LeftFiles: files appeared in shared memory and temporary folders while the engine ran,
	// and outlived it. Args: n, gb, paths.
	LeftFiles Code = "launch.left_files"
	// Unstopped: something started earlier could not be ended. Args: error.
	Unstopped Code = "launch.unstopped"
	// Altered: engines would inherit something else than before any ran; the causes are
	// what differs.
	Altered Code = "launch.altered"
	// NotKept: Subject ("output", "log", "metadata") could not be kept. Args: error.
	NotKept         Code = "launch.not_kept"
	LogRemoved      Code = "launch.log_removed"
	NothingObserved Code = "launch.nothing_observed"
	Unobserved      Code = "observation.missing"
	// TreeUnrecorded: the working tree at Subject is not on record. Args: error.
	TreeUnrecorded Code = "tree.unrecorded"
	Watched        Code = "machine.watched"
)

// Notes on the machine's GPUs.
const (
	GPUShared       Code = "gpu.shared"
	GPUUnseen       Code = "gpu.unseen"
	GPUNotGivenBack Code = "gpu.not_given_back"
	GPUWait         Code = "gpu.wait"
	GPULockWait     Code = "gpu.lock_wait"
	GPUUnlisted     Code = "gpu.unlisted"
	GPUUncertain    Code = "gpu.uncertain"
)

// Why what was sent does not count, or notes on it. Subject is the cell's address unless
// noted otherwise; "requests" are of "of".
const (
	// ReadingsDamaged: whether a GPU was disturbed is unknown. No cell: Subject is the
	// series.
	ReadingsDamaged Code = "machine.readings_damaged"
	// GPUSlowed: a GPU was slowed down for a share of the measured time. Args: gpu,
	// share, by (the driver's reasons).
	GPUSlowed      Code = "gpu.slowed"
	GPUNeighbours  Code = "gpu.neighbours"
	ClockWandered  Code = "gpu.clock_wandered"
	SentLate       Code = "client.sent_late"
	WokenLate      Code = "client.woken_late"
	ReadLate       Code = "client.read_late"
	HeldBack       Code = "answers.held_back"
	Unusable       Code = "answers.unusable"
	FromCache      Code = "prompts.from_cache"
	PrefixHits     Code = "prompts.prefix_hits"
	CacheUnknown   Code = "prompts.cache_unknown"
	TemplateCached Code = "prompts.template_cached"
	ContextLost    Code = "context.lost"
	ContextUnknown Code = "context.unknown"
	Short          Code = "answers.short"
	Overlong       Code = "answers.overlong"
	LengthUnknown  Code = "prompts.length_unknown"
	LengthOther    Code = "prompts.length_other"
	ByEvents       Code = "answers.by_events"
	// Doubtful: what the server counted contradicts what it sent. Args: answers, request,
	// doubts.
	Doubtful     Code = "answers.doubtful"
	PromptTokens Code = "prompts.tokens"
)

// Findings in answers. Subject is the cell, unless it is known from what the reason is
// listed under.
const (
	// Garbage: one answer does not read as text; the cause is a sign. Args: request,
	// turn, excerpt.
	Garbage Code = "answer.garbage"
	// Circles: answers loop or are empty; the cause is a sign in an example. Args:
	// answers, of, reverse, request, turn, excerpt.
	Circles Code = "answers.circles"
)

// Signs that an answer is not text. FromStart goes with each: it shows from the
// beginning.
const (
	SignEmpty      Code = "text.empty"
	SignOnlyBroken Code = "text.only_broken"
	SignBroken     Code = "text.broken"      // args: count, of
	SignNotNumbers Code = "text.not_numbers" // args: count, of
	SignOneWord    Code = "text.one_word"    // args: text, count, of
	SignRepeated   Code = "text.repeated"    // args: text
	SignTooEven    Code = "text.too_even"    // args: bits
	SignTooRandom  Code = "text.too_random"  // args: bits
)

// Why launches do not count, alone or compared with each other.
const (
	// LaunchSays: the cause concerns the launch Subject.
	LaunchSays Code = "launch.says"
	// NoteOf: the cause is a note on the launch Subject.
	NoteOf       Code = "launch.note"
	LaunchesNote Code = "launches.note"
	LaunchOf     Code = "launch.of"
	// ClocksApart: the SM clocks of the variants Subject and other differ. Args: other,
	// clock, other_clock, apart. ClocksFollow: the same at the power limit, where the
	// clock follows from the computation, or if that is unknown.
	ClocksApart    Code = "gpu.clocks_apart"
	ClocksFollow   Code = "gpu.clocks_follow"
	CountUnknown   Code = "work.count_unknown"
	UnequalWork    Code = "work.unequal"
	CountedApart   Code = "work.counted_apart"
	CountedMixed   Code = "work.counted_mixed"
	Unlooked       Code = "answers.unlooked"
	AnswersGarbage Code = "answers.garbage"
	Unrecorded     Code = "answers.unrecorded"
	Unpaired       Code = "answers.unpaired"
	Worse          Code = "answers.worse"
	MaybeWorse     Code = "answers.maybe_worse"
	NoFingerprint  Code = "environment.unknown"
	// EntryDiffers: the entry Subject of two launches. Args: one, value, other,
	// other_value; an unknown value is absent.
	EntryDiffers Code = "environment.entry"
	// EnvironmentChanged: launches of the variant Subject had different environments.
	// Args: advised, if what to do is given elsewhere; EnvironmentApart too.
	EnvironmentChanged Code = "environment.changed"
	EnvironmentApart   Code = "environment.apart"
	SaysOtherwise      Code = "observation.changed"
	// DiffersUntested: the variants Subject and other differ in what is not under
	// test. Args: names, and as many values and other_values; knobs.
	DiffersUntested Code = "observation.apart"
	// ConsequenceDiffers: the variants Subject and other differ in a consequence of their
	// settings; ConsequenceLarge: by much. Args: name, value, other_value, other, change.
	ConsequenceDiffers Code = "observation.consequence"
	ConsequenceLarge   Code = "observation.consequence_large"
	// TreeMoved: the working tree at Subject changed between two launches. Args: one,
	// other, and those of what changed.
	TreeMoved       Code = "tree.moved"
	TreeMovedBefore Code = "tree.moved_before"
	// TreeChanged: the tree Subject differs from the latest launch. Args of what changed:
	// files, commit and before if that changed too, lost if a diff is.
	TreeChanged Code = "tree.changed"
	// FileMovedSince: the file Subject is not what it was when launches ran that may have
	// run it.
	FileMovedSince Code = "file.moved_since"
	// FilesChanged: files that Subject runs differ from its latest launch. Args: files.
	FilesChanged Code = "files.changed"
	// Unidentified: launches of the engine Subject are not reused. Args: why.
	Unidentified Code = "engine.unidentified"
	TreeUnhashed Code = "tree.unhashed"
)
