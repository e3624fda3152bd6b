package code

// Signs that the measured work was not done (engine/load/work).
const (
	// TooFast: streams of the cell Subject were faster than is possible. Args: requests,
	// of, highest (events/s), most.
	TooFast       Code = "work.too_fast"
	LengthCounted Code = "work.prompt_length"
	PromptText    Code = "work.prompt_text"
	AnswerText    Code = "work.answer_text"
	PromptCount   Code = "work.prompt_count"
	AnswerCount   Code = "work.answer_count"
	SameAnswer    Code = "work.same_answer"
	Echoed        Code = "work.echoed"
	// ForcedBy, ForcedLogged: the engine is forced to accept drafted tokens that its
	// model would not have produced. Args: by (a variable or an argument); line_no, line.
	ForcedBy     Code = "work.forced"
	ForcedLogged Code = "work.forced_logged"
	// SettingUnused: the engine does not show that it used the setting Subject. Args:
	// name (of the observation), value. The cause is why it was not observed.
	// SettingUnshown: the same of an engine that need not show it, and is believed.
	SettingUnused  Code = "work.setting_unused"
	SettingUnshown Code = "work.setting_unshown"
	OtherAnswers   Code = "work.other_answers"
	// FastOthers: the fast answers of Subject to cell are not from its parent's model.
	// Args: cell, other (the parent), fast of fast_of and slow of slow_of (how many of
	// the faster and of the slower half the parent repeats).
	FastOthers     Code = "work.fast_others"
	NotAsked       Code = "work.not_asked"
	WorkUncompared Code = "work.uncompared"
	// DecodeBeyond, PrefillBeyond: the cell Subject was faster than the machine can be.
	// Args: steps, most, least (GB), bandwidth (GB/s), room, machine; value, most, each
	// (GFLOP), rate (TFLOP/s), room, machine.
	DecodeBeyond  Code = "work.decode_beyond"
	PrefillBeyond Code = "work.prefill_beyond"
	// AboveFormats: the cell Subject was faster than the formats of the model's config
	// allow. Args: bandwidth. LimitUnknown: why there is no limit although the plan names
	// its source. Args: error.
	AboveFormats Code = "work.above_formats"
	OfLimit      Code = "work.of_limit"
	LimitUnknown Code = "work.limit_unknown"
	// CacheImplausible: the KV cache that the engine reports contradicts the model's
	// config. Args: bytes, of a token; least and most by the config.
	CacheImplausible Code = "work.cache_implausible"
)
