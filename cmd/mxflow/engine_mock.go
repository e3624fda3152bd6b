package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/load/mock"
)

// engineMockCommand runs the server whose times are known, against which the
// measuring client calibrates itself. It is hidden: mxflow starts it by itself.
func (a *app) engineMockCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "mock [flags]",
		Short:              "Run the mock server that the measuring client is calibrated with",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return mock.Main(ctx, args, os.Stdin, a.stdout, a.stderr)
		},
	}
}
