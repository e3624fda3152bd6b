package openai

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
)

const (
	// maxStatusBody limits what an error keeps of a body.
	maxStatusBody = 2 << 10
	// maxRetryAfter limits the wait that a server can ask for, minRetryAfter replaces "0":
	// another attempt is still requested.
	maxRetryAfter = 10 * time.Minute
	minRetryAfter = time.Millisecond
)

// checkResponse rejects an answer that is not an event stream.
func checkResponse(resp *http.Response, path string) error {
	if resp.StatusCode != http.StatusOK {
		return statusError(resp, path)
	}
	if err := checkEncoding(resp); err != nil {
		return err
	}
	kind := resp.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(kind); err == nil && media == "text/event-stream" {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatusBody+1))
	if words, ok := failureIn(said); ok {
		return &StreamError{Kind: Reported, Detail: foreign.Quote(words) + " with HTTP status 200"}
	}
	return &StreamError{Kind: ContentType, Detail: "content type " + foreign.Quote(kind) + ", body " +
		foreign.Quote(said)}
}

// checkEncoding rejects a compressed answer: a compressor buffers text, so the times
// would be its own.
func checkEncoding(resp *http.Response) error {
	for _, coding := range resp.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(coding), "identity") && coding != "" {
			return &StreamError{Kind: Compressed, Detail: "content encoding " + foreign.Quote(coding) +
				" although \"identity\" was requested: turn off compression in the server, or in the proxy in front " +
				"of it"}
		}
	}
	return nil
}

func statusError(resp *http.Response, path string) error {
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatusBody+1))
	e := &StatusError{
		Method: resp.Request.Method, Path: path, Status: resp.StatusCode,
		Body:       foreign.Printable(strings.TrimSpace(redact.ProcessSecrets().Cut(string(said), maxStatusBody))),
		RetryAfter: retryAfter(resp.Header),
	}
	if e.Status >= 300 && e.Status < 400 {
		e.Location = resp.Header.Get("Location")
	}
	return e
}

// retryAfter parses the header Retry-After in seconds, as engines and their proxies write
// it; 0 if it is missing or anything else.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(strings.TrimSpace(h.Get("Retry-After")), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && seconds > uint64(maxRetryAfter/time.Second):
		return maxRetryAfter
	case err != nil:
		return 0
	}
	return max(time.Duration(seconds)*time.Second, minRetryAfter)
}

// hint is the likely cause of a broken connection, if its error alone does not show it.
func hint(err error) string {
	said := fmt.Sprint(err)
	switch {
	case strings.Contains(said, `malformed HTTP response "\x00\x00`):
		return "the server seems to speak only HTTP/2 without TLS, but mxflow speaks HTTP/1.1: enable HTTP/1.1 in " +
			"the server"
	case strings.Contains(said, "server gave HTTP response to HTTPS client"):
		return "the server does not speak TLS: use http:// in its address"
	case strings.Contains(said, `malformed HTTP response "\x15\x03`):
		return "the server speaks TLS: use https:// in its address"
	case strings.Contains(said, "too many open files"):
		return "each request in flight needs a connection: allow more open files (ulimit -n), or lower the concurrency"
	}
	return ""
}

// StatusError is an answer with another status than 200.
type StatusError struct {
	Method, Path string
	Status       int
	Body         string
	Location     string
	// RetryAfter is how long the server asks to wait before another attempt, between a
	// millisecond and ten minutes; 0 if it does not.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	said := fmt.Sprintf("%s %s: HTTP status %d", e.Method, e.Path, e.Status)
	if e.Location != "" {
		said += " (a redirect to " + foreign.Quote(e.Location) +
			", which is not followed because its time would count as the engine's: use that address)"
	}
	if e.RetryAfter > 0 {
		said += fmt.Sprintf(" (try again in %v)", e.RetryAfter)
	}
	if e.Body != "" {
		said += ": " + e.Body
	}
	return said
}

// StreamErrorKind is how a stream was broken.
type StreamErrorKind string

const (
	// Malformed: an event was not the JSON object it should be.
	Malformed StreamErrorKind = "malformed event"
	// TooLarge: an event did not end within 8 MiB.
	TooLarge StreamErrorKind = "event too large"
	// Endless: an answer exceeded maxEvents or maxText.
	Endless StreamErrorKind = "the answer has no end"
	// EndedEarly: the stream ended without [DONE].
	EndedEarly StreamErrorKind = "the stream ended early"
	// Empty: the stream had [DONE] and no event.
	Empty StreamErrorKind = "the stream held no event"
	// ContentType: the answer was not an event stream.
	ContentType StreamErrorKind = "not an event stream"
	// Compressed: the answer was compressed, which was not requested.
	Compressed StreamErrorKind = "compressed answer"
	// Reported: the server reported an error in the stream.
	Reported StreamErrorKind = "the server reported an error"
	// Broken: the connection failed.
	Broken StreamErrorKind = "connection broken"
)

// StreamError is an answer that started but could not be read to its end.
type StreamError struct {
	Kind StreamErrorKind
	// Detail is more: the offending bytes, the server's message.
	Detail string
	Events int
	// Err is the underlying error, nil if there is none.
	Err error
}

func (e *StreamError) Error() string {
	s := string(e.Kind)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + " (after " + strconv.Itoa(e.Events) + " events)"
}

func (e *StreamError) Unwrap() error { return e.Err }

// StallError is a server that took longer than a time limit allows.
type StallError struct {
	// Waiting is for what: "the first token", "the next event", "the end of an event that
	// had begun", "the whole answer".
	Waiting string
	// Limit is the time limit that was reached.
	Limit  time.Duration
	Events int
}

func (e *StallError) Error() string {
	return fmt.Sprintf("no answer in time: waited %v for %s (after %d events)", e.Limit, e.Waiting, e.Events)
}

// Timeout reports true, so the error counts as one for net.Error.
func (e *StallError) Timeout() bool { return true }
