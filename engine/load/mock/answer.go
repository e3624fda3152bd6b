package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var errStopped = errors.New("the mock server stops")

// answer is one stream as it is sent. Until passed to a wheel it belongs to its
// connection's goroutine, then to the wheel until ended returns it.
type answer struct {
	conn   net.Conn
	frames *frames
	plan   schedule
	id     uint64
	prompt int

	// due is the deadline of the next event; sent of events have been sent.
	due          int64
	sent, events int
	truth        Truth
	ended        chan error
	// record keeps the truth.
	record func(Truth)

	raw     syscall.RawConn
	try     func(fd uintptr) bool
	pending []byte
	wrote   int
	failed  error
}

func newAnswer(conn *net.TCPConn, f *frames, p Pacing, arrival int64) (*answer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	a := &answer{conn: conn, frames: f, plan: p.schedule(arrival), events: p.events(), ended: make(chan error, 1), raw: raw}
	a.due = a.plan.due(0)
	a.truth = Truth{ID: p.ID, Arrival: arrival, Tokens: p.Tokens, PerEvent: p.PerEvent, Sent: make([]int64, 0, a.events)}
	a.try = func(fd uintptr) bool {
		for {
			a.wrote, a.failed = unix.Write(int(fd), a.pending)
			if !errors.Is(a.failed, unix.EINTR) {
				return true // whatever came of it: this never waits
			}
		}
	}
	return a, nil
}

// event appends the bytes of the next event, and after the last one those that end the
// answer, to dst.
func (a *answer) event(dst []byte) []byte {
	f := a.frames
	if a.sent == 0 && len(f.head.bytes) > 0 {
		dst = f.head.appendTo(dst, a.id, a.prompt, 0)
	}
	if a.sent < a.events-1 {
		return f.text[a.sent%len(f.text)].appendTo(dst, a.id, a.prompt, (a.sent+1)*a.truth.PerEvent)
	}
	dst = f.last.appendTo(dst, a.id, a.prompt, a.truth.Tokens)
	if len(f.usage.bytes) > 0 {
		dst = f.usage.appendTo(dst, a.id, a.prompt, a.truth.Tokens)
	}
	return append(dst, f.end...)
}

// sending records that the event goes out now. The truth is recorded before the last one
// does: whoever has seen the end can ask for it.
func (a *answer) sending(now int64) {
	a.truth.Sent = append(a.truth.Sent, now)
	a.truth.Lag = max(a.truth.Lag, now-a.due)
	if a.sent++; a.sent == a.events {
		a.record(a.truth)
	}
}

// write writes without blocking, and returns what did not fit.
func (a *answer) write(b []byte) (rest []byte, err error) {
	a.pending, a.wrote, a.failed = b, 0, nil
	if err := a.raw.Write(a.try); err != nil {
		return nil, err
	}
	if a.failed != nil && !errors.Is(a.failed, unix.EAGAIN) {
		return nil, a.failed
	}
	return b[max(a.wrote, 0):], nil
}

// end returns the answer to its connection.
func (a *answer) end(err error) {
	if a.sent < a.events {
		a.truth.Broken = true
		a.record(a.truth)
	}
	a.ended <- err
}

// Numbers in a frame have fixed places, padded with spaces, which JSON allows before a
// value: so a frame is built once and only its digits change.
const (
	idDigits    = 16
	countDigits = 8
)

// words are the text of events, in turn.
var words = [8]string{" the", " quick", ",", " brown", "\\n", " fox\\u00e9", " jumps", " \\\"over\\\""}

// frame is one HTTP chunk with one event in it, and the offsets of its numbers; an offset
// of 0 is none.
type frame struct {
	bytes                         []byte
	id, prompt, total, completion int
}

// appendTo appends the frame with its numbers to dst.
func (f *frame) appendTo(dst []byte, id uint64, prompt, completion int) []byte {
	from := len(dst)
	dst = append(dst, f.bytes...)
	b := dst[from:]
	if f.id > 0 {
		for i := f.id + idDigits - 1; i >= f.id; i-- {
			b[i] = "0123456789abcdef"[id&15]
			id >>= 4
		}
	}
	if f.prompt > 0 {
		putCount(b[f.prompt:], prompt)
		putCount(b[f.total:], prompt+completion)
		putCount(b[f.completion:], completion)
	}
	return dst
}

func putCount(b []byte, n int) {
	for i := countDigits - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return
		}
	}
}

// look is what determines the form of an answer's frames.
type look struct {
	model    string
	chat     bool
	perEvent int
	// usage at the end, counts in every event.
	usage, continuous bool
}

// frames are those of one look: head goes with the first event, last replaces the last
// one with text, tail ends the answer.
type frames struct {
	head, last, usage frame
	text              [len(words)]frame
	end               []byte
}

// frameCache keeps the frames of the looks in use.
type frameCache struct {
	mu   sync.Mutex
	made map[look]*frames
}

func (c *frameCache) get(l look) *frames {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.made[l]; f != nil {
		return f
	}
	if c.made == nil || len(c.made) > 256 {
		c.made = map[look]*frames{}
	}
	f := l.frames()
	c.made[l] = f
	return f
}

func (l look) frames() *frames {
	f := &frames{end: append(chunk("data: [DONE]\n\n"), "0\r\n\r\n"...)}
	for i := range words {
		var text strings.Builder
		for k := range l.perEvent {
			text.WriteString(words[(i+k)%len(words)])
		}
		f.text[i] = l.event(l.choice(text.String(), "null"), l.continuous)
	}
	f.last = l.event(l.choice(" end", `"length"`), l.continuous)
	if l.chat {
		f.head = l.event(`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`, l.continuous)
	}
	if l.usage {
		f.usage = l.event("", true)
	}
	return f
}

func (l look) choice(text, finish string) string {
	if l.chat {
		return `{"index":0,"delta":{"content":"` + text + `"},"logprobs":null,"finish_reason":` + finish + `,"token_ids":null}`
	}
	return `{"index":0,"text":"` + text + `","logprobs":null,"finish_reason":` + finish + `,"stop_reason":null}`
}

// event builds a frame in the form of vLLM's events.
func (l look) event(choice string, counts bool) frame {
	object, prefix := "text_completion", "cmpl-"
	if l.chat {
		object, prefix = "chat.completion.chunk", "chatcmpl-"
	}
	model, _ := json.Marshal(l.model) // a string always can
	text := `data: {"id":"` + prefix + mark('i', idDigits) + `","object":"` + object + `","created":1767225600,"model":` +
		string(model) + `,"choices":[` + choice + `]`
	if counts {
		text += `,"usage":{"prompt_tokens":` + mark('p', countDigits) + `,"total_tokens":` + mark('t', countDigits) +
			`,"completion_tokens":` + mark('c', countDigits) + `,"prompt_tokens_details":{"cached_tokens":0}}`
	}
	b := chunk(text + "}\n\n")
	f := frame{bytes: b}
	f.id = place(b, 'i', idDigits)
	if counts {
		f.prompt, f.total, f.completion = place(b, 'p', countDigits), place(b, 't', countDigits), place(b, 'c', countDigits)
	}
	return f
}

// chunk puts text into one chunk of HTTP/1.1's chunked coding (RFC 9112, 7.1).
func chunk(text string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(text), text) }

// mark reserves the place of a number until place finds it. Control characters do not
// otherwise occur in an event, since strings escape them.
func mark(c byte, n int) string { return "\x00" + string(c) + strings.Repeat(" ", n-2) }

func place(b []byte, c byte, n int) int {
	at := strings.Index(string(b), "\x00"+string(c))
	for i := range n {
		b[at+i] = ' '
	}
	return at
}

// Pacing is the timing of one answer. A request has it in its field "mock"; omitted
// members are the server's defaults.
type Pacing struct {
	// ID is the name of the answer in Truth. By default it is the text of the prompt if
	// that has at most 64 bytes, otherwise the answer's own id.
	ID string `json:"id,omitempty"`
	// TTFT is the time from the arrival of the request to the first event with text, and
	// ITL the time between events, both in µs. They are deadlines counted from the
	// arrival: a late event makes no other one late.
	TTFT int64 `json:"ttft_us"`
	ITL  int64 `json:"itl_us"`
	// Tokens is the length of the answer; 0 takes the request's max_tokens.
	Tokens int `json:"tokens,omitempty"`
	// PerEvent is how many tokens an event has, as with speculative decoding.
	PerEvent int `json:"tokens_per_event,omitempty"`
	// Jitter delays each event by up to so many µs, uniformly distributed and determined
	// by the ID.
	Jitter int64 `json:"jitter_us,omitempty"`
	// Align rounds deadlines up to a multiple of so many µs on the server's clock: an
	// engine that computes a batch step by step sends the tokens of all requests of a
	// step at once.
	Align int64 `json:"align_us,omitempty"`
}

const (
	// defaultTokens is the length of answers to requests without max_tokens, as in the
	// API.
	defaultTokens = 16
	maxTokens     = 1 << 20
	maxPerEvent   = 64
	// maxWait limits each time, in µs: an hour.
	maxWait = 3600 * 1000 * 1000
)

func (p Pacing) check() error {
	for name, us := range map[string]int64{"ttft_us": p.TTFT, "itl_us": p.ITL, "jitter_us": p.Jitter, "align_us": p.Align} {
		if us < 0 || us > maxWait {
			return fmt.Errorf("mock.%s is %d: use 0 to %d", name, us, int64(maxWait))
		}
	}
	switch {
	case p.Tokens < 1 || p.Tokens > maxTokens:
		return fmt.Errorf("answer length %d: use 1 to %d tokens (max_tokens, or mock.tokens)", p.Tokens, maxTokens)
	case p.PerEvent < 1 || p.PerEvent > maxPerEvent:
		return fmt.Errorf("mock.tokens_per_event is %d: use 1 to %d", p.PerEvent, maxPerEvent)
	}
	return nil
}

// events is how many events with text the answer has.
func (p Pacing) events() int { return (p.Tokens + p.PerEvent - 1) / p.PerEvent }

// schedule is when events are due. It has no clock.
type schedule struct {
	first, gap, jitter, align int64 // ns
	r                         *rand.Rand
}

func (p Pacing) schedule(arrival int64) schedule {
	us := int64(time.Microsecond)
	s := schedule{first: arrival + p.TTFT*us, gap: p.ITL * us, jitter: p.Jitter * us, align: p.Align * us}
	if s.jitter > 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.ID))
		s.r = rand.New(rand.NewPCG(h.Sum64(), 0))
	}
	return s
}

// due is the deadline of event i, from 0. It must be called once per event.
func (s *schedule) due(i int) int64 {
	at := s.first + int64(i)*s.gap
	if s.jitter > 0 {
		at += s.r.Int64N(s.jitter)
	}
	if s.align > 0 {
		at += (s.align - at%s.align) % s.align
	}
	return at
}
