package steps

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/mxflow/mxflow/engine"
)

// stateFolder is a folder of the state directory, or of the run where there is no
// state directory.
func (l *launchLab) stateFolder(name string) string {
	if l.Store == nil {
		return filepath.Join(l.RunDir, name)
	}
	return filepath.Join(l.Store.Dir(), name)
}

// copies are the maps and structs of a spec that a launch changes, so that the
// variant's own stay as they are.
func copies(spec engine.Spec) engine.Spec {
	spec.Env = maps.Clone(spec.Env)
	if spec.Env == nil {
		spec.Env = map[string]string{}
	}
	spec.Command = slices.Clone(spec.Command)
	if spec.Docker != nil {
		d := *spec.Docker
		d.Volumes = maps.Clone(d.Volumes)
		if d.Volumes == nil {
			d.Volumes = map[string]string{}
		}
		d.Command, d.Entrypoint = slices.Clone(d.Command), slices.Clone(d.Entrypoint)
		spec.Docker = &d
	}
	if spec.Exec != nil {
		e := *spec.Exec
		e.Command = slices.Clone(e.Command)
		spec.Exec = &e
	}
	return spec
}
