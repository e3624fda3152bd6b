package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/live"
)

func newServeCommand(a *app) *cobra.Command {
	var port int
	c := &cobra.Command{
		Use:   "serve [PLAN]",
		Short: "Show the results and the current run in a browser",
		Long: `Serves the page of report --format html on 127.0.0.1, and keeps it up to date during an
apply: phase, feature and launch with the last speed and the time left, each launch
beside the level that its rule needs, and each verdict as it is decided. The last one
stays. The address has a random token: without it nothing is shown, and nobody can
change anything. Ctrl-C stops it.

It reads the state directory and needs no lock. While no page is open it does nothing;
for an open page it checks once per second for new records.`,
		Example: "  mxflow serve plan.hcl\n  mxflow serve --port 8080 plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			dir := st.Dir()
			st.Close()
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
			s := live.New(dir, listener.Addr().String(), a.note)
			fmt.Fprintf(a.stdout, "%s\nPress Ctrl-C to stop.\n", s.URL())
			return s.Serve(ctx, listener)
		},
	}
	c.Flags().IntVar(&port, "port", 0, "port to serve on (default: a free one)")
	return c
}
