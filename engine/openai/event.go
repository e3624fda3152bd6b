package openai

// event is what one data event said. Its byte slices are the parser's and hold
// until the next event.
type event struct {
	// done: the end marker, and nothing else.
	done bool
	// text of the answer, of the reasoning and of tool calls (the names of their
	// functions and the arguments), unescaped.
	text, reasoning, tools []byte
	// finish is finish_reason, empty where there is none.
	finish []byte
	// hasChoice: there was a choice, even if it was empty.
	hasChoice bool
	// index of the choice, 0 where the event does not say; several: there were
	// more choices, which nobody asked for and nobody reads.
	index   int
	several bool
	// hasUsage: there was a usage object, or timings that count.
	hasUsage bool
	// Counts so far, -1 where the event does not say.
	completion, prompt, cached int
	// failed: the server reported an error instead; failure is its words.
	failed  bool
	failure []byte
}

// read takes the values out of a scanned text into e, appending strings to buf,
// which it returns.
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

	// Completions fill text, chats fill delta.content. Some servers send the
	// same reasoning under its old and its new name: one of them counts.
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

// failureSpan finds the server's words for an error: error.message, error
// itself, or message where the whole event is an object of type error.
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

// isError reports whether the value is the string "error", however it is spelt.
func (s *scanner) isError(at span) bool {
	if s.empty(at) || (s.b[at.from+1] != 'e' && s.b[at.from+1] != '\\') {
		return false
	}
	s.key = appendUnescaped(s.key[:0], s.b[at.from+1:at.to-1])
	return string(s.key) == "error"
}

// is reports whether the value is there and begins with c, which tells its type.
func (s *scanner) is(at span, c byte) bool { return at.to > 0 && s.b[at.from] == c }

// empty reports whether the value is anything but a string with content.
func (s *scanner) empty(at span) bool { return !s.is(at, '"') || at.to-at.from == 2 }

// appendString appends the value of a string, nothing for any other type, and
// says where in buf it lies.
func (s *scanner) appendString(buf []byte, at span) (_ []byte, from, to int) {
	from = len(buf)
	if s.is(at, '"') {
		buf = appendUnescaped(buf, s.b[at.from+1:at.to-1])
	}
	return buf, from, len(buf)
}

// integer is a count, or -1 for anything that is none: absent, null, negative,
// with a fraction or an exponent, or of more than 15 digits.
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
