package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
)

// The environment that every launch sets.
const (
	envOwner  = "MXFLOW_OWNER"      // Launch.Owner
	envLaunch = "MXFLOW_LAUNCH"     // Launch.ID
	envPort   = source.PortVariable // the port to listen on
	// envNoClobber tells Python's setproctitle, which vLLM's and SGLang's workers use,
	// not to overwrite the memory of the environment. Otherwise the marks above vanish
	// from the kernel's view of a worker, and a worker that outlives its parent could no
	// longer be found.
	envNoClobber = "SPT_NOENV"
)

// command builds the process to start, or explains what is wrong with it in terms of the
// plan. Port 0 means none.
func command(spec engine.Spec, l engine.Launch, port int) (*exec.Cmd, *engine.Failure) {
	if len(spec.Command) == 0 || spec.Command[0] == "" {
		return nil, engine.StartFailure(nil, "it has no command")
	}
	if failure := l.Check(); failure != nil {
		return nil, failure
	}
	self, err := os.Executable()
	if err != nil {
		return nil, engine.StartFailure(err, "cannot find the path of the running program: %v", err)
	}
	config, failure := writeConfig(spec, l)
	if failure != nil {
		return nil, failure
	}
	expand := engine.Placeholders(port, config, "{mxflow}", self)
	var argv []string
	for _, arg := range spec.Command {
		argv = append(argv, expand(arg))
	}
	own, err := spec.Environ(expand)
	if err != nil {
		return nil, engine.StartFailure(err, "%v", err)
	}
	env := append(append(Inherited(spec.Unset), envNoClobber+"=1"), own...)
	// Last, because the last one wins: no plan may remove the marks.
	env = append(env, envOwner+"="+l.Owner, envLaunch+"="+l.ID)
	if port != 0 {
		env = append(env, envPort+"="+strconv.Itoa(port))
	}

	if failure := checkDir(spec.Dir); failure != nil {
		return nil, failure
	}
	if failure := checkModel(spec); failure != nil {
		return nil, failure
	}
	path, failure := findProgram(argv[0], spec.Dir, env)
	if failure != nil {
		return nil, failure
	}
	return &exec.Cmd{Path: path, Args: argv, Env: env, Dir: spec.Dir}, nil
}

// Inherited is mxflow's environment without the named variables, and without the key that signs
// the record, which no engine or step needs.
func Inherited(unset []string) []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "MXFLOW_SIGNING_KEY" || slices.Contains(unset, name)
	})
}

func checkDir(dir string) *engine.Failure {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return engine.StartFailure(err, "its working directory %q does not exist: create it, or correct dir", dir)
	case err != nil:
		return engine.StartFailure(err, "cannot use its working directory %q: %v", dir, err)
	case !info.IsDir():
		return engine.StartFailure(nil, "its working directory %q is not a folder: correct dir", dir)
	}
	return nil
}

// writeConfig writes the configuration file of an engine on this machine beside its log,
// so the launch's files are together, and returns its path. Empty if the engine reads
// none.
func writeConfig(spec engine.Spec, l engine.Launch) (string, *engine.Failure) {
	if len(spec.Config) == 0 {
		return "", nil
	}
	name := filepath.Base(spec.ConfigName)
	if spec.ConfigName == "" || name != spec.ConfigName {
		return "", engine.StartFailure(nil, "the name of its configuration file, %q, is not a plain file name",
			spec.ConfigName)
	}
	path := strings.TrimSuffix(l.LogPath, ".log") + "." + name
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", engine.StartFailure(err, "cannot create a folder for its configuration file: %v", err)
	}
	// It may contain keys.
	if err := os.WriteFile(path, spec.Config, 0o600); err != nil {
		return "", engine.StartFailure(err, "cannot write its configuration file: %v", err)
	}
	return path, nil
}

// checkModel checks that a model given as a path of this machine exists.
func checkModel(spec engine.Spec) *engine.Failure {
	if spec.ModelPath == "" {
		return nil
	}
	path := spec.ModelPath
	if !filepath.IsAbs(path) {
		path = filepath.Join(spec.Dir, path)
	}
	path, _ = filepath.Abs(path)
	if _, err := os.Stat(path); err != nil {
		return engine.StartFailure(err, "cannot read the model: %v: correct model, or put the file there; "+
			"relative paths start at its working directory", err)
	}
	return nil
}

// findProgram looks up the program as a shell in that folder with that environment would:
// os/exec alone uses mxflow's own PATH and folder, and would miss a virtual environment
// that the plan puts into PATH.
func findProgram(name, dir string, env []string) (string, *engine.Failure) {
	folders, inPath := []string{""}, !strings.ContainsRune(name, filepath.Separator)
	if inPath {
		folders = nil
		for _, kv := range env { // the last one wins
			if list, ok := strings.CutPrefix(kv, "PATH="); ok {
				folders = filepath.SplitList(list)
			}
		}
	}
	var blocked *engine.Failure
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			err = executable(path)
		}
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && blocked == nil {
			blocked = engine.StartFailure(err, "cannot execute program %q (%s): %v", name, path, err)
		}
	}
	switch {
	case blocked != nil:
		return "", blocked
	case inPath:
		return "", engine.StartFailure(exec.ErrNotFound, "program %q is not in PATH: install it, "+
			"give its full path in the command, or set PATH in its env", name)
	}
	return "",
		engine.StartFailure(fs.ErrNotExist, "program %q does not exist: correct the command, or install it there", name)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder")
	case info.Mode()&0o111 == 0:
		return errors.New("it is not executable (chmod +x)")
	}
	return nil
}

// explainStart explains the kernel's refusal to start an existing program.
func explainStart(cmd *exec.Cmd, err error) *engine.Failure {
	why := err.Error()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		switch why = errno.Error(); errno {
		case syscall.ENOEXEC:
			why = "it is not a program for this machine (another architecture, or a script without a #! line)"
		case syscall.ENOENT:
			why = "its interpreter or loader is missing (check its #! line)"
		}
	}
	return engine.StartFailure(err, "cannot start program %q (%s): %s", cmd.Args[0], cmd.Path, why)
}

func exitOf(status syscall.WaitStatus) engine.Exit {
	if status.Signaled() {
		return engine.Exit{Code: -1, Signal: signalName(status.Signal())}
	}
	return engine.Exit{Code: status.ExitStatus()}
}

// signalName is "SIGSEGV", or "signal 35" for one without a name.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig))
}
