package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/process"
)

// composeLimit bounds a compose command: images are built and pulled by it.
const composeLimit = 2 * time.Hour

// composeCommand is how compose is called on this machine: as a plugin of the
// docker command, or as the older program of its own.
var composeCommand = sync.OnceValues(func() ([]string, error) {
	if _, err := exec.LookPath("docker"); err == nil && exec.Command("docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}, nil
	}
	if _, err := exec.LookPath("docker-compose"); err == nil {
		return []string{"docker-compose"}, nil
	}
	return nil, errors.New("neither `docker compose` nor `docker-compose` can be run here: install docker's compose plugin " +
		"(package docker-compose-plugin or docker-compose-v2), or docker-compose")
})

// compose runs compose for the project and returns its standard output. An error
// carries the last lines of what it said.
func (p *project) compose(ctx context.Context, args ...string) (string, error) {
	set, unset := p.d.commandEnv()
	argv := append([]string{}, p.argv...)
	if argv[0] == "docker-compose" && p.d.end.context != "" {
		argv = append(argv, "--context", p.d.end.context)
	}
	argv = append(argv, "--file", p.spec.File)
	if p.over != "" {
		argv = append(argv, "--file", p.over)
	}
	if p.name != "" {
		argv = append(argv, "--project-name", p.name)
	}
	for _, profile := range p.spec.Profiles {
		argv = append(argv, "--profile", profile)
	}
	set["COMPOSE_ANSI"], set["COMPOSE_PROGRESS"], set["COMPOSE_IGNORE_ORPHANS"] = "never", "plain", "true"
	log := p.launch.LogPath + ".compose"
	run, err := process.StartCommand(engine.Spec{
		Command: append(argv, args...), Dir: filepath.Dir(p.spec.File), Env: set,
		// What the engine is not to have must not come from here either.
		Unset: append(unset, p.unset...), StopGrace: buildGrace,
	}, engine.Launch{ID: p.launch.ID, Owner: p.launch.Owner, LogPath: log, OutPath: log + ".out"})
	if err != nil {
		return "", err
	}
	defer removeFiles(log)
	limit := time.NewTimer(composeLimit)
	defer limit.Stop()
	select {
	case <-run.Exited():
	case <-ctx.Done():
	case <-limit.C:
	}
	exit := run.Exit()
	stopping, cancel := context.WithTimeout(context.Background(), buildGrace)
	defer cancel()
	_ = run.Stop(stopping)
	what := strings.Join(append(append([]string{}, p.argv...), args[0]), " ")
	switch {
	case exit == nil && ctx.Err() != nil:
		return "", fmt.Errorf("%s was cancelled: %w", what, ctx.Err())
	case exit == nil:
		return "", fmt.Errorf("%s did not end within %s", what, composeLimit)
	case *exit != (engine.Exit{}):
		return "", p.explain(what, exit, logscan.Tail(log, engine.TailLines))
	}
	out, err := os.ReadFile(log + ".out")
	return string(out), err
}

// explain makes a failure of what compose said.
func (p *project) explain(what string, exit *engine.Exit, said []string) *engine.Failure {
	f := p.d.startFailed(errors.New(strings.Join(said, " ")))
	why := "; its last lines say why"
	if hint, _, ok := strings.Cut(f.Reason, " (docker says: "); ok {
		why = ": " + hint
	}
	if len(said) == 0 {
		why = " and said nothing"
	}
	f.Reason = fmt.Sprintf("%s of %s ended with %s%s", what, p.spec.File, exit, why)
	f.LogTail = said
	return f
}

// removeFiles deletes what nobody needs any more: all whose path begins so.
func removeFiles(prefix string) {
	paths, _ := filepath.Glob(prefix + "*")
	for _, path := range paths {
		_ = os.Remove(path)
	}
}
