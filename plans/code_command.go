package plans

// commandCodes are about engines of kind command, and comparisons of engines.
var commandCodes = []Code{
	{
		"command-is-no-server",
		[]string{
			"Workloads for a command", "Smoke of a command", "Command is not ready", "Command at an endpoint",
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
