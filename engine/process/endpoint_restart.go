package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
)

// Restart runs the command that restarts a server, and waits for its end. What
// it leaves running is the server and not ours: it carries no marks, nobody
// sweeps it, and its output goes to a file and not into a pipe, whose end would
// break it. The command gets the variant's environment.
func Restart(ctx context.Context, spec engine.Spec, l engine.Launch) *engine.Failure {
	argv := spec.Endpoint.Restart
	if argv[0] == "" {
		return engine.StartFailure(nil, "its restart command names no program")
	}
	if failure := checkDir(spec.Dir); failure != nil {
		return failure
	}
	env := inherited(append([]string{envOwner, envLaunch, envPort}, spec.Unset...))
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(spec.Env[name], "\x00") {
			return engine.StartFailure(nil, "%q cannot be the name of an environment variable, or its value cannot be set", name)
		}
		env = append(env, name+"="+spec.Env[name])
	}
	path, failure := findProgram(argv[0], spec.Dir, env)
	if failure != nil {
		failure.Reason = "its restart command: " + failure.Reason
		return failure
	}
	said, err := logscan.Open(l.LogPath+".restart", 0, logscan.Evidence{})
	if err != nil {
		return engine.StartFailure(err, "the output of its restart command cannot be written: %v", err)
	}
	defer os.Remove(said.Path) // it may hold what the plan wants hidden
	defer said.Close()

	ctx, cancel := context.WithTimeout(ctx, spec.ReadyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir = argv, env, spec.Dir
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = said.Out, said.Out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for mxflow
	if err := cmd.Start(); err != nil {
		return explainStart(cmd, err)
	}
	err = cmd.Wait()
	if err == nil {
		return nil
	}
	f := engine.StartFailure(err, "its restart command %q failed (%v): the server may be in any state", strings.Join(argv, " "), err)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Reason = fmt.Sprintf("its restart command %q did not end within ", strings.Join(argv, " ")) + engine.Brief(spec.ReadyTimeout) +
			": it must return once the server was started, and leave it running"
	case ctx.Err() != nil:
		f.Err = ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == 255 && strings.HasSuffix(argv[0], "ssh"):
		f.Reason += " (255 is ssh's own: it could not connect or log in)"
	}
	f.LogTail = logscan.Tail(said.Path, engine.TailLines)
	return f
}
