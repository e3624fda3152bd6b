package read

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// scanner scans JSON that is too large for memory.
type scanner struct {
	r    io.Reader
	buf  []byte
	pos  int
	gone int64
	err  error
}

var errShort = errors.New("more is needed")

func (s *scanner) offset() int64 { return s.gone + int64(s.pos) }

// fill reads more data after the unread rest.
func (s *scanner) fill() error {
	if s.err != nil {
		return s.err
	}
	if s.pos > 0 {
		n := copy(s.buf, s.buf[s.pos:])
		s.gone += int64(s.pos)
		s.buf, s.pos = s.buf[:n], 0
	}
	if len(s.buf) == cap(s.buf) {
		if len(s.buf) >= maxEvent {
			return fmt.Errorf("an event is longer than %d MiB", maxEvent>>20)
		}
		s.buf = append(make([]byte, 0, 2*cap(s.buf)), s.buf...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			s.err = err
			if errors.Is(err, io.EOF) {
				s.err = io.ErrUnexpectedEOF
			}
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return s.err
		}
	}
	return io.ErrNoProgress
}

// next returns the next byte that is not a space, without consuming it.
func (s *scanner) next() (byte, error) {
	for {
		for ; s.pos < len(s.buf); s.pos++ {
			switch c := s.buf[s.pos]; c {
			case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
			default:
				return c, nil
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// token is a short string, or a number.
func (s *scanner) token() (string, error) {
	for {
		v, n, err := value(s.buf[s.pos:])
		if err == nil {
			s.pos += n
			return string(v), nil
		}
		if !errors.Is(err, errShort) {
			return "", err
		}
		if err := s.fill(); err != nil {
			return "", err
		}
	}
}

// skip skips a value of any length.
func (s *scanner) skip() error {
	depth := 0
	quoted, escaped := false, false
	for {
		for s.pos < len(s.buf) {
			c := s.buf[s.pos]
			switch {
			case escaped:
				escaped = false
			case quoted:
				escaped, quoted = c == '\\', c != '"'
				if !quoted && depth == 0 {
					s.pos++
					return nil
				}
			case c == '"':
				quoted = true
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				if depth == 0 {
					return nil
				}
				if depth--; depth == 0 {
					s.pos++
					return nil
				}
			case c == ',' && depth == 0:
				return nil
			}
			s.pos++
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// parse parses one event, an object at the start of b, and returns its length.
func (e *event) parse(b []byte) (int, error) {
	return members(b, "an event", func(key, v []byte) {
		switch string(key) {
		case "ph":
			if len(v) == 1 {
				e.ph = v[0]
			}
		case "cat":
			e.cat = v
		case "name":
			e.name = v
		case "pid":
			e.pid = v
		case "tid":
			e.tid = v
		case "ts":
			e.ts = v
		case "dur":
			e.dur = v
		}
	}, func(key, b []byte) (int, error) {
		if string(key) == "args" && b[0] == '{' {
			return e.args(b)
		}
		return nested(b)
	})
}

// args parses the needed arguments of an event.
func (e *event) args(b []byte) (int, error) {
	return members(b, "the args of an event", func(key, v []byte) {
		switch string(key) {
		case "correlation":
			e.correlation = v
		case "External id":
			e.id = v
		case "name":
			e.label = v
		}
	}, func(_, b []byte) (int, error) { return nested(b) })
}

// members iterates over an object at the start of b, and returns its length. take
// receives the members that are not objects or lists; inside returns the length of those.
func members(b []byte, of string, take func(key, v []byte), inside func(key, b []byte) (int, error)) (int, error) {
	p := 1
	for {
		p = spaces(b, p)
		if p >= len(b) {
			return 0, errShort
		}
		switch b[p] {
		case '}':
			return p + 1, nil
		case ',':
			p++
			continue
		case '"':
		default:
			return 0, fmt.Errorf("found %q in %s, expected a name", b[p], of)
		}
		key, n, err := value(b[p:])
		if err != nil {
			return 0, err
		}
		p = spaces(b, p+n)
		if p >= len(b) {
			return 0, errShort
		}
		if b[p] != ':' {
			return 0, fmt.Errorf("found %q in %s, expected a colon", b[p], of)
		}
		p = spaces(b, p+1)
		if p >= len(b) {
			return 0, errShort
		}
		if b[p] == '{' || b[p] == '[' {
			n, err = inside(key, b[p:])
		} else {
			var v []byte
			if v, n, err = value(b[p:]); err == nil {
				take(key, v)
			}
		}
		if err != nil {
			return 0, err
		}
		p += n
	}
}

func spaces(b []byte, p int) int {
	for p < len(b) && (b[p] == ' ' || b[p] == '\n' || b[p] == '\t' || b[p] == '\r') {
		p++
	}
	return p
}

// value returns a string without its quotes, or a number or word, and its length in b.
func value(b []byte) (v []byte, n int, err error) {
	if len(b) == 0 {
		return nil, 0, errShort
	}
	if b[0] == '"' {
		n, err := quoted(b)
		if err != nil {
			return nil, 0, err
		}
		return b[1 : n-1], n, nil
	}
	for i, c := range b {
		switch c {
		case ',', '}', ']', ' ', '\n', '\r', '\t', ':':
			if i == 0 {
				return nil, 0, fmt.Errorf("found %q, expected a value", c)
			}
			return b[:i], i, nil
		}
		if i > 1<<10 {
			return nil, 0, fmt.Errorf("%.40q… is not a value", b[:40])
		}
	}
	return nil, 0, errShort
}

// quoted is the length of a string with its quotes.
func quoted(b []byte) (int, error) {
	for p := 1; ; {
		i := bytes.IndexByte(b[p:], '"')
		if i < 0 {
			return 0, errShort
		}
		p += i + 1
		slashes := 0
		for q := p - 2; q > 0 && b[q] == '\\'; q-- {
			slashes++
		}
		if slashes%2 == 0 {
			return p, nil
		}
	}
}

// nested is the length of an object or array.
func nested(b []byte) (int, error) {
	depth := 0
	for p := 0; p < len(b); p++ {
		switch b[p] {
		case '"':
			n, err := quoted(b[p:])
			if err != nil {
				return 0, err
			}
			p += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return p + 1, nil
			}
		}
	}
	return 0, errShort
}
