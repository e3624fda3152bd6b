package mock

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Numbers in a frame have fixed places, filled up with spaces, which JSON
// allows before a value: so a frame is made once and only its digits change.
const (
	idDigits    = 16
	countDigits = 8
)

// words are the text of events, in turn.
var words = [8]string{" the", " quick", ",", " brown", "\\n", " fox\\u00e9", " jumps", " \\\"over\\\""}

// frame is one HTTP chunk with one event in it, and where its numbers lie; an
// offset of 0 is none.
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

// look is what decides how the frames of an answer read.
type look struct {
	model    string
	chat     bool
	perEvent int
	// usage at the end, counts in every event.
	usage, continuous bool
}

// frames are those of one look: head comes with the first event, last replaces
// the last of text, tail ends the answer.
type frames struct {
	head, last, usage frame
	text              [len(words)]frame
	end               []byte
}

// frameCache keeps the frames of the looks that were asked for.
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

// event makes a frame shaped like an event of vLLM.
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

// mark holds the place of a number until place finds it. Control characters
// stand nowhere else in an event, since strings have them escaped.
func mark(c byte, n int) string { return "\x00" + string(c) + strings.Repeat(" ", n-2) }

func place(b []byte, c byte, n int) int {
	at := strings.Index(string(b), "\x00"+string(c))
	for i := range n {
		b[at+i] = ' '
	}
	return at
}
