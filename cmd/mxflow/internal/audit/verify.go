package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

// Verified is a complete and signed ledger, and the key that signed it.
func Verified(st *store.Store, key string) (rep ledger.Report, signer string, err error) {
	if rep, err = ledger.Verify(st.LedgerPath()); err != nil {
		return rep, "", err
	}
	rep.Path = st.LedgerName()
	if signer, err = signedBy(rep, key); err != nil && st.ArchivedKey() != "" {
		err = fmt.Errorf("%w. According to the file, which proves nothing, the key is %s", err, st.ArchivedKey())
	}
	return rep, signer, err
}

// signedBy is the key that signed everything in a ledger; anything less is an error.
func signedBy(rep ledger.Report, given string) (string, error) {
	checkpoint := "checkpoint of " + filepath.Clean(rep.Path)
	if rep.Note == nil {
		return "", fmt.Errorf("there is no %s: records may be missing at the end. Restore both from a copy", checkpoint)
	}
	key, err := PublicKey(given, checkpoint)
	if err != nil {
		return "", err
	}
	key = strings.TrimSpace(key)
	if _, err := signing.Verify(rep.Note, key); err != nil {
		return "", fmt.Errorf("%s: %w. Pass the signer's key (--key)", checkpoint, err)
	}
	if n := int(rep.Size - rep.Checkpoint); n > 0 {
		return "", fmt.Errorf("%s: signs lines 1 to %d; %s at the end not signed, from line %d on. If an apply is "+
			"running, try again. What a killed apply left there, the next one sets aside and repeats; anything else "+
			"it "+
			"refuses", checkpoint, rep.Checkpoint, verdict.Count(n, "record"), rep.Checkpoint+1)
	}
	return key, nil
}

// Artifacts reads every artifact that a record names.
func Artifacts(st *store.Store) (n int, bad []string) {
	for _, named := range st.Named() {
		n++
		if _, err := st.Get(named.Sum); err != nil {
			bad = append(bad, fmt.Sprintf("record %d, %s: %v", named.Record, named.What, err))
		}
	}
	return n, bad
}

// ExportTo writes a new file; what could not be written as a whole is removed.
func ExportTo(path string, st *store.Store, public string, lock bool) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("--out: %s already exists: name another file, or remove it", path)
	}
	if err != nil {
		return 0, err
	}
	err = st.Export(f, public, lock)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Sync(), f.Close()); err != nil {
		return 0, errors.Join(err, os.Remove(path))
	}
	return info.Size(), nil
}
