package main

import (
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/bench"
)

func newBenchCommand(a *app) *cobra.Command {
	b := &bench.Request{}
	c := &cobra.Command{
		Use:   "bench URL",
		Short: "Measure a running server, without a plan",
		Long: `Sends prompts of exactly known length to a running server, and prints its speeds
by their usual names: pp2048 (prefill), tg32 (decode), each with the context
before it (@ d4096) and the number of concurrent requests (c4).

Every combination of --pp, --tg, --depth and --concurrency (or --rate) is a cell.
A run sends each cell once: --warmup requests, then --requests that are measured.
A run's value is the median of its requests; the table has the mean of the runs,
± their sample standard deviation, and the 95% interval of the mean (Student's t,
in logs). Runs on one server show how steady it is, not how another start of it
would behave: compare two variants with a plan, which starts them afresh.

Prompts are new in every run and unique from their first token on, so no
prefix cache answers them. If the server cached some anyway, the client could
not keep up, or the concurrency was never reached, the result is invalid (exit
status 2; 3 if only this machine disturbed it), with the cause.`,
		Example: `  mxflow bench http://localhost:8000/v1 --pp 2048 --tg 32,128 --depth 0,4096 --concurrency 1,4 --runs 5
  mxflow bench http://localhost:8000/v1 --rate 2,4 --max-concurrency 64 --requests 200 --slo ttft=300ms,tpot=50ms
  mxflow bench https://box.example/v1 --api-key-env BOX_KEY --format json > bench.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if !c.Flags().Changed("format") {
				a.fold()
			}
			h := bench.Host{On: a.screen(), Errs: a.stderr, Version: version}
			if terminal(a.stderr) {
				h.Terminal = bare(a.stderr)
			}
			soft, _, release := signals(c.Context(), a.stderr, "Stopping: what is finished is printed.")
			defer release()
			a.exit, err = b.Run(soft, h, args[0], c.Flags().Changed)
			return err
		},
	}
	b.Flags(c.Flags())
	return c
}
