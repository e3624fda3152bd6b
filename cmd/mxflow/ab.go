package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/kinds"
)

// ab is what the command line of `mxflow ab` asks for.
type ab struct {
	a, b, aURL, bURL           string
	url, model, asked, api     string
	pp, tg, depth, concurrency int
	requests, warmup           int
	metric, claimed            string
	launches                   int
	quick, rerun, dryRun       bool
	mustSeeA, mustSeeB         []string
	changes, accept, env       []string
	coherence, expect, caches  string
	timeout, maxLag            time.Duration
	writePlan                  string

	// What the flags come to.
	claim       abClaim
	arms        [2]abArm
	shape       abShape
	kind        kinds.Kind
	port        int
	commandLine string
	// counted says whether requests and warm-ups were asked for.
	counted [2]bool
}

// abLaunches is how often each command is started at most where nobody says.
const abLaunches = 8

// Launches of each that can decide anything: see docs/statistics.md.
const fewestLaunches, mostLaunches = 4, 12

func (a *app) abCommand() *cobra.Command {
	var q ab
	c := &cobra.Command{
		Use:   "ab --a COMMAND --b COMMAND",
		Short: "Is B faster than A? Starts both in turn, and answers with known error rates",
		Long: `Compares two commands that start a server, without a plan: each is started anew for
every launch, A and B in turn (ABBA BAAB …), sent the same prompts, watched, stopped.
Launches are what is compared, since two starts of one server differ by more than its
requests do. What comes out is a verdict with known error rates: a claim that does not
hold passes in at most 1 % of cases, one that holds fails in at most 5 %. It stops as
soon as the answer is known.

A COMMAND is NAME=value assignments and a program with its arguments. Quotes work as in
a shell; pipes, variables and patterns need one: --a "sh -c '…'". The server listens on
the port that it is given, {port} in the command and $PORT in a script, or where --url says.

The question is whether B is not more than 3 % slower than A, with the interval beside
it. --claim '+10%' asks for more: whether it is at least 10 % faster.

All of it is on record in .mxflow-ab: the same command line goes on where it stopped,
after Ctrl-C as after --quick, and --write-plan writes the plan that does the same.

Exit status: 0 pass, 1 usage or environment error, 2 fail or invalid, 3 inconclusive,
4 a server or mxflow broke, 130 interrupted.`,
		Example: `  mxflow ab --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh' --pp 2048 --tg 32
  mxflow ab --a 'vllm serve MODEL' --b 'vllm serve MODEL --async-scheduling' --claim +5%
  mxflow ab --a 'old/llama-server -m m.gguf' --b 'new/llama-server -m m.gguf' --metric ttft --claim=-10%
  mxflow ab --a … --b … --quick                    one launch each: at best a clear fail
  mxflow ab --a … --b … --must-see-b '*CUTLASS*' --write-plan port.hcl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := q.check(c); err != nil {
				return err
			}
			return a.runAB(c.Context(), &q)
		},
	}
	f := c.Flags()
	f.StringVar(&q.a, "a", "", "command that starts the server as it is")
	f.StringVar(&q.b, "b", "", "command that starts it as it might become")
	f.StringArrayVar(&q.env, "env", nil, "NAME=value for both (repeatable)")
	f.StringVar(&q.url, "url", "", "where both listen, such as http://localhost:8000, for commands that always take the same port")
	f.StringVar(&q.aURL, "a-url", "", "instead of --a: a server that runs already; nothing can be decided then")
	f.StringVar(&q.bURL, "b-url", "", "instead of --b: likewise")
	f.StringVar(&q.asked, "kind", "", "kind of server (default: recognised from the commands; see mxflow engine kinds)")
	f.StringVar(&q.model, "model", "", "model to ask for (default: the first that the server lists)")
	f.StringVar(&q.api, "api", "completions", "completions or chat")
	f.IntVar(&q.pp, "pp", 512, "prompt tokens")
	f.IntVar(&q.tg, "tg", 128, "output tokens")
	f.IntVar(&q.depth, "depth", 0, "tokens of context before the prompt")
	f.IntVar(&q.concurrency, "concurrency", 1, "requests kept in flight")
	f.IntVar(&q.requests, "requests", 0, "measured requests of each launch (default: 10; 30 for pp and ttft; at least 4 for each in flight)")
	f.IntVar(&q.warmup, "warmup", 0, "requests before them that are not measured (default: 3; at least one for each in flight)")
	f.StringVar(&q.metric, "metric", "tg", "what is compared: tg, pp, ttft, tpot, itl, e2e, tg_total or pp_total")
	f.StringVar(&q.claimed, "claim", "", "what B is to show: '+10%' is at least 10 % more of the metric, '-3%' at most 3 % less (default: no more than 3 % worse)")
	f.IntVar(&q.launches, "launches", 0, fmt.Sprintf("most launches of each (default: %d)", abLaunches))
	f.BoolVar(&q.quick, "quick", false, "one launch of each; the same command without it goes on from there")
	f.StringArrayVar(&q.mustSeeA, "must-see-a", nil, "glob of a line that A must log, and B must not, such as '*Marlin backend*' (repeatable)")
	f.StringArrayVar(&q.mustSeeB, "must-see-b", nil, "glob of a line that B must log, and A must not (repeatable)")
	f.StringSliceVar(&q.changes, "changes", nil, "observations that are meant to differ, such as moe_kernel (nothing is measured again for it)")
	f.StringSliceVar(&q.accept, "accept", nil, "what may differ in the environments of launches, such as repo.vllm or packages")
	f.StringVar(&q.coherence, "coherence", "", "how answers are checked: baseline (those of B are no worse than A's), absolute or off")
	f.StringVar(&q.caches, "caches", "own", "what compilers have cached: own (each command has caches of its own, kept between its launches), cold (empty at each launch) or shared (whatever lies there)")
	f.StringVar(&q.expect, "expect", "", "what the answer to \"The capital of France is\" must contain (default: any words)")
	f.DurationVar(&q.timeout, "timeout", 0, "how long a start may take (default: the kind's own)")
	f.DurationVar(&q.maxLag, "max-lag", 0, "how late the client may be before a launch is invalid (default: 10ms)")
	f.StringVar(&q.writePlan, "write-plan", "", "write the plan that does the same there")
	f.BoolVar(&q.dryRun, "dry-run", false, "print the plan and start nothing")
	f.BoolVar(&q.rerun, "rerun", false, "measure all of it again")
	a.jsonFlag(c, "stream events as JSON, one object a line; the last one is the result")
	return c
}

// most is how many launches of each command are made at most.
func (q *ab) most() int {
	switch {
	case q.quick:
		return 1
	case q.launches > 0:
		return q.launches
	}
	return abLaunches
}

func (a *app) runAB(ctx context.Context, q *ab) error {
	if q.aURL != "" {
		return a.runningAB(ctx, q)
	}
	at, err := q.place(a.state)
	if err != nil {
		return err
	}
	if q.dryRun {
		return a.dryAB(q, at)
	}
	if err := q.writePlans(at); err != nil {
		return err
	}
	began := time.Now()
	show := &abShow{app: a, q: q, at: at, began: began}
	a.state, a.generated, a.ending = at.state, true, show.end
	if !a.json {
		a.reword = rewordAB
		show.begin()
	}
	var rerun []string
	if q.rerun {
		rerun = []string{"all"}
	}
	return a.apply(ctx, at.plan, nil, "", rerun)
}
