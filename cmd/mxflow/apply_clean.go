package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// cleanUp stops what a killed apply left running, and closes its run in the
// ledger, so that an abandoned attempt is on record.
func (a *app) cleanUp(st *store.Store, owner string) error {
	swept, err := process.Sweep(owner)
	if err != nil {
		return fmt.Errorf("what an earlier apply left running cannot be stopped: %w", err)
	}
	for _, s := range swept {
		fmt.Fprintf(a.stderr, "note: stopped process %d, which an earlier apply left running (launch %s)\n", s.PID, s.Launch)
	}
	removed, err := a.cleanDaemons(daemonsOf(st), owner)
	if err != nil {
		return fmt.Errorf("what an earlier apply left in docker cannot be removed: %w", err)
	}
	for _, r := range st.Runs() {
		if r.Done {
			continue
		}
		if dir, err := st.RunDir(r.ID); err == nil {
			if err := a.cleanLogs(dir); err != nil {
				fmt.Fprintf(a.stderr, "note: logs of run %s may hold sensitive values: %v\n", r.ID, err)
			}
		}
		var left []verdict.Arg
		if len(swept) > 0 {
			left = append(left, verdict.Int("processes", len(swept)))
		}
		if removed > 0 {
			left = append(left, verdict.Int("containers", removed))
		}
		err := st.Append(&ledger.Record{Type: "end", Time: time.Now().UTC(), Run: r.ID, End: &ledger.End{Exit: -1, Reason: verdict.New(code.Abandoned, left...)}})
		if err != nil {
			return err
		}
	}
	return nil
}

// ownerOf marks everything started on behalf of a state directory.
func ownerOf(dir string) string {
	path := dir
	if abs, err := filepath.Abs(dir); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}
