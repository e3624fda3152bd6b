package plans

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
