// Package reviewed is the file of plan --out: what was shown for review and what that
// rested on, so applying it runs what was reviewed. It starts nothing.
package reviewed

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// format identifies the files of plan --out.
const format = "mxflow.plan/1"

// File is what plan --out writes and apply takes in place of a plan: the request, and
// what it rested on, so what was reviewed is what runs.
type File struct {
	Format string `json:"format"`
	Tool   string `json:"tool"`
	// Dir is the folder that Plan and State are relative to.
	Dir    string       `json:"dir"`
	Plan   string       `json:"plan"`
	State  string       `json:"state"`
	Inputs []load.Given `json:"inputs,omitempty"`
	// Ask are the sensitive variables that were given, which apply needs again.
	Ask    []string `json:"ask,omitempty"`
	Suite  string   `json:"suite,omitempty"`
	Rerun  []string `json:"rerun,omitempty"`
	Target []string `json:"target,omitempty"`
	OnSeen bool     `json:"on_seen_data,omitempty"`
	// Digest is the plan's, Files those of the texts that it is made of and reads,
	// Machine the part of the machine that measurements depend on, Recorded the state.
	Digest   string            `json:"digest"`
	Files    map[string]string `json:"files"`
	Machine  string            `json:"machine"`
	Recorded string            `json:"recorded"`
	// Actions are what was shown for each node.
	Actions map[string]string `json:"actions"`
}

// restsOn fills in what a plan rests on now.
func (r *File) restsOn(loaded *load.Result, st *store.Store) {
	r.Digest, r.Files = loaded.Plan.Digest(), map[string]string{}
	r.Machine = variant.MachineKey(machine.Environment(), loaded.Plan)
	for name, text := range loaded.Sources {
		sum := sha256.Sum256(text)
		r.Files[r.name(name)] = hex.EncodeToString(sum[:])
	}
	for _, f := range loaded.Plan.NamedFiles() {
		r.Files[r.name(f.Name)] = f.Digest
	}
	r.Recorded = recordedNow(st)
}

// name is a file's name relative to the folder that the plan was reviewed in.
func (r *File) name(path string) string {
	whole, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		return filepath.ToSlash(path)
	}
	if rel, err := filepath.Rel(r.Dir, whole); err == nil {
		whole = rel
	}
	return filepath.ToSlash(whole)
}

// recordedNow changes with every record of a state directory; empty if there is none.
func recordedNow(st *store.Store) string {
	if st == nil {
		return ""
	}
	n, last := 0, (*ledger.Record)(nil)
	for i, record := range st.Records() {
		n, last = i+1, record
	}
	if n == 0 {
		return ""
	}
	return runtime.Digest(n, last)
}

// moved names what changed since r was written.
func (r *File) moved(now *File) (what []string) {
	all := maps.Clone(r.Files)
	maps.Copy(all, now.Files)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch was, is := r.Files[name], now.Files[name]; {
		case is == "":
			what = append(what, name+" is no longer part of the plan")
		case was == "":
			what = append(what, name+" was added")
		case was != is:
			what = append(what, name+" changed")
		}
	}
	if len(what) == 0 && r.Digest != now.Digest {
		what = append(what, "the same files evaluate to a different plan (environment variable, file or mxflow version)")
	}
	if r.Machine != now.Machine {
		what = append(what, "the machine or its driver changed")
	}
	if r.Recorded != now.Recorded {
		what = append(what, r.State+" has new records")
	}
	return what
}

// Read reads a file of plan --out; nil for any other file.
func Read(path string) (*File, error) {
	if lang.IsSource(path) {
		return nil, nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	text, err := files.ReadBounded(path)
	if err != nil || !bytes.Contains(text, []byte(`"mxflow.plan/`)) {
		return nil, err
	}
	r := &File{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: not a valid plan file: %w; recreate it with mxflow plan --out", path, err)
	}
	if r.Format != format {
		return nil, fmt.Errorf("%s: plan file format is %s, this mxflow reads %s; recreate it with mxflow plan --out", path, r.Format, format)
	}
	return r, nil
}

// Given are the inputs of an apply: the file's, and in again those that it omits.
func (r *File) Given(path string, again []load.Given) ([]load.Given, error) {
	inputs := slices.Clone(r.Inputs)
	ask := slices.Clone(r.Ask)
	for _, g := range again {
		name, _, _ := strings.Cut(g.Var, "=")
		if !slices.Contains(r.Ask, name) {
			return nil, fmt.Errorf("--var %s: %s already has its value; only sensitive variables are passed again (%s)", name, path, cmp.Or(strings.Join(r.Ask, ", "), "this plan has none"))
		}
		inputs = append(inputs, g)
		ask = slices.DeleteFunc(ask, func(a string) bool { return a == name })
	}
	if len(ask) > 0 {
		return nil, fmt.Errorf("%s: sensitive variables are not stored in a plan file; pass them again: --var %s=…", path, ask[0])
	}
	return inputs, nil
}

// Where are the plan and its state directory, relative to mxflow's working folder.
func (r *File) Where() (plan, state string) {
	if dir, err := os.Getwd(); err == nil && dir == r.Dir {
		return r.Plan, r.State
	}
	return absolute(r.Dir, r.Plan), absolute(r.Dir, r.State)
}

// Check rejects anything that differs from what was reviewed; path is the file.
func (r *File) Check(path string, loaded *load.Result, st *store.Store) error {
	now := &File{Dir: r.Dir}
	now.restsOn(loaded, st)
	if what := r.moved(now); len(what) > 0 {
		return fmt.Errorf("%s is out of date, nothing was started: %s; review again with mxflow plan --out", path, strings.Join(what, "; "))
	}
	return nil
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// sensitiveOf are the names of a plan's sensitive variables.
func sensitiveOf(p *plans.Plan) (names []string) {
	for _, v := range p.Variables {
		if v.Sensitive {
			names = append(names, v.Name)
		}
	}
	return names
}

// Write writes what a plan showed, for apply.
func (r *File) Write(path, tool string, loaded *load.Result, st *store.Store, given []load.Given, preview []runtime.Planned) error {
	if lang.IsSource(path) {
		return errors.New("--out: the name has the extension of a plan source; use another, such as reviewed.json")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	r.Format, r.Tool, r.Dir, r.Actions = format, tool, dir, map[string]string{}
	secret := sensitiveOf(loaded.Plan)
	for _, g := range given {
		if name, _, _ := strings.Cut(g.Var, "="); g.Var != "" && slices.Contains(secret, name) {
			r.Ask = append(r.Ask, name)
			continue
		}
		r.Inputs = append(r.Inputs, g)
	}
	for _, n := range preview {
		r.Actions[n.Node.ID] = string(n.Action)
	}
	r.restsOn(loaded, st)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(path, append(text, '\n'))
}
