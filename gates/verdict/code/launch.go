package code

// How launches break.
const (
	// LaunchBroke: the engine, or what drives it, broke. Args: error. From a diagnosis,
	// where its log shows one.
	LaunchBroke Code = "launch.broke"
	EngineDied  Code = "engine.died"
	EngineEnded Code = "engine.ended"
	Diagnosed   Code = "engine.diagnosed"
	// SignalSays: what a signal by which an engine ended tells more than its name. Args:
	// signal.
	SignalSays Code = "engine.signal"
	// LaunchGone: what made the launch on another machine, at Subject, is gone, or what it
	// brought back is not whole. Args: class (of launch.Gone), error (its last
	// words), job.
	LaunchGone Code = "launch.gone"
	// PlaceLeft: what stood at Subject in this round does not count, since the place was
	// lost before the round was whole.
	PlaceLeft Code = "place.left"
	// TreeFrozen: the tree Subject is not as at the latest launch on record. Args:
	// those of what changed.
	TreeFrozen Code = "tree.frozen"
)

// Workers on other machines.
const (
	// WorkerReady: launches are made at Subject now. Args: job.
	WorkerReady Code = "worker.ready"
	// WorkerWaits: slot has no worker yet. Args: slot, says (of what starts it).
	WorkerWaits Code = "worker.waits"
	// WorkerUnstarted: what executor Subject starts did not come to work. Args: command,
	// says.
	WorkerUnstarted Code = "worker.unstarted"
	// JobUnstarted: job of executor Subject cannot come to work. Args: job, class (Deleted,
	// PodEnded, or the cluster's reason), says (its message).
	JobUnstarted Code = "job.unstarted"
	// WorkerUncopied: mxflow could not be copied to host Subject. Args: command, says,
	// error.
	WorkerUncopied Code = "worker.uncopied"
	// WorkerRefuses: the worker at Subject would not make the same launches. Args: error.
	WorkerRefuses Code = "worker.refuses"
	// LeftJob: the job Subject, left by a killed apply, was cancelled.
	LeftJob Code = "left.job"
)

// What is to be known of a launch.
const (
	Stopping Code = "launch.stopping"
	// LeftRunning: what the engine left running and was ended. Args: n, names.
	LeftRunning Code = "launch.left_running"
	// Unstopped: what was started earlier could not be ended. Args: error.
	Unstopped Code = "launch.unstopped"
	// Altered: engines would inherit something else than before any ran, from what differs.
	Altered Code = "launch.altered"
	// NotKept: Subject ("output", "log", "metadata") could not be kept. Args: error.
	NotKept         Code = "launch.not_kept"
	LogRemoved      Code = "launch.log_removed"
	NothingObserved Code = "launch.nothing_observed"
	Unobserved      Code = "observation.missing"
	CachesCold      Code = "caches.cold"
	// TreeUnrecorded: the working tree at Subject is not on record. Args: error.
	TreeUnrecorded Code = "tree.unrecorded"
	Watched        Code = "machine.watched"
)

// What is to be known of the machine's GPUs.
const (
	GPUShared       Code = "gpu.shared"
	GPUUnseen       Code = "gpu.unseen"
	GPUNotGivenBack Code = "gpu.not_given_back"
	GPUWait         Code = "gpu.wait"
	GPULockWait     Code = "gpu.lock_wait"
	GPUUnlisted     Code = "gpu.unlisted"
	GPUUncertain    Code = "gpu.uncertain"
)

// Why what was sent does not count, or what is to be known of it. Subject is the
// cell's address unless said otherwise; "requests" are of "of".
const (
	// ClientNotGood: no Subject. Args: why.
	ClientNotGood Code = "client.not_good"
	// ReadingsDamaged: nobody knows whether a GPU was disturbed. No cell: Subject is the
	// series.
	ReadingsDamaged Code = "machine.readings_damaged"
	// GPUSlowed: a GPU was slowed down for a share of the measured time. Args: gpu,
	// share, by (the driver's reasons).
	GPUSlowed     Code = "gpu.slowed"
	GPUNeighbours Code = "gpu.neighbours"
	ClockWandered Code = "gpu.clock_wandered"
	SentLate      Code = "client.sent_late"
	WokenLate     Code = "client.woken_late"
	HeldBack      Code = "answers.held_back"
	TooFewAtOnce  Code = "load.not_reached"
	// ReachUnknown: how many there were at once is not known, from why, unless answers
	// came in one piece. Args: asked.
	ReachUnknown Code = "load.reach_unknown"
	// What ReachUnknown follows from. Args: most; sure.
	ReachOpenLoop   Code = "load.open_loop"
	ReachUnanswered Code = "load.unanswered"
	ReachNeverSent  Code = "load.never_sent"
	ReachOneToken   Code = "load.one_token"
	ReachTooShort   Code = "load.too_short"
	FromCache       Code = "prompts.from_cache"
	PrefixHits      Code = "prompts.prefix_hits"
	CacheUnknown    Code = "prompts.cache_unknown"
	TemplateCached  Code = "prompts.template_cached"
	ContextLost     Code = "context.lost"
	ContextUnknown  Code = "context.unknown"
	Short           Code = "answers.short"
	Overlong        Code = "answers.overlong"
	LengthUnknown   Code = "prompts.length_unknown"
	LengthOther     Code = "prompts.length_other"
	ByEvents        Code = "answers.by_events"
	// Doubtful: what the server counted contradicts what it sent. Args: answers,
	// request, doubts.
	Doubtful     Code = "answers.doubtful"
	PromptTokens Code = "prompts.tokens"
)

// What is found in answers. Subject is the cell, where it is not known from what the
// reason stands under.
const (
	// Garbage: one answer does not read as text, from a sign. Args: request, turn,
	// excerpt.
	Garbage Code = "answer.garbage"
	// Circles: answers turn in circles or are empty, from a sign of an example. Args:
	// answers, of, reverse, request, turn, excerpt.
	Circles       Code = "answers.circles"
	RandomWording Code = "answers.random"
	ParentRandom  Code = "answers.parent_random"
	Unlike        Code = "answers.unlike"
)

// Signs of a text that is none. FromStart goes with each: it shows from the beginning.
const (
	SignEmpty      Code = "text.empty"
	SignOnlyBroken Code = "text.only_broken"
	SignBroken     Code = "text.broken"      // args: count, of
	SignNotNumbers Code = "text.not_numbers" // args: count, of
	SignOneWord    Code = "text.one_word"    // args: text, count, of
	SignRepeated   Code = "text.repeated"    // args: text
	SignTooEven    Code = "text.too_even"    // args: bits
	SignTooRandom  Code = "text.too_random"  // args: bits
	SignLooped     Code = "text.looped"      // args: share
)

// Why launches do not count, each by itself or against each other.
const (
	// LaunchSays: of the launch Subject, what it follows from.
	LaunchSays Code = "launch.says"
	// NoteOf: the note that it follows from is of the launch Subject.
	NoteOf       Code = "launch.note"
	LaunchesNote Code = "launches.note"
	LaunchOf     Code = "launch.of"
	// ClocksApart: the SM clocks of the variants Subject and other differ. Args: other,
	// clock, other_clock, apart. ClocksFollow: the same at the power limit, where the
	// clock follows from what is computed, or where that is not known.
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
	// other_value; a value that is not known is absent.
	EntryDiffers Code = "environment.entry"
	// EnvironmentChanged: launches of the variant Subject were not made in one. Args:
	// advised, where what to do is said elsewhere; EnvironmentApart too.
	EnvironmentChanged Code = "environment.changed"
	EnvironmentApart   Code = "environment.apart"
	SaysOtherwise      Code = "observation.changed"
	// DiffersUntested: the variants Subject and other differ in what is not under
	// test. Args: name, value, other_value, knobs.
	DiffersUntested Code = "observation.apart"
	// ConsequenceDiffers: the variant Subject differs from the variant other in what
	// follows from its settings; ConsequenceLarge: by much. Args: name, value,
	// other_value, other, change.
	ConsequenceDiffers Code = "observation.consequence"
	ConsequenceLarge   Code = "observation.consequence_large"
	// TreeMoved: the working tree at Subject changed between two launches. Args: one,
	// other, and those of what changed.
	TreeMoved       Code = "tree.moved"
	TreeMovedBefore Code = "tree.moved_before"
	// TreeChanged: the tree Subject is another than at the latest launch. Args of what
	// changed: files, commit and before where that changed too, lost where a diff is.
	TreeChanged  Code = "tree.changed"
	TreeUnhashed Code = "tree.unhashed"
)
