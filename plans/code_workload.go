package plans

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
		"A rule reads a workload that the chosen suite does not send, so that it will be inconclusive.",
		"Choose a suite that sends it, or leave it as it is: the suite is there to see the rest sooner.",
	},
}
