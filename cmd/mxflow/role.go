package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/lang"
)

// roleVariable names the variable that says who runs mxflow.
const roleVariable = "MXFLOW_ROLE"

// roleProposer may propose and measure, and neither judge nor overrule.
const roleProposer = "proposer"

// proposerCommands are all that a proposer may run; what is added to mxflow is not among
// them until it is listed here.
var proposerCommands = []string{
	"", "__complete", "__completeNoDesc", "ab", "apply", "audit", "audit replay", "audit verify", "bench", "compare", "completion bash", "completion fish",
	"completion powershell", "completion zsh", "console", "engine check", "engine kinds", "engine serve", "env", "explain", "fmt", "graph",
	"help", "import", "mcp", "plan", "profile", "profile diff", "report", "schema", "show", "status", "test", "validate", "version",
}

// proposing reports whether a proposer runs mxflow. A role that is none is an error: a
// misspelt guard rail guards nothing.
func proposing() (bool, error) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		return false, nil
	case roleProposer:
		return true, nil
	default:
		return false, fmt.Errorf("%s=%s: unknown role; unset it, or set it to %s", roleVariable, role, roleProposer)
	}
}

// refuseRole ends commands that are not for who runs mxflow.
func refuseRole(a *app, c *cobra.Command, args []string) error {
	is, err := proposing()
	if err != nil || !is {
		return err
	}
	name := strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), c.Root().Name()))
	if !slices.Contains(proposerCommands, name) {
		refuse(a, planAmong(args), refusal(byRole, name, c, verdict.New(code.NotProposers).On("mxflow "+name)))
		return fmt.Errorf("%s=%s may not run %s; ask the person who sealed the plan", roleVariable, roleProposer, c.CommandPath())
	}
	return nil
}

// planAmong is the plan that the arguments of a command name; where none does, this folder's.
func planAmong(args []string) string {
	for _, arg := range slices.Backward(args) {
		if info, err := os.Stat(arg); err == nil && (info.IsDir() || lang.IsSource(arg)) {
			return arg
		}
	}
	return "."
}
