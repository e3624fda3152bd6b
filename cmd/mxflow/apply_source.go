package main

import (
	"path/filepath"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
)

// putSources keeps the text of a plan: its first file, and where it has several,
// each of them by its name.
func (a *app) putSources(st *store.Store, loaded *plans.Result) (first string, all map[string]string, err error) {
	if first, err = st.Put(a.secrets.Bytes(loaded.Source)); err != nil || len(loaded.Sources) < 2 {
		return first, nil, err
	}
	all = map[string]string{}
	for name, text := range loaded.Sources {
		if all[filepath.ToSlash(name)], err = st.Put(a.secrets.Bytes(text)); err != nil {
			return "", nil, err
		}
	}
	return first, all, nil
}
