package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/steps/apply"
)

// newWorkerCommand makes launches for an mxflow on another machine. It is hidden: that one
// starts it, as the plan's executor says.
func newWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Run launches for an mxflow on another machine",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
			ending.Interrupts()
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return apply.Work(ctx, os.Stdin, os.Stdout)
		},
	}
}
