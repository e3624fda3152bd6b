package code

// What the levels of a qualification launch find.
const (
	// AnswerEmpty, AnswerLacks, AnswerUnlike and AnswerGarbage: what is wrong with the
	// answer to a prompt. Args: prompt, answer; expect or pattern. The cause of
	// AnswerGarbage is a sign.
	AnswerEmpty   Code = "smoke.empty"
	AnswerLacks   Code = "smoke.lacks"
	AnswerUnlike  Code = "smoke.unlike"
	AnswerGarbage Code = "smoke.garbage"
	Answered      Code = "smoke.answered"

	// LastWords: the last line that a program of a level logged. Args: line.
	LastWords Code = "exec.last_words"
	// NumbersUnread: a program's output is not what its blocks read. Args: error.
	NumbersUnread Code = "exec.numbers_unread"
	// NumberFound: the number Subject. Args: value.
	NumberFound Code = "exec.number"
	// ItemsPaired: a program's items beside those of the parent. Args: items, lost,
	// gained, p.
	ItemsPaired Code = "exec.items_paired"
	// FileTooLarge: the level Subject left a file too large to keep. Args: file, mib,
	// most.
	FileTooLarge Code = "exec.file_too_large"

	MetricsPrinted Code = "command.printed"
	MetricValues   Code = "command.values"
)

// What log and engine prove about knobs. Subject is the knob, with its value as the
// argument value, unless noted otherwise.
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
	// Seen, NotSeen and WronglySeen: args: glob; line_no, line. The causes of NotSeen are
	// the lines that are nearest to it, NearLine. SeenChosen: before the
	// first request, when the engine made its choice; SeenAtStart: also, and the plan
	// accepts it; OnlyConfigured: also, and it does not.
	Seen           Code = "kernels.seen"
	SeenChosen     Code = "kernels.seen_chosen"
	SeenAtStart    Code = "kernels.seen_at_start"
	OnlyConfigured Code = "kernels.only_configured"
	NotSeen        Code = "kernels.not_seen"
	NearLine       Code = "kernels.near_line"
	WronglySeen    Code = "kernels.wrongly_seen"
	// SeenLines and TooFewLines: lines that match any of some globs were counted; the
	// causes are the counts of each. Args: globs, at_least, lines; early: how many more
	// come from before the first request, which do not count. LinesLike: args: glob,
	// lines, line_no, line (the first).
	SeenLines   Code = "kernels.seen_lines"
	TooFewLines Code = "kernels.too_few_lines"
	LinesLike   Code = "kernels.lines_like"
	// Observed: args: name, is, from. ObservedAtStart: by a line that repeats what was
	// asked for, which the plan accepts; ObservedAsked: which it does not.
	Observed        Code = "kernels.observed"
	ObservedAtStart Code = "kernels.observed_at_start"
	ObservedAsked   Code = "kernels.observed_asked"
	// NotObserved: the cause is why. Args: name.
	NotObserved Code = "kernels.not_observed"
	// ObservedOther: args: name, must, is, from.
	ObservedOther Code = "kernels.observed_other"
	// WronglyObserved: args: name, is, from.
	WronglyObserved Code = "kernels.wrongly_observed"
	Unasked         Code = "kernels.unasked"
)

// What a comparison of answers with a parent's shows.
const (
	// QualityAnswered: nothing to compare with yet. Args: answers, tokens.
	QualityAnswered Code = "quality.answered"
	// QualityItself is how far apart launches of one variant are. Args: launches,
	// answers, agreement; kl, argmax if the engine gives log-probabilities.
	QualityItself Code = "quality.itself"
	// QualityWithin, QualityNoise and QualityOver: Subject is the measure ("kl"). Args:
	// value, limit; least: "yes" for a lower limit; part: which positions of KL; parent,
	// noise: how far apart the parent's own launches are, if known.
	QualityWithin Code = "quality.within"
	QualityNoise  Code = "quality.noise"
	QualityOver   Code = "quality.over"
	// QualityDiverged: the first divergence that is not a near-tie. Args: prompt, token,
	// parent; was, is, or was_id, is_id if the engine names tokens by ID, neither if an
	// answer had ended; gap if known.
	QualityDiverged Code = "quality.diverged"
	// QualityDiffer: args: answers, diverged, ties, parent; positions if lists were
	// compared.
	QualityDiffer Code = "quality.differ"
	// QualityFlaws: values that no distribution has. Args: nan, inf, above, sums,
	// repeated.
	QualityFlaws       Code = "quality.flaws"
	QualityParentFlaws Code = "quality.parent_flaws"
	QualityEmpty       Code = "quality.empty"
	// QualityTwice: one request had two answers. Args: token, the first that differs.
	QualityTwice        Code = "quality.twice"
	QualityOtherPrompts Code = "quality.other_prompts"
	QualityMissing      Code = "quality.missing"
	QualityNoText       Code = "quality.no_text"
	// QualityFew: args: positions, least.
	QualityFew Code = "quality.few"
	// QualityNoParent: Subject is the launch; the cause is why. Args: parent.
	QualityNoParent Code = "quality.no_parent"
)
