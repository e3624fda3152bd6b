package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/live"
	"github.com/mxflow/mxflow/runtime/store"
)

func newServeCommand(a *app) *cobra.Command {
	var port int
	c := &cobra.Command{
		Use:   "serve [PLAN]",
		Short: "Show the results and the current run in a browser",
		Long: `Serves the page of report --format html on 127.0.0.1 and keeps it up to date while
an apply runs. Before the first it waits for it. The address has a random token: without it nothing is shown, and
nobody can change anything. Ctrl-C stops it.`,
		Example: `  mxflow serve plan.hcl
  mxflow serve --port 8080 plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := a.stateOf(args)
			if err != nil {
				return err
			}
			st, err := a.reader(args)
			first := errors.Is(err, store.ErrApplyFirst)
			switch {
			case err == nil:
				dir = st.Dir()
				st.Close()
			case !first:
				return err
			}
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return fmt.Errorf("cannot serve on --port %d: %w. Choose another, or leave it out", port, err)
			}
			ctx, stop := context.WithCancel(c.Context())
			defer stop()
			interrupts := ending.Interrupts()
			go func() {
				<-interrupts
				stop()
			}()
			begins := "mxflow apply " + strings.Join(args, " ")
			if a.state != "" {
				begins = "mxflow apply --state " + a.state + " " + cmp.Or(strings.Join(args, " "), "PLAN")
			}
			s := live.New(dir, listener.Addr().String(), begins, a.note)
			if first {
				fmt.Fprintf(a.stdout, "Waiting for the first run: %s\n", begins)
			}
			fmt.Fprintf(a.stdout, "%s\nPress Ctrl-C to stop.\n", s.URL())
			return s.Serve(ctx, listener)
		},
	}
	c.Flags().IntVar(&port, "port", 0, "port to serve on (default: a free one)")
	return c
}
