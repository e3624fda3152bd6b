package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/live"
)

func newServeCommand(a *app) *cobra.Command {
	var port int
	var child bool
	c := &cobra.Command{
		Use:   "serve [PLAN]",
		Short: "Show the results and the current run in a browser",
		Long: `Serves the page of report --format html on 127.0.0.1, and keeps it up to date during an
apply: the launch and the stage of the engine's start with the last line of its log,
the numbers of each launch as it ends, the state of each test after every round (which
look of how many, the bounds against the requirement, the chance that more launches
decide), and each verdict as it is decided. The address has a random token: without it
nothing is shown, and nobody can change anything. Ctrl-C stops it.

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
				if child {
					// It ends with the apply that started it, however that ends.
					_, _ = io.Copy(io.Discard, os.Stdin)
				} else {
					<-interrupts
				}
				stop()
			}()
			s := live.New(dir, listener.Addr().String(), a.note)
			fmt.Fprintf(a.stdout, "%s\nPress Ctrl-C to stop.\n", s.URL())
			return s.Serve(ctx, listener)
		},
	}
	c.Flags().IntVar(&port, "port", 0, "port to serve on (default: a free one)")
	c.Flags().BoolVar(&child, "child", false, "stop when standard input ends")
	_ = c.Flags().MarkHidden("child")
	return c
}

// serveBeside starts mxflow serve on a state directory, in a process of its own, so that the
// measuring client shares neither scheduler nor garbage collector with it. It ends with
// this process, since its standard input does.
func serveBeside(a *app, dir string) (done func()) {
	fail := func(err error) func() {
		fmt.Fprintf(a.stderr, "note: --serve failed: %v\n", err)
		return func() {}
	}
	program, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	c := exec.Command(program, "serve", "--child", "--state", dir)
	c.Stderr = a.stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return fail(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := c.Start(); err != nil {
		return fail(err)
	}
	if address, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
		fmt.Fprint(a.stderr, "serving "+address)
	}
	return func() {
		_ = stdin.Close()
		_ = c.Wait()
	}
}
