package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// planNow is the plan that a state directory belongs to, as it lies there now.
type planNow struct {
	// File is where it was looked for.
	File string `json:"file"`
	// State is "as applied", "changed" or "missing"; empty where that is not known.
	State string `json:"state,omitempty"`
}

// How the files of a plan compare with those of the newest run.
const (
	planAsApplied = "as applied"
	planChanged   = "changed"
	planMissing   = "missing"
)

// planNow compares the plan's files with the text that the newest run kept of them.
// It does not load the plan: variables, and files that were added, are not seen.
func (a *app) planNow(st *store.Store, args []string) (p planNow) {
	runs := st.Runs()
	if len(runs) == 0 {
		return p
	}
	view, err := st.Run(runs[len(runs)-1].ID)
	if err != nil || view.Start == nil {
		return p
	}
	if len(args) == 0 && a.state != "" {
		p.File = view.PlanFile
		return p // which may be the path of another plan, seen from here
	}
	// Without a plan the state directory is that of this folder, and so is the plan.
	dir := "."
	if len(args) > 0 {
		dir = planDir(args[0])
	}
	if !planText(view.PlanFile) {
		p.File = dir // it is a folder
		p.State = sourcesNow(st, view.Start, "", dir)
		return p
	}
	p.File = filepath.Join(dir, filepath.Base(view.PlanFile))
	if len(args) > 0 && dir != args[0] {
		p.File = args[0]
	}
	if _, err := os.Stat(p.File); errors.Is(err, fs.ErrNotExist) {
		p.State = planMissing
		return p
	}
	p.State = sourcesNow(st, view.Start, p.File, dir)
	return p
}

// planText reports whether a name is that of a file that is part of a plan.
func planText(name string) bool {
	return slices.Contains([]string{".hcl", ".yaml", ".yml"}, filepath.Ext(name))
}

// sourcesNow compares each file of a plan, which lies in a folder; empty where one
// cannot be compared and none differs, as where a plan is a folder with one file.
func sourcesNow(st *store.Store, start *ledger.RunStart, file, dir string) string {
	sums, state := map[string]string{}, planAsApplied
	from := start.PlanFile
	if file != "" {
		sums[file], from = start.PlanSource, filepath.Dir(from)
	}
	for name, sum := range start.PlanSources {
		rel, err := filepath.Rel(from, filepath.FromSlash(name))
		if planText(name) && err == nil && (file == "" || rel != filepath.Base(start.PlanFile)) {
			sums[filepath.Join(dir, rel)] = sum
		}
	}
	if len(sums) == 0 {
		state = ""
	}
	for path, sum := range sums {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return planChanged // what includes it is another plan, or none
		}
		if err != nil {
			state = ""
			continue
		}
		if now := sha256.Sum256(text); hex.EncodeToString(now[:]) == sum {
			continue
		}
		// What was kept has no secrets in it, so that it may differ for that alone.
		if kept, err := st.Get(sum); err != nil || bytes.Contains(kept, []byte(redact.Mark)) {
			state = ""
			continue
		}
		return planChanged
	}
	return state
}

// says is what a reader of the decisions has to know of the plan; empty where it is
// as it was.
func (p planNow) says(run string) string {
	switch p.State {
	case planChanged:
		return p.File + " is not what run " + run + " applied; mxflow plan " + shellQuoted(p.File) + " says what an apply would do"
	case planMissing:
		return p.File + ", which run " + run + " applied, is not there any more"
	}
	return ""
}
