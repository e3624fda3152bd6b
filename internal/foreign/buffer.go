package foreign

import (
	"strings"
	"sync"

	"github.com/mxflow/mxflow/internal/redact"
)

// Head keeps the first Limit bytes of what is written to it and discards the rest, so
// a command's output is bounded. It is safe for concurrent use.
type Head struct {
	Limit int

	mu   sync.Mutex
	text []byte
	over bool
}

func (h *Head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(len(p), h.Limit-len(h.text))
	h.text, h.over = append(h.text, p[:n]...), h.over || n < len(p)
	return len(p), nil
}

// Bytes is what was kept, and whether there was more.
func (h *Head) Bytes() (text []byte, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text[:len(h.text):len(h.text)], h.over
}

// Tail keeps the last Limit bytes of what is written to it. It is safe for concurrent use.
type Tail struct {
	Limit int

	mu   sync.Mutex
	text []byte
	cut  bool
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - t.Limit; over > 0 {
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
	return len(p), nil
}

// String is the text without white space around it, without what begins inside a secret.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(t.text), "")
	if t.cut {
		text = redact.ProcessSecrets().WithoutCutStart(text)
	}
	return strings.TrimSpace(text)
}
