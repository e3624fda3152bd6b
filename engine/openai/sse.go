package openai

import (
	"bytes"
	"strconv"
)

// maxEvent bounds what one event may hold before its end is seen, so that a
// server gone wild cannot exhaust the client. maxKept is how much room a parser
// keeps for the next stream.
const (
	maxEvent = 8 << 20
	maxKept  = 32 << 10
)

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
	// stray is the beginning of the first line that looks like JSON where a field
	// should be: the body of an answer that is no event stream.
	stray []byte
	// skipLF: the last line ended in CR, and an LF right after belongs to it.
	skipLF bool
	// mark counts the bytes of a byte order mark seen; 3 when that is settled.
	mark    int
	json    scanner
	strings []byte
}

func newParser() *parser { return &parser{limit: maxEvent} }

// reset makes the parser new, and keeps its buffers where they are small.
func (p *parser) reset() {
	*p = parser{limit: maxEvent, line: p.line[:0], data: p.data[:0], strings: p.strings[:0], json: p.json}
	p.json.b = nil
	if cap(p.line)+cap(p.data)+cap(p.strings)+16*cap(p.json.f.calls) > maxKept {
		*p = parser{limit: maxEvent}
	}
}

// unfinished reports whether an event has begun and not ended: bytes of it have
// come, and not the blank line.
func (p *parser) unfinished() bool { return p.hasData || len(p.line) > 0 && p.line[0] != ':' }

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
		} else {
			p.reported = false
		}
		p.line = p.line[:0]
	}
	return false
}

// resume goes on after [DONE].
func (p *parser) resume() { p.ev.done, p.line = false, p.line[:0] }

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
	case "event":
		p.reported = p.reported || string(bytes.TrimSpace(value)) == "error"
		return
	default: // comments, and id, retry and the unknown, which say nothing here
		if line[0] == '{' && p.stray == nil {
			p.stray = bytes.Clone(line[:min(len(line), maxStatusBody)])
		}
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
