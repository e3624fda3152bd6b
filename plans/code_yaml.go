package plans

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
