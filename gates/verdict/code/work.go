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
	// ForcedBy, ForcedLogged: the engine is forced to accept drafted tokens that its
	// model would not have produced. Args: by (a variable or an argument); line_no, line.
	ForcedBy     Code = "work.forced"
	ForcedLogged Code = "work.forced_logged"
	// SettingUnused: the engine does not show that it used the setting Subject. Args:
	// name (of the observation), value. The cause is why it was not observed.
	// SettingUnshown: the same of an engine that need not show it, and is believed.
	SettingUnused  Code = "work.setting_unused"
	SettingUnshown Code = "work.setting_unshown"
	// OtherAnswers, AgreementOpen, Agrees: that Subject's answers to cell are those of its
	// parent's model is refuted, not shown, shown. Args: other (the parent); agreed of of
	// (positions of Subject's answers at which the parent says the same), own of own_of (of
	// the parent's own); least (how much less is allowed) or declared; part; recites
	// ("yes": more of them stands in prompts and other answers than of the parent's).
	OtherAnswers  Code = "work.other_answers"
	AgreementOpen Code = "work.agreement_open"
	Agrees        Code = "work.agrees"
	// NotAsked: the parent could be asked nothing of some launches. Args: other, launches.
	NotAsked Code = "work.not_asked"
	// Unchecked: the plan of Subject declares answers = "unchecked". Declared: it declares
	// min_agreement. Args: least.
	Unchecked      Code = "answers.unchecked"
	Declared       Code = "answers.declared"
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
