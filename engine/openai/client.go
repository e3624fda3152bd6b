// Package openai knows how to talk to an engine that serves the OpenAI HTTP
// API, and how to watch an answer arrive: it streams one request and keeps the
// time of every event. It refuses to know what the times mean (that is
// engine/measure), which requests to send and when (engine/load), and how the
// engine was started. It retries nothing, because a retried request is a
// different measurement, with two exceptions: how usage is asked for is
// negotiated in the open (Usage), and a request that went out on a kept
// connection which the server was closing goes out on another (send).
package openai

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Client talks to one engine. It is safe for concurrent use; its fields are set
// before the first call.
type Client struct {
	// BaseURL is the root of the API, without a trailing slash and without /v1.
	BaseURL string
	// Model is the name asked for in requests. Empty asks the engine, once, and
	// takes the first model that it lists.
	Model string
	// HTTP makes the requests. New tunes it for measuring.
	HTTP *http.Client
	// Header is sent with every request (Authorization); nil sends none.
	Header http.Header
	// Extra are fields that this engine's requests for text have beside the usual
	// ones, such as one that keeps prompts out of its cache. A name that is
	// usual must not be among them.
	Extra map[string]any
	// Rename are the members of a request that this engine calls otherwise, by
	// the names that vLLM and SGLang have for them: llama-server says
	// repeat_penalty where they say repetition_penalty.
	Rename map[string]string
	// Tokenizer is how this engine counts the tokens of a text; the zero value is
	// POST /tokenize in the words of vLLM, SGLang and llama-server.
	Tokenizer Tokenizer

	// mode is the UsageMode that the engine is known to accept.
	mode atomic.Int32
	// listed is the model's name as the engine gave it.
	listed atomic.Pointer[string]
}

// New returns a client for the API at baseURL. A trailing slash or /v1 is
// removed from it.
func New(baseURL, model string) *Client {
	baseURL = strings.TrimRight(baseURL, "/")
	baseURL = strings.TrimRight(strings.TrimSuffix(baseURL, "/v1"), "/")
	return &Client{BaseURL: baseURL, Model: model, HTTP: newHTTP()}
}

// newHTTP tunes a client for measuring. HTTP/1.1 gives every stream its own
// connection, so that one stream's flow control or lost packet cannot delay
// another's events, and so that the engine's own HTTP server is met the way most
// of its users meet it. Compression and proxies may hold events back, so there
// are none. A redirect would be counted into the latency, so it is an error.
// There is no time limit here: each request brings its own.
func newHTTP() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			Protocols:           protocols,
			DisableCompression:  true,
			MaxIdleConns:        0, // no limit
			MaxIdleConnsPerHost: 4096,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			ReadBufferSize:      readBuffer,
			WriteBufferSize:     writeBuffer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// writeBuffer is for a request's headers; its body is written past it.
const writeBuffer = 2 << 10

// UseHTTP2 speaks HTTP/2 and nothing else from now on, for servers that have no
// HTTP/1.1: over TLS as it is negotiated there, without TLS by prior knowledge.
// Streams then share connections, and wait for one another where packets are
// lost or a connection's flow control is used up. It is called before the first
// request, and does nothing where HTTP is not the one that New made.
func (c *Client) UseHTTP2() {
	if t, ok := c.HTTP.Transport.(*http.Transport); ok {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP2(true)
		t.Protocols.SetUnencryptedHTTP2(true)
	}
}

// Close closes idle connections, so that the engine can stop without waiting
// for them.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }
