package process

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
)

// The environment that every launch sets.
const (
	envOwner  = "MXFLOW_OWNER"  // Launch.Owner
	envLaunch = "MXFLOW_LAUNCH" // Launch.ID
	envPort   = "MXFLOW_PORT"   // the port to listen on
	// envNoClobber tells Python's setproctitle, which vLLM's and SGLang's
	// workers use, to leave the memory of the environment alone. Without it the
	// marks above vanish from what the kernel shows of a worker, and a worker
	// that outlives its parent could no longer be found.
	envNoClobber = "SPT_NOENV"
)

// command builds the process to start, or says what is wrong with it in terms
// of the plan. Port 0 means that it has none.
func command(spec engine.Spec, l engine.Launch, port int) (*exec.Cmd, *engine.Failure) {
	if len(spec.Command) == 0 || spec.Command[0] == "" {
		return nil, engine.StartFailure(nil, "it has no command")
	}
	if l.ID == "" || l.Owner == "" {
		return nil, engine.StartFailure(nil, "the launch has no ID or no owner, by which its processes are found again")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, engine.StartFailure(err, "the path of the running program is unknown: %v", err)
	}
	replace := []string{"{mxflow}", self}
	if port != 0 {
		replace = append(replace, "{port}", strconv.Itoa(port))
	}
	config, failure := writeConfig(spec, l)
	if failure != nil {
		return nil, failure
	}
	if config != "" {
		replace = append(replace, "{config}", config)
	}
	expand := strings.NewReplacer(replace...).Replace

	var argv []string
	for _, arg := range spec.Command {
		argv = append(argv, expand(arg))
	}
	env := append(inherited(spec.Unset), envNoClobber+"=1")
	for _, key := range slices.Sorted(maps.Keys(spec.Env)) {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(spec.Env[key], "\x00") {
			return nil, engine.StartFailure(nil, "%q cannot be the name of an environment variable, or its value cannot be set", key)
		}
		env = append(env, key+"="+expand(spec.Env[key]))
	}
	// Last, because the last one wins: no plan may take the marks off.
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

// inherited is mxflow's environment without the named variables.
func inherited(unset []string) []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(unset, name)
	})
}

func checkDir(dir string) *engine.Failure {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return engine.StartFailure(err, "the folder %q to start it in does not exist: create it, or correct dir", dir)
	case err != nil:
		return engine.StartFailure(err, "the folder %q to start it in cannot be used: %v", dir, err)
	case !info.IsDir():
		return engine.StartFailure(nil, "%q is not a folder: dir must name the folder to start it in", dir)
	}
	return nil
}
