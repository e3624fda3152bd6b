package docker_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// runs starts a container that does nothing, and ends it with the test.
func runs(t *testing.T, image string, flags ...string) string {
	t.Helper()
	id := dockertest.Must(t, append(append([]string{"run", "--detach"}, flags...), image)...)
	t.Cleanup(func() { _, _ = dockertest.Docker("rm", "--force", id) })
	return id
}

// inside makes a fake engine a command in a container.
func inside(spec engine.Spec, id string) engine.Spec {
	spec = enginetest.InContainer(spec)
	spec.Command = []string{"/program", "{port}"}
	spec.Exec = &engine.Exec{Container: id}
	return spec
}

func TestExec(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	image := dockertest.DevImage(t, dockertest.Self(t))
	for name, test := range map[string]func(*testing.T, string){
		"conformance": execConforms, "as asked": execAsAsked, "container ends": execContainerEnds,
		"no shell": execWithoutShell, "sweep": execSweep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, image)
		})
	}
}

func execConforms(t *testing.T, image string) {
	id := runs(t, image)
	faults := enginetest.Fakes()
	for i := range faults {
		spec := faults[i].Spec
		faults[i].Spec = func(t *testing.T) engine.Spec { return inside(spec(t), id) }
	}
	enginetest.Run(t, docker.Launcher{}, func(*testing.T) engine.Spec {
		return inside(enginetest.Fake(""), id)
	}, faults...)

	if top := dockertest.Must(t, "top", id, "-eo", "pid,args"); strings.Count(top, "\n") != 1 {
		t.Errorf("in the container there runs\n%s\nwant the sleep alone", top)
	}
}

// inShell is a command in a container that is not a server.
func inShell(id string, text string) engine.Spec {
	return engine.Spec{
		Kind:    "test",
		Profile: &kinds.Kind{Name: "test", DefaultReadyTimeout: time.Minute, DefaultStopGrace: 5 * time.Second},
		Command: []string{"sh", "-c", text}, Exec: &engine.Exec{Container: id},
	}
}

// freshLaunch is a launch that shares nothing with others.
func freshLaunch(t *testing.T) engine.Launch {
	t.Helper()
	return engine.Launch{
		ID: "test-" + rand.Text(), Owner: "test-" + rand.Text(),
		LogPath: filepath.Join(t.TempDir(), "engine.log"),
	}
}

// execIn launches spec and stops it with the test.
func execIn(t *testing.T, spec engine.Spec) engine.Instance {
	t.Helper()
	inst, err := docker.Launcher{}.Launch(t.Context(), spec, freshLaunch(t))
	must.Do(t, err)
	t.Cleanup(func() {
		must.Do(t, inst.Stop(context.Background()))
	})
	return inst
}

func execAsAsked(t *testing.T, image string) {
	id := runs(t, image, "--env", "KEPT=yes", "--env", "GONE=no")

	t.Run("environment, folder, user, streams", func(t *testing.T) {
		spec := inShell(id, `echo "$KEPT ${GONE-unset} $ADDED $(pwd) $(id -u)"; echo to-stderr >&2; cat "$1"; exit 7`)
		spec.Command = append(spec.Command, "sh", "{config}")
		spec.Env, spec.Unset = map[string]string{"ADDED": "a $b 'c'"}, []string{"GONE"}
		spec.Exec.WorkDir, spec.Exec.User = "/tmp", "1234"
		spec.Config, spec.ConfigName = []byte("config: here\n"), "engine.yaml"
		inst := execIn(t, spec)
		<-inst.Exited()
		if got := inst.Exit(); *got != (engine.Exit{Code: 7}) {
			t.Errorf("it ended with %v, want status 7", got)
		}
		text, _ := os.ReadFile(inst.LogPath())
		for _, want := range []string{"yes unset a $b 'c' /tmp 1234\n", "to-stderr\n", "config: here\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the log lacks %q:\n%s", want, text)
			}
		}
		out, err := inst.Output(t.Context(), "sh", "-c", "echo $ADDED ${GONE-unset}; pwd; id -u")
		if err != nil || string(out) != "a $b 'c' unset\n/tmp\n1234\n" {
			t.Errorf("Output is %q, %v", out, err)
		}
		if _, err := inst.Output(t.Context(), "sh", "-c", "echo bad >&2; exit 3"); err == nil ||
			!strings.Contains(err.Error(), "bad") {
			t.Errorf("Output of a failing command: %v", err)
		}
		about := inst.About()
		if about["image"] != image || about["container"] == "" {
			t.Errorf("About lacks image or container: %v", about)
		}
	})

	t.Run("stdout apart", func(t *testing.T) {
		l := freshLaunch(t)
		l.OutPath = l.LogPath + ".out"
		inst, err := docker.Launcher{}.Launch(t.Context(), inShell(id, "echo out; echo err >&2"), l)
		must.Do(t, err)
		<-inst.Exited()
		must.Do(t, inst.Stop(t.Context()))
		out, _ := os.ReadFile(l.OutPath)
		log, _ := os.ReadFile(l.LogPath)
		if string(out) != "out\n" || string(log) != "err\n" {
			t.Errorf("stdout is %q and the log %q", out, log)
		}
	})

	for _, c := range []struct {
		name, want string
		change     func(*engine.Spec)
	}{
		{"no such container", `there is no container "nobody"`, func(s *engine.Spec) { s.Exec.Container = "nobody" }},
		{"no such program", `no executable program "no-such-engine"`, func(s *engine.Spec) {
			s.Command = []string{"no-such-engine"}
		}},
		{"no such folder", `no accessible folder "/nowhere"`, func(s *engine.Spec) { s.Exec.WorkDir = "/nowhere" }},
		{"no such user", "nobody-here", func(s *engine.Spec) { s.Exec.User = "nobody-here" }},
		{"mxflow's own path", "{mxflow}", func(s *engine.Spec) { s.Command = []string{"{mxflow}"} }},
		{"no command", "no command", func(s *engine.Spec) { s.Command = nil }},
	} {
		spec := inShell(id, "true")
		c.change(&spec)
		_, err := docker.Launcher{}.Launch(t.Context(), spec, freshLaunch(t))
		var f *engine.Failure
		if !errors.As(err, &f) || f.Op != "start" || !strings.Contains(f.Reason, c.want) {
			t.Errorf("%s: the failure is %v, want %s in it", c.name, err, c.want)
		}
	}

	t.Run("port taken", func(t *testing.T) {
		spec := inside(enginetest.Fake(""), id)
		spec.Exec.Port = 7001
		inst := execIn(t, spec)
		must.Do(t, inst.Ready(t.Context()))
		_, err := docker.Launcher{}.Launch(t.Context(), spec, freshLaunch(t))
		if err == nil || !strings.Contains(err.Error(), "port 7001 in container") {
			t.Errorf("a second one gets %v", err)
		}
	})

	t.Run("listens on loopback alone", func(t *testing.T) {
		t.Parallel() // it waits for its time limit
		spec := inside(enginetest.Fake(""), id)
		spec.Env["MXFLOW_FAKE_HOST"], spec.ReadyTimeout = "127.0.0.1", 3*time.Second
		err := execIn(t, spec).Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), "--host 0.0.0.0") {
			t.Errorf("Ready says %v", err)
		}
	})

	t.Run("in a session of its own", func(t *testing.T) {
		// It holds the command's output open, so the daemon may not report that the
		// command has ended, and yet it must be asked to end.
		spec := inShell(id,
			`setsid sh -c 'trap "echo asked; exit" TERM; echo "waits"; while :; do sleep 0.05; done' & exec sleep 6543`)
		spec.StopGrace = time.Minute
		inst := execIn(t, spec)
		for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			text, _ := os.ReadFile(inst.LogPath())
			if strings.Contains(string(text), "waits\n") {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("it never began:\n%s", text)
			}
		}
		must.Do(t, inst.Stop(t.Context()))
		text, _ := os.ReadFile(inst.LogPath())
		if got := strings.Count(string(text), "asked\n"); got != 1 {
			t.Errorf("it was asked to end %d times, want once:\n%s", got, text)
		}
	})

	t.Run("marks taken off", func(t *testing.T) {
		// A worker that clears its environment is found by its session.
		inst := execIn(t, inShell(id, "env -i sleep 4321 & exec sleep 4321"))
		eventuallyRuns(t, id, "sleep 4321", 2)
		must.Do(t, inst.Stop(t.Context()))
		if n := runningIn(t, id, "sleep 4321"); n != 0 {
			t.Errorf("%d of its processes run on", n)
		}
	})
}

// runningIn counts the processes of a container whose command line holds text.
func runningIn(t *testing.T, id, text string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(dockertest.Must(t, "top", id, "-eo", "pid,stat,args")) {
		if f := strings.Fields(line); strings.Contains(line, text) && !strings.HasPrefix(f[1], "Z") {
			n++
		}
	}
	return n
}

func eventuallyRuns(t *testing.T, id, text string, want int) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); runningIn(t, id, text) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d processes are %q, want %d", runningIn(t, id, text), text, want)
		}
	}
}

func execContainerEnds(t *testing.T, image string) {
	for _, c := range []struct {
		name, want string
		end        []string
	}{
		{"stopped", "was stopped", []string{"kill"}},
		{"removed", "in which it ran was removed", []string{"rm", "--force"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := runs(t, image)
			inst := execIn(t, inside(enginetest.Fake(""), id))
			must.Do(t, inst.Ready(t.Context()))
			dockertest.Must(t, append(c.end, id)...)
			<-inst.Exited()
			if err := inst.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Ready says %v, want %q", err, c.want)
			}
			must.Do(t, inst.Stop(t.Context()))
			_, err := docker.Launcher{}.Launch(t.Context(), inside(enginetest.Fake(""), id), freshLaunch(t))
			if err == nil || !strings.Contains(err.Error(), "container") {
				t.Errorf("a launch in it says %v", err)
			}
		})
	}
}

func execWithoutShell(t *testing.T, _ string) {
	bare := dockertest.Image(t, dockertest.Self(t), `CMD ["8000"]`)
	id := runs(t, bare, "--env", "MXFLOW_FAKE_ENGINE=")
	_, err := docker.Launcher{}.Launch(t.Context(), inShell(id, "true"), freshLaunch(t))
	if err == nil || !strings.Contains(err.Error(), "must have sh and grep") {
		t.Errorf("a launch without sh says %v", err)
	}
}

func execSweep(t *testing.T, image string) {
	id := runs(t, image)
	mine, others := freshLaunch(t), freshLaunch(t)
	for _, l := range []engine.Launch{mine, others} {
		inst, err := docker.Launcher{}.Launch(t.Context(), inShell(id, "setsid sleep 5555 & exec sleep 5555"), l)
		must.Do(t, err)
		t.Cleanup(func() {
			done, cancel := context.WithCancel(context.Background())
			cancel() // no grace
			_ = inst.Stop(done)
		})
	}
	eventuallyRuns(t, id, "sleep 5555", 4)
	if _, n, err := docker.SweepExec(t.Context(), id, mine.Owner); err != nil || n != 2 {
		t.Errorf("swept %d, %v; want 2 processes", n, err)
	}
	if n := runningIn(t, id, "sleep 5555"); n != 2 {
		t.Errorf("%d processes run on, want the 2 of the other owner", n)
	}
	for _, in := range []string{id, "0123456789ab"} {
		if _, n, err := docker.SweepExec(t.Context(), in, mine.Owner); err != nil || n != 0 {
			t.Errorf("nothing is left in %s, swept %d, %v", in, n, err)
		}
	}
}
