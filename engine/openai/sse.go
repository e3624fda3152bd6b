package openai

import (
	"bytes"
	"strconv"
)

// maxEvent bounds what one event may hold before its end is seen, so that a
// server gone wild cannot exhaust the client.
const maxEvent = 8 << 20

// parser turns the bytes of an event stream into events. Bytes come in chunks
// cut anywhere; the events do not depend on the cuts. It follows the event
// stream grammar of the HTML standard (section 9.2.6): lines end in CR, LF or
// both, a blank line ends an event, several data lines are joined by LF, a
// line that begins with a colon is a comment, a byte order mark may come first.
//
//	p.push(chunk)
//	for p.next() {
//		use(&p.ev)
//	}
//	if p.err != nil { … }
//
// It departs from the standard where servers do: an event with empty data is a
// sign of life and is skipped; a line "error: …" is an error reported by the
// server (llama-server wrote these); and what comes after [DONE] is ignored.
type parser struct {
	ev  event
	err error

	limit int
	// chunk is what next reads, pos how far it got; lf is the index of the next
	// LF at or after pos, so that lines that end in CR do not search for it anew.
	chunk   []byte
	pos, lf int
	// line is the unfinished line that the chunks before ended in.
	line []byte
	// data is the data of the unfinished event.
	data    []byte
	hasData bool
	// reported: the data came in an error line.
	reported bool
	// skipLF: the last line ended in CR, and an LF right after belongs to it.
	skipLF bool
	// mark counts the bytes of a byte order mark seen; 3 when that is settled.
	mark    int
	json    scanner
	strings []byte
}

func newParser() *parser { return &parser{limit: maxEvent} }

const byteOrderMark = "\xef\xbb\xbf"

// push gives the parser the next bytes. The chunk must stay unchanged until
// next has returned false.
func (p *parser) push(chunk []byte) {
	for p.mark < len(byteOrderMark) && len(chunk) > 0 {
		if chunk[0] != byteOrderMark[p.mark] {
			p.line = append(p.line, byteOrderMark[:p.mark]...)
			p.mark = len(byteOrderMark)
			break
		}
		p.mark++
		chunk = chunk[1:]
	}
	p.chunk, p.pos, p.lf = chunk, 0, -1
}

// next finds the next event and reports whether there is one. After an error
// there is none.
func (p *parser) next() bool {
	for p.err == nil && !p.ev.done {
		line, ok := p.nextLine()
		if !ok {
			return false
		}
		if len(line) > 0 {
			p.field(line)
		} else if p.hasData && p.dispatch() {
			return true
		}
		p.line = p.line[:0]
	}
	return false
}

// nextLine returns the next whole line without its end. The rest of the chunk,
// when it holds none, is kept for the next one.
func (p *parser) nextLine() ([]byte, bool) {
	if p.skipLF && p.pos < len(p.chunk) {
		if p.chunk[p.pos] == '\n' {
			p.pos++
		}
		p.skipLF = false
	}
	if p.lf < p.pos {
		p.lf = len(p.chunk)
		if i := bytes.IndexByte(p.chunk[p.pos:], '\n'); i >= 0 {
			p.lf = p.pos + i
		}
	}
	rest := p.chunk[p.pos:p.lf]
	cr := bytes.IndexByte(rest, '\r')
	if cr >= 0 {
		rest = rest[:cr]
	}
	if len(p.line)+len(rest)+len(p.data) > p.limit {
		p.err = &StreamError{Kind: TooLarge, Detail: "more than " + strconv.Itoa(p.limit) + " bytes without an end"}
		return nil, false
	}
	p.pos += len(rest)
	if p.pos == len(p.chunk) {
		p.line = append(p.line, rest...)
		return nil, false
	}
	p.pos++
	p.skipLF = cr >= 0
	if len(p.line) == 0 {
		return rest, true
	}
	p.line = append(p.line, rest...)
	return p.line, true
}

// field takes in one line that is not blank.
func (p *parser) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "error":
		p.reported = true
	case "data":
	default: // comments, and event, id, retry and the unknown, which say nothing here
		return
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if p.hasData {
		p.data = append(p.data, '\n')
	}
	p.data = append(p.data, value...)
	p.hasData = true
}

// dispatch turns the data into an event, and reports whether it was one.
func (p *parser) dispatch() bool {
	data, reported := bytes.Trim(p.data, " \t\r\n"), p.reported
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
