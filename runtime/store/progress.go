package store

import (
	"os"
	"path/filepath"
)

// progress is a file of a run under way, replaced whole.
const progress = "progress.json"

// KeepProgress replaces what a run under way says of itself, for readers in other
// processes. It is no evidence, so it is not made durable: that would take the disk's time
// from what is measured. dir is the state directory.
func KeepProgress(dir, run string, said []byte) error {
	path := filepath.Join(layout(dir).path(runsDir), filepath.Base(run), progress)
	if err := os.WriteFile(path+".new", said, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Progress is what a run said of itself last; an error that wraps fs.ErrNotExist where it
// said nothing.
func Progress(dir, run string) ([]byte, error) {
	return os.ReadFile(filepath.Join(layout(dir).path(runsDir), filepath.Base(run), progress))
}

// LedgerPath is the ledger's file of a state directory that is not open.
func LedgerPath(dir string) string { return layout(dir).path(ledgerFile) }
