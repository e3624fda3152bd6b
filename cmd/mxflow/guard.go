package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/process"
)

// withGuardian lets a process of this program end what runs when mxflow is killed.
func withGuardian(a *app) {
	if self, err := os.Executable(); err == nil {
		a.guardian = process.NewGuardian(self, "guard")
	}
}

// newGuardCommand is that process. It is hidden: mxflow starts it by itself.
func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "guard",
		Short:  "End what runs when mxflow is killed",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			// It ends with mxflow, and what asks all processes to end asks mxflow too.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return process.ServeGuardian(os.Stdin)
		},
	}
}
