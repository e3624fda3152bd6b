package store

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Room is something that takes room in a state directory and that an apply can do without:
// it makes it again, or nothing that stands rests on it.
type Room struct {
	// Kind is "cache" (a variant's compiler caches), "worktree" (a build of a source),
	// "run" (logs of a run that has ended) or "raw data" (artifacts of a launch).
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Used is when a launch last used it, or when it was written last.
	Used  time.Time `json:"used"`
	Bytes int64     `json:"bytes"`
	paths []string
	sums  []string
}

// roomKinds are the kinds in the order in which they are given up.
var roomKinds = []string{"cache", "worktree", "run", "raw data"}

// Rooms are all of them, those to give up first in front, and the bytes of the state
// directory as a whole. resting are the launches that standing decisions rest on, whose
// raw data are none of them, and neither are plans.
func (s *Store) Rooms(resting map[string]bool) (rooms []Room, total int64, err error) {
	if total, err = sizeOf(string(s.dir)); err != nil {
		return nil, 0, err
	}
	for kind, folder := range map[string]string{"cache": "caches", "worktree": "worktrees", "run": "runs"} {
		found, err := s.folders(kind, filepath.Join(string(s.dir), folder))
		if err != nil {
			return nil, 0, err
		}
		rooms = append(rooms, found...)
	}
	raw, err := s.rawData(resting)
	if err != nil {
		return nil, 0, err
	}
	rooms = append(rooms, raw...)
	slices.SortStableFunc(rooms, func(a, b Room) int {
		return cmp.Or(cmp.Compare(slices.Index(roomKinds, a.Kind), slices.Index(roomKinds, b.Kind)), a.Used.Compare(b.Used), strings.Compare(a.Name, b.Name))
	})
	return rooms, total, nil
}

// folders are the folders of a kind, each with the files that are named after it.
func (s *Store) folders(kind, dir string) (out []Room, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	newest := ""
	if runs := s.Runs(); len(runs) > 0 {
		newest = runs[len(runs)-1].ID
	}
	for _, e := range entries {
		if !e.IsDir() || kind == "run" && e.Name() == newest {
			continue
		}
		r := Room{Kind: kind, Name: e.Name()}
		if info, err := e.Info(); err == nil {
			r.Used = info.ModTime()
		}
		for _, l := range s.view.launches {
			if l.Started.After(r.Used) && (kind == "cache" && l.VariantKey == e.Name() || kind == "worktree" && built(l, e.Name())) {
				r.Used = l.Started
			}
		}
		for _, other := range entries {
			if other.Name() == e.Name() || strings.HasPrefix(other.Name(), e.Name()+".") {
				at := filepath.Join(dir, other.Name())
				n, err := sizeOf(at)
				if err != nil {
					return nil, err
				}
				r.Bytes, r.paths = r.Bytes+n, append(r.paths, at)
			}
		}
		out = append(out, r)
	}
	return out, err
}

// built reports whether a launch ran from the worktree of this name, which ends with the
// beginning of its build's key (steps/launch).
func built(l *ledger.Launch, name string) bool {
	for key, value := range l.Engine {
		if strings.HasPrefix(key, "source.") && strings.HasSuffix(key, ".build") && len(value) >= 8 && strings.HasSuffix(name, "-"+value[:8]) {
			return true
		}
	}
	return false
}

// rawData are the artifacts of launches, without those that a plan or a launch that
// something rests on has too.
func (s *Store) rawData(resting map[string]bool) (out []Room, err error) {
	kept, of := map[string]bool{}, map[string][]string{}
	for _, n := range s.named(false) {
		if n.launch == "" || resting[n.launch] {
			kept[n.Sum] = true
		}
	}
	for _, n := range s.named(false) {
		if !kept[n.Sum] && s.Has(n.Sum) {
			of[n.launch] = append(of[n.launch], n.Sum)
			kept[n.Sum] = true
		}
	}
	for _, l := range s.view.launches {
		if len(of[l.ID]) == 0 {
			continue
		}
		r := Room{Kind: "raw data", Name: l.ID, Used: l.Started, sums: of[l.ID]}
		for _, sum := range r.sums {
			n, err := sizeOf(s.artifact(sum))
			if err != nil {
				return nil, err
			}
			r.Bytes, r.paths = r.Bytes+n, append(r.paths, s.artifact(sum))
		}
		out = append(out, r)
	}
	return out, nil
}

// Remove gives rooms up. That artifacts are removed is on record before they are.
func (s *Store) Remove(rooms []Room) error {
	var sums []string
	for _, r := range rooms {
		sums = append(sums, r.sums...)
	}
	if len(sums) > 0 {
		run := s.view.records[len(s.view.records)-1].Run
		if err := s.Append(&ledger.Record{Type: "removal", Time: time.Now(), Run: run, Removal: &ledger.Removal{Artifacts: sums}}); err != nil {
			return err
		}
	}
	var failed []error
	for _, r := range rooms {
		// The folder goes last: what is beside it says that it is whole.
		for _, path := range slices.Backward(r.paths) {
			failed = append(failed, os.RemoveAll(path))
		}
	}
	return errors.Join(failed...)
}

// Removed are the artifacts that a person removed on record, and by which record.
func (s *Store) Removed() map[string]int {
	out := map[string]int{}
	for i, r := range s.Records() {
		if r.Removal != nil {
			for _, sum := range r.Removal.Artifacts {
				out[sum] = i
			}
		}
	}
	return out
}

// sizeOf is what a file, or all files below a folder, take.
func sizeOf(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
