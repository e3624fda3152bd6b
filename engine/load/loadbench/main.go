// Command loadbench measures the measuring client: what it costs, how far its
// times are off, and where it saturates, beside a plain reader of the same bytes
// (the floor). The server is engine/load/mock, which records when it really sent
// each event.
//
//	go run ./engine/load/loadbench            the whole table
//	go run ./engine/load/loadbench --short    a minute of it
//
// Server, client and floor are separate processes (this program in another
// role), so the CPU time and memory of each can be told apart. They share the
// CPUs that the program may use: taskset -c 0,1 before the command gives all of
// them two.
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
	"strconv"
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

// Roles of this program when it runs itself again, as its first argument.
const (
	roleMock   = "role-mock"
	roleClient = "role-client"
	roleFloor  = "role-floor"
	// roleClock is roleFloor with a clock: its errors are the machine's.
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

// play reads a job, runs it, and writes the outcome.
func play(ctx context.Context, role func(context.Context, job) (outcome, error), stdin io.Reader, stdout io.Writer) error {
	var j job
	if err := json.NewDecoder(stdin).Decode(&j); err != nil {
		return fmt.Errorf("no job on standard input: %w", err)
	}
	o, err := role(ctx, j)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(o)
}

func bench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b := bencher{rows: grid, saturates: true, stderr: stderr}
	flags := flag.NewFlagSet("loadbench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	short := flags.Bool("short", false, "a few rows, each once for one second")
	asJSON := flags.Bool("json", false, "print one JSON document instead of the table")
	flags.IntVar(&b.repeat, "repeat", 3, "repetitions of client and floor per row, in turn; medians are shown")
	flags.DurationVar(&b.window, "window", 3*time.Second, "how long to measure each row at full load")
	flags.BoolVar(&b.batched, "batched", false, "send the events of all streams at the same instants, as a batching engine does")
	own := flags.String("grid", "", "rows as STREAMSxRATE,…, such as 1x10,100x50, without the search for saturation; empty runs the whole table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: loadbench only takes flags", flags.Arg(0))
	}
	if *short {
		b.rows, b.window, b.repeat = shortGrid, time.Second, 1
	}
	var err error
	if *own != "" {
		b.saturates = false
		if b.rows, err = parseGrid(*own); err != nil {
			return err
		}
	}
	if b.repeat < 1 || b.window <= 0 {
		return fmt.Errorf("--repeat %d and --window %v must be greater than 0", b.repeat, b.window)
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	r, err := b.all(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	return r.print(stdout)
}

// maxStreams is limited by the ports of one address.
const maxStreams = 20000

func parseGrid(text string) (rows []row, err error) {
	for text := range strings.SplitSeq(text, ",") {
		streams, rate, _ := strings.Cut(text, "x")
		n, err := strconv.Atoi(streams)
		each, err2 := strconv.ParseFloat(rate, 64)
		if err != nil || err2 != nil || n < 1 || n > maxStreams || !(each >= 0.1 && each <= 1e5) {
			return nil, fmt.Errorf("--grid has %q: write STREAMSxRATE, such as 100x50, with 1 to %d streams of 0.1 to 100000 events per second", text, maxStreams)
		}
		rows = append(rows, row{Streams: n, Rate: each})
	}
	return rows, nil
}
