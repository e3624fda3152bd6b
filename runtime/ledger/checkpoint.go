package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mxflow/mxflow/gates/verdict"
)

// checkpoint is an earlier size of the ledger and its root.
type checkpoint struct {
	size int64 // leaves, header included
	root tlog.Hash
	text []byte // of the file, with its signature
}

// checkpointPath is the path of the checkpoint for the ledger at path.
func checkpointPath(path string) string { return path + ".checkpoint" }

// formatCheckpoint is the text of a checkpoint file: the format's name, the number of
// leaves and the root, each on a line.
func formatCheckpoint(size int64, root tlog.Hash) string {
	return fmt.Sprintf("%s\n%d\n%s\n", header, size, root)
}

// readCheckpoint returns nil if there is none. A crash may leave the file empty or full
// of NUL bytes, which counts as none.
func readCheckpoint(path string) (*checkpoint, error) {
	at := checkpointPath(path)
	text, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.Trim(string(text), "\x00") == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint of the ledger: %w", err)
	}
	// Lines after the third are for signatures.
	cp, lines := &checkpoint{text: text}, append(strings.SplitN(string(text), "\n", 4), "", "", "")
	err = parseHeader([]byte(lines[0]))
	if err == nil {
		cp.size, _ = strconv.ParseInt(lines[1], 10, 64)
		cp.root, _ = tlog.ParseHash(lines[2])
		if cp.size < 1 || !strings.HasPrefix(string(text), formatCheckpoint(cp.size, cp.root)) {
			err = fmt.Errorf("has %q as number of leaves and %q as tree hash, which mxflow did not write",
				lines[1], lines[2])
		}
	}
	if err != nil {
		return nil, &DamageError{Path: at, Problem: "the checkpoint " + err.Error(), Hint: hint(err, hintCheckpoint)}
	}
	return cp, nil
}

// Signer signs checkpoints as signed notes (golang.org/x/mod/sumdb/note).
type Signer interface {
	// Sign returns the text, which ends with a newline, followed by a signature.
	Sign(text []byte) ([]byte, error)
	// Verify returns the text that this signer signed.
	Verify(signed []byte) ([]byte, error)
}

func (c *checkpoint) signed() bool {
	return c != nil && len(c.text) > len(formatCheckpoint(c.size, c.root))
}

// resume is the number of bytes of an existing ledger that the signer continues from. It
// vouches only for records that it signed itself: not for those behind its checkpoint,
// nor for a ledger without one, from which anything may have been cut off.
func (l *Ledger) resume(cp *checkpoint, s *scanned) (good int64, err error) {
	switch {
	case cp.signed() && l.signer == nil:
		return 0,
			fmt.Errorf("ledger %s is signed, and without a key nothing can be added to it: use the key that signed "+
				"it, or another state directory (--state)", l.path)
	case cp.signed():
		if _, err := l.signer.Verify(cp.text); err != nil {
			return 0,
				fmt.Errorf("ledger %s: its checkpoint has %w, so nothing is added to it. Find its signer: use that "+
					"key, restore both from a copy, or use another state directory (--state)", l.path, err)
		}
		return s.ends[cp.size-1], s.checkTail(l.path, cp)
	case l.signer != nil && len(s.Records) > 0:
		missing := "its checkpoint has no signature"
		if cp == nil {
			missing = "there was no " + checkpointPath(l.path)
		}
		l.signer = nil
		l.notices = append(l.notices,
			fmt.Sprintf("ledger %s: %s, so records may be missing at the end, and nothing more is signed. Restore "+
				"both from a copy, or start a new state directory (--state)", l.path, missing))
	}
	return s.good, nil
}

// checkTail refuses records behind a signed checkpoint that no crash leaves there. A
// crash may leave the last write of an active run, or the start of a run: the next
// opening sets them aside, as nobody acted on them.
func (s *scanned) checkTail(path string, cp *checkpoint) error {
	tail, run := s.Records[cp.size-1:], ""
	for _, r := range s.Records[:cp.size-1] {
		switch {
		case r.RunStart != nil:
			run = r.Run
		case r.End != nil && r.Run == run:
			run = ""
		}
	}
	if len(tail) == 1 && tail[0].RunStart != nil {
		return nil
	}
	for i, r := range tail {
		if run == "" || r.Run != run || r.RunStart != nil {
			what := "a record of type " + r.Type
			if r.Decision != nil {
				what = fmt.Sprintf("a decision about %s (%s)", r.Decision.Node, r.Decision.Verdict)
			}
			return &DamageError{
				Path: path, Line: int(cp.size) + 1 + i, Offset: s.ends[int(cp.size)-1+i],
				Problem: fmt.Sprintf("%s of run %s was added without the key: it is behind the last signed line, %d, "+
					"and no run was active that could have left it", what, r.Run, cp.size),
				Hint: fmt.Sprintf("Nothing was changed. Find out who wrote it; then keep a copy, and cut the file "+
					"off behind the signed lines (truncate -s %d) or restore it", s.ends[cp.size-1]),
			}
		}
	}
	return nil
}

// compare reports whether the ledger that was read still holds everything that the
// checkpoint has seen.
func (c *checkpoint) compare(path string, s *scanned) error {
	if c == nil {
		return nil
	}
	problem := ""
	if c.size > s.tree.n {
		problem = fmt.Sprintf("records were removed: it has %s, but its checkpoint %s", count(s.tree.n), count(c.size))
	} else if root, err := tlog.TreeHash(c.size, &s.tree); err != nil {
		return err
	} else if root != c.root {
		problem = fmt.Sprintf("history was rewritten: its tree hash after %s is %s, but its checkpoint has %s",
			count(c.size), root, c.root)
	}
	if problem == "" {
		return nil
	}
	return &DamageError{Path: path, Hint: hintRemoved + " (" + checkpointPath(path) + ")", Problem: problem}
}

// count formats a number of leaves, header included, as records.
func count(leaves int64) string {
	if leaves == 0 {
		return "nothing"
	}
	return verdict.Count(int(leaves-1), "record")
}
