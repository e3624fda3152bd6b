package plans

// checkCodes are about plans that would run, and whose runs would say less than
// they cost.
var checkCodes = []Code{
	{
		"implausible-value",
		[]string{"Implausible for the unit"},
		"A number is far from all that its unit is used for, as where seconds are written and the metric is in milliseconds, or per cent where it is a ratio.",
		"Write the number in the metric's unit, which docs/metrics.md gives; ratios are fractions: 0.10 is 10 %.",
	},
	{
		"only-inconclusive",
		[]string{"Can only be inconclusive"},
		"No evidence lets the comparison pass: launches scatter, so that none shows a measurement to be at the very end of what it can be.",
		"Leave room to that end, as in `chat.slo_attainment >= 0.99`, or compare a count, as in `chat.errors == 0`.",
	},
	{
		"never-holds",
		[]string{"Comparison can never hold"},
		"No measurement can satisfy the comparison.",
		"Compare with a value that the metric can have.",
	},
	{
		"always-holds",
		[]string{"Comparison always holds"},
		"Every measurement satisfies the comparison, so that it decides nothing.",
		"Compare with the value that you would not accept, or remove it.",
	},
	{
		"same-rule-twice",
		[]string{"Same rule twice"},
		"Two rules of one gate, or two criteria of one feature, ask for the same.",
		"Remove one, or correct what was copied and not changed.",
	},
	{
		"too-few-values",
		[]string{"Too few requests", "Too few launches"},
		"A percentile is asked of fewer requests than one can be told from, or a number of so few launches that the noise between them is not known. Such a rule is never passed.",
		"Send more requests per launch or read the median; allow at least four launches an arm.",
	},
	{
		"rivals-for-one-knob",
		[]string{"Rivals for one knob"},
		"Several features of a phase try values of one knob on one parent. Each has its own chance to pass by luck, and several may enter the stack, one over the other.",
		"Try the values as one feature with `choose`, which splits the error budget among them and admits the best at most.",
	},
	{
		"claim-not-tested",
		[]string{"Hypothesis is not tested"},
		"The hypothesis claims a change of one metric, and no criterion of the feature reads it.",
		"Add a criterion on that metric, or claim what is tested.",
	},
	{
		"only-when-worse",
		[]string{"Passes only when worse", "Hypothesis expects a loss"},
		"The comparison holds only where the metric is worse than that of its base: a sign, or `<` for `>`. A `.gain` with a plus is better, of every metric; a `.change`, a `.delta` and what a hypothesis expects have the sign of the number, so that 5 % shorter is `chat.ttft.gain >= 0.05`, `chat.ttft.change <= -0.05` and `expect = \"-5%\"`. What stands behind a `not` or beside an `or` is not looked at. A hypothesis may predict a loss where a criterion on the same metric allows for it, as in `chat.ttft.change <= 0.2` beside `expect = \"+10%\"`.",
		"Write the one of the two comparisons in the message that was meant. Where the loss is what has to be shown, write it with `not`, as in `not (chat.ttft.gain > -0.05)`.",
	},
	{
		"gate-without-effect",
		[]string{"Gate locks nothing", "Gate does not ask for the kernels"},
		"Nothing waits for the gate although other phases come after it in the plan, or it opens before the proof of the kernel path that the protocol makes.",
		"Name the phase in `after` of what depends on it; add the rule `levels.kernels == 'pass'`.",
	},
	{
		"evidence-not-looked-at",
		[]string{"Evidence is never looked at"},
		"A knob says what proves its values, and no protocol in use has a kernels level that would look.",
		"Add `level \"kernels\" { from = [\"log\"] }` to the protocol.",
	},
	{
		"nothing-qualified",
		[]string{"Nothing is qualified"},
		"A protocol has no level but the benchmark, so that every variant passes as qualified and nothing shows that it answers sensibly or took the path under test.",
		"Add `level \"smoke\"` and `level \"kernels\"` before the benchmark.",
	},
	{
		"unused",
		[]string{"Unused *"},
		"Something is declared and nothing in the plan refers to it. What an include brings along is not counted.",
		"Use it, or remove it.",
	},
}
