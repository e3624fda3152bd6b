package mock

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
)

// Main is the mock as a program: it serves until ctx ends or its input does.
// The input is a pipe of whoever started it, so that it ends with its parent
// even when that is killed. The first line on stdout is "listening URL".
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	c := Config{}
	flags := flag.NewFlagSet("mock", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.Address, "address", "127.0.0.1:0", "address to listen on; port 0 is a free one")
	flags.StringVar(&c.Model, "model", "mock", "name of the model")
	flags.IntVar(&c.Wheels, "wheels", 0, "goroutines that send; 0 is one for each two processors")
	flags.Int64Var(&c.Pacing.TTFT, "ttft-us", 50_000, "time to the first token, µs, where requests do not say")
	flags.Int64Var(&c.Pacing.ITL, "itl-us", 10_000, "time between events, µs, likewise")
	flags.Int64Var(&c.Pacing.Jitter, "jitter-us", 0, "random delay of events up to so many µs, likewise")
	flags.IntVar(&c.Pacing.PerEvent, "tokens-per-event", 1, "tokens in an event, likewise")
	flags.IntVar(&c.Pacing.Tokens, "tokens", 0, "tokens of an answer, likewise; 0 takes max_tokens")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: the mock takes flags only", flags.Arg(0))
	}
	probe := c.Pacing
	probe.Tokens = max(probe.Tokens, 1)
	if err := probe.check(); err != nil {
		return err
	}
	s, err := Start(c)
	if err != nil {
		return err
	}
	// A wheel that waits in the kernel keeps a processor of Go's scheduler for up
	// to 10 ms; the connections must not wait for it.
	runtime.GOMAXPROCS(runtime.NumCPU() + len(s.wheels))
	fmt.Fprintf(stdout, "%s%s\n", announcement, s.URL())
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	<-ctx.Done()
	return s.Close()
}

// announcement comes before the URL on the first line.
const announcement = "listening "
