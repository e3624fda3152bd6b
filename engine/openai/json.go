package openai

// The scanner checks a whole JSON text and notes where the few values lie that
// a stream event is read for. It exists because encoding/json costs several
// microseconds and a dozen allocations for an event, which a client with many
// streams would report as the engine's latency. It must not be laxer for that:
// it accepts exactly the texts that json.Valid accepts, which a differential
// fuzz test holds it to.

// maxDepth is encoding/json's own limit on nesting.
const maxDepth = 10000

// place says which object of an event the scanner is in.
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

// span is where a value lies in the text; to is 0 where it is absent, since no
// value ends there. An event has fewer than 2³¹ bytes (maxEvent).
type span struct{ from, to int32 }

// toolCall is the function of one element of choices[0].delta.tool_calls.
type toolCall struct{ name, arguments span }

// fields are the values that an event is read for.
type fields struct {
	choice                               span // choices[0]
	text, finish, index                  span // in choices[0]
	content, reasoning, reasoningContent span // in choices[0].delta
	// oldCall is choices[0].delta.function_call, which tool_calls came after.
	oldCall                    toolCall
	usage                      span
	completion, prompt, cached span // in usage and its prompt_tokens_details
	predictedN, cacheN         span // in timings
	object, message            span // at the top, of an event that is an error itself
	failure, failureMessage    span // error and error.message
	// calls are the tool calls that have a function; open says that the last of
	// them is of the element that is being scanned.
	calls []toolCall
	open  bool
	// several: there were choices beside choices[0].
	several bool
}

type scanner struct {
	b []byte
	f fields
	// key holds a key that had to be unescaped.
	key []byte
}

// scan reports whether b is one valid JSON value, and notes the fields of an
// event in it. A member that comes twice counts as the last one does.
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
