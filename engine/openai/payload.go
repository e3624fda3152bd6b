package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
)

// payload is the body of a request that lets go of its bytes once they are
// sent. net/http keeps a request for as long as its answer takes, and the
// prompts of two thousand long answers need not lie in memory meanwhile.
type payload struct {
	mu   sync.Mutex
	text []byte
}

// sendOnce gives a request its body. As long as forget was not called it can be
// sent again, on a connection that the server did not close in that moment.
func sendOnce(req *http.Request, text []byte) {
	p := &payload{text: text}
	req.ContentLength = int64(len(text))
	req.Body, _ = p.open()
	req.GetBody = p.open
}

func (p *payload) open() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == nil {
		return nil, errors.New("the request cannot be sent again: its answer has begun")
	}
	return &sending{payload: p, r: bytes.NewReader(p.text)}, nil
}

// forget lets go of a request's body, whose answer has begun.
func forget(req *http.Request) {
	if s, ok := req.Body.(*sending); ok {
		s.payload.mu.Lock()
		s.payload.text = nil
		s.payload.mu.Unlock()
	}
}

// sending is one try to send a payload.
type sending struct {
	payload *payload
	mu      sync.Mutex // the transport may close while it reads
	r       *bytes.Reader
}

func (s *sending) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	return s.r.Read(b)
}

func (s *sending) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r = nil
	return nil
}
