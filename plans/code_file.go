package plans

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
		[]string{"Cannot read plan file", "Plan is a folder"},
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
