package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Read reads and verifies a ledger without a lock, also while another process appends:
// records that were not acknowledged are left out, an unfinished last line or, where the
// ledger is signed, anything behind the signed lines. Damage is a *DamageError.
func Read(path string) (*Index, error) {
	s, cp, err := readOnce(path)
	if _, ok := errors.AsType[*DamageError](err); ok {
		// A writer that undoes a failed write and then writes something else can be seen
		// half before and half after; not twice.
		s, cp, err = readOnce(path)
	}
	if err == nil && cp.signed() && len(s.Records) > int(cp.size)-1 {
		return newIndex(s.Records[:cp.size-1]...)
	}
	return s.Index, err
}

func readOnce(path string) (*scanned, *checkpoint, error) {
	// The checkpoint first: the file can then only be ahead of it.
	cp, err := readCheckpoint(path)
	if err != nil {
		return &scanned{Index: &Index{}}, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return &scanned{Index: &Index{}}, nil, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	s, err := scan(f, path, cp)
	if err != nil {
		return s, nil, err
	}
	return s, cp, cp.compare(path, s)
}

// scanned is a ledger that was read and verified from its first byte.
type scanned struct {
	*Index
	tree tree
	good int64   // bytes of lines that verified
	ends []int64 // of each line, in bytes
	torn bool    // something that is a torn tail follows them
}

// scan reads a ledger to its end. It returns what verified even with an error, which is a
// *DamageError or the reader's. What follows a line that does not verify, behind all that
// the checkpoint has seen, was never acknowledged: it is a torn tail.
func scan(r io.Reader, path string, cp *checkpoint) (*scanned, error) {
	index, _ := newIndex() // of nothing, in which nothing is wrong
	s := &scanned{Index: index}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	in.Split(func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i+1], nil
		}
		if atEOF && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	lines, leave := decodeLines(in)
	defer leave()
	for l := range lines {
		line, whole := bytes.CutSuffix(l.text, []byte("\n"))
		if !whole {
			return s, s.tail(line, path)
		}
		n := s.tree.n
		problem := s.leaf(line)
		switch {
		case problem == nil && n > 0: // the first leaf is the header
			<-l.decoded
			if problem = l.problem; problem == nil {
				problem = s.add(l.record)
			}
		case problem != nil && cp != nil && n >= cp.size:
			s.torn = true
		}
		if problem != nil {
			err := s.tree.cut(n)
			if err == nil && !s.torn {
				err = s.damage(path, problem)
			}
			return s, err
		}
		s.good += int64(len(line)) + 1
		s.ends = append(s.ends, s.good)
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return s, s.damage(path, fmt.Errorf("has more than %d bytes", maxLine))
	case err != nil:
		return s, fmt.Errorf("ledger %s: cannot read it: %w", path, err)
	}
	return s, nil
}

// lineAhead is a line of a ledger, with its LF, and once decoded is closed, what its leaf is.
type lineAhead struct {
	text    []byte
	decoded chan struct{}
	record  *Record
	problem error
}

// decodeLines yields the lines of a scanner in order, each being decoded while those before
// it are verified: decoding is most of reading a ledger. It ends before a line that the
// scanner could not read to its end, whose error in.Err returns. leave ends it earlier.
func decodeLines(in *bufio.Scanner) (lines <-chan *lineAhead, leave func()) {
	ahead, left := make(chan *lineAhead, goruntime.GOMAXPROCS(0)), make(chan struct{})
	go func() {
		defer close(ahead)
		for in.Scan() {
			l := &lineAhead{text: bytes.Clone(in.Bytes()), decoded: make(chan struct{})}
			if !bytes.HasSuffix(l.text, []byte("\n")) && in.Err() != nil {
				return
			}
			go func() {
				defer close(l.decoded)
				if i := bytes.LastIndexByte(l.text, '\t'); i >= 0 {
					l.record, l.problem = decode(l.text[:i])
				}
			}()
			select {
			case ahead <- l:
			case <-left:
				return
			}
		}
	}()
	return ahead, func() { close(left) }
}

// leaf adds one line, given without its LF, to the tree. The root is
// compared as text: base64 has spellings that decode alike, and only the one that formatLine
// writes may pass.
func (s *scanned) leaf(line []byte) error {
	i := bytes.LastIndexByte(line, '\t')
	if i < 0 {
		return errors.New("has no tab between the record and its tree hash")
	}
	leaf := line[:i]
	if err := s.tree.add(leaf); err != nil {
		return err
	}
	if s.tree.n == 1 {
		if err := parseHeader(leaf); err != nil {
			return err
		}
	}
	if s.tree.root.String() != string(line[i+1:]) {
		return errors.New("does not match its tree hash: it was changed, or a line before it was added or removed")
	}
	return nil
}

// tail judges the bytes after the last LF.
func (s *scanned) tail(rest []byte, path string) error {
	whole := formatLine([]byte(header), tlog.RecordHash([]byte(header)))
	if s.tree.n == 0 && !bytes.HasPrefix(whole, rest) && strings.Trim(string(rest), "\x00") != "" {
		return s.damage(path, fmt.Errorf("does not start with %q: this file is not a ledger", header))
	}
	s.torn = true
	return nil
}

func (s *scanned) damage(path string, problem error) error {
	return &DamageError{
		Path: path, Line: int(s.tree.n) + 1, Offset: s.good, Problem: problem.Error(), Hint: hint(problem, hintDamaged),
	}
}

type Report struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"` // that verified
	Records   int    `json:"records"`
	Runs      int    `json:"runs"`
	Launches  int    `json:"launches"`
	Decisions int    `json:"decisions"`
	Waivers   int    `json:"waivers,omitempty"`
	// Size and Root are the tree's: the contents of a signed checkpoint.
	Size int64     `json:"size"`
	Root tlog.Hash `json:"root"`
	// Checkpoint is the size in the checkpoint file, 0 without one.
	Checkpoint int64 `json:"checkpoint"`
	// Note is the text of the checkpoint with its signature, nil without one. Verifying
	// the signature is up to the caller.
	Note []byte `json:"-"`
	// Notices concern a ledger that verifies.
	Notices []string `json:"notices,omitempty"`
}

// Verify recomputes everything from the file: each tree hash, each record's form and
// invariants, and that nothing the checkpoint has seen is missing. A torn tail is an
// error too. The report shows how far it got.
func Verify(path string) (Report, error) {
	rep := Report{Path: path}
	s, cp, err := readOnce(path)
	rep.Bytes, rep.Size, rep.Root, rep.Records = s.good, s.tree.n, s.tree.root, len(s.Records)
	if err != nil {
		return rep, err
	}
	if s.torn {
		return rep, &DamageError{
			Path: path, Line: int(s.tree.n) + 1, Offset: s.good,
			Problem: "is not complete", Hint: hintTorn,
		}
	}
	if s.tree.n == 0 {
		return rep, &DamageError{Path: path, Problem: "is empty: not even a header", Hint: hintTorn}
	}
	if cp != nil {
		rep.Checkpoint, rep.Note = cp.size, cp.text
	}
	rep.Launches, rep.Waivers = len(s.Launches), len(s.Waived)
	launches := map[string]bool{}
	for i, r := range s.Records {
		switch {
		case r.RunStart != nil:
			rep.Runs++
		case r.Launch != nil:
			launches[r.Launch.ID] = true
		case r.Decision != nil:
			rep.Decisions++
			for _, id := range r.Decision.Launches {
				if !launches[id] {
					rep.Notices = append(rep.Notices,
						fmt.Sprintf("line %d: the decision about %s is based on launch %s, which no earlier line has",
							i+2, r.Decision.Node, id))
				}
			}
		}
	}
	return rep, nil
}

// HadRoot returns an error unless a verified ledger once had this tree hash.
func HadRoot(path, root string) error {
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(text, []byte("\t"+root+"\n")) {
		err = fmt.Errorf("the ledger never had tree hash %s: history was rewritten or truncated, or the hash belongs "+
			"to another ledger", root)
	}
	return err
}

// Signed is the part of a ledger that its checkpoint covers, with the checkpoint and the
// number of records.
func Signed(path string) (text, checkpoint []byte, records int, err error) {
	s, cp, err := readOnce(path)
	switch {
	case err != nil:
		return nil, nil, 0, err
	case cp == nil:
		return nil, nil, 0, fmt.Errorf("ledger %s: no checkpoint", path)
	}
	if text, err = os.ReadFile(path); err != nil {
		return nil, nil, 0, err
	}
	return text[:s.ends[cp.size-1]], cp.text, int(cp.size) - 1, nil
}

// DamageError is a ledger that does not verify. Nothing was changed.
type DamageError struct {
	Path string
	// Line counts from 1, the header; 0 if the damage has no line.
	Line   int
	Offset int64
	// Problem is the damage; Hint the remedy.
	Problem string
	Hint    string
}

func (e *DamageError) Error() string {
	where := "ledger " + e.Path
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d (at byte %d)", e.Line, e.Offset)
	}
	return fmt.Sprintf("%s: %s. %s", where, e.Problem, e.Hint)
}

const (
	hintCheckpoint = "Without it, removed records go unnoticed; if you know that the ledger is complete, " +
		"remove the checkpoint file, and the next append rewrites it"
	hintDamaged = "Nothing was changed. Lines above it are intact; restore the file from a copy, or keep it and " +
		"start a new state directory"
	hintTorn = "Caused by a crash during a write; the next apply sets it aside. If an apply is running, try again " +
		"when it has finished"
	hintRemoved = "Nothing was changed. Restore the ledger from a copy; if you reverted it to an older state on " +
		"purpose, remove the checkpoint file"
)
