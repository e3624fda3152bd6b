package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/steps/ab"
)

func newABCommand(a *app) *cobra.Command {
	var q ab.Question
	var rerun, reuse, dryRun bool
	c := &cobra.Command{
		Use:   "ab --a COMMAND --b COMMAND",
		Short: "Is B faster than A? Starts both in turn and answers with known error rates",
		Long: `Compares two commands that start a server, without a plan: every launch is a fresh
start, A and B in turn (ABBA BAAB …), with the same prompts, watched and stopped.
Launches are compared, not requests, because two starts of one server differ by more
than its requests do. The result is a verdict with known error rates: a false claim
passes in at most 1% of cases, a true one fails in at most 5%. It stops as soon as
the answer is known.

A COMMAND is NAME=value assignments and a program with its arguments. Quotes work as in
a shell; pipes, variables and patterns need one: --a "sh -c '…'". The server listens on
the given port, {port} in the command and $PORT in a script, or at --url.

By default the question is whether B is no more than 3% slower than A; the interval is
shown with the answer. --claim '+10%' asks whether it is at least 10% faster.

Everything is recorded in .mxflow-ab: the same command line resumes where it stopped,
after Ctrl-C or --quick, and --write-plan writes the equivalent plan.

Exit status: 0 pass, 1 usage or environment error, 2 fail or invalid, 3 inconclusive,
4 a server or mxflow failed, 130 interrupted.`,
		Example: `  mxflow ab --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh' --pp 2048 --tg 32
  mxflow ab --a 'vllm serve MODEL' --b 'vllm serve MODEL --async-scheduling' --claim +5%
  mxflow ab --a 'old/llama-server -m m.gguf' --b 'new/llama-server -m m.gguf' --metric ttft --claim=-10%
  mxflow ab --a … --b … --quick                    one launch each: at best a clear fail
  mxflow ab --a … --b … --must-see-b '*CUTLASS*' --write-plan port.hcl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			a.fold()
			if c.Flags().Changed("launches") && q.Launches == 0 {
				return errors.New("--launches: 0 launches of each decide nothing; --quick makes one of each")
			}
			q.CommandLine = abLine(c.Flags())
			if err := q.Check(); err != nil {
				return err
			}
			return runAB(c.Context(), a, &q, rerun, reuse, dryRun)
		},
	}
	f := c.Flags()
	f.StringVar(&q.A, "a", "", "command that starts the server as it is")
	f.StringVar(&q.B, "b", "", "candidate command")
	f.StringVar(&q.URL, "url", "", "address that both listen on, such as http://localhost:8000, for commands with a fixed port")
	f.StringVar(&q.Asked, "kind", "", "kind of server (default: recognised from the commands; see mxflow engine kinds)")
	f.StringVar(&q.Model, "model", "", "model to ask for (default: the first that the server lists)")
	f.StringVar(&q.API, "api", "completions", "completions or chat")
	f.IntVar(&q.PP, "pp", 512, "prompt tokens")
	f.IntVar(&q.TG, "tg", 128, "output tokens")
	f.IntVar(&q.Depth, "depth", 0, "tokens of context before the prompt")
	f.IntVar(&q.Concurrency, "concurrency", 1, "requests kept in flight")
	f.IntVar(&q.Requests, "requests", 0, "measured requests per launch (default: 10; 30 for pp and ttft; at least 4 for each in flight)")
	f.IntVar(&q.Warmup, "warmup", 0, "unmeasured requests before them (default: 3; at least one for each in flight)")
	f.StringVar(&q.Metric, "metric", "tg", "what is compared: tg, pp, ttft, tpot, itl, e2e, tg_total or pp_total")
	f.StringVar(&q.Claimed, "claim", "", "what B must show: '+10%' is at least 10% more of the metric, '-3%' at most 3% less (default: no more than 3% worse)")
	f.IntVar(&q.Launches, "launches", 0, fmt.Sprintf("maximum launches of each (default: %d)", ab.UsualLaunches))
	f.BoolVar(&q.Quick, "quick", false, "one launch of each; the same command without it continues from there")
	f.StringArrayVar(&q.MustSeeA, "must-see-a", nil, "glob of a line that A must log and B must not (repeatable), logged while it answers, such as '*moe: using kernel*'; lines from before the first request only count if they are known to show the engine's choice, such as '*Using Marlin backend*'")
	f.StringArrayVar(&q.MustSeeB, "must-see-b", nil, "glob of a line that B must log while it answers, and A must not (repeatable)")
	f.StringSliceVar(&q.Changes, "changes", nil, "observations that are meant to differ, such as moe_kernel (this repeats no measurement)")
	f.StringSliceVar(&q.Accept, "accept", nil, "what can differ between the environments of launches, such as repo.vllm or packages")
	f.StringVar(&q.Answers, "answers", "checked", "how far B's answers must be A's: checked (A says about as much of them as of its own), a share such as 0.9 (B changes them on purpose), or unchecked")
	f.StringVar(&q.Caches, "caches", "own", "compiler caches: own (each command has its own, kept between its launches except for what it timed and chose), pinned (that too) or cold (empty at each launch)")
	f.DurationVar(&q.Timeout, "timeout", 0, "how long a start can take (default: the kind's own)")
	f.DurationVar(&q.MaxLag, "max-lag", 0, "how late the client can be before a launch is invalid (default: 10ms)")
	f.StringVar(&q.WritePlan, "write-plan", "", "write the equivalent plan to this file")
	f.BoolVar(&dryRun, "dry-run", false, "print the plan and start nothing")
	f.BoolVar(&rerun, "rerun", false, "measure everything again")
	reuseFlag(c, &reuse)
	a.jsonFlag(c, "stream events as JSON, one object per line; the last one is the result")
	return c
}

func runAB(ctx context.Context, a *app, q *ab.Question, rerun, reuse, dryRun bool) error {
	at, err := q.Place(a.state)
	if err != nil {
		return err
	}
	if q.WritePlan != "" {
		text, err := q.Plan(filepath.Dir(q.WritePlan), at.Work)
		if err != nil {
			return err
		}
		if err := files.WriteOnce("write-plan", q.WritePlan, text); err != nil || dryRun {
			return err
		}
	}
	if dryRun {
		text, err := q.Plan(".", at.Work)
		if err == nil {
			_, err = a.stdout.Write(text)
		}
		return err
	}
	text, err := q.Plan(at.Folder, at.Work)
	if err != nil {
		return err
	}
	if err := at.Save(text); err != nil {
		return err
	}
	// The plan is mxflow's own, so its warnings would point to a file that the user did
	// not write.
	run := applying{path: at.Plan, reuse: reuse, state: at.State, watch: newProgress(a), report: func(res *lang.Findings) {
		if !res.OK() {
			a.reportStreamed(res)
		}
	}}
	if rerun {
		run.rerun = []string{"all"}
	}
	show := &view.AB{Observer: run.watch, Question: q, Place: at, Screen: a.screen}
	if a.json {
		show.JSON = a.printLine
	}
	if run.watch = show; !a.json {
		show.Ask()
	}
	beginStream(a)
	_, err = applyPlan(ctx, a, run)
	return err
}

// abShown are flags for how a comparison is shown or how far it runs, not for what is
// asked.
var abShown = []string{"launches", "quick", "write-plan", "dry-run", "rerun", "reuse", "json", "state"}

// abLine is the command line with the question, as a person would write it.
func abLine(flags *pflag.FlagSet) string {
	words := []string{"mxflow", "ab"}
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if !slices.Contains(abShown, f.Name) {
				words = append(words, "--"+f.Name, shell.Quote(value))
			}
		}
	})
	return strings.Join(words, " ")
}
