package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
)

// tool is another program that measures engines.
type tool struct {
	name, program string
	// arguments for one run that writes its result to a file.
	arguments func(p place, tokens int, out string) []string
	// read takes the means out of that file.
	read func(text []byte) (reported, error)
}

// place is where a tool runs, and with what.
type place struct {
	url, book, tokenizer string
	streams              int
}

// reported is what a tool says, in ms: of the time to the first token, and of
// the time between tokens.
type reported struct {
	TTFT    float64 `json:"ttft_ms"`
	TTFTp99 float64 `json:"ttft_p99_ms"`
	ITL     float64 `json:"itl_ms"`
}

// peer is a tool beside the truth and beside the client, at one load.
type peer struct {
	Tool     string   `json:"tool"`
	Streams  int      `json:"streams"`
	Rate     float64  `json:"rate"`
	Reported reported `json:"reported"`
	Truth    reported `json:"truth"`
	// CPU is processor time for each event, µs: the difference between a long and
	// a short run, by their difference in events, so that starting up and making
	// prompts are left out.
	CPU float64 `json:"cpu_us_per_event"`
	// Client is that of the measuring client at the same load, and Ratio how many
	// times as much the tool takes.
	Client float64 `json:"client_cpu_us_per_event"`
	Ratio  float64 `json:"ratio"`
}

// peerLoads are what tools are measured at; the long runs of a tool last so long.
var (
	peerLoads      = []row{{Streams: 100, Rate: 50}, {Streams: 500, Rate: 40}}
	shortPeerLoads = []row{{Streams: 20, Rate: 50}}
)

const (
	peerLong, peerShort = 8 * time.Second, time.Second
	peerLimit           = 10 * time.Minute
)

// measurePeers does nothing where no tool is named.
func (b *bencher) measurePeers(ctx context.Context, r *result) error {
	loads := peerLoads
	if b.short {
		loads = shortPeerLoads
	}
	for _, t := range b.tools() {
		for _, load := range loads {
			fmt.Fprintf(b.stderr, "%s: %d streams of %g events/s\n", t.name, load.Streams, load.Rate)
			one, err := b.peer(ctx, t, load)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			r.Peers = append(r.Peers, one)
		}
	}
	return nil
}

// peer measures a tool at a load, and then the client at the same.
func (b *bencher) peer(ctx context.Context, t tool, load row) (peer, error) {
	p := peer{Tool: t.name, Streams: load.Streams, Rate: load.Rate}
	dir, err := os.MkdirTemp("", "loadbench")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	if err := writeTokenizer(dir); err != nil {
		return p, err
	}
	book, stop, err := serveBook()
	if err != nil {
		return p, err
	}
	defer stop()
	server, err := mock.StartChild(ctx, []string{
		b.self, roleMock, "--ttft-us", fmt.Sprint(firstToken.Microseconds()), "--itl-us", fmt.Sprint(int64(1e6 / load.Rate)),
	}, b.env...)
	if err != nil {
		return p, err
	}
	defer server.Stop()
	at := place{url: server.URL, book: book, tokenizer: dir, streams: load.Streams}
	var used [2]time.Duration
	var events [2]int
	for i, length := range []time.Duration{peerShort, peerLong} {
		tokens := int(length.Seconds() * load.Rate)
		if used[i], err = t.run(ctx, at, tokens, dir); err != nil {
			return p, err
		}
		truths, err := mock.Truths(ctx, server.URL, "")
		if err != nil {
			return p, err
		}
		if err := mock.Forget(ctx, server.URL); err != nil {
			return p, err
		}
		if p.Truth, events[i] = truth(truths, tokens); events[i] < tokens*load.Streams {
			return p, fmt.Errorf("it was sent %d events in answers of %d tokens, and %d were planned", events[i], tokens, tokens*load.Streams)
		}
		text, err := os.ReadFile(filepath.Join(dir, "result.json"))
		if err != nil {
			return p, err
		}
		if p.Reported, err = t.read(text); err != nil {
			return p, err
		}
	}
	p.CPU = float64((used[1] - used[0]).Nanoseconds()) / 1e3 / float64(events[1]-events[0])
	own, err := b.row(ctx, load, false)
	if err != nil {
		return p, err
	}
	if p.Client = own.Client.CPU; p.Client > 0 {
		p.Ratio = p.CPU / p.Client
	}
	return p, nil
}

// run runs a tool and returns the processor time of it and of the processes
// that it waited for.
func (t tool) run(ctx context.Context, at place, tokens int, dir string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	words := strings.Fields(t.program)
	if len(words) == 0 {
		return 0, errors.New("no program")
	}
	out := filepath.Join(dir, "result.json")
	_ = os.Remove(out)
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], t.arguments(at, tokens, out)...)...)
	// Nothing is to be downloaded, and nothing kept in the user's folders.
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HOME="+dir, "NO_COLOR=1")
	cmd.WaitDelay = time.Minute
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", cmd, err, last(said.String(), 2000))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func last(s string, n int) string { return strings.TrimSpace(s[max(0, len(s)-n):]) }
