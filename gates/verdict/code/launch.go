package code

// How launches break.
const (
	// LaunchBroke: the engine, or what drives it, broke. Args: error. From a diagnosis,
	// where its log shows one.
	LaunchBroke Code = "launch.broke"
	// EngineDied: while it answered. Args: exit, error.
	EngineDied Code = "engine.died"
	// EngineEnded: by itself. Args: exit.
	EngineEnded Code = "engine.ended"
	// Diagnosed: what a log shows of how the engine broke. Args: class, means, line_no,
	// line.
	Diagnosed Code = "engine.diagnosed"
	// TreeFrozen: the tree Subject is not as at the latest launch on record. Args:
	// those of what changed.
	TreeFrozen Code = "tree.frozen"
)

// What is to be known of a launch.
const (
	// Stopping: the engine did not stop as it should. Args: error.
	Stopping Code = "launch.stopping"
	// NotKept: Subject ("output", "log", "metadata") could not be kept. Args: error.
	NotKept Code = "launch.not_kept"
	// LogRemoved: sensitive values could not be taken out of it. Args: error.
	LogRemoved Code = "launch.log_removed"
	// NothingObserved: Args: error.
	NothingObserved Code = "launch.nothing_observed"
	// Unobserved: why something that was looked for is not known. Args: why.
	Unobserved Code = "observation.missing"
	// CachesCold: they were empty, though the plan says warm.
	CachesCold Code = "caches.cold"
	// TreeUnrecorded: the working tree at Subject is not on record. Args: error.
	TreeUnrecorded Code = "tree.unrecorded"
	// Watched: what was noticed of the machine meanwhile. Args: text.
	Watched Code = "machine.watched"
)

// What is to be known of the machine's GPUs.
const (
	// GPUShared: somebody else was on the GPU, so that the launch does not count.
	// Args: by.
	GPUShared Code = "gpu.shared"
	// GPUUnseen: whether its memory was given back could not be seen. Args: error.
	GPUUnseen Code = "gpu.unseen"
	// GPUNotGivenBack: its memory was not, in time. Args: within, by.
	GPUNotGivenBack Code = "gpu.not_given_back"
	// GPUWait: it is waited for. Args: wait, until.
	GPUWait Code = "gpu.wait"
	// GPULockWait: another mxflow holds it. Args: wait, until.
	GPULockWait Code = "gpu.lock_wait"
	// GPUUnlisted: none is locked or waited for. Args: error.
	GPUUnlisted Code = "gpu.unlisted"
	// GPUUncertain: which ones CUDA_VISIBLE_DEVICES means.
	GPUUncertain Code = "gpu.uncertain"
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
	GPUSlowed Code = "gpu.slowed"
	// GPUNeighbours: processes that are not the engine's were on a GPU. Args: gpu,
	// share, most.
	GPUNeighbours Code = "gpu.neighbours"
	// ClockWandered: the SM clock of a GPU moved, and no limit made it. Args: gpu, low,
	// high.
	ClockWandered Code = "gpu.clock_wandered"
	// SentLate and WokenLate: the client was late. Args: max, p99, limit; flag, where a
	// command line says what is allowed.
	SentLate  Code = "client.sent_late"
	WokenLate Code = "client.woken_late"
	// HeldBack: answers came in one piece. Args: requests, of, longest.
	HeldBack Code = "answers.held_back"
	// TooFewAtOnce: fewer requests at once than asked for. Args: asked, reached, by.
	TooFewAtOnce Code = "load.not_reached"
	// ReachUnknown: how many there were at once is not known, from why, unless answers
	// came in one piece. Args: asked.
	ReachUnknown Code = "load.reach_unknown"
	// What ReachUnknown follows from. Args: most; sure.
	ReachOpenLoop   Code = "load.open_loop"
	ReachUnanswered Code = "load.unanswered"
	ReachNeverSent  Code = "load.never_sent"
	ReachOneToken   Code = "load.one_token"
	ReachTooShort   Code = "load.too_short"
	// FromCache: prompts were partly answered from a cache. Args: requests, of, tokens.
	FromCache Code = "prompts.from_cache"
	// PrefixHits: the same by the engine's own counters. Args: share.
	PrefixHits Code = "prompts.prefix_hits"
	// CacheUnknown: whether they were is not known. Args: unknown, of, flag.
	CacheUnknown Code = "prompts.cache_unknown"
	// TemplateCached: a few tokens were. Args: requests, of.
	TemplateCached Code = "prompts.template_cached"
	// ContextLost: it was not in the cache, where it was to be. Args: requests, of,
	// tokens.
	ContextLost Code = "context.lost"
	// ContextUnknown: whether it was is not known. Args: unknown, of.
	ContextUnknown Code = "context.unknown"
	// Short: answers were shorter than asked for. Args: requests, of, tokens.
	Short Code = "answers.short"
	// Overlong: answers had more tokens than asked for. Args: requests, of, most, asked.
	Overlong Code = "answers.overlong"
	// LengthUnknown: of prompts. Args: unknown, of, method.
	LengthUnknown Code = "prompts.length_unknown"
	// LengthOther: of prompts. Args: least, most, want where it is one number, method.
	LengthOther Code = "prompts.length_other"
	// ByEvents: tokens were counted as stream events.
	ByEvents Code = "answers.by_events"
	// Doubtful: what the server counted contradicts what it sent. Args: answers,
	// request, doubts.
	Doubtful Code = "answers.doubtful"
	// PromptTokens: engines count them differently. Args: own, reference.
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
	Circles Code = "answers.circles"
	// RandomWording and ParentRandom: wording is like words at random, or the parent's
	// is. Args: bits, prompts.
	RandomWording Code = "answers.random"
	ParentRandom  Code = "answers.parent_random"
	// Unlike: answers are worded unlike the parent's. Args: answers, of.
	Unlike Code = "answers.unlike"
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
	NoteOf Code = "launch.note"
	// LaunchesNote: it is of several. Args: launches, of.
	LaunchesNote Code = "launches.note"
	// LaunchOf: the launch of that number. Args: number, of.
	LaunchOf Code = "launch.of"
	// ClocksApart: the SM clocks of the variants Subject and other differ. Args: other,
	// clock, other_clock, apart. ClocksFollow: the same at the power limit, where the
	// clock follows from what is computed, or where that is not known.
	ClocksApart  Code = "gpu.clocks_apart"
	ClocksFollow Code = "gpu.clocks_follow"
	// CountUnknown: only one arm says of the cell Subject how many tokens it generated.
	// Args: counted, not.
	CountUnknown Code = "work.count_unknown"
	// UnequalWork: arms did not generate as much of the cell Subject. Args: one, lacks,
	// other, other_lacks.
	UnequalWork Code = "work.unequal"
	// CountedApart: tokens of the cell Subject were counted in two ways. Args: counted,
	// not.
	CountedApart Code = "work.counted_apart"
	// CountedMixed: the same, within arms. Args: launches.
	CountedMixed Code = "work.counted_mixed"
	// Unlooked: answers of the workload Subject were not looked at.
	Unlooked Code = "answers.unlooked"
	// AnswersGarbage: an answer of the variant Subject does not read as text. Args:
	// launch.
	AnswersGarbage Code = "answers.garbage"
	// MoreGarbage: more answers of the variant Subject than of another do not read as
	// text, from an example; without a Subject, of a row against the reference. Args:
	// answers, cell, theirs, other.
	MoreGarbage Code = "answers.more_garbage"
	// Unrecorded: none of the variant Subject's answers is on record. Args: workload,
	// other.
	Unrecorded Code = "answers.unrecorded"
	// Unpaired: the cell Subject was not answered by both. Args: one, other.
	Unpaired Code = "answers.unpaired"
	// Worse and MaybeWorse: answers of the variant Subject. Args: cell, other, answers,
	// of.
	Worse      Code = "answers.worse"
	MaybeWorse Code = "answers.maybe_worse"
	// NoFingerprint: the launch Subject has none of its environment.
	NoFingerprint Code = "environment.unknown"
	// EntryDiffers: the entry Subject of two launches. Args: one, value, other,
	// other_value; a value that is not known is absent.
	EntryDiffers Code = "environment.entry"
	// EnvironmentChanged: launches of the variant Subject were not made in one. Args:
	// advised, where what to do is said elsewhere; EnvironmentApart too.
	EnvironmentChanged Code = "environment.changed"
	// EnvironmentApart: the variants Subject and other were not measured in one.
	EnvironmentApart Code = "environment.apart"
	// SaysOtherwise: launches of the variant Subject say different things of
	// themselves. Args: name, one, value, other, other_value.
	SaysOtherwise Code = "observation.changed"
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
	TreeMoved Code = "tree.moved"
	// TreeMovedBefore: it changed before a launch. Args: launch.
	TreeMovedBefore Code = "tree.moved_before"
	// TreeChanged: the tree Subject is another than at the latest launch. Args of what
	// changed: files, commit and before where that changed too, lost where a diff is.
	TreeChanged Code = "tree.changed"
	// TreeUnhashed: the tree Subject cannot be hashed. Args: error.
	TreeUnhashed Code = "tree.unhashed"
)
