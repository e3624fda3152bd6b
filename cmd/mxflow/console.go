package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/rules"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/decide"
)

const consoleHelp = `Expressions   var.model   local.sizes   workload.chat   upper("x")   [for s in local.sizes : s * 2]
Rules         chat.tg.gain >= 0.10   levels.kernels == 'pass'   feature["gemm"].chat.tg.gain
              With --run they are decided on what that run recorded.
.feature NAME chooses the feature that bare addresses refer to; alone, shows it
.help         this text
exit          ends the console, as does the end of input
`

func newConsoleCommand(a *app) *cobra.Command {
	var vars []load.Given
	c := &console{app: a}
	cmd := &cobra.Command{
		Use:   "console [PLAN]",
		Short: "Try expressions and rules of a plan, optionally on a recorded run",
		Long: `Reads expressions and rules line by line and prints their values. Variables, locals,
blocks and functions are those of the plan. Rules are compiled as in a gate after all
phases; with --run they are decided on recorded data. Nothing is started. Exit status 1
if a line has a mistake and the input is not a terminal.

` + consoleHelp,
		Example: "  mxflow console plan.hcl\n  mxflow console --run latest plan.hcl\n  echo 'var.model' | mxflow console plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			return c.run(cmd.InOrStdin(), path, vars)
		},
	}
	varFlag(cmd, &vars)
	cmd.Flags().StringVar(&c.runID, "run", "", "decide rules on a recorded run: its id, or latest")
	cmd.Flags().StringVar(&c.feature, "feature", "", "feature that bare addresses in rules refer to")
	return cmd
}

// console is one interactive session.
type console struct {
	*app
	runID, feature string
	loaded         *load.Result
	// evidence is what the run recorded; nil without one.
	evidence *gates.Evidence
}

func (c *console) run(in io.Reader, path string, vars []load.Given) error {
	loaded, g, err := c.load(path, load.Options{Inputs: vars})
	if err != nil {
		return err
	}
	c.loaded = loaded
	if c.feature != "" && loaded.Plan.Feature(c.feature) == nil {
		return fmt.Errorf("the plan has no feature %q", c.feature)
	}
	if c.runID != "" {
		if c.evidence, err = c.recorded(path, loaded.Plan, g); err != nil {
			return err
		}
	}
	file, isFile := in.(*os.File)
	person := isFile && term.IsTerminal(int(file.Fd())) && terminal(c.stdout)
	if person {
		fmt.Fprintln(c.stdout, "Expressions and rules of the plan; .help for help, exit to quit.")
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	mistakes := false
	for c.prompt(person); lines.Scan(); c.prompt(person) {
		line := strings.TrimSpace(lines.Text())
		if line == "exit" || line == "quit" {
			break
		}
		mistakes = !c.line(line) || mistakes
	}
	if mistakes && !person {
		return errShown
	}
	return lines.Err()
}

func (c *console) prompt(person bool) {
	if person {
		fmt.Fprint(c.stdout, "> ")
	}
}

// line handles one line; false if it has a mistake.
func (c *console) line(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return true
	case word == ".help":
		fmt.Fprint(c.stdout, consoleHelp)
		return true
	case word == ".feature":
		return c.choose(strings.TrimSpace(rest))
	case strings.HasPrefix(word, "."):
		fmt.Fprintf(c.stderr, "Unknown command %s; .help lists them.\n", word)
		return false
	case load.IsExpression(line):
		return c.expression(line)
	}
	rule, address, wrong := c.loaded.CompileRule(line, c.feature)
	if wrong.HasErrors() {
		// Functions that both languages have may occur in an expression.
		text, diags := c.loaded.Evaluate(line)
		if !diags.HasErrors() {
			fmt.Fprintln(c.stdout, text)
			return true
		}
		if !strings.ContainsAny(line, "<>=") && rules.AboutOf(wrong[0]) == rules.AboutName {
			wrong = diags // it was hardly meant as a rule
		}
		for _, d := range wrong {
			if rules.AboutOf(d) == rules.AboutOwner {
				d.Detail = strings.Replace(d.Detail, "this gate decides over", "the plan has", 1) + " .feature NAME chooses one for all following lines."
			}
		}
		return c.show(wrong)
	}
	c.decide(rule, address)
	return true
}

func (c *console) choose(name string) bool {
	switch {
	case name == "" && c.feature == "":
		fmt.Fprintln(c.stdout, "none")
	case name == "":
		fmt.Fprintln(c.stdout, c.feature)
	case c.loaded.Plan.Feature(name) == nil:
		fmt.Fprintf(c.stderr, "The plan has no feature %q.\n", name)
		return false
	default:
		c.feature = name
	}
	return true
}

func (c *console) expression(line string) bool {
	text, diags := c.loaded.Evaluate(line)
	if !diags.HasErrors() {
		fmt.Fprintln(c.stdout, text)
	}
	return c.show(diags)
}

// show prints what is wrong with a line; true if nothing is.
func (c *console) show(diags lang.Diagnostics) bool {
	if len(diags) == 0 {
		return true
	}
	res := &lang.Findings{Files: c.loaded.Files, Diagnostics: diags}
	_ = res.WriteDiagnostics(c.stderr, c.width(), colours(c.stderr))
	return !diags.HasErrors()
}

// decide prints the verdict of a rule, or the value of an address.
func (c *console) decide(rule *plans.Rule, address bool) {
	if c.evidence == nil {
		if address {
			fmt.Fprintln(c.stdout, "Known after measuring; --run latest takes it from the newest run.")
			return
		}
		fmt.Fprintln(c.stdout, "The rule is valid. It is decided after measuring; --run latest takes the newest run.")
		return
	}
	result := gates.Decide([]*plans.Rule{rule}, c.evidence, decide.GateSettings(c.loaded.Plan))[0]
	switch {
	case address && len(result.Comparisons) == 1:
		left, _ := tell.Sides(result.Comparisons[0].Left, result.Comparisons[0].Right)
		fmt.Fprintln(c.stdout, left)
	default:
		fmt.Fprintln(c.stdout, result.Verdict)
		for _, reason := range tell.Lines(result.Reasons) {
			fmt.Fprintf(c.stdout, "  %s\n", reason)
		}
	}
	for _, in := range result.Inputs {
		if in.Missing.IsZero() {
			fmt.Fprintf(c.stdout, "    %s\n", tell.Input(in))
		}
	}
}

// recorded gathers what rules could read when a run ended: the newest decision about each
// node up to then, as a run repeats nothing that stands.
func (c *console) recorded(path string, p *plans.Plan, g *runtime.Graph) (*gates.Evidence, error) {
	st, err := c.reader([]string{path})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	chosen, err := st.Run(c.runID)
	if err != nil {
		return nil, err
	}
	until := map[string]bool{}
	for _, r := range st.Runs() {
		until[r.ID] = true
		if r.ID == chosen.ID {
			break
		}
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: st})
	if err != nil {
		return nil, err
	}
	return lab.Evidence(func(node string) *ledger.Decision {
		var last *ledger.Decision
		for _, d := range st.History(node) {
			if until[d.Run] {
				last = d.Decision
			}
		}
		return last
	}), nil
}
