package lang

// fileCodes are about the file as a whole.
var fileCodes = []Code{
	{
		"plan-not-found",
		[]string{"Plan file not found"},
		"The path names no file.",
		"Check the path, and the folder that you are in.",
	},
	{
		"plan-unreadable",
		[]string{"Cannot read plan file", "Plan file is a folder"},
		"Something is there, but it is a folder, or its permissions keep it from being read.",
		"Name the plan file itself, and check who may read it.",
	},
	{
		"plan-empty",
		[]string{"Plan is empty"},
		"The file holds nothing but white space.",
		"Start with `plan \"name\" { }`, or let `mxflow init` write a plan to begin with.",
	},
	{
		"plan-too-large",
		[]string{"Plan file too large", "Line too long"},
		"The file is larger than 1 MiB, or a line than 16 KiB. Bounds on what is read keep a plan from exhausting the machine.",
		"Move data out of the plan, break long lines, or split the effort into several plans.",
	},
	{
		"plan-not-text",
		[]string{"Plan is not UTF-8", "Invalid character encoding", "Control character in plan"},
		"The file has bytes that are no UTF-8, or characters that cannot be seen.",
		"Save the file as UTF-8; write control characters as escapes in a string.",
	},
	{
		"other-syntax",
		[]string{"YAML in a file of HCL", "HCL in a file of YAML"},
		"The file is written in one of the two syntaxes, and its name ends as those of the other do.",
		"Rename it: YAML is read from .yaml and .yml, HCL from .hcl.",
	},
	{
		"several-plans",
		[]string{"Several plans in a folder"},
		"A folder stands for one plan, whose blocks may be spread over its files, and several of its files are whole plans: each has a `plan` or `baseline` block.",
		"Name the one that is meant, as in `mxflow validate folder/plan.hcl`.",
	},
	{
		"nested-too-deeply",
		[]string{"Nested too deep", "Rule nested too deeply", "Loop within a loop", "Expression too long", "Text too long"},
		"Brackets, blocks, operators or loops stand within each other more often than a person would write, and a few characters of that could keep the machine busy for hours.",
		"Give intermediate results names in `locals`, or split the expression.",
	},
	{
		"internal-error",
		[]string{"Internal error while reading the plan"},
		"This is a mistake in mxflow.",
		"Please report it together with the plan.",
	},
	{
		"too-many-errors",
		[]string{"Too many errors", "Too many warnings"},
		"More was found than can be looked at.",
		"Mend what is shown first; much of the rest often follows from it.",
	},
}

// syntaxCodes are about text that is no plan language. Where one is reported,
// nothing else is: decoding around it would report as missing what is merely
// unreadable.
var syntaxCodes = []Code{
	{
		"unclosed",
		[]string{
			"Unclosed *", "Unterminated *", "Unbalanced parentheses", "Missing closing parenthesis",
			"Missing close bracket on splat index", "Missing close bracket on index", "Unexpected end of template",
		},
		"A quote, bracket, brace or heredoc is opened and never closed.",
		"Close it. The place shown is where it was opened, or where reading had to stop.",
	},
	{
		"invalid-text",
		[]string{"Invalid escape sequence", "Invalid string literal", "Invalid multi-line string", "Invalid character", "Invalid number literal"},
		"A string holds a line break or an unknown escape, or a character stands where none of its kind can.",
		"Use `\\n`, `\\\"`, `\\\\` or a heredoc (`<<-EOT`) in strings. In HCL, single quotes and semicolons do not exist.",
	},
	{
		"invalid-template",
		[]string{
			"Extra characters after interpolation expression", "Invalid template *", "Unexpected else directive",
			"Invalid 'for' directive", "Extra characters in *", "Unexpected *",
		},
		"A `${ }` or `%{ }` in a string is not complete, or its value cannot become text.",
		"Write `$${` or `%%{` where the characters themselves are meant.",
	},
	{
		"invalid-definition",
		[]string{
			"Argument or block definition required", "Invalid block definition", "Invalid single-argument block definition",
			"Missing newline after block definition", "Missing newline after argument", "Invalid argument name", "Argument definition required",
			"Attribute name required", "Invalid attribute name",
		},
		"A line is neither `name = value` nor `type \"label\" { … }`.",
		"Put one of them on each line; an opening brace stands on the line of its block.",
	},
	{
		"invalid-expression",
		[]string{
			"Invalid expression", "Missing expression", "Missing item separator", "Missing attribute separator", "Missing argument separator",
			"Missing key/value separator", "Missing attribute value", "Missing false expression in conditional", "Missing open parenthesis",
			"Missing function name", "Invalid 'for' expression", "Invalid legacy index syntax", "Extra characters after expression",
			"Variable name required", "Nested splat expression not allowed", "Invalid nested splat expressions", "Ambiguous attribute key",
			"Invalid path step", "Index value required",
		},
		"Something is missing or superfluous in an expression.",
		"The detail says what was expected at the place shown.",
	},
	{
		"attribute-twice",
		[]string{"Attribute redefined", "Duplicate argument", "Duplicate key", "Duplicate object key"},
		"The same name is set twice in one block or map, and only one value could count.",
		"Remove one of them.",
	},
}

// languageCodes are about variables, what repeats blocks, files that make a
// plan, and values that must not be shown.
var languageCodes = []Code{
	{
		"include",
		[]string{"Invalid include", "Cannot include file", "Cycle of includes", "Too many files", "Plan block in an included file"},
		"A plan includes a file that is not there, that includes it in turn, or that is a plan of its own.",
		"`include` is a list of paths in quotes, relative to the file. Keep the `plan` block in the file that is applied.",
	},
	{
		"plan-folder",
		[]string{"No plan in folder", "Cannot read plan folder"},
		"A folder is a plan made of its plan files, and this one has none, or cannot be read.",
		"Name a plan file, or a folder that holds one.",
	},
	{
		"variables-file",
		[]string{"Variables file *", "Cannot read variables file", "Loop in a file of variables", "Unknown variable in *", "Value is not constant", "Value too large"},
		"A file of variables cannot be read, or holds something else than `name = value` for variables of the plan.",
		"Write one line for each variable, text in quotes. The message says which line.",
	},
	{
		"variable-value",
		[]string{"Cannot read *", "Invalid value for variable", "Variable is null"},
		"A variable was given a value that it refuses, or that cannot be read.",
		"Give another value. Lists and maps are written as in a plan: `--var 'sizes=[128, 512]'`.",
	},
	{
		"validation",
		[]string{"Condition is not true or false", "Validation is limited to variables"},
		"The validation of a variable cannot be evaluated to yes or no from variables alone.",
		"Compare `var.…` with something; what needs locals belongs into a local.",
	},
	{
		"sensitive",
		[]string{"Sensitive value is not allowed here", "Sensitive value cannot be hidden", "Default of a sensitive variable"},
		"A secret would become a name, a rule, a number or another thing that is shown; or it stands in the plan itself; or it is so short that it could not be taken out of logs.",
		"Use secrets in `env`, `settings`, `args` and `command`, give them from outside, and say `nonsensitive(…)` for what is computed from one and gives nothing away.",
	},
	{
		"repetition",
		[]string{"for_each and count", "Duplicate key in for_each", "Key cannot be part of a name", "Too many blocks", "Cycle of for_each", "Nothing is repeated here"},
		"`for_each`, `count` or `dynamic` cannot tell which blocks there are and what they are called.",
		"Go over a map, or a list of different words, that depends on variables and locals only; keys become parts of names.",
	},
	{
		"not-known-yet",
		[]string{"Only known after measuring"},
		"An expression refers to a measurement or a verdict. Expressions are evaluated before anything is started.",
		"Write it in a rule: `rule = \"chat.tg.gain >= 0.1\"`.",
	},
	{
		"reference-member",
		[]string{"A reference has no attributes"},
		"A reference says which block is meant; it does not lead to the attributes of that block.",
		"Put the value into a local or a variable, and use that in both places.",
	},
}

// yamlCodes are about plans in YAML, and about going from one syntax to the
// other.
var yamlCodes = []Code{
	{
		"invalid-yaml",
		[]string{
			"Invalid YAML", "Colon out of place", "Line without a colon", "Line out of place", "Brackets in brackets",
			"Value begins with a special character", "Text must begin on the next line", "Unknown escape", "Directive in plan", "Unusual line break", "Carriage return in template",
		},
		"The text is no YAML: a colon, dash or bracket stands where it means something else than was meant.",
		"Put texts that hold such characters into quotes, and compare the indentation with the lines around.",
	},
	{
		"yaml-tab",
		[]string{"Tab in indentation"},
		"YAML is indented by spaces.",
		"Replace the tab by spaces; most editors can do so on their own.",
	},
	{
		"yaml-not-closed",
		[]string{"Bracket is not closed", "Quotes are not closed"},
		"A bracket or quote is opened and never closed.",
		"Close it. The line shown is where it was opened.",
	},
	{
		"yaml-shape",
		[]string{"Not a mapping", "List within a list", "Key is not text", "Several documents"},
		"The YAML is sound, but not shaped like a plan: a list or text stands where blocks are wanted, or there is more than one document.",
		"Block types are keys, labels the keys below them, and below those stands the body. A list may stand for several blocks.",
	},
	{
		"yaml-alias",
		[]string{"Unknown alias", "Not an alias", "Alias of itself", "Too many aliases", "Cannot merge"},
		"An alias (`*name`) or merge (`<<`) leads nowhere, to itself, or to more than a plan can hold.",
		"Text that begins with `*` needs quotes. Otherwise name an anchor that stands above.",
	},
	{
		"yaml-value",
		[]string{"Tag in plan", "Ambiguous number", "Invalid number"},
		"A value has a tag, or is a number that people and programs read differently (`010`, `1_000`, `.inf`).",
		"Write plain numbers; put text into quotes.",
	},
	{
		"cannot-convert",
		[]string{"Cannot write this in YAML", "Cannot write this in HCL", "Cannot format this YAML"},
		"The text cannot be written in the other syntax, or in another layout, without a change of what it means.",
		"The message says what stands in the way. The file is left as it is.",
	},
}

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
		"Things depend on each other in a circle, so none could come first. References count, not only `after`.",
		"The message shows the whole circle; remove one of its links.",
	},
	{
		"too-many",
		[]string{"Too many of one kind", "Too many *"},
		"The plan declares more blocks, or a list more elements, than a plan can have.",
		"Split the effort into several plans.",
	},
}

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
		"A text, list or block is there but holds nothing, so nothing would be asked, run or looked for.",
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
		"The levels of the test were not calibrated for these error rates, or for so few or so many launches, so nothing would be known of how often the verdict is wrong.",
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
		"A key for a server stands in the plan, or comes from a variable that is not sensitive, so it would be logged and recorded.",
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

// workloadCodes are about what is sent.
var workloadCodes = []Code{
	{
		"workload-contradiction",
		[]string{"Two ways to pace", "Two ways to say the same", "Lengths contradict each other", "Attribute of another distribution", "Too few requests for the concurrency"},
		"A workload says one thing in two ways, or two things that do not go together.",
		"Keep one of them; the message names both.",
	},
	{
		"no-use-in-workload",
		[]string{"No use in this workload", "Sampling has no effect"},
		"An attribute is about something that this workload does not have: a ramp without a rate, a system prompt of completions.",
		"Add what it needs, or remove it.",
	},
	{
		"too-many-cells",
		[]string{"Too many cells"},
		"Each combination of a workload's lists is measured in every launch, and these are more than anyone waits for.",
		"Shorten a list, or split the workload; suites choose between workloads.",
	},
	{
		"too-much-to-send",
		[]string{"More than can be sent"},
		"All prompts of a cell are made before the first is sent, and for these there is no memory.",
		"Ask for fewer requests or shorter prompts; the message says of what there is too much.",
	},
	{
		"duration-too-short",
		[]string{"Duration is too short"},
		"In less than a second a request or two are sent, and what they take is chance.",
		"Set a longer duration, or remove it and set requests.",
	},
	{
		"engine-limits",
		[]string{"More at once than the engine takes", "Longer than the engine takes"},
		"The settings of the engine under test forbid what a workload sends.",
		"Change the workload, or the setting that the message names.",
	},
	{
		"imported",
		[]string{"Unusable result file"},
		"The result file of another tool is not there, is of no tool that is known, or is damaged. Nothing of it is taken.",
		"Correct the path, which is relative to the plan's folder, or have the tool write the file anew. `mxflow import FILE` shows what is in it.",
	},
	{
		"dataset",
		[]string{"Unusable dataset", "Dataset is too short"},
		"The file of prompts is not there, is not JSON Lines, or does not hold what is asked of it.",
		"Give the path of a file with one JSON object on each line, relative to the plan's folder.",
	},
	{
		"not-sent",
		[]string{"Not sent by this suite"},
		"A rule reads a workload that the chosen suite does not send, so it will be inconclusive.",
		"Choose a suite that sends it, or leave it as it is: the suite is there to see the rest sooner.",
	},
}

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
		"A comparison is decided from the launches of one metric: its level, or its candidate against its base, with the sides scaled and moved about as you like. Of `abs`, `max` and `min` over measurements, of products and quotients of different metrics and of other mixtures it is not known how they vary between launches, so no error rate could be kept to.",
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
		"A verdict or knob is compared with a word that it never is, so the comparison would hold for ever, or never.",
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

// checkCodes are about plans that would run, and whose runs would say less than
// they cost.
var checkCodes = []Code{
	{
		"implausible-value",
		[]string{"Implausible for the unit"},
		"A number is far from all that its unit is used for, as where seconds are written and the metric is in milliseconds, or per cent where it is a ratio.",
		"Write the number in the metric's unit, which docs/metrics.md gives; ratios are fractions: 0.10 is 10%.",
	},
	{
		"only-inconclusive",
		[]string{"Can only be inconclusive"},
		"No evidence lets the comparison pass: launches scatter, so none shows a measurement to be at the very end of what it can be.",
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
		"Every measurement satisfies the comparison, so it decides nothing.",
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
		"Send more requests per launch or read the median; allow at least four launches per arm.",
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
		"The comparison holds only where the metric is worse than that of its base: a sign, or `<` for `>`. A `.gain` with a plus is better, of every metric; a `.change`, a `.delta` and what a hypothesis expects have the sign of the number, so 5% shorter is `chat.ttft.gain >= 0.05`, `chat.ttft.change <= -0.05` and `expect = \"-5%\"`. What stands behind a `not` or beside an `or` is not looked at. A hypothesis may predict a loss where a criterion on the same metric allows for it, as in `chat.ttft.change <= 0.2` beside `expect = \"+10%\"`.",
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
		"A protocol has no level but the benchmark, so every variant passes as qualified and nothing shows that it answers sensibly or took the path under test.",
		"Add `level \"smoke\"` and `level \"kernels\"` before the benchmark.",
	},
	{
		"unused",
		[]string{"Unused *"},
		"Something is declared and nothing in the plan refers to it. What an include brings along is not counted.",
		"Use it, or remove it.",
	},
}

// caseCodes are about files of cases (*.mxtest.hcl), which mxflow test runs.
var caseCodes = []Code{
	{
		"case-file-unreadable",
		[]string{"Case file not found", "Cannot read case file", "Case file is a folder", "Case file is empty", "Internal error while reading cases"},
		"A file beside the plan whose name ends in .mxtest.hcl or .mxtest.yaml cannot be read, or holds no case.",
		"Write a case into it, remove it, or let `mxflow test --write` write one to begin with.",
	},
	{
		"case-says-nothing",
		[]string{"Case about nothing", "Case about two things", "Case expects nothing", "Phase has no gate", "Empty launches", "Nothing is made here"},
		"A case has to name what is decided (`feature` or `gate`) and what should come out (`expect` or `expect_rules`).",
		"Add what is missing; make two cases where one is about two things.",
	},
	{
		"case-not-read",
		[]string{"Feature is not read here", "Outcome of what is decided", "Nothing is chosen here"},
		"A case gives what its rules do not look at, or what they are about to decide.",
		"Remove it, or write a case of the gate that does read it.",
	},
	{
		"given-twice",
		[]string{"Candidate given twice", "Baseline given twice", "Metric given twice", "Level given twice", "Accepted without a pass"},
		"Two places of a case say the same thing, or contradict each other.",
		"Keep one.",
	},
	{
		"not-measured-so",
		[]string{"Not a metric", "Not what a launch measures", "Observation is a number", "No noise of this metric", "Missing sd or df", "Base is not above zero"},
		"A case gives something in a form that no launch has it in.",
		"Give what launches measure, in `launches`; gains come out of two arms.",
	},
	{
		"unequal-launches",
		[]string{"Unequal launches"},
		"Two lists of launches in one case have different lengths, so it is not known which of them stood beside each other.",
		"Make them equally long, with null in the place of a launch that is missing.",
	},
	{
		"unknown-verdict",
		[]string{"Unknown verdict"},
		"A verdict is pass, fail, inconclusive, invalid or error.",
		"Write one of them, in quotes.",
	},
	{
		"gate-not-tested",
		[]string{"Gate is not tested"},
		"There are cases beside the plan, and a gate has none that it passes, or none that it fails: a rule that cannot fail protects nothing, and one that cannot pass stops everything.",
		"Add the case that is missing, or let `mxflow test --write` write it.",
	},
	{
		"too-many-cases",
		[]string{"Too many cases"},
		"There are more cases than anybody looks at.",
		"Keep those that show something different.",
	},
}

// commandCodes are about engines of kind command, and comparisons of engines.
var commandCodes = []Code{
	{
		"command-is-no-server",
		[]string{
			"Workloads for a command", "Prompt for a command", "Command is not ready", "Command at an endpoint",
			"Command in a service", "File in a container", "Command without metrics",
		},
		"An engine of kind `command` is a script that runs to its end: it is sent nothing, is never ready, and is measured by the JSON that it prints.",
		"Remove what is for servers; declare what to measure with `metric` blocks and limit the time with `run`.",
	},
	{
		"not-a-command",
		[]string{"Not a command", "Block of a command"},
		"Something is for engines of kind `command`, and this engine is a server.",
		"Measure a server with workloads, or make the engine a `command`.",
	},
	{
		"invalid-jq",
		[]string{"Invalid jq expression"},
		"The expression of a `metric` cannot be read, or names a function that jq does not have.",
		"The message says where it ends to make sense. Try it with jq on what the command prints.",
	},
	{
		"comparison-of-engines",
		[]string{"Nothing to compare", "Reference is not compared", "Comparison sends nothing"},
		"A `compare` step needs at least two engines, a reference among them, and workloads for those that are servers.",
		"Name the engines in `engines`, one of them in `reference`, and what is sent in `workloads`.",
	},
}
