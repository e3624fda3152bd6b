package openai

// dispatch turns the data into an event, and reports whether it was one.
func (p *parser) dispatch() bool {
	data, reported := trimmed(p.data), p.reported
	p.data, p.hasData, p.reported = p.data[:0], false, false
	if len(data) == 0 {
		return false
	}
	if string(data) == "[DONE]" {
		p.ev = event{done: true, completion: -1, prompt: -1, cached: -1}
		return true
	}
	valid := p.json.scan(data) && data[0] == '{'
	if !valid && !reported {
		p.err = &StreamError{Kind: Malformed, Detail: quoted(data)}
		return false
	}
	if valid {
		p.strings = p.json.read(&p.ev, p.strings[:0])
	} else {
		p.ev = event{completion: -1, prompt: -1, cached: -1}
	}
	if reported && !p.ev.failed {
		p.ev.failed, p.ev.failure = true, data
	}
	return true
}

// trimmed is b without the white space around it.
func trimmed(b []byte) []byte {
	b = b[space(b, 0):]
	for n := len(b) - 1; n >= 0 && space(b, n) > n; n-- {
		b = b[:n]
	}
	return b
}

// finish tells the parser that the stream has ended and reports whether that
// completed one more event: some servers forget the blank line after the last.
// A text that was cut off is no event, and no error here: the caller knows that
// the stream ended early.
func (p *parser) finish() bool {
	if p.err != nil || p.ev.done {
		return false
	}
	if len(p.line) > 0 {
		p.field(p.line)
		p.line = p.line[:0]
	}
	if p.hasData && p.dispatch() {
		return true
	}
	p.err = nil
	return false
}
