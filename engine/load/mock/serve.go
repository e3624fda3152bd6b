package mock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// maxBody bounds a request.
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
			_ = plain(conn, http.StatusBadRequest, "text/plain", []byte("no HTTP request: "+err.Error()+"\n"))
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
		// The last byte counts: a client may take its time between the head and the
		// body of a request.
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
	if status == http.StatusNoContent { // RFC 9110, 8.6: no length where there can be no body
		head = fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	}
	if kind != "" {
		head = fmt.Appendf(head, "Content-Type: %s\r\n", kind)
	}
	_, err := conn.Write(append(append(head, "\r\n"...), body...))
	return err
}
