package main

import (
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

// abOptions are a comparison as the command line asks for it.
type abOptions struct {
	*app
	ab.Question
	load                 load.Options
	rerun, reuse, dryRun bool
}

const abLong = `Starts both servers in turn (ABBA BAAB …), each launch afresh, sends the same
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
130 interrupted.`

const abExample = `  mxflow ab --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh'
  mxflow ab --a 'vllm serve M' --b 'vllm serve M --async-scheduling' --claim +5%
  mxflow ab --a … --b … --metric ttft --claim=-10% --pp 2048
  mxflow ab --a … --b … --metric capacity --slo 'p99 ttft <= 500ms' --claim +10%
  mxflow ab --a … --b … --must-see-b '*CUTLASS*' --dry-run >port.hcl
  mxflow ab --image vllm/vllm-openai:v0.26.0 --image :nightly --model M
  mxflow ab plan.hcl --ref main --ref my-branch --claim ">= +5%"`

func newABCommand(a *app) *cobra.Command {
	o := &abOptions{app: a}
	c := &cobra.Command{
		Use:     "ab [PLAN] --a A --b B [-- ARGS]",
		Short:   "Answer whether B is faster than A: commands, images, commits …",
		Long:    abLong,
		Example: abExample,
		RunE:    o.run,
	}
	addGroup(c, "A and B", o.armFlags)
	addGroup(c, "Plan", func(f *pflag.FlagSet) {
		varFlag(f, &o.load.Inputs)
		suiteFlag(f, &o.load.Suite)
	})
	addGroup(c, "Servers", o.serverFlags)
	addGroup(c, "Workload", o.workloadFlags)
	addGroup(c, "Decision", o.decisionFlags)
	addGroup(c, "Evidence", o.evidenceFlags)
	addGroup(c, "Launches on record", func(f *pflag.FlagSet) {
		f.BoolVar(&o.rerun, "rerun", false, "measure everything again")
		reuseFlag(f, &o.reuse)
	})
	addGroup(c, "Output", func(f *pflag.FlagSet) {
		f.BoolVar(&o.dryRun, "dry-run", false, dryRunUsage)
		a.jsonFlag(f)
	})
	return c
}

func (o *abOptions) armFlags(f *pflag.FlagSet) {
	f.StringVar(&o.A, "a", "", "`COMMAND` that starts the server as it is")
	f.StringVar(&o.B, "b", "", "candidate `COMMAND`")
	f.StringArrayVar(&o.Images, "image", nil, "container `IMAGE` of A, then of B; :TAG is of the same repository")
	f.StringArrayVar(&o.Refs, "ref", nil, "`REF` of A, then of B: commit, branch or tag (with a plan)")
	f.StringArrayVar(&o.Pins, "pins", nil, "`FILE` of package pins of A, then of B (with a plan)")
	f.StringVar(&o.Source, "repo", "", repoUsage)
}

func (o *abOptions) serverFlags(f *pflag.FlagSet) {
	f.StringVar(&o.GPUs, "gpus", "",
		"`GPUS` for containers: all, amd, a number, device=0,1 (default: all that there are)")
	f.StringVar(&o.URL, "url", "", "`URL` that both listen on, for commands with a fixed port")
	f.StringVar(&o.Asked, "kind", "", kindUsage)
	f.StringVar(&o.Model, "model", "", modelUsage)
	f.StringVar(&o.API, "api", "completions", apiUsage)
	f.DurationVar(&o.Timeout, "timeout", 0, "how long a start can take (default: the kind's own)")
	f.StringVar(&o.Caches, "caches", "own",
		"compiler `CACHES`: own (kept between the launches of a command), pinned (with what it timed and chose) or "+
			"cold")
}

func (o *abOptions) workloadFlags(f *pflag.FlagSet) {
	f.IntVar(&o.PP, "pp", 512, ppUsage)
	f.IntVar(&o.TG, "tg", 128, tgUsage)
	f.IntVar(&o.Depth, "depth", 0, depthUsage)
	f.IntVar(&o.Concurrency, "concurrency", 1, concurrencyUsage)
	f.IntVar(&o.Requests, "requests", 0, requestsUsage)
	f.IntVar(&o.Warmup, "warmup", 0, warmupUsage)
	f.StringVar(&o.SLO, "slo", "", sloUsage)
	f.DurationVar(&o.Probe, "probe", 0, probeUsage)
}

func (o *abOptions) decisionFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Metric, "metric", "tg",
		"`METRIC` that is compared: tg, pp, ttft, tpot, itl, e2e, tg_total, pp_total or capacity")
	f.StringVar(&o.Claimed, "claim", "",
		"`CHANGE` that B must show: +10% is at least 10% better, -3% at most 3% worse (default -3%)")
	f.IntVar(&o.Launches, "launches", 0, fmt.Sprintf("maximum launches of each (default: %d)", ab.UsualLaunches))
	f.BoolVar(&o.Quick, "quick", false, "one launch of each; the same command without it continues from there")
}

func (o *abOptions) evidenceFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.MustSeeA, "must-see-a", nil,
		"`GLOB` of a line that A logs while it answers, and B does not (repeatable)")
	f.StringArrayVar(&o.MustSeeB, "must-see-b", nil,
		"`GLOB` of a line that B logs while it answers, and A does not (repeatable)")
	f.StringSliceVar(&o.Changes, "changes", nil,
		"reported `SETTINGS` that may differ, such as moe_kernel (changing this does not re-measure)")
	f.StringSliceVar(&o.Accept, "accept", nil,
		acceptUsage)
	f.StringVar(&o.Answers, "answers", "checked",
		"`HOW` answers are judged: checked: B must answer as A does; a share such as 0.9, where B changes answers on "+
			"purpose; or unchecked")
	f.StringVar(&o.Eval, "eval", "",
		"`FILE` of questions with answers (JSON lines): B may lose at most 2 points of accuracy")
	f.DurationVar(&o.MaxLag, "max-lag", 0, maxLagUsage)
}

func (o *abOptions) run(c *cobra.Command, args []string) error {
	o.fold()
	if n := c.ArgsLenAtDash(); n >= 0 {
		args, o.Server = args[:n], args[n:]
	}
	switch {
	case len(args) > 1:
		return fmt.Errorf("%q is one argument too many: name one plan, and the arguments of servers after --", args[1])
	case len(o.Server) > 0 && (len(o.Images) == 0 || len(args) > 0):
		return errors.New("arguments after -- are for the servers of two images without a plan")
	case c.Flags().Changed("launches") && o.Launches == 0:
		return errors.New("--launches: 0 launches of each decide nothing; --quick makes one of each")
	case len(args) == 1:
		return o.askOfPlan(c, args[0])
	case len(o.load.Inputs) > 0 || o.load.Suite != "" || o.Source != "":
		return errors.New("--var, --suite and --repo are of a plan: name it, as in mxflow ab plan.hcl --ref main " +
			"--ref my-branch")
	}
	return o.askOfServers(c)
}

// askOfServers compares two commands or images, by a plan that mxflow writes.
func (o *abOptions) askOfServers(c *cobra.Command) error {
	o.CommandLine, o.Again = abLines(c.Flags(), "", o.Server)
	if o.Named = c.Flags().Changed("gpus"); len(o.Images) > 0 && !o.Named {
		if gpus, err := machine.GPUs(c.Context()); err != nil || len(gpus) > 0 { // unknown is not none
			o.GPUs = "all"
		}
	}
	if err := o.Check(); err != nil {
		return err
	}
	at, err := o.Place(o.state)
	if err != nil {
		return err
	}
	if err := o.CheckPlan(steps.Registry(), at.Work); err != nil {
		return err
	}
	folder := at.Folder
	if o.dryRun {
		folder = "."
	}
	text, err := o.Plan(folder, at.Work)
	switch {
	case err != nil:
		return err
	case o.dryRun:
		_, err = o.document().Write(text)
		return err
	}
	if err := o.Save(at, text); err != nil {
		return err
	}
	o.load = load.Options{}
	return o.apply(c, at)
}

// askOfPlan compares two versions of a plan's engine.
func (o *abOptions) askOfPlan(c *cobra.Command, path string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		own := slices.Contains([]string{"Servers", "Workload", "Evidence"}, strings.Join(f.Annotations[flagGroup], ""))
		if err == nil && own && f.Name != "accept" {
			err = fmt.Errorf("--%s: with a plan this is the plan's: remove it, or change %s", f.Name, path)
		}
	})
	if err != nil {
		return err
	}
	loaded, _, err := o.app.load(path, o.load)
	if err != nil {
		return err
	}
	if err := o.CheckOf(c.Context(), loaded.Plan); err != nil {
		return err
	}
	if err := o.noiseOf(loaded.Plan); err != nil {
		return err
	}
	o.CommandLine, o.Again = abLines(c.Flags(), path, nil)
	o.load.Question = o.Asks
	if o.Quick || o.Launches > 0 {
		o.load.Launches = o.Most()
	}
	if _, _, err := o.loadReporting(path, o.load, o.errorsOnly); err != nil {
		return err
	}
	if o.dryRun {
		_, err := io.WriteString(o.document(), o.Asks)
		return err
	}
	at, err := o.Place(o.state)
	if err == nil {
		err = o.Save(at, nil)
	}
	if err != nil {
		return err
	}
	return o.apply(c, at)
}

// noiseOf looks up how much the launches of a plan's own record vary. That record takes no
// comparison.
func (o *abOptions) noiseOf(p *plans.Plan) error {
	own := filepath.Join(p.Dir, store.DirName)
	if plans.SameFile(own, o.state) ||
		filepath.Base(o.state) == store.DirName && plans.SameFile(filepath.Join(o.state, ".."), p.Dir) {
		return fmt.Errorf("--state: %s is for what the plan itself decides: leave --state out, and the comparison "+
			"gets a folder of its own", o.state)
	}
	if st, err := store.OpenReadOnly(own); err == nil { // only a hint depends on it
		o.Noise = decide.OnRecord(p, st.Records(), o.Cell+"."+o.Claim.Metric.Name, o.Most())
		st.Close()
	}
	return nil
}

// apply applies what is asked and shows the answer.
func (o *abOptions) apply(c *cobra.Command, at ab.Place) error {
	show := &view.AB{Observer: newProgress(o.app, false), Question: &o.Question, Place: at, Screen: o.screen}
	// The plan is mxflow's own, so its warnings would point to a file that the user did
	// not write.
	run := applying{
		path: at.Plan, given: o.load, reuse: o.reuse, dir: at.State, watch: show, tell: o.errorsOnly,
	}
	if o.rerun {
		run.rerun = []string{"all"}
	}
	if o.json {
		show.JSON = o.printLine
	} else {
		show.Ask()
	}
	beginStream(o.app)
	_, err := applyPlan(c.Context(), o.app, run)
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
