package code

// What shows that the work was not done that a number is about (engine/load/work).
const (
	// TooFast: streams of the cell Subject were faster than one can be. Args: requests,
	// of, highest (events/s), most.
	TooFast       Code = "work.too_fast"
	LengthCounted Code = "work.prompt_length"
	PromptText    Code = "work.prompt_text"
	AnswerText    Code = "work.answer_text"
	PromptCount   Code = "work.prompt_count"
	AnswerCount   Code = "work.answer_count"
	SameAnswer    Code = "work.same_answer"
	Echoed        Code = "work.echoed"
	// ForcedBy, ForcedLogged: the engine takes drafted tokens by force that its model
	// would not have said. Args: by (a variable or an argument); line_no, line.
	ForcedBy     Code = "work.forced"
	ForcedLogged Code = "work.forced_logged"
	// SettingUnused: the engine does not show that it used the setting Subject. Args:
	// name (of the observation), value. Follows from: why it was not observed.
	// SettingUnshown: the same of an engine that need not show it, and is believed.
	SettingUnused  Code = "work.setting_unused"
	SettingUnshown Code = "work.setting_unshown"
	OtherAnswers   Code = "work.other_answers"
	// FastOthers: what made the answers of Subject to cell fast is not its parent's model.
	// Args: cell, other (the parent), fast of fast_of and slow of slow_of (what the parent
	// said again, of the faster half and of the slower).
	FastOthers     Code = "work.fast_others"
	NotAsked       Code = "work.not_asked"
	WorkUncompared Code = "work.uncompared"
	// DecodeBeyond, PrefillBeyond: the cell Subject was faster than the machine can be.
	// Args: steps, most, least (GB), bandwidth (GB/s), room, machine; value, most, each
	// (GFLOP), rate (TFLOP/s), room, machine.
	DecodeBeyond  Code = "work.decode_beyond"
	PrefillBeyond Code = "work.prefill_beyond"
	// AboveFormats: the cell Subject was faster than the formats of the model's config
	// allow. Args: bandwidth. LimitUnknown: why there is no limit, where the plan
	// names what it follows from. Args: error.
	AboveFormats Code = "work.above_formats"
	OfLimit      Code = "work.of_limit"
	LimitUnknown Code = "work.limit_unknown"
	// CacheImplausible: what the engine says of its KV cache contradicts the model's
	// config. Args: bytes, of a token; least and most by the config.
	CacheImplausible Code = "work.cache_implausible"
)
