package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
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

// parseCheckpoint reads what formatCheckpoint wrote. Lines after the third are for
// signatures.
func parseCheckpoint(text string) (size int64, root tlog.Hash, err error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 {
		return 0, root, errors.New("has fewer than three lines")
	}
	if err := parseHeader([]byte(lines[0])); err != nil {
		return 0, root, fmt.Errorf("line 1 %w", err)
	}
	size, err = strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 1 || strconv.FormatInt(size, 10) != lines[1] {
		return 0, root, fmt.Errorf("line 2 is %q, not a number of leaves", lines[1])
	}
	root, err = tlog.ParseHash(lines[2])
	if err != nil || root.String() != lines[2] {
		return 0, root, fmt.Errorf("line 3 is %q, not a tree hash", lines[2])
	}
	return size, root, nil
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
	size, root, err := parseCheckpoint(string(text))
	if err != nil {
		return nil, &DamageError{Path: at, Problem: "the checkpoint " + err.Error(), Hint: "Without it, removed records go unnoticed; if you know that the ledger is complete, remove the checkpoint file, and the next append rewrites it"}
	}
	return &checkpoint{size, root, text}, nil
}

// writeCheckpoint replaces the checkpoint and makes it durable: if a crash lost a signed
// one, nobody could tell that nothing was cut off.
func writeCheckpoint(path string, text []byte) error {
	aside, err := os.OpenFile(checkpointPath(path)+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = aside.Write(text)
	if err := errors.Join(err, aside.Sync(), aside.Close()); err != nil {
		return err
	}
	if err := os.Rename(aside.Name(), checkpointPath(path)); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Signer signs checkpoints as signed notes (golang.org/x/mod/sumdb/note).
type Signer interface {
	// Sign returns the text, which ends with a newline, followed by a signature.
	Sign(text []byte) ([]byte, error)
	// Verify returns the text that this signer signed.
	Verify(signed []byte) ([]byte, error)
}

// SignWith signs the present checkpoint and later ones. If the ledger was found with
// records and without a checkpoint of this signer, it signs nothing, as it would vouch
// for whatever somebody cut off or rewrote.
func (l *Ledger) SignWith(s Signer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.state.records) > 0 {
		if l.found == nil {
			return fmt.Errorf("ledger %s: there was no %s, so records may be missing at the end, and nothing more is signed. Restore both from a copy, or start a new state directory (--state)", l.path, checkpointPath(l.path))
		}
		if _, err := s.Verify(l.found.text); err != nil {
			return fmt.Errorf("ledger %s: its checkpoint has %w, so nothing more is signed. Find out who signed it: use that key, restore both from a copy, or start a new state directory (--state)", l.path, err)
		}
	}
	l.signer = s
	return l.stamp()
}

// compare reports whether the ledger that was read still holds everything that the
// checkpoint has seen.
func (c *checkpoint) compare(path string, s *scanned) error {
	if c == nil {
		return nil
	}
	if c.size > s.tree.n {
		return &DamageError{
			Path: path, Hint: hintRemoved + " (" + checkpointPath(path) + ")",
			Problem: fmt.Sprintf("records were removed: it has %s, but its checkpoint %s", count(s.tree.n), count(c.size)),
		}
	}
	root, err := s.tree.rootAt(c.size)
	if err != nil {
		return err
	}
	if root != c.root {
		return &DamageError{
			Path: path, Hint: hintRemoved + " (" + checkpointPath(path) + ")",
			Problem: fmt.Sprintf("history was rewritten: its tree hash after %s is %s, but its checkpoint has %s", count(c.size), root, c.root),
		}
	}
	return nil
}

// count formats a number of leaves, header included, as records.
func count(leaves int64) string {
	switch n := leaves - 1; n {
	case -1:
		return "nothing"
	case 1:
		return "1 record"
	default:
		return fmt.Sprintf("%d records", n)
	}
}
