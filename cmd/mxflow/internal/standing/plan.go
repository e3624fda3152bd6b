package standing

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Plan is a state directory's plan, as its files are now.
type Plan struct {
	// File is where it was looked for.
	File string `json:"file"`
	// State is "as applied", "changed" or "missing"; empty if unknown.
	State string `json:"state,omitempty"`
}

// How the files of a plan compare with those of the newest run.
const (
	AsApplied = "as applied"
	Changed   = "changed"
	Missing   = "missing"
)

// Compare compares the plan's files with the text that the newest run kept of them. state
// is the named directory, if any. It does not load the plan: variables, and added files,
// are not seen.
func Compare(st *store.Store, state string, args []string) Plan {
	runs := st.Runs()
	if len(runs) == 0 {
		return Plan{}
	}
	view, err := st.Run(runs[len(runs)-1].ID)
	if err != nil || view.Start == nil {
		return Plan{}
	}
	if len(args) == 0 && state != "" {
		return Plan{File: view.PlanFile} // which may be the path of another plan, seen from here
	}
	// Without a plan the state directory is this folder's, and so is the plan.
	dir := "."
	if len(args) > 0 {
		dir = lang.FolderOf(args[0])
	}
	file := "" // if the plan is a folder
	if lang.IsSource(view.PlanFile) {
		file = filepath.Join(dir, filepath.Base(view.PlanFile))
		if len(args) > 0 && dir != args[0] {
			file = args[0]
		}
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return Plan{file, Missing}
		}
	}
	return Plan{cmp.Or(file, dir), sourcesNow(st, view.Start, file, dir)}
}

// sourcesNow compares each file of a plan, which is in a folder; empty if one cannot be
// compared and none differs, as when a plan is a folder with one file.
func sourcesNow(st *store.Store, start *ledger.RunStart, file, dir string) string {
	sums, state := map[string]string{}, AsApplied
	from := start.PlanFile
	if file != "" {
		sums[file], from = start.PlanSource, filepath.Dir(from)
	}
	for name, sum := range start.PlanSources {
		rel, err := filepath.Rel(from, filepath.FromSlash(name))
		if lang.IsSource(name) && err == nil && (file == "" || rel != filepath.Base(start.PlanFile)) {
			sums[filepath.Join(dir, rel)] = sum
		}
	}
	if len(sums) == 0 {
		state = ""
	}
	for path, sum := range sums {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return Changed // its including plan is another one, or none
		}
		if err != nil {
			state = ""
			continue
		}
		if now := sha256.Sum256(text); hex.EncodeToString(now[:]) == sum {
			continue
		}
		// The kept text has no secrets, so it may differ for that alone.
		if kept, err := st.Get(sum); err != nil || bytes.Contains(kept, []byte(redact.Mark)) {
			state = ""
			continue
		}
		return Changed
	}
	return state
}

// Says is what a reader of the decisions must know about the plan; empty if it is
// unchanged.
func (p Plan) Says(run string) string {
	switch p.State {
	case Changed:
		return p.File + " is not what run " + run + " applied; mxflow plan " + shell.Quote(p.File) + " shows what an apply would do"
	case Missing:
		return p.File + ", which run " + run + " applied, is gone"
	}
	return ""
}
