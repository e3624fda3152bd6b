package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// childStart is how long a child may take to listen, childStop how long to end.
	childStart, childStop = 10 * time.Second, 2 * time.Second
	maxSaid               = 4 << 10
)

// childEnv marks the process of a mock.
const childEnv = "MXFLOW_MOCK_SERVER"

// Child is a mock in its own process.
type Child struct {
	// URL is the server's address, without a path.
	URL string

	cmd    *exec.Cmd
	stdin  io.Closer
	stderr boundedBuffer
	once   sync.Once
}

// StartChild starts a command that runs Main, with this process's environment plus env,
// and waits until it listens. It ends with Stop, and when this process ends for whatever
// reason. If ctx ends before it listens it is stopped as well.
func StartChild(ctx context.Context, command []string, env ...string) (*Child, error) {
	if len(command) == 0 {
		return nil, errors.New("no command to start the mock server")
	}
	// A program that starts itself for the role but does not know the role would do so
	// forever.
	if os.Getenv(childEnv) != "" {
		return nil, fmt.Errorf("this process is a mock server (%s is set) and cannot start another", childEnv)
	}
	c := &Child{cmd: exec.Command(command[0], command[1:]...)}
	c.cmd.Env, c.cmd.Stderr, c.cmd.WaitDelay = append(append(os.Environ(), env...), childEnv+"=1"), &c.stderr, childStop
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the mock server: %w", err)
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(io.LimitReader(stdout, maxSaid)).ReadString('\n')
		line <- text
	}()
	ctx, cancel := context.WithTimeout(ctx, childStart)
	defer cancel()
	select {
	case text := <-line:
		at, ok := strings.CutPrefix(strings.TrimSpace(text), announcement)
		if ok {
			c.URL = at
			return c, nil
		}
		err = fmt.Errorf("the mock server (%s) printed %q instead of its address", strings.Join(command, " "), text)
	case <-ctx.Done():
		err = fmt.Errorf("the mock server (%s) is not listening: %w", strings.Join(command, " "), context.Cause(ctx))
	}
	c.Stop()
	if said := strings.TrimSpace(c.stderr.String()); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return nil, err
}

// Stop ends the process and waits for it: first by closing its input, after two seconds
// by force.
func (c *Child) Stop() {
	c.once.Do(func() {
		_ = c.stdin.Close()
		force := time.AfterFunc(childStop, func() { _ = c.cmd.Process.Kill() })
		defer force.Stop()
		_ = c.cmd.Wait()
	})
}

// Truths asks a mock at a URL for the answers with an id that have ended, or
// for all of them.
func Truths(ctx context.Context, base, id string) ([]Truth, error) {
	resp, err := ask(ctx, http.MethodGet, base+"/truth?id="+url.QueryEscape(id))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s/truth: %s", base, resp.Status)
	}
	return readTruths(resp.Body)
}

// Forget makes a mock at a URL forget the answers that have ended.
func Forget(ctx context.Context, base string) error {
	resp, err := ask(ctx, http.MethodDelete, base+"/truth")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// ask uses its own connection and closes it.
func ask(ctx context.Context, method, at string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return nil, err
	}
	r.Close = true
	return (&http.Client{Transport: &http.Transport{}}).Do(r)
}

// boundedBuffer keeps the start of what is written to it.
type boundedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *boundedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p[:min(len(p), maxSaid-l.b.Len())])
	return len(p), nil
}

func (l *boundedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Main is the mock as a program: it serves until ctx or its input ends. The input is a
// pipe of its parent, so it ends with its parent even if that is killed. The first line
// on stdout is "listening URL".
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	c := Config{}
	flags := flag.NewFlagSet("mock", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.Address, "address", "127.0.0.1:0", "address to listen on; port 0 chooses a free one")
	flags.StringVar(&c.Model, "model", "mock", "name of the model")
	flags.IntVar(&c.Wheels, "wheels", 0, "sending goroutines; 0 is one per two processors")
	flags.Int64Var(&c.Pacing.TTFT, "ttft-us", 50_000, "default time to the first token, µs")
	flags.Int64Var(&c.Pacing.ITL, "itl-us", 10_000, "default time between events, µs")
	flags.Int64Var(&c.Pacing.Jitter, "jitter-us", 0, "default maximum random delay of events, µs")
	flags.IntVar(&c.Pacing.PerEvent, "tokens-per-event", 1, "default tokens per event")
	flags.IntVar(&c.Pacing.Tokens, "tokens", 0, "default tokens per answer; 0 uses max_tokens")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: the mock only takes flags", flags.Arg(0))
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
	// A wheel that waits in the kernel occupies a processor of Go's scheduler for up to
	// 10 ms; the connections must not wait for it.
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

// announcement precedes the URL on the first line.
const announcement = "listening "

// ProcessorTime is the processor time of this process, in the kernel and outside. It is 0
// if the system does not report it.
func ProcessorTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
