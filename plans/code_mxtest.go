package plans

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
		"Two lists of launches in one case have different lengths, so that it is not known which of them stood beside each other.",
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
