package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"github.com/viterin/vek"
)

// shutdownGrace is how long a stop waits for handlers to return. Their
// contexts are cancelled at once, so only a client that does not read its
// answer makes it matter.
const shutdownGrace = 500 * time.Millisecond

// Serve is `mxflow engine serve`: it parses args and environment, listens,
// constructs the model and answers until ctx ends, which is a clean stop and
// returns nil. The log goes to stderr, help to stdout.
func Serve(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	config, err := ParseConfig(args, env, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return serve(ctx, config, stderr, os.Exit, nil)
}

// serve runs a parsed configuration. exit ends the process in the crash fault;
// listening, when not nil, hears the address.
func serve(ctx context.Context, config Config, stderr io.Writer, exit func(int), listening func(net.Addr)) error {
	log := &lineLog{out: stderr}
	listener, err := net.Listen("tcp", net.JoinHostPort(config.Host, strconv.Itoa(config.Port)))
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	fmt.Fprintf(log, "[embedded] version %s, vectors: %s\n", Version, vectorBackend())
	fmt.Fprintf(log, "[embedded] listening on http://%s\n", listener.Addr())
	if listening != nil {
		listening(listener.Addr())
	}
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newServer(config, log)
	web := &http.Server{
		Handler:           s.handler(),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          stdlog.New(log, "[embedded] http: ", 0),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	if err := s.load(exit); err != nil {
		_ = web.Close()
		<-served
		return err
	}
	select {
	case err = <-served:
		return fmt.Errorf("the HTTP server ended: %w", err)
	case <-ctx.Done():
	}
	fmt.Fprintf(log, "[embedded] stopping\n")
	grace, done := context.WithTimeout(context.Background(), shutdownGrace)
	defer done()
	if web.Shutdown(grace) != nil {
		_ = web.Close()
	}
	<-served
	fmt.Fprintf(log, "[embedded] stopped\n")
	return nil
}

// load constructs the model and opens the API.
func (s *server) load(exit func(int)) error {
	faults := s.config.Faults
	if faults.OOM {
		fmt.Fprintf(s.log, "[embedded] ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1.00 GiB of which 0.12 GiB is free. (fault oom)\n")
		return errors.New("loading failed: out of memory (fault oom)")
	}
	m, err := newModel(s.config, s.log)
	if err != nil {
		return fmt.Errorf("loading failed: %w", err)
	}
	fmt.Fprintf(s.log, "[embedded] Model loading took %.4f GiB and %.3f seconds\n", float64(m.weights.bytes())/(1<<30), time.Since(s.started).Seconds())
	if s.config.KVCache {
		perToken := 2 * m.shape.layers * m.shape.kvDims() * 4 // keys and values in float32
		fmt.Fprintf(s.log, "[embedded] KV cache size: %d tokens (%d bytes a token)\n", s.config.MaxNumSeqs*s.config.MaxModelLen, perToken)
	} else {
		fmt.Fprintf(s.log, "[embedded] KV cache disabled\n")
	}
	if s.config.PrefixCache {
		fmt.Fprintf(s.log, "[embedded] Prefix cache size: %d tokens\n", s.config.PrefixCacheTokens/blockTokens*blockTokens)
	}
	if faults.NeverReady {
		fmt.Fprintf(s.log, "[embedded] WARNING staying unready (fault never_ready)\n")
		return nil
	}
	s.engine.Store(newScheduler(m, s.log, exit))
	fmt.Fprintf(s.log, "[embedded] Application startup complete.\n")
	return nil
}

func vectorBackend() string {
	if vek.Info().Acceleration {
		return "vek AVX2"
	}
	return "vek pure Go"
}

// lineLog serialises the lines of concurrent requests.
type lineLog struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}
