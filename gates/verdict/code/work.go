package code

// What shows that the work was not done that a number is about (engine/load/work).
const (
	// TooFast: streams of the cell Subject were faster than one can be. Args: requests,
	// of, highest (events/s), most.
	TooFast Code = "work.too_fast"
	// LengthCounted: the engine counted other prompts of the cell Subject than were
	// sent. Args: requests, of, sent, least, most, method.
	LengthCounted Code = "work.prompt_length"
	// PromptText, AnswerText: a token of a prompt, or of an answer, to the cell Subject
	// stands for another amount of text than the parent's. Args: one, value, other,
	// other_value.
	PromptText Code = "work.prompt_text"
	AnswerText Code = "work.answer_text"
	// SameAnswer, Echoed: a share of the answers to the cell Subject that were given to
	// other prompts too, or that stand in their prompt. Args: one, value, other,
	// other_value.
	SameAnswer Code = "work.same_answer"
	Echoed     Code = "work.echoed"
	// ForcedBy, ForcedLogged: the engine takes drafted tokens by force that its model
	// would not have said. Args: by (a variable or an argument); line_no, line.
	ForcedBy     Code = "work.forced"
	ForcedLogged Code = "work.forced_logged"
	// OtherAnswers: what the variant Subject answered is not what its parent says to the
	// same prompts; of one cell, where that is given. NotAsked: too little is known of
	// that. Args: other, agreed, of, own, own_of; OtherAnswers also cell.
	OtherAnswers Code = "work.other_answers"
	NotAsked     Code = "work.not_asked"
	// DecodeBeyond, PrefillBeyond: the cell Subject was faster than the machine can be.
	// Args: steps, most, least (GB), bandwidth (GB/s), room, machine; value, most, each
	// (GFLOP), rate (TFLOP/s), room, machine.
	DecodeBeyond  Code = "work.decode_beyond"
	PrefillBeyond Code = "work.prefill_beyond"
	// AboveFormats: the cell Subject was faster than the formats of the model's config
	// allow. Args: bandwidth. LimitUnknown: why there is no limit, where the plan
	// names what it follows from. Args: error.
	AboveFormats Code = "work.above_formats"
	// OfLimit: what share of what the machine allows launches of a variant came to in the
	// cell Subject. Args: variant, tg, share, bandwidth; pp, pp_share, rate.
	OfLimit      Code = "work.of_limit"
	LimitUnknown Code = "work.limit_unknown"
)
