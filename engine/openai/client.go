// Package openai talks to an engine that serves the OpenAI HTTP API, and watches an
// answer arrive: it streams one request and keeps the time of every event. It does not
// know what the times mean (engine/measure), which requests to send and when
// (engine/load), or how the engine was started. It retries nothing, because a retried
// request is a different measurement, with two exceptions: how usage is requested is
// negotiated openly (Usage), and a request sent on a kept connection which the server was
// closing is sent on another (send).
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Client talks to one engine. It is safe for concurrent use; its fields are set
// before the first call.
type Client struct {
	// BaseURL is the root of the API, without a trailing slash and without /v1.
	BaseURL string
	// Model is the model name in requests. If empty the engine is asked, once, and the
	// first model that it lists is used.
	Model string
	// HTTP makes the requests. New tunes it for measuring.
	HTTP *http.Client
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

	// mode is the UsageMode that the engine is known to accept.
	mode atomic.Int32
	// listed is the model's name as listed by the engine.
	listed atomic.Pointer[string]
}

// New returns a client for the API at baseURL. A trailing slash or /v1 is
// removed from it.
func New(baseURL, model string) *Client {
	baseURL = strings.TrimRight(baseURL, "/")
	baseURL = strings.TrimRight(strings.TrimSuffix(baseURL, "/v1"), "/")
	return &Client{BaseURL: baseURL, Model: model, HTTP: newHTTP()}
}

// newHTTP returns a client tuned for measuring. HTTP/1.1 gives every stream its own
// connection, so one stream's flow control or lost packet cannot delay another's events,
// and the engine's own HTTP server is used as most of its users do. Compression and
// proxies may hold events back, so there are none. A redirect would count as latency, so
// it is an error. There is no time limit here: each request has its own.
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

// writeBuffer is for a request's headers; its body bypasses it.
const writeBuffer = 2 << 10

// Close closes idle connections, so that the engine can stop without waiting
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
		if err := checkName(m.ID); err != nil {
			return nil, fmt.Errorf("GET /v1/models: %w", err)
		}
		models[i] = Model{ID: m.ID, MaxLen: m.MaxLen}
	}
	return models, nil
}

// checkName rejects what is not a name of a model or a version: it appears on terminals
// and in tables and files.
func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("a name of %d bytes, limit %d: %s", len(name), maxName, quoted([]byte(name)))
	}
	if printable(name) != name || strings.ContainsAny(name, "\n\t") {
		return fmt.Errorf("a name with control characters or invalid UTF-8: %s", quoted([]byte(name)))
	}
	return nil
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
	if question != nil {
		var err error
		if payload, err = json.Marshal(question); err != nil {
			return err
		}
	}
	said, _, err := c.ask(ctx, method, path, payload)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("%s %s: %w in %s", method, path, err, quoted(said))
	}
	return nil
}

// ask sends one request and returns the answer's body, and the time from the send to its
// end. It has its own time limit, since not every caller does.
func (c *Client) ask(ctx context.Context, method, path string, payload []byte) (said []byte, took time.Duration, err error) {
	limit := pageLimit
	if payload != nil {
		limit = countLimit
	}
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
		return nil, 0, err
	}
	sent := time.Now()
	resp, _, err := c.send(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, 0, statusError(resp, path)
	}
	if err := checkEncoding(resp); err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	said, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	took = time.Since(sent)
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return said, took, nil
}

// maxStale limits how many kept connections may turn out to be closed before a request
// gets through: as many as a server closes at once.
const maxStale = 8

// send makes a request. A server may close a kept connection just as the next request is
// sent on it: many do after so many requests, and llama.cpp's does after each stream
// (engine.Ask.ClosesStreams). The request is then sent on another, if the old one had
// been used before and not one byte was answered: net/http does so by itself if nothing
// was written yet, and this function if part of a long prompt was. It still counts as one
// request, including the time of the failed attempt; again is how often it was resent, so
// a server that drops what it accepted is noticed. A new connection that breaks is an
// error as usual.
func (c *Client) send(req *http.Request) (resp *http.Response, again int, err error) {
	var conns atomic.Int32
	for stale := 0; ; stale++ {
		reused := false
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			reused = info.Reused
			conns.Add(1)
		}}
		resp, err = c.HTTP.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if err == nil || !reused || stale == maxStale || req.GetBody == nil || req.Context().Err() != nil || !closed(err) {
			return resp, max(int(conns.Load())-1, 0), err
		}
		body, lost := req.GetBody()
		if lost != nil {
			return resp, max(int(conns.Load())-1, 0), err
		}
		req.Body = body
	}
}

// closed reports whether an error means that the other side closed a connection.
func closed(err error) bool {
	for _, sign := range []error{net.ErrClosed, io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// Bare is a client of the same engine without Extra, which may have it bypass its caches.
func (c *Client) Bare() *Client {
	bare := New(c.BaseURL, c.Model)
	bare.HTTP, bare.Header, bare.Rename, bare.Tokenizer, bare.LogProbs = c.HTTP, c.Header, c.Rename, c.Tokenizer, c.LogProbs
	return bare
}

// Stream sends one request and watches the answer arrive. The sample holds the
// time of every data event since the send, on the monotonic clock; the send is
// the moment before the request is handed to the HTTP client, so a connection
// that must be opened first is counted. The clock is read once after each read
// from the connection: the events that one read brought share its time, since
// the client could not have had them earlier, and since times in between would
// measure this parser. The order and the shared times are kept.
//
// Sent keeps the monotonic reading of the send, so that who knows a zero on that
// clock can place it there; stored, it is the wall clock alone.
//
// The sample's workload, index and warm-up mark are the caller's to fill in.
//
// On error the sample holds what had come until then, and its Err is set. The
// error is a *StatusError for an answer other than 200, a *StallError for a
// time limit, ctx's error when ctx ended, and a *StreamError for everything
// else that can be wrong with an answer; a request that could not even be built
// gives a plain error.
//
// An engine that refuses to count tokens in streams is asked again for less
// counting; see Usage. The sample is that of the last request alone.
func (c *Client) Stream(ctx context.Context, r Request) (measure.Sample, error) {
	model, err := c.model(ctx)
	if err != nil {
		return failedSample(r, err), err
	}
	mode := c.Usage()
	if !r.ContinuousUsage {
		mode = max(mode, UsageFinal)
	}
	refused := false
	for {
		s, err := c.stream(ctx, r, model, mode)
		if refusesUsage(err) && mode < UsageNone {
			refused = true
			mode++
			continue
		}
		if refused && err == nil {
			c.lower(mode)
		}
		return s, err
	}
}

func failedSample(r Request, err error) measure.Sample {
	c := newCollector(r)
	c.s.Sent = time.Now()
	return c.sample(err)
}

// stream makes one attempt in one mode.
func (c *Client) stream(ctx context.Context, r Request, model string, mode UsageMode) (measure.Sample, error) {
	got := newCollector(r)
	path, err := r.API.path()
	if err != nil {
		return got.sample(err), err
	}
	payload, err := c.encode(r, r.members(model, mode))
	if err != nil {
		return got.sample(err), err
	}
	w := newWatch(ctx, r.Timeouts)
	defer w.close()
	req, err := c.newRequest(w.ctx, http.MethodPost, path, payload)
	if err != nil {
		return got.sample(err), err
	}
	req.Header.Set("Accept", "text/event-stream")

	sent := time.Now()
	w.start(sent)
	got.s.Sent = sent
	resp, again, err := c.send(req)
	got.s.Retries, got.doubts.again = again, again
	if err != nil {
		err = w.explain(err, 0)
		return got.sample(err), err
	}
	defer resp.Body.Close()
	if err := checkResponse(resp, path); err != nil {
		return got.sample(err), err
	}
	forget(req)
	err = receive(resp.Body, w, got)
	return got.sample(err), err
}

func (c *Client) newRequest(ctx context.Context, method, path string, payload []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if len(payload) > 0 {
		sendOnce(req, payload)
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

// UsageMode is how much token counting is requested of the engine. Engines that do not
// know stream_options, or one of its members, reject the request; then the next mode is
// tried, and the accepted one is kept for the client's life.
type UsageMode int32

const (
	// UsageContinuous asks for counts in every event and at the end.
	UsageContinuous UsageMode = iota
	// UsageFinal asks for counts at the end.
	UsageFinal
	// UsageNone asks for nothing; counts are then usually missing.
	UsageNone
)

func (m UsageMode) String() string {
	switch m {
	case UsageContinuous:
		return "continuous"
	case UsageFinal:
		return "final"
	default:
		return "none"
	}
}

// Usage is the most that the engine is not known to reject. Anything but UsageContinuous
// was negotiated, and belongs in the record of a measurement.
func (c *Client) Usage() UsageMode { return UsageMode(c.mode.Load()) }

// lower records that the engine accepted m after rejecting more.
func (c *Client) lower(m UsageMode) {
	for {
		old := c.mode.Load()
		if int32(m) <= old || c.mode.CompareAndSwap(old, int32(m)) {
			return
		}
	}
}

// refusesUsage reports whether the engine rejected a request because of its
// stream_options. 422 is FastAPI's answer to unknown members.
func refusesUsage(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	if status.Status != http.StatusBadRequest && status.Status != http.StatusUnprocessableEntity {
		return false
	}
	said := strings.ToLower(status.Body)
	return strings.Contains(said, "stream_options") || strings.Contains(said, "stream options") ||
		strings.Contains(said, "continuous_usage") || strings.Contains(said, "include_usage")
}

// LatencyMode is which latency is measured, as in llama-benchy, whose numbers are
// corrected by it. Numbers of different modes do not compare.
type LatencyMode string

const (
	// LatencyNone measures nothing: 0.
	LatencyNone LatencyMode = "none"
	// LatencyAPI is the time of GET /v1/models, from the send to the end of the
	// answer: the network and the server, without the model.
	LatencyAPI LatencyMode = "api"
	// LatencyGeneration is the time from the send of a chat with the message "hello" and
	// one token to generate to its first event, whatever that holds. llama-benchy stops
	// at the first line, which may be a comment. The message is the same each time: a
	// prefix cache may apply.
	LatencyGeneration LatencyMode = "generation"
)

// LatencyProbes is llama-benchy's number of probes.
const LatencyProbes = 3

// latencyLimit bounds a probe. Anything longer is not a latency to correct by.
const latencyLimit = time.Minute

// Latency measures n times, one after the other, and returns the mean and the values
// behind it. One more probe precedes them uncounted, so no connection is opened within
// the others and nothing is compiled: llama-benchy has sent other requests by then. Where
// it leaves out failed probes and takes 0 if all fail, a failed probe is an error here.
// An unknown mode is one as well.
func (c *Client) Latency(ctx context.Context, mode LatencyMode, n int) (mean time.Duration, probes []time.Duration, err error) {
	var probe func(context.Context) (time.Duration, error)
	switch mode {
	case LatencyNone:
		return 0, nil, nil
	case LatencyAPI:
		probe = c.apiLatency
	case LatencyGeneration:
		probe = c.generationLatency
	default:
		return 0, nil, fmt.Errorf("unknown latency mode %q: use %q, %q or %q", string(mode), LatencyNone, LatencyAPI, LatencyGeneration)
	}
	if n < 1 {
		return 0, nil, fmt.Errorf("%d latency probes, required ≥ 1", n)
	}
	var sum time.Duration
	for i := range n + 1 {
		took, err := probe(ctx)
		if err != nil {
			return 0, nil, fmt.Errorf("measuring the latency %q, probe %d of %d: %w", mode, i+1, n+1, err)
		}
		if i > 0 {
			probes, sum = append(probes, took), sum+took
		}
	}
	return sum / time.Duration(n), probes, nil
}

func (c *Client) apiLatency(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, latencyLimit)
	defer cancel()
	_, took, err := c.ask(ctx, http.MethodGet, "/v1/models", nil)
	return took, err
}

func (c *Client) generationLatency(ctx context.Context) (time.Duration, error) {
	s, err := c.Stream(ctx, Request{
		API: Chat, Prompt: "hello", MaxTokens: 1,
		Timeouts: Timeouts{Total: latencyLimit},
	})
	if err != nil {
		return 0, err
	}
	return s.Events[0].At, nil
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
	path := "/tokenize"
	if c.Tokenizer.Path != "" {
		path = c.Tokenizer.Path
	}
	if c.Tokenizer.Field != "" {
		question[c.Tokenizer.Field] = text
	}
	if model != "" {
		question["model"] = model
	}
	var answer json.RawMessage
	if err := c.call(ctx, http.MethodPost, path, question, &answer); err != nil {
		return 0, nil, err
	}
	if count, ids, err = c.counted(ctx, answer); err != nil {
		return 0, nil, fmt.Errorf("POST %s: %w", path, err)
	}
	switch {
	case count == 0 && text != "":
		return 0, nil, fmt.Errorf("POST %s: no tokens for a non-empty text", path)
	case count < 0 || count > perByte*len(text)+around:
		return 0, nil, fmt.Errorf("POST %s: %d tokens for a text of %d bytes", path, count, len(text))
	}
	return count, ids, nil
}

// counted is the number of tokens in an answer, and the tokens if it lists them.
func (c *Client) counted(ctx context.Context, text []byte) (count int, ids []int, err error) {
	var answer struct {
		Count  *int  `json:"count"`
		Tokens []int `json:"tokens"`
	}
	wrong := json.Unmarshal(text, &answer)
	if c.Tokenizer.Count == nil {
		count = len(answer.Tokens)
		if answer.Count != nil && count == 0 {
			count = *answer.Count
		}
		if answer.Count != nil && *answer.Count != count {
			return 0, nil, fmt.Errorf("a count of %d with %d tokens", *answer.Count, count)
		}
		if wrong != nil {
			return 0, nil, fmt.Errorf("%w in %s", wrong, quoted(text))
		}
		return count, answer.Tokens, nil
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		return 0, nil, fmt.Errorf("%w in %s", err, quoted(text))
	}
	if wrong != nil {
		answer.Tokens = nil // tokens in another form than numbers
	}
	count, err = c.Tokenizer.Count(ctx, whole)
	return count, answer.Tokens, err
}

// encode is the request's body: the client's own members, then those of the
// engine's kind, then the request's.
func (c *Client) encode(r Request, all []member) ([]byte, error) {
	switch {
	case r.API == Chat && len(r.Tokens) > 0:
		return nil, errors.New("token IDs cannot be sent to /v1/chat/completions, which takes messages: use the API \"completions\"")
	case r.API != Chat && len(r.Before) > 0:
		return nil, errors.New("earlier messages cannot be sent to /v1/completions, which takes one text: use the API \"chat\"")
	}
	for i, m := range all {
		if name, ok := c.Rename[m.name]; ok {
			all[i].name = name
		}
	}
	for _, extra := range []map[string]any{c.Extra, r.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if slices.ContainsFunc(all, func(m member) bool { return m.name == name }) {
				return nil, fmt.Errorf("the field %q is set by mxflow or set twice: remove it from the extra request fields", name)
			}
			all = append(all, member{name, extra[name], true})
		}
	}
	var b strings.Builder
	for _, m := range all {
		if !m.sent {
			continue
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("cannot write the request field %q as JSON: %w", m.name, err)
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		} else {
			b.WriteByte('{')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}
