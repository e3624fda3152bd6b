package plans

// valueCodes are about what attributes are set to.
var valueCodes = []Code{
	{
		"missing-attribute",
		[]string{"Missing required argument", "Missing *"},
		"A block lacks an attribute that it cannot do without, or has it as null, which counts as not written.",
		"Add it; the message says what it is for.",
	},
	{
		"wrong-type",
		[]string{"Wrong type for *", "Not text"},
		"An attribute has a value of another type than it takes: a number in quotes, one value where a list is meant.",
		"The message says what it takes. Text stands in quotes, numbers and true or false do not.",
	},
	{
		"invalid-value",
		[]string{"Invalid *", "Invalid pattern", "Number too large"},
		"The type is right, but the value is out of bounds, or none of the words that the attribute takes.",
		"The message names the bounds or the words.",
	},
	{
		"invalid-duration",
		[]string{"Invalid duration"},
		"A duration is text with a unit.",
		"Write `\"30s\"`, `\"15m\"` or `\"1h30m\"`.",
	},
	{
		"empty-value",
		[]string{"Empty *", "Empty command", "Nothing to measure"},
		"A text, list or block is there but holds nothing, so that nothing would be asked, run or looked for.",
		"Fill it, or remove it where it may be left out.",
	},
	{
		"invalid-expectation",
		[]string{"Invalid expectation", "Invalid metric address"},
		"A hypothesis claims something that cannot be compared with what is measured.",
		"Name an address such as `chat.tg`, and expect a change (`\"+10%\"`) or a level (`\">= 32\"`).",
	},
}

// decisionCodes are about the decision block.
var decisionCodes = []Code{
	{
		"decision-not-offered",
		[]string{"Decision is not offered"},
		"The levels of the test were not calibrated for these error rates, or for so few or so many launches, so that nothing would be known of how often the verdict is wrong.",
		"Take what the message offers.",
	},
	{
		"unknown-bound",
		[]string{"Unknown bound"},
		"An attribute with a least and a greatest value has a key that is neither.",
		"Write `{ min = 4, max = 8 }`; what is left out has its default.",
	},
}

// blockCodes are about blocks that are well written and yet cannot work.
var blockCodes = []Code{
	{
		"two-launchers",
		[]string{"Two ways to launch"},
		"An engine is launched in one way: as a process, in a container, or by somebody else.",
		"Keep one of the blocks.",
	},
	{
		"endpoint",
		[]string{"Endpoint is not started", "Knob cannot reach the endpoint"},
		"An engine that somebody else runs is asked to be something that nobody would tell it.",
		"Configure the server where it is started. With `restart` in its endpoint block, env of the engine and of knobs is given to that command.",
	},
	{
		"endpoint-contradiction",
		[]string{"Two keys", "Half a client certificate", "Certificate is not checked", "Certificates without TLS"},
		"What an endpoint block says of keys and certificates does not go together.",
		"Remove what the message names, or add what is missing beside it.",
	},
	{
		"key-not-sensitive",
		[]string{"Key is not sensitive"},
		"A key for a server stands in the plan, or comes from a variable that is not sensitive, so that it would be logged and recorded.",
		"Take it from a variable with `sensitive = true`, and give it in `MXFLOW_VAR_name`.",
	},
	{
		"missing-block",
		[]string{"Missing plan block", "Missing process block", "Missing baseline"},
		"A block is not there without which nothing could run or be compared.",
		"Add it; the message shows how it is written.",
	},
	{
		"missing-variable-value",
		[]string{"Missing value for variable"},
		"A variable without a default was not given a value.",
		"Give it one with `--var name=value`, in `MXFLOW_VAR_name` or in a file of variables, or give it a default.",
	},
	{
		"invalid-variable-value",
		[]string{"Wrong type for variable", "Cannot read --var", "Unknown variable in --var", "Unknown suite in --suite"},
		"A value given on the command line does not fit the plan's variables, or the plan has no such suite.",
		"Compare its name and type with the `variable` block; a suite is the name of a `suite` block. Lists and maps are written as in a plan.",
	},
	{
		"default-not-constant",
		[]string{"Default is not constant"},
		"The default of a variable refers to something else.",
		"Use a local for what depends on something else.",
	},
	{
		"unusable-observation",
		[]string{"Nothing to observe", "Two sources of one observation", "Attribute has no use here", "Count without a log", "Metric is a number", "Expression without a group", "Expression matches everything"},
		"An `observe` block does not say what is observed, or says it in two ways, or has attributes that do not go with its source or type.",
		"Give it one source: `log`, `path` or `file` with `jq`, or `metric`. A string or number is what a group of the log expression matches.",
	},
	{
		"knob-without-values",
		[]string{"Knob without values"},
		"A knob that switches nothing cannot be under test.",
		"Add a `value` block for each setting, one of them its default.",
	},
	{
		"contradictory-evidence",
		[]string{"Contradictory evidence"},
		"The same glob is in `must_see` and in `must_not_see`.",
		"Remove one of them.",
	},
	{
		"evidence-proves-nothing",
		[]string{"Glob matches everything", "Evidence not supported yet"},
		"A glob that is found in every log, or evidence that this version cannot look at, shows nothing.",
		"Name text that only this value makes the engine log.",
	},
	{
		"unproven-knob-value",
		[]string{"Unproven knob value"},
		"A variant has a knob value without evidence while its protocol has a kernels level: nothing would show that the value took effect, and unproven is not a pass.",
		"Give the value a `must_see` or `must_not_see` block.",
	},
	{
		"nothing-under-test",
		[]string{"Nothing under test", "Knob value does not change"},
		"The candidate is the same variant as its parent.",
		"Set the knob under test to a value that the parent does not have.",
	},
	{
		"choice",
		[]string{"Not one knob to choose", "Not several values to choose", "Knob is set and chosen", "Nothing to prefer", "No metric to choose by"},
		"`choose` tries several values of one knob and admits the best of those that pass. What it names is not one knob with several values, or nothing says which of them is the best.",
		"Write `choose = { knob = [\"one\", \"other\"] }`, keep that knob out of `set`, and name in `prefer` the metric that picks the winner.",
	},
	{
		"confirmation",
		[]string{"Confirmation on the same engine", "Confirmation measures something else", "Knob cannot reach the confirming engine"},
		"A `confirm` block repeats criteria on an engine on which they would mean the same as before, or nothing at all.",
		"Name another engine than the baseline's, of the same sort, that takes the settings of the knobs under test.",
	},
	{
		"feature-without-criterion",
		[]string{"Feature without criterion"},
		"Nothing would decide whether the port helps.",
		"Add a `criterion` block.",
	},
	{
		"gate-without-rules",
		[]string{"Gate without rules"},
		"A gate that asks for nothing would always open.",
		"Add a `rule` block, or remove the gate.",
	},
	{
		"protocol-without-levels",
		[]string{"Protocol without levels"},
		"A protocol without levels tests nothing.",
		"Add at least one `level` block.",
	},
	{
		"smoke-expects-nothing",
		[]string{"Smoke test without an answer", "Smoke level expects nothing"},
		"A smoke test that accepts any answer is none.",
		"Set `expect` or `pattern`.",
	},
	{
		"empty-phase",
		[]string{"Empty phase"},
		"A phase with neither step, feature nor gate does nothing and decides nothing.",
		"Add one of them, or remove the phase.",
	},
}
