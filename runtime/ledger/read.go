package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Snapshot is a ledger as read at one time.
type Snapshot struct{ s *scanned }

// Read reads and verifies a ledger without a lock, also while another process appends: what
// is not acknowledged is left out, an unfinished last line or, where the ledger is signed,
// whatever is behind the signed lines. Damage is a *DamageError.
func Read(path string) (*Snapshot, error) {
	s, cp, err := readOnce(path)
	if _, ok := errors.AsType[*DamageError](err); ok {
		// A writer that undoes a failed write and then writes something else can be seen
		// half before and half after; not twice.
		s, cp, err = readOnce(path)
	}
	if err != nil {
		return nil, err
	}
	if cp.signed() {
		s.records = s.records[:cp.size-1]
	}
	return &Snapshot{s}, nil
}

func readOnce(path string) (*scanned, *checkpoint, error) {
	// The checkpoint first: the file can then only be ahead of it.
	cp, err := readCheckpoint(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	s, err := scan(f, path, cp)
	if err != nil {
		return s, nil, err
	}
	return s, cp, cp.compare(path, s)
}

// Records are all records in order, numbered from 0. They must not be changed.
func (s *Snapshot) Records() iter.Seq2[int, *Record] { return slices.All(s.s.records) }

// scanned is a ledger that was read and verified from its first byte.
type scanned struct {
	tree    tree
	root    tlog.Hash
	history *history
	records []*Record
	good    int64   // bytes of lines that verified
	ends    []int64 // of each line, in bytes
	torn    bool    // something that is a torn tail follows them
}

// scan reads a ledger to its end. It returns what verified even with an error, which is a
// *DamageError or the reader's. What follows a line that does not verify, behind all that
// the checkpoint has seen, was never acknowledged: it is a torn tail.
func scan(r io.Reader, path string, cp *checkpoint) (*scanned, error) {
	s := &scanned{history: newHistory()}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return s, s.tail(line, path)
		case errors.Is(err, errLong):
			return s, s.damage(path, fmt.Sprintf("has more than %d bytes", maxLine))
		case err != nil:
			return s, fmt.Errorf("ledger %s: cannot read it: %w", path, err)
		}
		before := s.root
		leaf, problem := s.line(line)
		if problem != nil {
			if s.torn = cp != nil && s.tree.n >= cp.size; s.torn {
				return s, nil
			}
			return s, s.damage(path, problem.Error())
		}
		if s.tree.n > 1 { // the first leaf is the header
			if err := s.record(leaf); err != nil {
				s.tree.cut(s.tree.n - 1)
				s.root = before
				return s, s.damage(path, err.Error())
			}
		}
		s.good += int64(len(line)) + 1
		s.ends = append(s.ends, s.good)
	}
}

// line adds one line, given without its LF, to the tree and returns its leaf.
func (s *scanned) line(line []byte) ([]byte, error) {
	leaf, rootText, err := parseLine(line)
	if err != nil {
		return nil, err
	}
	n := s.tree.n
	root, err := s.tree.add(leaf)
	if err != nil {
		return nil, err
	}
	// Until the whole line is known to be good, the tree stays unchanged.
	fail := func(err error) ([]byte, error) { s.tree.cut(n); return nil, err }
	if n == 0 {
		if err := parseHeader(leaf); err != nil {
			return fail(err)
		}
	}
	if root.String() != rootText {
		return fail(errors.New("does not match its tree hash: it was changed, or a line before it was added or removed"))
	}
	s.root = root
	return leaf, nil
}

// record decodes the record of a leaf and takes it in.
func (s *scanned) record(leaf []byte) error {
	rec, err := decode(leaf)
	if err != nil {
		return err
	}
	if _, err := s.history.add(rec); err != nil {
		return err
	}
	s.records = append(s.records, rec)
	return nil
}

// tail judges the bytes after the last LF.
func (s *scanned) tail(rest []byte, path string) error {
	if len(rest) == 0 {
		return nil
	}
	whole := formatLine([]byte(header), headerRoot())
	if s.tree.n == 0 && !bytes.HasPrefix(whole, rest) && strings.Trim(string(rest), "\x00") != "" {
		return s.damage(path, fmt.Sprintf("does not start with %q: this file is not a ledger", header))
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
// no LF follows. It is valid until the next is read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
	}
	for errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine {
		var part []byte
		part, err = in.ReadSlice('\n')
		line = append(line, part...)
	}
	switch {
	case len(line) > maxLine:
		return nil, errLong
	case err != nil:
		return line, err
	}
	return line[:len(line)-1], nil
}

// Report is what Verify found.
type Report struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"` // that verified
	Records int    `json:"records"`
	// Runs, Launches and Decisions count records by type.
	Runs      int `json:"runs"`
	Launches  int `json:"launches"`
	Decisions int `json:"decisions"`
	// Waivers and Retractions count overrides; a retraction is a decision too.
	Waivers     int `json:"waivers,omitempty"`
	Retractions int `json:"retractions,omitempty"`
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
	if s != nil {
		rep.Bytes, rep.Size, rep.Root, rep.Records = s.good, s.tree.n, s.root, len(s.records)
	}
	if err != nil {
		return rep, err
	}
	if s.torn {
		return rep, &DamageError{Path: path, Line: int(s.tree.n) + 1, Offset: s.good, Problem: "is not complete", Hint: hintTorn}
	}
	if s.tree.n == 0 {
		return rep, &DamageError{Path: path, Problem: "is empty: not even a header", Hint: hintTorn}
	}
	if cp != nil {
		rep.Checkpoint, rep.Note = cp.size, cp.text
	}
	rep.count(s.records)
	return rep, nil
}

func (rep *Report) count(records []*Record) {
	launches := map[string]bool{}
	for i, r := range records {
		switch {
		case r.RunStart != nil:
			rep.Runs++
		case r.Launch != nil:
			rep.Launches++
			launches[r.Launch.ID] = true
		case r.Waiver != nil:
			rep.Waivers++
		case r.Decision != nil:
			rep.Decisions++
			if r.Decision.Retracted() {
				rep.Retractions++
			}
			for _, id := range r.Decision.Launches {
				if !launches[id] {
					rep.Notices = append(rep.Notices, fmt.Sprintf("line %d: the decision about %s is based on launch %s, which no earlier line has", i+2, r.Decision.Node, id))
				}
			}
		}
	}
}

// HadRoot returns an error unless a verified ledger once had this tree hash.
func HadRoot(path, root string) error {
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(text, []byte("\t"+root+"\n")) {
		err = fmt.Errorf("the ledger never had tree hash %s: history was rewritten or truncated, or the hash belongs to another ledger", root)
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
	Line int
	// Offset is where that line begins.
	Offset int64
	// Problem says what is wrong with it; Hint what to do.
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
	hintDamaged = "Nothing was changed. Lines above it are intact; restore the file from a copy, or keep it and start a new state directory"
	hintTorn    = "Caused by a crash during a write; the next apply sets it aside. If an apply is running, try again when it has finished"
	hintRemoved = "Nothing was changed. Restore the ledger from a copy; if you reverted it to an older state on purpose, remove the checkpoint file"
)
