package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// PutFile stores a copy of a file and returns its SHA-256.
func (s *Store) PutFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("artifact: %w", err)
	}
	defer f.Close()
	return s.put(f)
}

// Put stores bytes and returns their SHA-256.
func (s *Store) Put(data []byte) (string, error) { return s.put(bytes.NewReader(data)) }

// put writes to a temporary file, makes that durable, and renames it: an artifact is
// completely on disk before a record names it. An existing one is kept if it is intact
// and replaced if not.
func (s *Store) put(r io.Reader) (sum string, err error) {
	if s.readOnly {
		return "", errReadOnly
	}
	fail := func(err error) (string, error) { return "", s.dir.explain(fmt.Errorf("artifact: %w", err)) }
	tmp, err := os.CreateTemp(s.dir.path(artifactsDir), ".new-*")
	if err != nil {
		return fail(err)
	}
	defer func() {
		// After the rename there is nothing left to remove.
		if err := os.Remove(tmp.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) && sum == "" {
			s.notice("artifact: cannot remove temporary file %s: %v", tmp.Name(), err)
		}
	}()
	h := sha256.New()
	if _, err = io.Copy(io.MultiWriter(tmp, h), r); err != nil {
		return fail(errors.Join(err, tmp.Close()))
	}
	sum = hex.EncodeToString(h.Sum(nil))
	if _, err := s.Get(sum); err == nil {
		return sum, tmp.Close()
	}
	if err := errors.Join(tmp.Sync(), tmp.Chmod(0o444), tmp.Close()); err != nil {
		return fail(err)
	}
	to := s.artifact(sum)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fail(err)
	}
	if err := os.Rename(tmp.Name(), to); err != nil {
		return fail(err)
	}
	if err := errors.Join(ledger.SyncDir(filepath.Dir(to)), ledger.SyncDir(s.dir.path(artifactsDir))); err != nil {
		return fail(err)
	}
	return sum, nil
}

// Has reports whether an artifact exists. It is not read.
func (s *Store) Has(sum string) bool {
	if checkSum(sum) != nil {
		return false
	}
	_, err := os.Stat(s.artifact(sum))
	return err == nil
}

// Header opens an artifact that a launch leaves as JSON, and names that launch.
type Header struct {
	Of Origin `json:"of"`
}

// Origin is the launch that left the artifact.
func (h *Header) Origin() *Origin { return &h.Of }

// Artifact is what a launch leaves as JSON, with a Header.
type Artifact interface{ Origin() *Origin }

// ReadArtifact reads what a launch of the ledger left at a path. One of another launch is an
// error, as is a missing one, which wraps fs.ErrNotExist.
func (s *Store) ReadArtifact(l *ledger.Launch, path string, into Artifact) error {
	if l.Left[path] == "" {
		return fmt.Errorf("launch %s left no %s: %w", l.ID, path, fs.ErrNotExist)
	}
	data, err := s.Get(l.Left[path])
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err == nil {
		return s.Origin(l).Check(path, *into.Origin())
	}
	return fmt.Errorf("%s of launch %s: %w", path, l.ID, err)
}

// Get returns an artifact whose bytes match its digest. A missing one is an error that
// wraps fs.ErrNotExist.
func (s *Store) Get(sum string) ([]byte, error) {
	if err := checkSum(sum); err != nil {
		return nil, err
	}
	f, err := openRegular(s.artifact(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("artifact %s is not in this state directory: %w", sum, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("artifact %s: %w", sum, err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("artifact %s: %w", sum, err)
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil,
			fmt.Errorf("artifact %s: the content of %s has digest %x: it was changed, or the disk is failing; "+
				"results based on it cannot be checked", sum, s.artifact(sum), got)
	}
	return data, nil
}

func (s *Store) artifact(sum string) string {
	return filepath.Join(s.dir.path(artifactsDir), sum[:2], sum[2:])
}

// openRegular opens regular files only: a pipe would block, and a link may lead to an
// endless device. It does not block even if the file is replaced by a pipe meanwhile.
func openRegular(path string) (*os.File, error) {
	found, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !found.Mode().IsRegular() {
		return nil,
			fmt.Errorf("%s is not a regular file (%s), as artifacts are; remove it, or restore the state directory "+
				"from a copy", path, found.Mode())
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(found, opened) {
		return nil, errors.Join(fmt.Errorf("%s was replaced while being opened: try again", path), err, f.Close())
	}
	return f, nil
}

// checkSum keeps anything but a digest out of paths.
func checkSum(sum string) error {
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != sum {
		return fmt.Errorf("artifact %q: not a SHA-256 in 64 lower-case hexadecimal digits", sum)
	}
	return nil
}
