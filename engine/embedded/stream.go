package embedded

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// eventWriter writes server-sent events and flushes each one, so that a
// client's clock sees every token when it is made.
type eventWriter struct {
	w         http.ResponseWriter
	flusher   *http.ResponseController
	malformed bool
	buffer    bytes.Buffer
}

func (e *eventWriter) send(event any) error {
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	if e.malformed {
		body = body[:len(body)/2]
	}
	return e.sendRaw(body)
}

func (e *eventWriter) sendRaw(body []byte) error {
	e.buffer.Reset()
	e.buffer.WriteString("data: ")
	e.buffer.Write(body)
	e.buffer.WriteString("\n\n")
	if _, err := e.w.Write(e.buffer.Bytes()); err != nil {
		return err
	}
	return e.flusher.Flush()
}

// stream answers with one event a step, which is one token, or several where
// drafted ones were right. Chat streams open with the role, as
// vLLM's do. After the last token comes, on request, an event with the usage
// and no choice, and always [DONE].
func (s *server) stream(engine *scheduler, d dialect, g generation, options *streamOptions, frame completion, w http.ResponseWriter, r *http.Request) error {
	if options == nil {
		options = &streamOptions{}
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	events := &eventWriter{w: w, flusher: http.NewResponseController(w), malformed: s.config.Faults.Malformed}
	send := func(c onlyChoice, cached, count int) error {
		frame.Choices = []onlyChoice{c}
		frame.Usage = nil
		if options.ContinuousUsageStats {
			frame.Usage = g.usage(cached, count)
		}
		return events.send(frame)
	}
	var last piece
	err := engine.generate(r.Context(), g, func(p piece) error {
		if d.chat && last.count == 0 {
			if err := send(roleChoice(), p.cached, 0); err != nil {
				return err
			}
		}
		last = p
		return send(d.eventChoice(p), p.cached, p.count)
	})
	if err != nil {
		if r.Context().Err() == nil {
			_ = events.send(map[string]any{"error": map[string]any{"message": err.Error(), "type": "InternalServerError", "code": 500}})
		}
		return abortReason(r.Context(), err)
	}
	if options.IncludeUsage {
		frame.Choices, frame.Usage = []onlyChoice{}, g.usage(last.cached, last.count)
		if err := events.send(frame); err != nil {
			return err
		}
	}
	return events.sendRaw([]byte("[DONE]"))
}
