package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/plans/load"
)

// Flags that several commands have are declared here: one spelling and one explanation each.

// varFlag adds --var and --var-file, in the order of the command line: the last value of a
// variable wins.
func varFlag(f *pflag.FlagSet, into *[]load.Given) {
	f.Var(variableFlag{into, false}, "var", "value of a variable, as `NAME=VALUE` (repeatable)")
	f.Var(variableFlag{into, true}, "var-file", "`FILE` of lines NAME = VALUE (repeatable)")
}

func suiteFlag(f *pflag.FlagSet, into *string) {
	f.StringVar(into, "suite", "", "send the workloads of `SUITE` instead of the benchmarks' own")
}

// nodeFlags choose what an apply measures.
func nodeFlags(f *pflag.FlagSet, rerun, target *[]string) {
	f.StringArrayVar(rerun, "rerun", nil, "measure a feature, phase, `NODE` or all again (repeatable)")
	f.StringArrayVar(target, "target", nil,
		"run only a feature, phase or `NODE` and what it needs (repeatable)")
}

func reuseFlag(f *pflag.FlagSet, reuse *bool) {
	f.BoolVar(reuse, "reuse", false, "count launches of engines that cannot be identified")
}

func keyFlag(f *pflag.FlagSet, key *string) {
	f.StringVar(key, "key", "", "public key of who signed, or its `FILE` (default: your own)")
}

func byFlag(f *pflag.FlagSet, by *string) {
	f.StringVar(by, "by", "", "your `NAME` (default: git's user.name)")
}

func markdownFlag(f *pflag.FlagSet, format *string) {
	f.Func("format", "`FORM` of the output: md for Markdown (default: text)", func(text string) error {
		if *format = text; text != "md" {
			return errors.New("there is md")
		}
		return nil
	})
}

// jsonFlag adds --json to the flags of a command that prints data.
func (p *prints) jsonFlag(f *pflag.FlagSet) {
	f.BoolVar(&p.json, "json", false, "print as JSON")
}

// What ab and bench send is explained once; bench takes several numbers of each.
const (
	ppUsage  = "prompt tokens"
	sloUsage = "`LIMITS` of a good request: ttft=300ms,tpot=50ms; of a capacity: 'p99 ttft <= 500ms, " +
		"errors <= 0.1%'"
	probeUsage = "how long a search for the capacity measures each rate, after a warm-up of a quarter of it " +
		"(usually 1m)"
	tgUsage          = "output tokens"
	depthUsage       = "tokens of context before the prompt"
	concurrencyUsage = "requests in flight"
	requestsUsage    = "measured requests (default: enough for those in flight)"
	warmupUsage      = "unmeasured requests before them"
	modelUsage       = "`MODEL` to ask for (default: the first that the server lists)"
	apiUsage         = "`API` of the server: completions or chat"
	kindUsage        = "`KIND` of engine: see mxflow engine kinds"
	repoUsage        = "`NAME` of the source, if the plan's engine has several"
	dryRunUsage      = "print what it would do and start nothing"
	acceptUsage      = "`NAMES` of what may differ between the launches: repo.vllm, packages, …"
	maxLagUsage      = "how late the client can be before a launch is invalid (default 10ms)"
)
