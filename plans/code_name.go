package plans

// nameCodes are about names and what they refer to.
var nameCodes = []Code{
	{
		"unknown-reference",
		[]string{
			"Unknown engine", "Unknown feature", "Unknown knob", "Unknown phase", "Unknown imported", "Unknown protocol", "Unknown target",
			"Unknown workload", "Unknown variable", "Unknown local", "Unknown name", "Unknown *",
		},
		"Something is referred to that the plan does not declare: a misspelling, or a block that was renamed or removed.",
		"Take the name that the message suggests, or declare the block. Text that is meant as text needs quotes.",
	},
	{
		"unknown-knob-value",
		[]string{"Unknown knob value"},
		"A `set` or `default` names a value that its knob does not declare.",
		"Take one of the knob's values, or add a `value` block to the knob.",
	},
	{
		"unknown-fingerprint-entry",
		[]string{"Unknown fingerprint entry"},
		"`accept_fingerprint` names something that is no part of a launch's environment.",
		"Use one of the names that the message suggests, `repo.<name>` for a source tree, `repo.*` for all of them, or `all`.",
	},
	{
		"unknown-criterion",
		[]string{"Unknown criterion"},
		"`accept` names a criterion that the feature does not have.",
		"Take the name of one of its `criterion` blocks.",
	},
	{
		"unknown-kind",
		[]string{"Unknown engine kind", "Unknown level", "Unknown step kind"},
		"The first label of an engine, level or step is none of the kinds that this version knows.",
		"`docs/language.md` lists the kinds.",
	},
	{
		"unknown-setting",
		[]string{"Unknown setting"},
		"The engine kind has no option of that name.",
		"`docs/language.md` lists the settings of each kind; what is no setting goes into `args`.",
	},
	{
		"unknown-metric",
		[]string{"Unknown metric"},
		"A target or rule names a metric that is not in the catalogue.",
		"`docs/metrics.md` lists the metrics.",
	},
	{
		"unknown-block",
		[]string{"Unsupported block type"},
		"A block stands where it cannot, or its type is misspelt.",
		"The message lists what can stand there.",
	},
	{
		"unknown-attribute",
		[]string{"Unsupported argument"},
		"An attribute is set that the block does not have: a misspelling, or a block written with `=`.",
		"The message lists what can stand there.",
	},
	{
		"wrong-labels",
		[]string{"Extraneous label for *", "Missing name for *", "Missing kind for *"},
		"A block has more or fewer words in quotes before its brace than it takes.",
		"The manual shows each block with its labels, such as `engine \"kind\" \"name\" { }`.",
	},
	{
		"invalid-name",
		[]string{
			"Missing name", "Name too long", "Reserved name", "Name is not an identifier", "Invalid plan name", "Invalid value name",
			"Invalid rule name",
		},
		"A name has characters that its users (rules, references, file names) could not read as one word, or it is a word of the rule language.",
		"Use letters, digits and underscores; `full_pipe`, not `full-pipe`, which a rule would read as a subtraction.",
	},
	{
		"duplicate-name",
		[]string{
			"Duplicate *", "Duplicate criterion", "Duplicate level", "Duplicate rule", "Duplicate step", "Duplicate value",
		},
		"Two blocks of one kind have the same name, or a block stands twice that may stand once.",
		"Rename or remove one. The message says on which line the first stands.",
	},
	{
		"duplicate-entry",
		[]string{"Duplicate reference", "Duplicate criterion in *", "Duplicate value in *"},
		"A list names the same thing twice.",
		"Remove one.",
	},
	{
		"not-a-reference",
		[]string{"Not a reference", "Wrong kind of reference", "Incomplete reference"},
		"An attribute that takes a reference has text or a number, or a reference to a block of another type.",
		"Write the reference without quotes: `phase.name`, `engine.kind.name`.",
	},
	{
		"cycle",
		[]string{"Cycle of features", "Cycle of locals", "Cycle of phases", "Phase after itself", "Feature builds on itself"},
		"Things depend on each other in a circle, so that none could come first. References count, not only `after`.",
		"The message shows the whole circle; remove one of its links.",
	},
	{
		"too-many",
		[]string{"Too many of one kind", "Too many *"},
		"The plan declares more blocks, or a list more elements, than a plan can have.",
		"Split the effort into several plans.",
	},
}
