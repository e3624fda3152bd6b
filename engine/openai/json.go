package openai

// The scanner checks a whole JSON text and notes the positions of the few values that are
// read from a stream event. It exists because encoding/json costs several microseconds
// and a dozen allocations per event, which a client with many streams would report as the
// engine's latency. It must not be laxer for that: it accepts exactly the texts that
// json.Valid accepts, as a differential fuzz test verifies.

// maxDepth is encoding/json's own limit on nesting.
const maxDepth = 10000

// place is which object of an event the scanner is in.
type place uint8

const (
	nowhere place = iota
	inRoot
	inChoices
	inChoice
	inDelta
	inUsage
	inDetails
	inTimings
	inError
	inCalls
	inCall
	inFunction
	inOldCall
)

// span is the position of a value in the text; to is 0 if it is absent, since no value
// ends there. An event has fewer than 2³¹ bytes (maxEvent).
type span struct{ from, to int32 }

// toolCall is the function of one element of choices[0].delta.tool_calls.
type toolCall struct{ name, arguments span }

// fields are the values that are read from an event.
type fields struct {
	choice                               span // choices[0]
	text, finish, index                  span // in choices[0]
	content, reasoning, reasoningContent span // in choices[0].delta
	// oldCall is choices[0].delta.function_call, the predecessor of tool_calls.
	oldCall                    toolCall
	usage                      span
	completion, prompt, cached span // in usage and its prompt_tokens_details
	predictedN, cacheN         span // in timings
	object, message            span // at the top, of an event that is an error itself
	failure, failureMessage    span // error and error.message
	// calls are the tool calls that have a function; open is set if the last of them is
	// of the element being scanned.
	calls []toolCall
	open  bool
	// several is set if there were choices besides choices[0].
	several bool
}

type scanner struct {
	b []byte
	f fields
	// key holds a key that had to be unescaped.
	key []byte
}

// scan reports whether b is one valid JSON value, and notes the fields of an event in it.
// Of duplicate members the last counts.
func (s *scanner) scan(b []byte) bool {
	s.b, s.f = b, fields{calls: s.f.calls[:0]}
	i := s.value(space(b, 0), inRoot, 0)
	return i >= 0 && space(b, i) == len(b)
}

// value scans the value at i and returns the index behind it, or -1.
func (s *scanner) value(i int, at place, depth int) int {
	if i >= len(s.b) {
		return -1
	}
	switch c := s.b[i]; c {
	case '"':
		end, _ := scanString(s.b, i)
		return end
	case '{':
		return s.object(i, at, depth+1)
	case '[':
		return s.array(i, at, depth+1)
	case 't':
		return literal(s.b, i, "true")
	case 'f':
		return literal(s.b, i, "false")
	case 'n':
		return literal(s.b, i, "null")
	default:
		return number(s.b, i)
	}
}

func (s *scanner) object(i int, at place, depth int) int {
	if depth > maxDepth {
		return -1
	}
	b := s.b
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for i < len(b) && b[i] == '"' {
		end, plain := scanString(b, i)
		if end < 0 {
			return -1
		}
		var slot *span
		inside := nowhere
		if at != nowhere {
			key := b[i+1 : end-1]
			if !plain {
				s.key = appendUnescaped(s.key[:0], key)
				key = s.key
			}
			slot, inside = s.f.member(at, key)
		}
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return -1
		}
		from := space(b, i+1)
		if i = s.value(from, inside, depth); i < 0 {
			return -1
		}
		if slot != nil {
			*slot = span{int32(from), int32(i)}
		}
		i = space(b, i)
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i = space(b, i+1)
		default:
			return -1
		}
	}
	return -1
}

func (s *scanner) array(i int, at place, depth int) int {
	if depth > maxDepth {
		return -1
	}
	b := s.b
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for first := true; ; first = false {
		inside := nowhere
		switch {
		case at == inCalls:
			inside, s.f.open = inCall, false
		case at != inChoices:
		case first:
			inside = inChoice
		default:
			s.f.several = true
		}
		from := i
		if i = s.value(i, inside, depth); i < 0 {
			return -1
		}
		if inside == inChoice {
			s.f.choice = span{int32(from), int32(i)}
		}
		i = space(b, i)
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i = space(b, i+1)
		default:
			return -1
		}
	}
}

// member returns the slot for the value of a key in an object, nil for a key that is not
// read, and the value's place if it is an object or a list. The values inside an earlier
// member of the same name are discarded.
func (f *fields) member(at place, key []byte) (*span, place) {
	switch at {
	case inRoot:
		return f.root(key)
	case inChoice:
		return f.inChoice(key)
	case inDelta:
		return f.inDelta(key)
	case inCall:
		if string(key) == "function" {
			f.function()
			return nil, inFunction
		}
	case inFunction:
		return f.calls[len(f.calls)-1].member(key)
	case inOldCall:
		return f.oldCall.member(key)
	case inUsage:
		switch string(key) {
		case "completion_tokens":
			return &f.completion, nowhere
		case "prompt_tokens":
			return &f.prompt, nowhere
		case "prompt_tokens_details":
			f.cached = span{}
			return nil, inDetails
		}
	case inDetails:
		if string(key) == "cached_tokens" {
			return &f.cached, nowhere
		}
	case inTimings:
		switch string(key) {
		case "predicted_n":
			return &f.predictedN, nowhere
		case "cache_n":
			return &f.cacheN, nowhere
		}
	case inError:
		if string(key) == "message" {
			return &f.failureMessage, nowhere
		}
	}
	return nil, nowhere
}

func (f *fields) root(key []byte) (*span, place) {
	switch string(key) {
	case "choices":
		f.choice, f.text, f.finish, f.index, f.several = span{}, span{}, span{}, span{}, false
		f.forgetDelta()
		return nil, inChoices
	case "usage":
		f.completion, f.prompt, f.cached = span{}, span{}, span{}
		return &f.usage, inUsage
	case "timings":
		f.predictedN, f.cacheN = span{}, span{}
		return nil, inTimings
	case "error":
		f.failureMessage = span{}
		return &f.failure, inError
	case "object":
		return &f.object, nowhere
	case "message":
		return &f.message, nowhere
	}
	return nil, nowhere
}

func (f *fields) inChoice(key []byte) (*span, place) {
	switch string(key) {
	case "text":
		return &f.text, nowhere
	case "finish_reason":
		return &f.finish, nowhere
	case "index":
		return &f.index, nowhere
	case "delta":
		f.forgetDelta()
		return nil, inDelta
	}
	return nil, nowhere
}

func (f *fields) inDelta(key []byte) (*span, place) {
	switch string(key) {
	case "content":
		return &f.content, nowhere
	case "reasoning_content":
		return &f.reasoningContent, nowhere
	case "reasoning":
		return &f.reasoning, nowhere
	case "tool_calls":
		f.calls = f.calls[:0]
		return nil, inCalls
	case "function_call":
		f.oldCall = toolCall{}
		return nil, inOldCall
	}
	return nil, nowhere
}

func (f *fields) forgetDelta() {
	f.content, f.reasoning, f.reasoningContent = span{}, span{}, span{}
	f.calls, f.oldCall = f.calls[:0], toolCall{}
}

// function makes room for the function of the tool call being scanned.
func (f *fields) function() {
	if f.open {
		f.calls[len(f.calls)-1] = toolCall{}
		return
	}
	f.calls, f.open = append(f.calls, toolCall{}), true
}

func (c *toolCall) member(key []byte) (*span, place) {
	switch string(key) {
	case "name":
		return &c.name, nowhere
	case "arguments":
		return &c.arguments, nowhere
	}
	return nil, nowhere
}

// event is the content of one data event. Its byte slices are the parser's and valid
// until the next event.
type event struct {
	// done is set for the end marker.
	done bool
	// text of the answer, of the reasoning and of tool calls (the names of their
	// functions and the arguments), unescaped.
	text, reasoning, tools []byte
	// finish is finish_reason, empty if there is none.
	finish []byte
	// hasChoice is set if there was a choice, even an empty one.
	hasChoice bool
	// index of the choice, 0 if the event has none; several is set if there were more
	// choices, which were not requested and are not read.
	index   int
	several bool
	// hasUsage is set if there was a usage object, or timings that count.
	hasUsage bool
	// Counts so far, -1 if the event has none.
	completion, prompt, cached int
	// failed is set if the server reported an error instead; failure is its message.
	failed  bool
	failure []byte
}

// read copies the values of a scanned text into e, appending strings to buf, which it
// returns.
func (s *scanner) read(e *event, buf []byte) []byte {
	f := &s.f
	*e = event{
		hasChoice:  s.is(f.choice, '{'),
		completion: s.integer(f.completion),
		prompt:     s.integer(f.prompt),
		cached:     s.integer(f.cached),
		index:      max(s.integer(f.index), 0),
		several:    f.several,
	}
	e.hasUsage = s.is(f.usage, '{')
	if e.completion < 0 && f.predictedN.to > 0 { // llama-server's own counts
		e.completion = s.integer(f.predictedN)
		e.hasUsage = e.hasUsage || e.completion >= 0
	}
	if e.cached < 0 {
		e.cached = s.integer(f.cacheN)
	}

	// Completions use text, chats delta.content. Some servers send the same reasoning
	// under its old and its new name: one of them counts.
	text := f.text
	if s.empty(text) {
		text = f.content
	}
	reasoning := f.reasoningContent
	if s.empty(reasoning) {
		reasoning = f.reasoning
	}
	var a, b, c, d int
	buf, a, b = s.appendString(buf, text)
	textAt := [2]int{a, b}
	buf, c, d = s.appendString(buf, reasoning)
	reasoningAt := [2]int{c, d}
	toolsAt := len(buf)
	for _, call := range f.calls {
		buf, _, _ = s.appendString(buf, call.name)
		buf, _, _ = s.appendString(buf, call.arguments)
	}
	buf, _, _ = s.appendString(buf, f.oldCall.name)
	buf, _, _ = s.appendString(buf, f.oldCall.arguments)
	buf, a, b = s.appendString(buf, f.finish)
	e.text, e.reasoning, e.tools = buf[textAt[0]:textAt[1]], buf[reasoningAt[0]:reasoningAt[1]], buf[toolsAt:a]
	e.finish = buf[a:b]

	if said := s.failureSpan(); said.to > 0 {
		e.failed = true
		if s.is(said, '"') {
			buf, a, b = s.appendString(buf, said)
			e.failure = buf[a:b]
		} else {
			e.failure = s.b[said.from:said.to]
		}
	}
	return buf
}

// failureSpan finds the server's error message: error.message, error itself, or message
// if the whole event is an object of type error.
func (s *scanner) failureSpan() span {
	f := &s.f
	switch {
	case f.failure.to > 0 && !s.is(f.failure, 'n'):
		if s.is(f.failureMessage, '"') {
			return f.failureMessage
		}
		return f.failure
	case s.isError(f.object):
		if s.is(f.message, '"') {
			return f.message
		}
		return f.object
	}
	return span{}
}

// isError reports whether the value is the string "error", with whatever escapes.
func (s *scanner) isError(at span) bool {
	if s.empty(at) || (s.b[at.from+1] != 'e' && s.b[at.from+1] != '\\') {
		return false
	}
	s.key = appendUnescaped(s.key[:0], s.b[at.from+1:at.to-1])
	return string(s.key) == "error"
}

// is reports whether the value exists and starts with c, which determines its type.
func (s *scanner) is(at span, c byte) bool { return at.to > 0 && s.b[at.from] == c }

// empty reports whether the value is anything but a string with content.
func (s *scanner) empty(at span) bool { return !s.is(at, '"') || at.to-at.from == 2 }

// appendString appends the value of a string, nothing for any other type, and returns its
// position in buf.
func (s *scanner) appendString(buf []byte, at span) (_ []byte, from, to int) {
	from = len(buf)
	if s.is(at, '"') {
		buf = appendUnescaped(buf, s.b[at.from+1:at.to-1])
	}
	return buf, from, len(buf)
}

// integer is a count, or -1 for anything else: absent, null, negative, with a fraction or
// an exponent, or of more than 15 digits.
func (s *scanner) integer(at span) int {
	raw := s.b[at.from:at.to]
	if len(raw) == 0 || len(raw) > 15 {
		return -1
	}
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
