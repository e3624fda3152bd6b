package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/agents"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/apply"
)

func newMCPCommand(a *app) *cobra.Command {
	var vars []load.Given
	var key string
	c := &cobra.Command{
		Use:   "mcp [PLAN]",
		Short: "Serve one plan to a coding agent over the Model Context Protocol",
		Long: `Speaks the Model Context Protocol on standard input and output. An agent can read
what the commands print with --json. What it writes into the plan's files within
the limits of the seal (mxflow seal), it can measure. It cannot waive or measure
again; without a seal it can only read.`,
		Example: `  mxflow mcp plan.hcl
  mxflow mcp --key signing.pub plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			soft, hard, release := signals(c.Context(), a.stderr, shuttingDown)
			defer release()
			return agents.Serve(soft, agentHost(a, hard, path, key, vars), os.Stdin, table.Bare(a.stdout))
		},
	}
	varFlag(c.Flags(), &vars)
	keyFlag(c.Flags(), &key)
	return c
}

// agentHost is all that an agent's tools reach of the command; hard ends what goes on after
// the server.
func agentHost(a *app, hard context.Context, path, key string, vars []load.Given) agents.Host {
	state := a.stateDir(path)
	var given []string
	for _, g := range vars {
		given = append(given, g.Words()...)
	}
	return agents.Host{
		Path: path, State: state, Version: version,
		Load:    func() *load.Result { return a.loadSilently(path, load.Options{Inputs: vars}) },
		Secrets: func() *redact.Redactor { return a.secrets },
		Seal:    func() (*seal.Seal, error) { return readSeal(path, key) },
		Apply: func(ctx context.Context, is *seal.Seal, loaded *load.Result, g *runtime.Graph, target []string,
			watch apply.Observer,
		) error {
			q := applying{path: path, dir: state, target: target, watch: watch, seal: is}
			_, err := q.start(ctx, hard, a, loaded, g)
			return err
		},
		Run: func(ctx context.Context, args []string) ([]byte, error) {
			var out, said bytes.Buffer
			run(ctx, append([]string{"--state", state}, args...), &out, &said)
			if out.Len() == 0 {
				return nil, errors.New(strings.TrimPrefix(strings.TrimSpace(said.String()), "mxflow: "))
			}
			return out.Bytes(), nil
		},
		Vars: given,
	}
}
