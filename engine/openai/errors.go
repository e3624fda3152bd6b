package openai

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// StatusError is an answer with another status than 200.
type StatusError struct {
	// Method and Path of the request.
	Method, Path string
	Status       int
	// Body is the beginning of the answer's body.
	Body string
	// Location is where a redirect points to.
	Location string
	// RetryAfter is how long the server asks to wait before another try, at least
	// a millisecond and at most ten minutes; 0 where it does not ask for one.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	said := fmt.Sprintf("%s %s: HTTP status %d", e.Method, e.Path, e.Status)
	if e.Location != "" {
		said += " (a redirect to " + quoted([]byte(e.Location)) + ", which is not followed since its time would count as the engine's: give the address that answers itself)"
	}
	if e.RetryAfter > 0 {
		said += fmt.Sprintf(" (try again in %v)", e.RetryAfter)
	}
	if e.Body != "" {
		said += ": " + e.Body
	}
	return said
}

// StreamErrorKind says in which way a stream was broken.
type StreamErrorKind string

const (
	// Malformed: an event was not the JSON object it should be.
	Malformed StreamErrorKind = "malformed event"
	// TooLarge: an event did not end within 8 MiB.
	TooLarge StreamErrorKind = "event too large"
	// Endless: an answer went on beyond maxEvents or maxText.
	Endless StreamErrorKind = "the answer has no end"
	// EndedEarly: the stream ended without [DONE].
	EndedEarly StreamErrorKind = "the stream ended early"
	// Empty: the stream held [DONE] and no event.
	Empty StreamErrorKind = "the stream held no event"
	// ContentType: the answer was no event stream.
	ContentType StreamErrorKind = "not an event stream"
	// Compressed: the answer was compressed, which nobody asked for.
	Compressed StreamErrorKind = "compressed answer"
	// Reported: the server reported an error in the stream.
	Reported StreamErrorKind = "the server reported an error"
	// Broken: the connection failed.
	Broken StreamErrorKind = "connection broken"
)

// StreamError is an answer that began and could not be read to its end.
type StreamError struct {
	Kind StreamErrorKind
	// Detail says more: the offending bytes, the server's words.
	Detail string
	// Events is the number of events that had come before.
	Events int
	// Err is the error underneath, nil where there is none.
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
	// Waiting says for what: "the first token", "the next event", "the end of an
	// event that had begun", "the whole answer".
	Waiting string
	// Limit is the time limit that was reached.
	Limit time.Duration
	// Events is the number of events that had come before.
	Events int
}

func (e *StallError) Error() string {
	return fmt.Sprintf("no answer in time: waited %v for %s (after %d events)", e.Limit, e.Waiting, e.Events)
}

// Timeout reports true, so that the error counts as one wherever net.Error does.
func (e *StallError) Timeout() bool { return true }

// maxQuoted bounds how much of foreign bytes an error message repeats.
const maxQuoted = 200

// quoted shows foreign bytes in a message: escaped, so that they cannot steer a
// terminal, and cut.
func quoted(b []byte) string {
	if len(b) <= maxQuoted {
		return strconv.Quote(string(b))
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(string(cut(b, maxQuoted))), len(b))
}

// cut shortens b to at most n bytes without splitting a character.
func cut(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(b[i]) {
			return b[:i]
		}
	}
	return b[:n]
}
