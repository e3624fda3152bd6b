package steps

import (
	"encoding/json"
	"os"
	"time"
)

// finish says that the worktree is whole.
func (w worktree) finish(changed map[string]string) error {
	text, err := json.Marshal(built{Key: w.key, Commit: w.src.Commit, Built: time.Now().UTC(), Changed: changed})
	if err == nil {
		err = os.WriteFile(w.mark()+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(w.mark()+".new", w.mark())
	}
	if err != nil {
		return failed("source", "be checked out", "that it is built could not be written down: %v", err)
	}
	return nil
}
