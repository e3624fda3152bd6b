// Package openai talks to an engine that serves the OpenAI HTTP API, and records how an
// answer arrives: it streams one request and keeps the time of every event. It does not
// know what the times mean (engine/measure), which requests to send and when
// (engine/load), or how the engine was started. It retries nothing, because a retried
// request is a different measurement, with two exceptions: a request whose stream_options
// the engine rejects is sent without them (Stream), and one sent on a kept connection which
// the server was closing is sent on another (send).
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/httpclient"
)

// Client talks to one engine. It is safe for concurrent use; its fields are set
// before the first call.
type Client struct {
	// BaseURL is the root of the API, without a trailing slash and without /v1.
	BaseURL string
	// Model is the model name in requests. If empty the engine is asked, once, and the
	// first model that it lists is used.
	Model string
	HTTP  *http.Client
	// Header is sent with every request (Authorization); nil sends none.
	Header http.Header
	// Extra are fields that this engine's requests for text have besides the usual ones,
	// such as one that keeps prompts out of its cache. Usual names must not be among
	// them.
	Extra map[string]any
	// Rename are the members of a request with other names in this engine, by their names
	// in vLLM and SGLang: llama-server has repeat_penalty for repetition_penalty.
	Rename map[string]string
	// Tokenizer is how this engine counts the tokens of a text; the zero value is POST
	// /tokenize in the form of vLLM, SGLang and llama-server.
	Tokenizer Tokenizer
	// LogProbs is how this engine is asked for log-probabilities.
	LogProbs LogProbs

	// usage is the usageMode that the engine is known to accept.
	usage atomic.Int32
	// listed is the model's name as listed by the engine.
	listed atomic.Pointer[string]
	deferral
}

// New returns a client for the API at baseURL. A trailing slash or /v1 is
// removed from it.
func New(baseURL, model string) *Client {
	baseURL = strings.TrimRight(baseURL, "/")
	baseURL = strings.TrimRight(strings.TrimSuffix(baseURL, "/v1"), "/")
	return &Client{BaseURL: baseURL, Model: model, HTTP: httpclient.New(nil, IdleConnections)}
}

// IdleConnections is the number of connections a client keeps: as many as there may be
// streams.
const IdleConnections = 4096

// Close closes idle connections, so the engine can stop without waiting
// for them.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

const (
	// maxAnswer limits what a call that does not stream reads.
	maxAnswer = 64 << 20
	// pageLimit bounds the time for a page such as the list of models, and countLimit for
	// one that counts tokens, of which a prompt may have a million.
	pageLimit, countLimit = time.Minute, 10 * time.Minute
	// maxName limits the name of a model in bytes: some are file paths.
	maxName = 4 << 10
)

// Model is one entry of the engine's list of models.
type Model struct {
	ID string
	// MaxLen is the maximum of prompt and output tokens together; 0 if the engine does
	// not say.
	MaxLen int
}

// Models returns the models that the engine serves, at least one.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var answer struct {
		Data []struct {
			ID     string `json:"id"`
			MaxLen int    `json:"max_model_len"`
		} `json:"data"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/models", nil, &answer); err != nil {
		return nil, err
	}
	if len(answer.Data) == 0 || answer.Data[0].ID == "" {
		return nil, errors.New("GET /v1/models: the engine lists no model")
	}
	models := make([]Model, len(answer.Data))
	for i, m := range answer.Data {
		// It appears on terminals and in tables and files.
		if len(m.ID) > maxName || foreign.Line(m.ID) != m.ID {
			return nil,
				fmt.Errorf("GET /v1/models: a name with control characters, invalid UTF-8 or more than %d bytes: %s",
					maxName, foreign.Quote(m.ID))
		}
		models[i] = Model{ID: m.ID, MaxLen: m.MaxLen}
	}
	return models, nil
}

// model is the model name for requests. An engine without a list gets requests without a
// name.
func (c *Client) model(ctx context.Context) (string, error) {
	if c.Model != "" {
		return c.Model, nil
	}
	if name := c.listed.Load(); name != nil {
		return *name, nil
	}
	name := ""
	models, err := c.Models(ctx)
	var status *StatusError
	switch {
	case err == nil:
		name = models[0].ID
	case errors.As(err, &status) && status.Status == http.StatusNotFound:
	default:
		return "", fmt.Errorf("reading the model's name: %w", err)
	}
	c.listed.Store(&name)
	return name, nil
}

// call makes one request that does not stream. The error is a *StatusError for
// an answer other than 200.
func (c *Client) call(ctx context.Context, method, path string, question, answer any) error {
	var payload []byte
	limit := pageLimit
	if question != nil {
		var err error
		if payload, err = json.Marshal(question); err != nil {
			return err
		}
		limit = countLimit
	}
	said, err := c.ask(ctx, method, path, payload, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("%s %s: %w in %s", method, path, err, foreign.Quote(said))
	}
	return nil
}

// ask sends one request and returns the answer's body. It has its own time limit, since not
// every caller does.
func (c *Client) ask(ctx context.Context, method, path string, payload []byte, limit time.Duration) (said []byte,
	err error,
) {
	tooLong := fmt.Errorf("no answer within %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	defer cancel()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), tooLong) {
			err = fmt.Errorf("%s %s: %w", method, path, tooLong)
		}
	}()
	req, err := c.newRequest(ctx, method, path, payload)
	if err != nil {
		return nil, err
	}
	resp, _, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, statusError(resp, path)
	}
	if err = checkEncoding(resp); err == nil {
		said, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	}
	if len(said) > maxAnswer {
		err = fmt.Errorf("the answer is too large: more than %d MiB", maxAnswer>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return said, nil
}

// maxStale limits how many kept connections may turn out to be closed before a request
// gets through: as many as a server closes at once.
const maxStale = 8

// send makes a request. A server may close a kept connection just as the next request is
// sent on it: many do after so many requests, and llama.cpp's does after each stream
// (engine.Ask.ClosesStreams). The request is then sent on another, if the old one had
// been used before and not one byte was answered: net/http does so by itself if nothing
// was written yet, and this function if part of a long prompt was. It still counts as one
// request, including the time of the failed attempt; resent is how often it was sent again,
// so a server that drops what it accepted is noticed. A new connection that breaks is an
// error as usual.
func (c *Client) send(req *http.Request) (resp *http.Response, resent int, err error) {
	var conns atomic.Int32
	for stale := 0; ; stale++ {
		reused := false
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			reused = info.Reused
			conns.Add(1)
		}}
		resp, err = c.HTTP.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if err == nil || !reused || stale == maxStale || req.Context().Err() != nil || !isConnectionClosed(err) {
			return resp, max(int(conns.Load())-1, 0), err
		}
		req.Body, _ = req.GetBody() // a bytes.Reader, which cannot fail
	}
}

// isConnectionClosed reports whether an error means that the other side closed a connection.
func isConnectionClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// Bare is a client of the same engine without Extra, which may have it bypass its caches.
func (c *Client) Bare() *Client {
	bare := New(c.BaseURL, c.Model)
	bare.HTTP, bare.Header, bare.Rename, bare.Tokenizer, bare.LogProbs = c.HTTP, c.Header, c.Rename,
		c.Tokenizer, c.LogProbs
	return bare
}

func (c *Client) newRequest(ctx context.Context, method, path string, payload []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	for name, values := range c.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	// Omitting it would leave the choice to proxies, and compressing holds events back.
	req.Header.Set("Accept-Encoding", "identity")
	// The key without a value is not sent, but allows net/http to open another connection
	// if the server closed a kept one; see send.
	req.Header["Idempotency-Key"] = nil
	return req, nil
}

// Tokenizer is a page that counts the tokens of a text.
type Tokenizer struct {
	// Path of the page, and Field for the text in the request.
	Path, Field string
	// Count extracts the number from the decoded answer; nil looks for the members count
	// and tokens.
	Count func(ctx context.Context, answer any) (int, error)
}

// No vocabulary has more than perByte tokens per byte, nor more than around for what
// starts and ends a text. Prompts grow until their count is right, so a made-up count
// would make them grow endlessly.
const perByte, around = 4, 1024

// Tokenize returns the token ids of a text as the engine's completions endpoint
// would see it, special tokens included, and their number. The error is a
// *StatusError with status 404 where the engine has no such endpoint.
func (c *Client) Tokenize(ctx context.Context, text string) (count int, ids []int, err error) {
	model, err := c.model(ctx)
	if err != nil {
		return 0, nil, err
	}
	// The first three are for vLLM and SGLang, the last two for llama-server; each
	// ignores the other's.
	question := map[string]any{
		"prompt": text, "add_special_tokens": true,
		"content": text, "add_special": true,
	}
	path := cmp.Or(c.Tokenizer.Path, "/tokenize")
	if c.Tokenizer.Field != "" {
		question[c.Tokenizer.Field] = text
	}
	if model != "" {
		question["model"] = model
	}
	payload, err := json.Marshal(question)
	if err != nil {
		return 0, nil, err
	}
	answer, err := c.ask(ctx, http.MethodPost, path, payload, countLimit)
	if err != nil {
		return 0, nil, err
	}
	var page map[string]json.RawMessage
	if c.Tokenizer.Count == nil &&
		(json.Unmarshal(answer, &page) != nil || page["count"] == nil && page["tokens"] == nil) {
		// a server that answers every path alike
		return 0, nil,
			&StatusError{Method: http.MethodPost, Path: path, Status: http.StatusNotFound, Body: foreign.Quote(answer)}
	}
	count, ids, err = c.countTokens(ctx, answer)
	switch {
	case err != nil:
	case count == 0 && text != "":
		err = errors.New("no tokens for a non-empty text")
	case count < 0 || count > perByte*len(text)+around:
		err = fmt.Errorf("%d tokens for a text of %d bytes", count, len(text))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("POST %s: %w", path, err)
	}
	return count, ids, nil
}

// countTokens is the number of tokens in an answer, and the tokens if it lists them.
func (c *Client) countTokens(ctx context.Context, text []byte) (count int, ids []int, err error) {
	var answer struct {
		Count  *int  `json:"count"`
		Tokens []int `json:"tokens"`
	}
	wrong := json.Unmarshal(text, &answer)
	if c.Tokenizer.Count != nil {
		var whole any
		if err := json.Unmarshal(text, &whole); err != nil {
			return 0, nil, fmt.Errorf("%w in %s", err, foreign.Quote(text))
		}
		if wrong != nil {
			answer.Tokens = nil // tokens in another form than numbers
		}
		count, err = c.Tokenizer.Count(ctx, whole)
		return count, answer.Tokens, err
	}
	if count = len(answer.Tokens); count == 0 && answer.Count != nil {
		count = *answer.Count
	}
	switch {
	case answer.Count != nil && *answer.Count != count:
		return 0, nil, fmt.Errorf("a count of %d with %d tokens", *answer.Count, count)
	case wrong != nil:
		return 0, nil, fmt.Errorf("%w in %s", wrong, foreign.Quote(text))
	}
	return count, answer.Tokens, nil
}
