package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/engine"
)

// writeConfig writes the configuration file of an engine that runs on this
// machine beside its log, so that the launch's things lie together, and returns
// its path. Empty where the engine reads none.
func writeConfig(spec engine.Spec, l engine.Launch) (string, *engine.Failure) {
	if len(spec.Config) == 0 {
		return "", nil
	}
	name := filepath.Base(spec.ConfigName)
	if spec.ConfigName == "" || name != spec.ConfigName {
		return "", engine.StartFailure(nil, "its configuration file has the name %q, which is no plain file name", spec.ConfigName)
	}
	path, err := filepath.Abs(strings.TrimSuffix(l.LogPath, ".log") + "." + name)
	if err != nil {
		return "", engine.StartFailure(err, "its configuration file has no path: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", engine.StartFailure(err, "there is no folder for its configuration file: %v", err)
	}
	// It may hold keys.
	if err := os.WriteFile(path, spec.Config, 0o600); err != nil {
		return "", engine.StartFailure(err, "its configuration file cannot be written: %v", err)
	}
	return path, nil
}

// checkModel finds out whether a model that is a path of this machine is there.
func checkModel(spec engine.Spec) *engine.Failure {
	if spec.ModelPath == "" {
		return nil
	}
	path := spec.ModelPath
	if !filepath.IsAbs(path) {
		path = filepath.Join(spec.Dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		shown, _ := filepath.Abs(path)
		return engine.StartFailure(err, "the model %q cannot be read (%v): correct model, or put the file there; relative paths start at the folder it is started in", shown, unwrapPath(err))
	}
	return nil
}

// unwrapPath is what is wrong without the path, which the message has already.
func unwrapPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
