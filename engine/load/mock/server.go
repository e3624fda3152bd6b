// Package mock is a server of the OpenAI streaming API with known times: each request
// says how its answer is paced, and the server records when it really sent each event.
// The measuring client is measured against it. It knows no model and no metrics;
// Calibrate compares what a client saw with what was sent, and Verdict decides whether
// that is good enough.
//
// It serves HTTP/1.1 from its own loop over net/http's request parser. The server of
// net/http costs more per event than the client under measurement, and here both share
// the CPUs.
package mock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Config is a server's configuration.
type Config struct {
	// Address to listen on; empty is a free port of 127.0.0.1.
	Address string
	// Model is the name of the only model; empty is "mock".
	Model string
	// Pacing is used if a request has none.
	Pacing Pacing
	// Wheels is how many goroutines send; 0 is one per two processors.
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
			time.Sleep(10 * time.Millisecond) // temporarily out of descriptors
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

// maxBody limits a request.
const maxBody = 64 << 20

// serve answers the requests of one connection, one after the other.
func (s *Server) serve(conn *net.TCPConn) {
	in := bufio.NewReaderSize(conn, 4<<10)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		r, err := http.ReadRequest(in)
		if err != nil {
			_ = plain(conn, http.StatusBadRequest, "text/plain", []byte("not an HTTP request: "+err.Error()+"\n"))
			return
		}
		if r.Header.Get("Expect") == "100-continue" {
			_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
		if err != nil {
			_ = plain(conn, http.StatusRequestEntityTooLarge, "text/plain", []byte(err.Error()+"\n"))
			return
		}
		// The last byte counts: a client may pause between the head and the body of a
		// request.
		if err := s.route(conn, r, body, s.clock.Now()); err != nil || r.Close {
			return
		}
	}
}

// route answers one request. An error ends the connection.
func (s *Server) route(conn *net.TCPConn, r *http.Request, body []byte, arrival int64) error {
	switch r.Method + " " + r.URL.Path {
	case "POST /v1/completions":
		return s.generate(conn, false, body, arrival)
	case "POST /v1/chat/completions":
		return s.generate(conn, true, body, arrival)
	case "GET /v1/models":
		return answerJSON(conn, http.StatusOK, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": s.config.Model, "object": "model", "created": 1767225600, "owned_by": "mxflow-mock", "max_model_len": maxTokens},
		}})
	case "GET /health":
		return plain(conn, http.StatusOK, "text/plain", nil)
	case "GET /metrics":
		return plain(conn, http.StatusOK, "text/plain; version=0.0.4", fmt.Appendf(nil,
			"# TYPE mxflow_mock:num_requests_running gauge\nmxflow_mock:num_requests_running %d\n"+
				"# TYPE mxflow_mock:requests_total counter\nmxflow_mock:requests_total %d\n", s.running.Load(), s.ids.Load()))
	case "GET /truth":
		var lines bytes.Buffer
		if err := s.truths.write(&lines, r.URL.Query().Get("id")); err != nil {
			return err
		}
		return plain(conn, http.StatusOK, "application/x-ndjson", lines.Bytes())
	case "DELETE /truth":
		s.truths.clear()
		return plain(conn, http.StatusNoContent, "", nil)
	}
	return refuse(conn, http.StatusNotFound, fmt.Errorf("%s %s: the mock has no such page", r.Method, r.URL.Path))
}

// generate answers a request for text.
func (s *Server) generate(conn *net.TCPConn, chat bool, body []byte, arrival int64) error {
	q := question{Mock: s.config.Pacing}
	if err := q.read(body, chat); err != nil {
		return refuse(conn, http.StatusBadRequest, err)
	}
	id := s.ids.Add(1)
	if q.Mock.ID == "" {
		q.Mock.ID = q.name(id)
	}
	s.running.Add(1)
	defer s.running.Add(-1)
	if !q.Stream {
		return s.whole(conn, chat, &q, id, arrival)
	}
	f := s.frames.get(look{
		model: s.config.Model, chat: chat, perEvent: q.Mock.PerEvent,
		usage: q.Options.Usage, continuous: q.Options.Continuous,
	})
	a, err := newAnswer(conn, f, q.Mock, arrival)
	if err != nil {
		return err
	}
	a.id, a.prompt, a.record = id, q.tokens, s.truths.add
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"+
		"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		return err
	}
	s.wheels[id%uint64(len(s.wheels))].add(a)
	return <-a.ended
}

// whole answers a request that does not stream, when the stream would have ended.
func (s *Server) whole(conn *net.TCPConn, chat bool, q *question, id uint64, arrival int64) error {
	plan := q.Mock.schedule(arrival)
	timer := time.NewTimer(time.Duration(plan.due(q.Mock.events()-1) - s.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stop:
		return errStopped
	}
	now := s.clock.Now()
	s.truths.add(Truth{ID: q.Mock.ID, Arrival: arrival, Sent: []int64{now}, Tokens: q.Mock.Tokens, PerEvent: q.Mock.Tokens})
	var text bytes.Buffer
	for i := range q.Mock.Tokens {
		text.WriteString([]string{" the", " quick", " brown", " fox"}[i%4])
	}
	choice, object := map[string]any{"index": 0, "text": text.String(), "finish_reason": "length"}, "text_completion"
	if chat {
		choice, object = map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": text.String()}, "finish_reason": "length"}, "chat.completion"
	}
	return answerJSON(conn, http.StatusOK, map[string]any{
		"id": fmt.Sprintf("cmpl-%016x", id), "object": object, "created": 1767225600, "model": s.config.Model, "choices": []any{choice},
		"usage": map[string]any{"prompt_tokens": q.tokens, "completion_tokens": q.Mock.Tokens, "total_tokens": q.tokens + q.Mock.Tokens},
	})
}

func refuse(conn net.Conn, status int, err error) error {
	return answerJSON(conn, status, map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error", "code": status}})
}

func answerJSON(conn net.Conn, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return plain(conn, status, "application/json", text)
}

func plain(conn net.Conn, status int, kind string, body []byte) error {
	head := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), len(body))
	if status == http.StatusNoContent { // RFC 9110, 8.6: no length if there can be no body
		head = fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	}
	if kind != "" {
		head = fmt.Appendf(head, "Content-Type: %s\r\n", kind)
	}
	_, err := conn.Write(append(append(head, "\r\n"...), body...))
	return err
}

// question is a request for text, as far as the mock needs it.
type question struct {
	Prompt   json.RawMessage `json:"prompt"`
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	MaxTokens     int  `json:"max_tokens"`
	MaxCompletion int  `json:"max_completion_tokens"`
	Stream        bool `json:"stream"`
	Options       struct {
		Usage      bool `json:"include_usage"`
		Continuous bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	Mock Pacing `json:"mock"`

	// text is the prompt, or the last message, and tokens the length of all.
	text   string
	tokens int
}

const (
	// longestName limits the prompts that name their answer.
	longestName = 64
	// bytesPerToken is an estimate like engine/load's: nobody measures the mock's
	// prompts.
	bytesPerToken = 4
)

// read fills q, whose Mock holds the defaults.
func (q *question) read(body []byte, chat bool) error {
	if err := json.Unmarshal(body, q); err != nil {
		return fmt.Errorf("the body is not a JSON request: %w", err)
	}
	texts := []json.RawMessage{q.Prompt}
	if chat {
		texts = nil
		for _, m := range q.Messages {
			texts = append(texts, m.Content)
		}
	}
	for _, raw := range texts {
		var ids []int
		switch {
		case json.Unmarshal(raw, &q.text) == nil:
			q.tokens += (len(q.text) + bytesPerToken - 1) / bytesPerToken
		case json.Unmarshal(raw, &ids) == nil:
			q.tokens += len(ids)
		default: // a list of texts, or of parts of a message
			q.tokens += len(raw) / bytesPerToken
		}
	}
	if q.tokens == 0 {
		return fmt.Errorf("the request has no prompt: add prompt, or messages for a chat")
	}
	for _, tokens := range []int{q.MaxCompletion, q.MaxTokens, defaultTokens} {
		if q.Mock.Tokens == 0 {
			q.Mock.Tokens = tokens
		}
	}
	return q.Mock.check()
}

// name is the answer's name in Truth if the request has none.
func (q *question) name(id uint64) string {
	if q.text != "" && len(q.text) <= longestName {
		return q.text
	}
	return fmt.Sprintf("cmpl-%016x", id)
}
