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
		Long: `Serves the page of report --format html on 127.0.0.1 and keeps it up to date while
an apply runs. The address has a random token: without it nothing is shown, and
nobody can change anything. Ctrl-C stops it.`,
		Example: `  mxflow serve plan.hcl
  mxflow serve --port 8080 plan.hcl`,
		Args: cobra.MaximumNArgs(1),
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
