package store

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// An archive is a state directory as one file that a stranger can verify and replay: a
// tar file with the signed part of the ledger, its checkpoint, the signer's public key,
// and the artifacts that records name. Nothing in it is compressed, so it unpacks to no
// more than its size. A lock is one without what launches sent, answered and logged: its
// artifacts are plans and lists of what ran, and an empty file marks it.
const (
	archivedLedger     = "ledger"
	archivedCheckpoint = "ledger.checkpoint"
	archivedKey        = "signing.pub"
	archivedLock       = "identities"
)

var archivedArtifact = regexp.MustCompile(`^artifacts/sha256/([0-9a-f]{2})/([0-9a-f]{62})$`)

type Named struct {
	Sum string
	// Record counts from 0; What is the artifact's role in it.
	Record int
	What   string
}

// Named returns all artifacts that records name, each once, in the order of the ledger; of a lock
// those that it keeps.
func (s *Store) Named() []Named { return s.named(s.IsLock()) }

func (s *Store) named(lock bool) (out []Named) {
	seen := map[string]bool{}
	for i, r := range s.Records() {
		name := func(sum, format string, args ...any) {
			if sum == "" || seen[sum] {
				return
			}
			seen[sum] = true
			out = append(out, Named{Sum: sum, Record: i, What: fmt.Sprintf(format, args...)})
		}
		switch {
		case r.RunStart != nil:
			name(r.RunStart.PlanSource, "plan of run %s", r.Run)
			for _, file := range slices.Sorted(maps.Keys(r.RunStart.PlanSources)) {
				name(r.RunStart.PlanSources[file], "file %s of the plan of run %s", file, r.Run)
			}
			if of := r.RunStart.Reproduces; of != nil {
				name(of.Lock, "lock of the record that run %s reproduces", r.Run)
			}
		case r.Launch != nil && lock:
			name(r.Launch.Files, "%s of launch %s", files, r.Launch.ID)
		case r.Launch != nil:
			for _, k := range ofLaunch(r.Launch) {
				name(k[0], "%s of launch %s", k[1], r.Launch.ID)
			}
		}
	}
	return out
}

const files = "files"

// ofLaunch returns the digests of the artifacts that a launch names, with their roles;
// some are empty.
func ofLaunch(l *ledger.Launch) [][2]string {
	out := [][2]string{
		{l.Samples, "samples"},
		{l.Series, "series"},
		{l.Output, "output"},
		{l.Prompts, "prompts"},
		{l.Log, "log"},
		{l.Metadata, "metadata"},
		{l.Files, files},
	}
	for _, at := range slices.Sorted(maps.Keys(l.Left)) {
		out = append(out, [2]string{l.Left[at], at})
	}
	for _, tree := range slices.Sorted(maps.Keys(l.Trees)) {
		out = append(out, [2]string{l.Trees[tree].Diff, "changes to source tree " + tree})
	}
	return out
}

// ArtifactsOf are the digests of the artifacts that a launch names, each once.
func ArtifactsOf(l *ledger.Launch) (sums []string) {
	for _, k := range ofLaunch(l) {
		if k[0] != "" && !slices.Contains(sums, k[0]) {
			sums = append(sums, k[0])
		}
	}
	return sums
}

// Export writes the signed part of the ledger, and everything that it names, as an
// archive, or as a lock.
func (s *Store) Export(w io.Writer, key string, lock bool) error {
	lock = lock || s.IsLock()
	text, checkpoint, records, err := ledger.Signed(s.dir.path(ledgerFile))
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	add := func(name string, data []byte) error {
		if err := out.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o444,
			Format: tar.FormatUSTAR,
		}); err != nil {
			return err
		}
		_, err := out.Write(data)
		return err
	}
	if err := errors.Join(add(archivedLedger, text), add(archivedCheckpoint, checkpoint),
		add(archivedKey, []byte(key+"\n"))); err != nil {
		return err
	}
	if lock {
		if err := add(archivedLock, nil); err != nil {
			return err
		}
	}
	for _, n := range s.named(lock) {
		if n.Record >= records {
			break
		}
		data, err := s.Get(n.Sum)
		if err != nil {
			return fmt.Errorf("record %d, %s: %w", n.Record, n.What, err)
		}
		if err := add(path.Join("artifacts/sha256", n.Sum[:2], n.Sum[2:]), data); err != nil {
			return err
		}
	}
	return out.Close()
}

// IsArchive reports whether a file looks like an archive.
func IsArchive(file string) bool {
	f, err := openRegular(file)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 5)
	_, err = f.ReadAt(magic, 257)
	return err == nil && string(magic) == "ustar"
}

// OpenArchive opens an archive for reading. It is unpacked into a temporary folder, which
// Close removes. Anything that Export would not have written is rejected.
func OpenArchive(file string) (*Store, error) {
	if at, err := os.Lstat(file); err != nil {
		return nil, fmt.Errorf("%w: name an output of mxflow audit export", err)
	} else if !at.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: name an output of mxflow audit export", file)
	}
	in, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	dir, err := os.MkdirTemp("", "mxflow-archive-")
	if err != nil {
		return nil, err
	}
	s, err := unpack(in, dir)
	if damage, ok := errors.AsType[*ledger.DamageError](err); ok {
		damage.Path, damage.Hint = "of it", "Ask for another copy, or export it again"
		err = damage // what wraps it names the temporary folder
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), os.RemoveAll(dir))
	}
	return s, nil
}

// IsLock reports whether it is a lock, opened as an archive.
func (s *Store) IsLock() bool {
	_, err := os.Stat(s.dir.path(archivedLock))
	return s.archive != "" && err == nil
}

// Reproduced opens the lock of the record that a run reproduces. The caller closes it.
func (s *Store) Reproduced(of *ledger.Reproduces) (*Store, error) {
	if _, err := s.Get(of.Lock); err != nil {
		return nil, err
	}
	return OpenArchive(s.artifact(of.Lock))
}

// unpack writes the contents of an archive below dir, and opens what is there.
func unpack(in *os.File, dir string) (*Store, error) {
	artifacts, err := unpackFiles(in, dir)
	if err != nil {
		return nil, fmt.Errorf("not an mxflow export, or damaged: %w", err)
	}
	s, err := OpenReadOnly(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("not an mxflow export: it has no ledger")
	}
	if err != nil {
		return nil, err
	}
	s.archive = in.Name()
	for _, n := range s.Named() {
		delete(artifacts, n.Sum)
	}
	for sum := range sorted.All(artifacts) {
		return nil, fmt.Errorf("it has artifact %s, which no record refers to", sum)
	}
	// Without the mark at its end more may be missing, too, and tar would not notice.
	end := make([]byte, 1024)
	info, err := in.Stat()
	if err == nil {
		_, err = in.ReadAt(end, info.Size()-int64(len(end)))
	}
	if err == nil && len(bytes.Trim(end, "\x00")) > 0 {
		err = errors.New("it is truncated")
	}
	return s, err
}

// unpackFiles writes the files of an archive below dir, and returns its artifacts.
func unpackFiles(r io.Reader, dir string) (artifacts map[string]bool, err error) {
	artifacts = map[string]bool{}
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		sum := ""
		if part := archivedArtifact.FindStringSubmatch(h.Name); part != nil {
			sum = part[1] + part[2]
			artifacts[sum] = true
		} else if !slices.Contains([]string{archivedLedger, archivedCheckpoint, archivedKey, archivedLock}, h.Name) {
			return nil, fmt.Errorf("it has the unexpected file %q", h.Name)
		}
		// A sparse file would unpack to more than it takes in the archive.
		if h.Name == archivedLock && h.Size > 0 {
			return nil, fmt.Errorf("%s has content", h.Name)
		}
		if h.Typeflag != tar.TypeReg || len(h.PAXRecords) > 0 {
			return nil, fmt.Errorf("%s is not a regular file (type %q)", h.Name, h.Typeflag)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
		digest := sha256.New()
		_, err = io.Copy(io.MultiWriter(f, digest), in)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
		if got := hex.EncodeToString(digest.Sum(nil)); sum != "" && got != sum {
			return nil, fmt.Errorf("%s: its content has another digest, %s", h.Name, got)
		}
	}
	for block := make([]byte, 32<<10); ; {
		n, err := r.Read(block)
		switch {
		case len(bytes.Trim(block[:n], "\x00")) > 0:
			return nil, errors.New("it has data after its end")
		case errors.Is(err, io.EOF):
			return artifacts, nil
		case err != nil:
			return nil, err
		}
	}
}

// ArchivedKey is the public key in an archive, for people to compare: it proves nothing.
func (s *Store) ArchivedKey() string {
	if s.archive == "" {
		return ""
	}
	text, _ := os.ReadFile(filepath.Join(string(s.dir), archivedKey))
	return string(bytes.TrimSpace(text))
}
