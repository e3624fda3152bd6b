package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// scanned is a ledger that was read and verified from its first byte on.
type scanned struct {
	tree    tree
	root    tlog.Hash
	history *history
	records []*Record
	good    int64 // bytes of lines that verified
	torn    bool  // something that is a torn tail follows them
}

// scan reads a ledger to its end. It returns what verified even when it
// returns an error, which is then a *DamageError or the reader's.
func scan(r io.Reader, path string) (*scanned, error) {
	s := &scanned{history: newHistory()}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return s, s.tail(line, path)
		case errors.Is(err, errLong):
			return s, s.damage(path, fmt.Sprintf("is longer than %d bytes", maxLine))
		case err != nil:
			return s, fmt.Errorf("ledger %s: cannot be read: %w", path, err)
		}
		if problem := s.line(line); problem != nil {
			// A hole may hold anything after it, so the tail ends at the end
			// of the file, wherever that is.
			rest, err := holed(line, in, s.good)
			if err != nil {
				return s, fmt.Errorf("ledger %s: cannot be read: %w", path, err)
			}
			if s.torn = rest && s.tree.n > 0; s.torn {
				return s, nil
			}
			return s, s.damage(path, problem.Error())
		}
		s.good += int64(len(line)) + 1
	}
}

// line takes in one line, given without its LF.
func (s *scanned) line(line []byte) error {
	leaf, rootText, err := parseLine(line)
	if err != nil {
		return err
	}
	n := s.tree.n
	root, err := s.tree.add(leaf)
	if err != nil {
		return err
	}
	// Until all of the line is known to be good, the tree is as before.
	fail := func(err error) error { s.tree.cut(n); return err }
	if n == 0 {
		if err := parseHeader(leaf); err != nil {
			return fail(err)
		}
	}
	if root.String() != rootText {
		return fail(errors.New("does not match its tree hash: a byte of it was changed, or a line before it was added or removed"))
	}
	if n > 0 {
		rec, err := decode(leaf)
		if err != nil {
			return fail(err)
		}
		if _, err := s.history.add(rec); err != nil {
			return fail(err)
		}
		s.records = append(s.records, rec)
	}
	s.root = root
	return nil
}

// tail judges the bytes after the last LF.
func (s *scanned) tail(rest []byte, path string) error {
	if len(rest) == 0 {
		return nil
	}
	whole := formatLine([]byte(header), headerRoot())
	if s.tree.n == 0 && !bytes.HasPrefix(whole, rest) && strings.Trim(string(rest), "\x00") != "" {
		return s.damage(path, fmt.Sprintf("does not begin with %q: this file is not a ledger", header))
	}
	s.torn = true
	return nil
}

func (s *scanned) damage(path, problem string) error {
	return &DamageError{Path: path, Line: int(s.tree.n) + 1, Offset: s.good, Problem: problem, Hint: hintDamaged}
}

func headerRoot() tlog.Hash { return tlog.RecordHash([]byte(header)) }

var errLong = errors.New("line too long")

// readLine returns the next line without its LF, or io.EOF with the bytes that
// no LF follows.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return line, err
		}
		return line[:len(line)-1], nil
	}
}
