package code

// What the levels of a qualification launch find.
const (
	// AnswerEmpty, AnswerLacks, AnswerUnlike and AnswerGarbage: what is wrong with the
	// answer to a prompt. Args: prompt, answer; expect or pattern. AnswerGarbage is from
	// a sign.
	AnswerEmpty   Code = "smoke.empty"
	AnswerLacks   Code = "smoke.lacks"
	AnswerUnlike  Code = "smoke.unlike"
	AnswerGarbage Code = "smoke.garbage"
	Answered      Code = "smoke.answered"

	// LastWords: the last line that a program of a level logged. Args: line.
	LastWords Code = "exec.last_words"
	// NumbersUnread: what a program printed is not what its blocks read. Args: error.
	NumbersUnread Code = "exec.numbers_unread"
	// NumberFound: the number Subject. Args: value.
	NumberFound Code = "exec.number"
	// ItemsPaired: a program's items beside those of the parent. Args: items, lost,
	// gained, p.
	ItemsPaired Code = "exec.items_paired"
	// FilesUnfetched: what a program has left in the engine's container cannot be had.
	// Args: error.
	FilesUnfetched Code = "exec.files_unfetched"
	// FileTooLarge: the level Subject left a file that is not kept. Args: file, mib, most.
	FileTooLarge Code = "exec.file_too_large"

	MetricsPrinted Code = "command.printed"
	MetricValues   Code = "command.values"
)

// What the log and the engine prove of knobs. Subject is the knob, with its value as
// the argument value, unless said otherwise.
const (
	NoKnobs        Code = "kernels.no_knobs"
	LogUnknown     Code = "kernels.log_unknown"
	LogEmpty       Code = "kernels.log_empty"
	LogBeganBefore Code = "kernels.log_began_before"
	LogCut         Code = "kernels.log_cut"
	LogBrokeOff    Code = "kernels.log_broke_off"
	LogAt          Code = "kernels.log_at"
	// Proved: of all knobs. Args: knobs, by ("log" or "engine").
	Proved Code = "kernels.proved"
	// Unproven: nothing is declared that could prove it.
	Unproven   Code = "kernels.unproven"
	LogNotKept Code = "kernels.log_not_kept"
	// Seen, NotSeen and WronglySeen: args: glob; line_no, line. SeenChosen: before the
	// first request, where the engine made its choice; SeenAtStart: there, and the plan
	// takes it; OnlyConfigured: there, and it does not.
	Seen           Code = "kernels.seen"
	SeenChosen     Code = "kernels.seen_chosen"
	SeenAtStart    Code = "kernels.seen_at_start"
	OnlyConfigured Code = "kernels.only_configured"
	NotSeen        Code = "kernels.not_seen"
	WronglySeen    Code = "kernels.wrongly_seen"
	// SeenLines and TooFewLines: lines that any of some globs match were counted, from
	// those of each. Args: globs, at_least, lines; early: how many more there are from
	// before the first request, which do not count. LinesLike: args: glob, lines,
	// line_no, line (the first).
	SeenLines   Code = "kernels.seen_lines"
	TooFewLines Code = "kernels.too_few_lines"
	LinesLike   Code = "kernels.lines_like"
	// Observed: args: name, is, from. ObservedAtStart: by a line that repeats what was
	// asked for, and the plan takes it; ObservedAsked: and it does not.
	Observed        Code = "kernels.observed"
	ObservedAtStart Code = "kernels.observed_at_start"
	ObservedAsked   Code = "kernels.observed_asked"
	// NotObserved: from why. Args: name.
	NotObserved Code = "kernels.not_observed"
	// ObservedOther: args: name, must, is, from.
	ObservedOther Code = "kernels.observed_other"
	// WronglyObserved: args: name, is, from.
	WronglyObserved Code = "kernels.wrongly_observed"
	Unasked         Code = "kernels.unasked"
)

// What answers show when they are compared with a parent's.
const (
	// QualityAnswered: nothing to compare with yet. Args: answers, tokens.
	QualityAnswered Code = "quality.answered"
	// QualityItself is how far launches of one variant are apart. Args: launches, answers,
	// agreement; kl, argmax where the engine gives log-probabilities.
	QualityItself Code = "quality.itself"
	// QualityWithin, QualityNoise and QualityOver: subject is what was found ("kl"). Args:
	// value, limit; least: "yes" where the limit is one from below; part: which positions
	// of KL; parent, noise: how far the parent's own launches are apart, where it is known.
	QualityWithin Code = "quality.within"
	QualityNoise  Code = "quality.noise"
	QualityOver   Code = "quality.over"
	// QualityDiverged: the first divergence that is no near-tie. Args: prompt, token,
	// parent; was, is, or was_id, is_id where the engine names tokens by their ids, and
	// neither where an answer had ended; gap where it is known.
	QualityDiverged Code = "quality.diverged"
	// QualityDiffer: Args: answers, diverged, ties, parent; positions where lists were
	// compared.
	QualityDiffer Code = "quality.differ"
	// QualityFlaws: values that no distribution has. Args: nan, inf, above, sums, repeated.
	QualityFlaws       Code = "quality.flaws"
	QualityParentFlaws Code = "quality.parent_flaws"
	QualityEmpty       Code = "quality.empty"
	// QualityTwice: one request had two answers. Args: token, the first that differs.
	QualityTwice Code = "quality.twice"
	// QualityOtherPrompts: file where it is a stored reference. QualityNoReference: file,
	// error.
	QualityOtherPrompts Code = "quality.other_prompts"
	QualityNoReference  Code = "quality.no_reference"
	QualityMissing      Code = "quality.missing"
	QualityNoText       Code = "quality.no_text"
	// QualityFew: Args: positions, least.
	QualityFew Code = "quality.few"
	// QualityNoParent: subject is the launch. From why. Args: parent.
	QualityNoParent Code = "quality.no_parent"
	// QualityAgain and QualityAfter: subject is the candidate. From what was found at the
	// end of measured launches, good or not.
	QualityAgain Code = "quality.again"
	// QualityOnce: measured launches are asked nothing at their end, as the plan has it.
	QualityOnce  Code = "quality.once"
	QualityAfter Code = "quality.after"
)
