package store

import (
	"os"
	"path/filepath"
)

// progress is a file of a run under way, replaced whole.
const progress = "progress.json"

// KeepProgress replaces the progress of an active run, for readers in other processes. It
// is no evidence, so it is not made durable: that would take the disk's time from the
// measurement. dir is the state directory.
func KeepProgress(dir, run string, said []byte) error {
	path := filepath.Join(layout(dir).path(runsDir), filepath.Base(run), progress)
	if err := os.WriteFile(path+".new", said, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Progress is the latest progress of a run; an error that wraps fs.ErrNotExist if there
// is none.
func Progress(dir, run string) ([]byte, error) {
	return os.ReadFile(filepath.Join(layout(dir).path(runsDir), filepath.Base(run), progress))
}

// LedgerPath is the ledger's file of a state directory that is not open.
func LedgerPath(dir string) string { return layout(dir).path(ledgerFile) }
