package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mxflow/mxflow/engine"
)

// findProgram looks for the program as a shell in that folder with that
// environment would: os/exec alone looks in mxflow's own PATH and folder, and
// would miss a virtual environment that the plan puts into PATH.
func findProgram(name, dir string, env []string) (string, *engine.Failure) {
	if strings.ContainsRune(name, filepath.Separator) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			err = executable(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", engine.StartFailure(err, "program %q does not exist: correct the command, or install it there", name)
		case err != nil:
			return "", engine.StartFailure(err, "program %q cannot be executed: %v", name, err)
		}
		return path, nil
	}
	var blocked *engine.Failure
	for _, folder := range filepath.SplitList(lastEnv(env, "PATH")) {
		if folder == "" || !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		path, err := filepath.Abs(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		err = executable(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && blocked == nil {
			blocked = engine.StartFailure(err, "program %q was found as %s but cannot be executed: %v", name, path, err)
		}
	}
	if blocked != nil {
		return "", blocked
	}
	return "", engine.StartFailure(exec.ErrNotFound, "program %q is in no folder of PATH: install it, "+
		"give its full path in the command, or set PATH in the engine's env", name)
}

var errNotExecutable = errors.New("it is not marked as executable (chmod +x)")

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fs.ErrNotExist
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder")
	case info.Mode()&0o111 == 0:
		return errNotExecutable
	}
	return nil
}

func lastEnv(env []string, key string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

// explainStart says what the kernel's refusal to start a program that exists
// usually means.
func explainStart(cmd *exec.Cmd, err error) *engine.Failure {
	why := err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch errno {
		case syscall.ENOEXEC:
			why = "it is not a program for this machine (another architecture, or a script without a #! line)"
		case syscall.ENOENT:
			why = "the interpreter or loader that it asks for is missing (look at its #! line)"
		case syscall.EACCES:
			why = "permission denied"
		case syscall.E2BIG:
			why = "its arguments and environment are too long"
		default:
			why = errno.Error()
		}
	}
	return engine.StartFailure(err, "program %q (%s) could not be started: %s", cmd.Args[0], cmd.Path, why)
}
