// Package mock is a server of the OpenAI streaming API whose times are known:
// each request says how its answer is paced, and the server records when it
// really sent each event. Against it the measuring client is measured. It knows
// no model and no metrics; Calibrate compares what a client saw with what was
// sent, and Verdict says whether that is good enough.
//
// It serves HTTP/1.1 from its own loop over net/http's parser of requests. The
// server of net/http costs more for an event than the client that is to be
// measured, and here both share the processors.
package mock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a server is made with.
type Config struct {
	// Address to listen on; empty is a free port of 127.0.0.1.
	Address string
	// Model is the name of the only model; empty is "mock".
	Model string
	// Pacing is used where requests do not say.
	Pacing Pacing
	// Wheels is how many goroutines send; 0 is one for each two processors.
	Wheels int
}

// Server is a running mock.
type Server struct {
	config   Config
	clock    Clock
	listener net.Listener
	frames   frameCache
	truths   truths
	wheels   []*wheel

	ids     atomic.Uint64 // answers begun
	running atomic.Int64  // answers not ended

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	stop   chan struct{} // closed with closed
	all    sync.WaitGroup
}

// Start listens and serves until Close.
func Start(c Config) (*Server, error) {
	if c.Address == "" {
		c.Address = "127.0.0.1:0"
	}
	if c.Model == "" {
		c.Model = "mock"
	}
	if c.Wheels <= 0 {
		c.Wheels = max(1, runtime.NumCPU()/2)
	}
	c.Pacing.PerEvent = max(c.Pacing.PerEvent, 1)
	clock, err := NewClock()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, clock: clock, conns: map[net.Conn]struct{}{}, stop: make(chan struct{})}
	for range c.Wheels {
		w, err := newWheel(clock)
		if err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("the mock server has no timer: %w", err)
		}
		s.wheels = append(s.wheels, w)
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", c.Address); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("the mock server cannot listen: %w", err)
	}
	s.all.Add(1)
	go s.accept()
	return s, nil
}

// URL is the server's address, without a path.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

func (s *Server) accept() {
	defer s.all.Done()
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors, for a while
			continue
		}
		if !s.keep(conn) {
			conn.Close()
			return
		}
		go func() {
			defer s.all.Done()
			defer s.forget(conn)
			s.serve(conn.(*net.TCPConn))
		}()
	}
}

func (s *Server) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[conn] = struct{}{}
	s.all.Add(1)
	return true
}

func (s *Server) forget(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
	conn.Close()
}

// Close ends all answers and connections and waits until nothing runs.
func (s *Server) Close() error {
	var err error
	if s.listener != nil {
		err = s.listener.Close()
	}
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
	}
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	for _, w := range s.wheels {
		w.close()
	}
	s.all.Wait()
	return err
}
