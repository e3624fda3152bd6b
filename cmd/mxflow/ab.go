package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/questions/ab"
)

func newABCommand(a *app) *cobra.Command {
	var q ab.Question
	var rerun, reuse, dryRun bool
	var vars []load.Given
	var suite string
	c := &cobra.Command{
		Use:   "ab [PLAN] --a A --b B [-- ARGS]",
		Short: "Answer whether B is faster than A: commands, images, commits …",
		Long: `Starts both servers in turn (ABBA BAAB …), each launch afresh, sends the same
prompts, and stops as soon as the answer is known. A false claim passes in at
most 1% of cases, a true one fails in at most 5%.

A and B are commands (--a, --b) or images (--image twice, ARGS for both). With a
plan they are versions of its engine, on its workloads and levels: commits of its
source (--ref), images, files of package pins that the source's build reads from
$MXFLOW_PINS (--pins), or variants: --a baseline --b FEATURE.

By default the question is whether B is at most 3% slower than A; --claim +10%
asks whether it is at least 10% faster.

COMMAND is NAME=value assignments and a program with its arguments, quoted as in
a shell; for pipes or variables run one: --a "sh -c '…'". The server listens on the
given port ({port} in the command, $PORT in a script), or at --url.

Everything is recorded in .mxflow-ab: the same command line resumes after Ctrl-C
or --quick. --json streams events, one object per line; the last is the result.

Exit status: 0 pass, 1 refused before anything started, 2 fail or invalid,
3 inconclusive, 4 a server failed or could not be started, or mxflow failed,
130 interrupted.`,
		Example: `  mxflow ab --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh'
  mxflow ab --a 'vllm serve M' --b 'vllm serve M --async-scheduling' --claim +5%
  mxflow ab --a … --b … --metric ttft --claim=-10% --pp 2048
  mxflow ab --a … --b … --must-see-b '*CUTLASS*' --dry-run >port.hcl
  mxflow ab --image vllm/vllm-openai:v0.26.0 --image :nightly --model M
  mxflow ab plan.hcl --ref main --ref my-branch --claim ">= +5%"`,
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			if n := c.ArgsLenAtDash(); n >= 0 {
				args, q.Server = args[:n], args[n:]
			}
			switch {
			case len(args) > 1:
				return fmt.Errorf("%q is one argument too many: name one plan, and the arguments of servers after --",
					args[1])
			case len(q.Server) > 0 && (len(q.Images) == 0 || len(args) > 0):
				return errors.New("arguments after -- are for the servers of two images without a plan")
			case c.Flags().Changed("launches") && q.Launches == 0:
				return errors.New("--launches: 0 launches of each decide nothing; --quick makes one of each")
			case len(args) == 1:
				return askOfPlan(c, a, &q, args[0], load.Options{Inputs: vars, Suite: suite}, rerun, reuse, dryRun)
			case len(vars) > 0 || suite != "" || q.Source != "":
				return errors.New("--var, --suite and --repo are of a plan: name it, as in mxflow ab plan.hcl --ref " +
					"main --ref my-branch")
			}
			q.CommandLine, q.Again = abLines(c.Flags(), "", q.Server)
			q.Named = c.Flags().Changed("gpus")
			if len(q.Images) > 0 && !q.Named {
				if gpus, err := machine.GPUs(c.Context()); err != nil || len(gpus) > 0 { // unknown is not none
					q.GPUs = "all"
				}
			}
			if err := q.Check(); err != nil {
				return err
			}
			return runAB(c.Context(), a, &q, rerun, reuse, dryRun)
		},
	}
	f := c.Flags()
	f.StringVar(&q.A, "a", "", "`COMMAND` that starts the server as it is")
	f.StringVar(&q.B, "b", "", "candidate `COMMAND`")
	f.StringArrayVar(&q.Images, "image", nil, "container `IMAGE` of A, then of B; :TAG is of the same repository")
	f.StringArrayVar(&q.Refs, "ref", nil, "`REF` of A, then of B: commit, branch or tag (with a plan)")
	f.StringArrayVar(&q.Pins, "pins", nil, "`FILE` of package pins of A, then of B (with a plan)")
	f.StringVar(&q.Source, "repo", "", repoUsage)
	f.StringVar(&q.GPUs, "gpus", "",
		"`GPUS` for containers: all, amd, a number, device=0,1 (default: all that there are)")
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	f.StringVar(&q.URL, "url", "", "`URL` that both listen on, for commands with a fixed port")
	f.StringVar(&q.Asked, "kind", "", kindUsage)
	f.StringVar(&q.Model, "model", "", modelUsage)
	f.StringVar(&q.API, "api", "completions", apiUsage)
	f.IntVar(&q.PP, "pp", 512, ppUsage)
	f.IntVar(&q.TG, "tg", 128, tgUsage)
	f.IntVar(&q.Depth, "depth", 0, depthUsage)
	f.IntVar(&q.Concurrency, "concurrency", 1, concurrencyUsage)
	f.IntVar(&q.Requests, "requests", 0, requestsUsage)
	f.IntVar(&q.Warmup, "warmup", 0, warmupUsage)
	f.StringVar(&q.Metric, "metric", "tg",
		"`METRIC` that is compared: tg, pp, ttft, tpot, itl, e2e, tg_total or pp_total")
	f.StringVar(&q.Claimed, "claim", "",
		"`CHANGE` that B must show: +10% is at least 10% better, -3% at most 3% worse (default -3%)")
	f.IntVar(&q.Launches, "launches", 0, fmt.Sprintf("maximum launches of each (default: %d)", ab.UsualLaunches))
	f.BoolVar(&q.Quick, "quick", false, "one launch of each; the same command without it continues from there")
	f.DurationVar(&q.Timeout, "timeout", 0, "how long a start can take (default: the kind's own)")
	f.StringArrayVar(&q.MustSeeA, "must-see-a", nil,
		"`GLOB` of a line that A logs while it answers, and B does not (repeatable)")
	f.StringArrayVar(&q.MustSeeB, "must-see-b", nil,
		"`GLOB` of a line that B logs while it answers, and A does not (repeatable)")
	f.StringSliceVar(&q.Changes, "changes", nil,
		"reported `SETTINGS` that may differ, such as moe_kernel (changing this does not re-measure)")
	f.StringSliceVar(&q.Accept, "accept", nil,
		"`NAMES` of what may differ between the launches: repo.vllm, packages, …")
	f.StringVar(&q.Answers, "answers", "checked",
		"`HOW` answers are judged: checked: B must answer as A does; a share such as 0.9, where B changes answers on "+
			"purpose; or unchecked")
	f.StringVar(&q.Eval, "eval", "",
		"`FILE` of questions with answers (JSON lines): B may lose at most 2 points of accuracy")
	f.StringVar(&q.Caches, "caches", "own",
		"compiler `CACHES`: own (kept between the launches of a command), pinned (with what it timed and chose) or "+
			"cold")
	f.DurationVar(&q.MaxLag, "max-lag", 0, maxLagUsage)
	f.BoolVar(&rerun, "rerun", false, "measure everything again")
	reuseFlag(c, &reuse)
	f.BoolVar(&dryRun, "dry-run", false, dryRunUsage)
	a.jsonFlag(c)
	groupFlags(c, "A and B", "a", "b", "image", "ref", "pins", "repo")
	groupFlags(c, "Plan", "var", "var-file", "suite")
	groupFlags(c, "Servers", "url", "kind", "model", "gpus", "api", "timeout", "caches")
	groupFlags(c, "Workload", "pp", "tg", "depth", "concurrency", "requests", "warmup")
	groupFlags(c, "Decision", "metric", "claim", "launches", "quick")
	groupFlags(c, "Evidence", "must-see-a", "must-see-b", "changes", "accept", "answers", "eval", "max-lag")
	groupFlags(c, "Launches on record", "rerun", "reuse")
	groupFlags(c, "Output", "dry-run", "json")
	return c
}

// askOfPlan compares two versions of a plan's engine.
func askOfPlan(c *cobra.Command, a *app, q *ab.Question, path string, of load.Options,
	rerun, reuse, dryRun bool,
) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		own := slices.Contains([]string{"Servers", "Workload", "Evidence"}, strings.Join(f.Annotations[flagGroup], ""))
		if err == nil && own && f.Name != "accept" {
			err = fmt.Errorf("--%s: with a plan this is the plan's: remove it, or change %s", f.Name, path)
		}
	})
	if err != nil {
		return err
	}
	loaded, _, err := a.load(path, of)
	if err != nil {
		return err
	}
	if err := q.CheckOf(c.Context(), loaded.Plan); err != nil {
		return err
	}
	own := filepath.Join(loaded.Plan.Dir, store.DirName)
	if plans.SameFile(own, a.state) ||
		filepath.Base(a.state) == store.DirName && plans.SameFile(filepath.Join(a.state, ".."), loaded.Plan.Dir) {
		return fmt.Errorf("--state: %s is for what the plan itself decides: leave --state out, and the comparison "+
			"gets a folder of its own", a.state)
	}
	if st, err := store.OpenReadOnly(own); err == nil { // only a hint depends on it
		q.Noise = decide.OnRecord(loaded.Plan, st.Records(), q.Cell+"."+q.Claim.Metric.Name, q.Most())
		st.Close()
	}
	q.CommandLine, q.Again = abLines(c.Flags(), path, nil)
	of.Question = q.Asks
	if q.Quick || q.Launches > 0 {
		of.Launches = q.Most()
	}
	if _, _, err := a.loadReporting(path, of, a.errorsOnly); err != nil {
		return err
	}
	if dryRun {
		_, err := io.WriteString(a.stdout, q.Asks)
		return err
	}
	at, err := q.Place(a.state)
	if err == nil {
		err = q.Save(at, nil)
	}
	if err != nil {
		return err
	}
	return applyAB(c.Context(), a, q, at, of, rerun, reuse)
}

func runAB(ctx context.Context, a *app, q *ab.Question, rerun, reuse, dryRun bool) error {
	at, err := q.Place(a.state)
	if err == nil {
		err = q.CheckPlan(steps.Registry(), at.Work)
	}
	if err != nil {
		return err
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
	if err := q.Save(at, text); err != nil {
		return err
	}
	return applyAB(ctx, a, q, at, load.Options{}, rerun, reuse)
}

// applyAB applies what is asked and shows the answer.
func applyAB(ctx context.Context, a *app, q *ab.Question, at ab.Place, of load.Options, rerun, reuse bool) error {
	// The plan is mxflow's own, so its warnings would point to a file that the user did
	// not write.
	run := applying{
		path: at.Plan, load: of, reuse: reuse, state: at.State, watch: newProgress(a, false),
		report: a.errorsOnly,
	}
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
	_, err := applyPlan(ctx, a, run)
	return err
}

// abLines are the command line with the question, as a person would write it, and one that asks
// it again with more flags, of the same record.
func abLines(flags *pflag.FlagSet, plan string, server []string) (asked string, again func(more ...string) string) {
	var rest []string
	if plan != "" {
		rest = append(rest, plan)
	}
	if len(server) > 0 {
		rest = append(append(rest, "--"), server...)
	}
	// How it is shown, and how far it runs, is none of the question.
	shown := []string{"quick", "dry-run", "rerun", "json", "no-color"}
	ofRun := []string{"launches", "reuse", "state"}
	line := func(without, more []string) string {
		words := given(flags, func(name string) bool { return !slices.Contains(without, name) })
		return shell.Line(slices.Concat([]string{"mxflow", "ab"}, words, more, rest)...)
	}
	return line(append(shown, ofRun...), nil), func(more ...string) string { return line(shown, more) }
}
