// Command loadbench measures the measuring client: what it costs, how far its
// times are off, and where it saturates, beside a plain reader of the same bytes
// (the floor). The server is engine/load/mock, which records when it really sent
// what.
//
//	go run ./engine/load/loadbench            the whole table
//	go run ./engine/load/loadbench --short    a minute of it
//
// Server, client and floor are processes of their own (this program under
// another role), so that each one's processor time and memory is its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "loadbench: %v\n", err)
		os.Exit(1)
	}
}

// Roles that this program plays when it runs itself again, as its first argument.
const (
	roleMock   = "role-mock"
	roleClient = "role-client"
	roleFloor  = "role-floor"
	// roleClock is roleFloor with a clock: what it is off by is the machine's doing.
	roleClock = "role-clock"
)

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case roleMock:
			return mock.Main(ctx, args[1:], stdin, stdout, stderr)
		case roleClient:
			return play(ctx, watch, stdin, stdout)
		case roleFloor, roleClock:
			return play(ctx, count, stdin, stdout)
		}
	}
	return bench(ctx, args, stdout, stderr)
}

// play reads a job, does it, and writes what came of it.
func play(ctx context.Context, role func(context.Context, job) (outcome, error), stdin io.Reader, stdout io.Writer) error {
	var j job
	if err := json.NewDecoder(stdin).Decode(&j); err != nil {
		return fmt.Errorf("no job on the input: %w", err)
	}
	o, err := role(ctx, j)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(o)
}

// options are the flags.
type options struct {
	short, json, batched bool
	cpus, repeat         int
	window               time.Duration
	grid                 string
}

func bench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("loadbench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false, "few rows, each once and for a second")
	flags.BoolVar(&o.json, "json", false, "print one JSON document instead of the table")
	flags.IntVar(&o.cpus, "cpus", 2, "processors that everything shares (Linux); 0 is all of them")
	flags.IntVar(&o.repeat, "repeat", 3, "how often client and floor take turns at each row; medians are shown")
	flags.DurationVar(&o.window, "window", 3*time.Second, "how long the full load of a row is watched")
	flags.StringVar(&o.grid, "grid", "", "rows as STREAMSxRATE,…, such as 1x10,100x50, without the search for saturation; none for no rows; empty is the whole table")
	flags.BoolVar(&o.batched, "batched", false, "the server sends the events of all streams at the same instants, as an engine does that computes a batch step by step")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: loadbench takes flags only", flags.Arg(0))
	}
	if o.short {
		o.window, o.repeat = time.Second, 1
	}
	rows, err := o.rows()
	if err != nil {
		return err
	}
	if o.repeat < 1 || o.window <= 0 {
		return fmt.Errorf("--repeat %d and --window %v must be above 0", o.repeat, o.window)
	}
	if err := bind(o.cpus); err != nil {
		return fmt.Errorf("--cpus %d: %w", o.cpus, err)
	}
	b := &bencher{options: o, stderr: stderr}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	r, err := b.all(ctx, rows)
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	var page strings.Builder
	r.print(&page)
	_, err = io.WriteString(stdout, page.String())
	return err
}
