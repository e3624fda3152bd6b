package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mxflow/mxflow/engine/machine"
	process "github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/variant"
)

// SamePlan rejects the state directory of another plan: their nodes would have the same
// addresses, and each apply would discard the other's decisions.
func SamePlan(st *store.Store, p *plans.Plan) error {
	runs := st.AllRuns()
	if len(runs) == 0 || runs[len(runs)-1].Plan == p.Name {
		return nil
	}
	return fmt.Errorf("the state directory %s belongs to plan %q, but this is plan %q: give it its own with --state, "+
		"or move it to another folder",
		st.Dir(), runs[len(runs)-1].Plan, p.Name)
}

// MachineChanges reports how this machine differs from the one of the last apply, which
// is why its measurements are repeated.
func MachineChanges(st *store.Store, p *plans.Plan) (changes []verdict.Reason) {
	if st == nil || len(st.Runs()) == 0 {
		return nil
	}
	last, err := st.Run("latest")
	if err != nil || last.Start == nil {
		return nil
	}
	then, now := last.Start.Environment, machine.Environment()
	if variant.MachineKey(then, p) == variant.MachineKey(now, p) {
		return nil
	}
	for name, is := range sorted.Union(then, now) {
		alone := func(value string) string { return variant.MachineKey(map[string]string{name: value}, p) }
		if alone(is[0]) == alone(is[1]) {
			continue
		}
		changes = append(changes, verdict.Say("apply.machine_changed",
			"this machine's {subject} changed since the last apply, from {then}{then!unknown} to "+
				"{now}{now!unknown}; earlier measurements are repeated",
			verdict.Text("then", is[0]), verdict.Text("now", is[1])).On(name))
	}
	return changes
}

// Owner marks everything started on behalf of a state directory.
func Owner(dir string) string {
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

// cleanUp stops what a killed apply left running, and closes its run in the ledger, so
// the abandoned attempt is on record.
func (r *run) cleanUp(owner string) error {
	swept, err := process.Sweep(owner)
	if err != nil {
		return fmt.Errorf("cannot stop processes of an earlier apply: %w", err)
	}
	for _, s := range swept {
		r.watch.Note(verdict.Say("apply.left_process",
			"stopped process {pid}, which an earlier apply left running (launch {launch})",
			verdict.Text("pid", strconv.Itoa(s.PID)), verdict.Text("launch", s.Launch)))
	}
	removed, err := daemonsOf(r.store).clean(r.Force, owner, r.watch.Note)
	if err != nil {
		return fmt.Errorf("cannot remove containers of an earlier apply: %w", err)
	}
	for _, before := range r.store.AllRuns() {
		if before.Done {
			continue
		}
		if dir, err := r.store.RunDir(before.ID); err == nil {
			if err := cleanLogs(dir, r.secrets); err != nil {
				r.watch.Note(verdict.Say("apply.logs_unclean",
					"logs of run {subject} may hold sensitive values: {error}",
					verdict.Err(err)).On(before.ID))
			}
		}
		var left []verdict.Arg
		if len(swept) > 0 {
			left = append(left, verdict.Int("processes", len(swept)))
		}
		if removed > 0 {
			left = append(left, verdict.Int("containers", removed))
		}
		err := r.store.Append(&ledger.Record{
			Type: "end", Time: time.Now().UTC(), Run: before.ID,
			End: &ledger.End{Exit: -1, Reason: verdict.New(code.Abandoned, left...)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cleanLogs redacts the logs of a run that was killed before it could do so itself.
func cleanLogs(dir string, secrets *redact.Redactor) error {
	if !secrets.Active() {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		return redact.File(path, secrets)
	})
}

// putSources stores the text of a plan: its first file, and if there are several, each by
// its name. The results of other tools that its rules read, the prompts that its
// workloads send and what file() read are included, so an auditor has what was decided by
// and what was sent. A file that a secret comes from is not.
func putSources(st *store.Store, loaded *load.Result, secrets *redact.Redactor) (first string,
	all map[string]string, err error,
) {
	if first, err = st.Put(secrets.Bytes(loaded.Source)); err != nil {
		return "", nil, err
	}
	named, read := loaded.Plan.NamedFiles(), steps.FilesOf(loaded)
	if len(loaded.Sources)+len(named)+len(read) < 2 {
		return first, nil, nil
	}
	all = map[string]string{}
	for name, text := range sorted.All(loaded.Sources) {
		if all[filepath.ToSlash(name)], err = st.Put(secrets.Bytes(text)); err != nil {
			return "", nil, err
		}
	}
	for name, text := range sorted.All(read) {
		if all[name], err = st.Put(secrets.Bytes([]byte(text))); err != nil {
			return "", nil, err
		}
	}
	for _, f := range named {
		data, err := rereadFile(f)
		if err != nil {
			return "", nil, err
		}
		if all[f.Name], err = st.Put(secrets.Bytes(data)); err != nil {
			return "", nil, err
		}
	}
	return first, all, nil
}

// rereadFile reads a file that a plan names again, as only viewing a plan needs no such
// amount of data; it must still have the content read then. Its size is bounded by what a
// plan reads.
func rereadFile(f plans.NamedFile) ([]byte, error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, fmt.Errorf("cannot keep %s with the run: %w", f.Name, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.Digest {
		return nil, fmt.Errorf("%s changed while the plan was being read: try again when nothing writes to it", f.Name)
	}
	return data, nil
}

// inputsOf is what a run records of its plan's inputs.
func inputsOf(st *store.Store, loaded *load.Result) (*plans.Inputs, error) {
	var key []byte
	return steps.InputsOf(loaded, func(text string) (mark string, err error) {
		if key == nil {
			key, err = store.SecretKey(st.Dir())
		}
		return redact.Sealed(key, text), err
	})
}
