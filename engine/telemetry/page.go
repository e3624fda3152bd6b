package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// pollLimit bounds one reading of the engine's page, markLimit one at the edge
	// of a cell, maxPage its size in bytes.
	pollLimit = 2 * time.Second
	markLimit = 5 * time.Second
	maxPage   = 8 << 20
	// share is the inverse of the part of the time that readings may take, slowest
	// the longest time that passes between two all the same.
	share   = 10
	slowest = 2 * time.Second
)

// pageReader reads an engine's page of metrics.
type pageReader struct {
	Page
	tape   *tape
	client *http.Client
	// reading is held while a page is read: one at a time.
	reading chan struct{}

	mu    sync.Mutex
	found *pageLines
	// pages is how many were read, and absent that the engine has none.
	pages  int
	absent bool
}

// noPage is the answer of an engine that has no page of metrics.
type noPage struct{ status string }

func (e *noPage) Error() string { return "it answered " + e.status }

func newPageReader(p Page, t *tape) *pageReader {
	if p.Every <= 0 {
		p.Every = 250 * time.Millisecond
	}
	return &pageReader{Page: p, tape: t, client: ownClient(p.Client), reading: make(chan struct{}, 1), found: newPageLines(p.Names)}
}

// ownClient has one connection that is kept and is used for nothing else, and
// follows no redirect, since those may lead away from the engine. Pages are not
// compressed: that would cost the engine more than it saves.
func ownClient(like *http.Client) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if like != nil {
		switch given := like.Transport.(type) {
		case *http.Transport:
			transport = given.Clone()
		case nil:
		default: // not ours to take apart
			own.Transport = given
			return own
		}
	}
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = 1, 1, 1
	transport.DisableCompression, transport.DisableKeepAlives = true, false
	own.Transport = transport
	return own
}

// run reads the page every so often until ctx ends.
func (p *pageReader) run(ctx context.Context) {
	for {
		took := p.read(ctx, pollLimit)
		if ctx.Err() != nil || p.gone() || !sleep(ctx, min(max(p.Every, took*share), max(p.Every, slowest))) {
			return
		}
	}
}

// gone reports whether the engine turned out to have no page.
func (p *pageReader) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.absent
}

// read takes one reading, after one that is under way, and returns how long it
// took. What stood on the page is taken to have been so in the middle of that
// time.
func (p *pageReader) read(ctx context.Context, limit time.Duration) time.Duration {
	if p.gone() {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p.reading <- struct{}{}:
		defer func() { <-p.reading }()
	case <-ctx.Done():
		return 0
	}
	start := time.Now()
	text, err := p.get(ctx)
	took := time.Since(start)
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []pageLine
	if err == nil {
		lines, err = p.found.read(text)
	}
	var none *noPage
	switch {
	case err == nil:
		p.pages++
		p.found.keep(start.Add(took/2), lines)
	case errors.Is(ctx.Err(), context.Canceled): // watching has ended
	case errors.As(err, &none) && p.pages == 0 && !p.absent:
		p.absent = true
		text := "the engine has no page of metrics: " + p.path() + " answered " + none.status
		if len(p.Needs) > 0 {
			text += "; it has one when it is started with " + strings.Join(p.Needs, " ")
		}
		p.tape.tell("page", "%s", text)
	case errors.As(err, &none) && p.absent: // two readings at once, and it is told
	default:
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %s", limit)
		}
		p.tape.tell("page", "the engine's page of metrics could not be read at %.1f s: GET %s: %v", start.Sub(p.tape.zero).Seconds(), p.URL, err)
	}
	return took
}

// path is the page's without the port, which is another at each launch.
func (p *pageReader) path() string {
	if u, err := url.Parse(p.URL); err == nil && u.Path != "" {
		return u.Path
	}
	return p.URL
}

// get asks for the page.
func (p *pageReader) get(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range p.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := p.client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // the address is said already
		}
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusNotImplemented:
		return nil, &noPage{resp.Status}
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %s", resp.Status)
	case err != nil:
		return nil, fmt.Errorf("it broke off: %w", err)
	case len(text) > maxPage:
		return nil, fmt.Errorf("it is larger than %d MiB", maxPage>>20)
	}
	return text, nil
}

// finish puts everything that was read on the tape, once nothing reads any more.
func (p *pageReader) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client.CloseIdleConnections()
	p.found.put(p.tape)
	if names := p.found.absent(); p.pages > 0 && len(names) > 0 {
		p.tape.tell("absent", "the engine's page of metrics never had: %s", strings.Join(names, ", "))
	}
}

// printable is the beginning of foreign text, for a message.
func printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text[:min(len(text), 60)]), "?"))
}
