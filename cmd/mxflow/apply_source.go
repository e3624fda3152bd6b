package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// putSources keeps the text of a plan: its first file, and where there are
// several, each of them by its name. The results of other tools that its rules
// read, the prompts that its workloads send and what file() read are among these,
// so that whoever checks a run has what was decided by and what was sent. A file
// that a secret comes from is not.
func (a *app) putSources(st *store.Store, loaded *load.Result) (first string, all map[string]string, err error) {
	if first, err = st.Put(a.secrets.Bytes(loaded.Source)); err != nil {
		return "", nil, err
	}
	named, read := loaded.Plan.NamedFiles(), steps.FilesOf(loaded)
	if len(loaded.Sources)+len(named)+len(read) < 2 {
		return first, nil, nil
	}
	all = map[string]string{}
	for name, text := range loaded.Sources {
		if all[filepath.ToSlash(name)], err = st.Put(a.secrets.Bytes(text)); err != nil {
			return "", nil, err
		}
	}
	for name, text := range read {
		if all[name], err = st.Put(a.secrets.Bytes([]byte(text))); err != nil {
			return "", nil, err
		}
	}
	for _, f := range named {
		if all[f.Name], err = a.putNamed(st, f); err != nil {
			return "", nil, err
		}
	}
	return first, all, nil
}

// inputsOf is what a run records of what its plan was compiled with.
func (a *app) inputsOf(st *store.Store, loaded *load.Result) (*ledger.Inputs, error) {
	var key []byte
	return steps.InputsOf(loaded, func(text string) (mark string, err error) {
		if key == nil {
			key, err = freshKey(st.Dir())
		}
		return sealWith(key, text), err
	})
}

// putNamed keeps a file that a plan names. It is read anew, since a plan that is
// only looked at has no use for so many bytes; it must still be what was read
// then. Its size is bounded by what a plan reads.
func (a *app) putNamed(st *store.Store, f plans.NamedFile) (string, error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return "", fmt.Errorf("%s has to be kept with the run: %w", f.Name, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.Digest {
		return "", fmt.Errorf("%s changed while the plan was read: start again when nothing writes to it", f.Name)
	}
	return st.Put(a.secrets.Bytes(data))
}
