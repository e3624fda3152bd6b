package plans

// ruleCodes are about rules, criteria and hypotheses.
var ruleCodes = []Code{
	{
		"empty-rule",
		[]string{"Empty rule"},
		"A rule with no text would decide nothing.",
		"Compare something that is measured, as in `chat.tg.gain >= 0.10`.",
	},
	{
		"rule-unquoted",
		[]string{"Rule is not in quotes"},
		"A rule is text in a language of its own, and was written as an expression of the plan.",
		"Put it in quotes.",
	},
	{
		"rule-too-long",
		[]string{"Rule too long"},
		"A rule has up to 4 KiB.",
		"Split it: a gate passes when all of its rules do.",
	},
	{
		"invalid-rule",
		[]string{"Invalid rule"},
		"The rule cannot be read: a bracket or operand is missing, or `=` stands for `==`.",
		"The message says what was expected at the place shown.",
	},
	{
		"rule-not-allowed",
		[]string{
			"Not allowed in a rule", "Operator not allowed in a rule", "Conditional in a rule", "nil in a rule",
			"Optional chaining in a rule", "Dynamic member in a rule", "Member of an expression", "Misplaced not",
			"Comparison inside a value", "Not a constant", "Wrong number of arguments", "Missing argument", "Unknown function",
		},
		"The rule uses something with which it could pass on a value that nobody saw.",
		"Use comparisons, `and or not`, `+ - * /`, and `abs`, `min`, `max` over plain addresses.",
	},
	{
		"rule-type",
		[]string{"Wrong type in a rule", "Cannot compare", "Cannot order", "Rule is not a yes or no", "Not a yes or no", "Not a list", "Mixed list", "Not a number"},
		"The two sides of a comparison are not of one type, or the rule is a number and not a comparison.",
		"Compare numbers with numbers and words, in quotes, with words.",
	},
	{
		"rule-reads-nothing",
		[]string{"Rule reads nothing", "Comparison reads nothing", "Constant in a rule", "Compared with itself", "Empty list"},
		"The rule would say the same whatever is measured.",
		"Compare at least one address.",
	},
	{
		"unit-mismatch",
		[]string{"Units do not match"},
		"Quantities of different units are compared, added or subtracted, such as milliseconds and bytes.",
		"Compare like with like; the message names the units. docs/metrics.md gives the unit of each metric.",
	},
	{
		"comparison-proves-nothing",
		[]string{"Always different", "Compare with a word"},
		"The comparison would hold for nearly anything: measurements are never quite equal, and two words that are both found out later may both be bad.",
		"Compare numbers with `<` or `>`, and each word with what you want it to be.",
	},
	{
		"equality-of-measurements",
		[]string{"Equal to a measurement"},
		"`==` or `in` asks a measurement to be one number exactly, and two measurements are never quite equal.",
		"Say between which bounds it may lie, as in `chat.tg.gain >= -0.02 and chat.tg.gain <= 0.02`. What is counted, such as crashes, may be compared with `==`.",
	},
	{
		"undecidable-comparison",
		[]string{"Function of a measurement", "Product of measurements", "Different measurements compared", "Relative and absolute in one comparison", "Counted and measured in one comparison", "One launch against all in one comparison", "Nothing of the candidate"},
		"A comparison is decided from the launches of one metric: its level, or its candidate against its base, with the sides scaled and moved about as you like. Of `abs`, `max` and `min` over measurements, of products and quotients of different metrics and of other mixtures it is not known how they vary between launches, so that no error rate could be kept to.",
		"Compare each number by itself and join the comparisons with `and` and `or`; the message has the nearest form.",
	},
	{
		"features-compared",
		[]string{"Features compared"},
		"Two features are compared with each other, whose launches did not stand beside each other.",
		"Compare each with its parent, build one on the other, or let one feature choose among alternatives.",
	},
	{
		"unknown-word",
		[]string{"Unknown word"},
		"A verdict or knob is compared with a word that it never is, so that the comparison would hold for ever, or never.",
		"Take one of the words that the message lists.",
	},
	{
		"invalid-address",
		[]string{"Incomplete address", "Unknown address", "Unknown statistic", "Unknown name in a rule", "Which cell?", "No better direction", "One value a launch", "Hypothesis without a metric", "Target has no such number", "File has no such number"},
		"An address of a rule does not lead to one value: it stops too early, a workload has several cells, or the value does not exist.",
		"Addresses are `<workload>[.<cell>].<metric>[.<stat>]`; the message says what is missing.",
	},
	{
		"not-measured",
		[]string{"Not measured by this version", "Workload is not measured", "Nothing to be good by", "Nothing is corrected", "Level not in the protocol", "Not observed"},
		"The rule reads what the feature's protocol does not measure or test.",
		"Add the workload to the benchmark, the level to the protocol, or what the message names to the workload; or leave the rule out.",
	},
	{
		"whose-value",
		[]string{"Whose value?", "Criterion reads another feature", "Feature not decided before this gate"},
		"A bare address needs exactly one feature that it can belong to, a criterion reads its own feature only, and a gate those that are decided before it.",
		"In a gate write `feature[\"name\"].chat.tg.gain`; put a phase that a gate reads into its `after`.",
	},
}

// expressionCodes are about evaluating expressions.
var expressionCodes = []Code{
	{
		"call-failed",
		[]string{
			"Call to unknown function", "Error in function call", "Invalid function argument", "Too many function arguments",
			"Not enough function arguments", "Function calls not allowed", "Invalid expanding argument value",
		},
		"A function does not exist, or cannot work with what it was given.",
		"Look at the values shown below the place, and at the list of functions in the manual.",
	},
	{
		"no-such-member",
		[]string{
			"Unsupported attribute", "Invalid index", "Missing map element", "Attempt to index null value",
			"Attempt to get attribute from null value", "Incorrect key type", "Null value as key", "Splat of null value", "Invalid object key",
		},
		"A part of a value is asked for that it does not have.",
		"Look at the value shown below the place; `try(…, fallback)` is for parts that may be missing.",
	},
	{
		"invalid-operand",
		[]string{
			"Invalid operand", "Unsupported operator", "Operation failed", "Inconsistent conditional result types", "Incorrect condition type",
			"Null condition", "Condition is null", "Invalid 'for' condition", "Iteration over null value", "Iteration over non-iterable value",
		},
		"An operator, condition or loop has a value that it cannot work with.",
		"Look at the values shown below the place.",
	},
	{
		"not-constant",
		[]string{"Variables not allowed"},
		"A value is needed here before anything can be evaluated.",
		"Write the value itself.",
	},
	{
		"invalid-type",
		[]string{"Invalid type specification", "Invalid default value for optional attribute"},
		"The `type` of a variable is no type.",
		"Write `string`, `number`, `bool`, `list(…)`, `map(…)`, `object({ … })` or `any`, without quotes.",
	},
	{
		"evaluates-to-too-much",
		[]string{"Plan evaluates to too much"},
		"An expression could grow beyond what a plan may hold: 1 MiB a value, 64 MiB in all.",
		"Make it smaller; a plan is no place for data.",
	},
}
