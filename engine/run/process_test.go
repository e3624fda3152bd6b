package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// applyEnv turns this binary into an mxflow that starts an engine, says so, and waits to
// be killed: "owner=log path".
const applyEnv = "MXFLOW_TEST_APPLY"

func TestMain(m *testing.M) {
	if owner := os.Getenv(applyEnv); owner != "" && os.Getenv("MXFLOW_LAUNCH") == "" {
		apply(owner, os.Args[1])
	}
	enginetest.Main(m)
}

func apply(owner, log string) {
	inst, err := run.Launcher{}.Launch(context.Background(), enginetest.Fake(enginetest.Grandchildren),
		engine.Launch{ID: "launch-1", Owner: owner, LogPath: log})
	if err == nil {
		err = inst.Ready(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(inst.BaseURL())
	select {}
}

func TestProcessLauncherConforms(t *testing.T) {
	healthy := func(*testing.T) engine.Spec { return enginetest.Fake("") }
	enginetest.Run(t, run.Launcher{}, healthy, enginetest.Fakes()...)
}

// launched is a launch that ends with the test.
func launched(t *testing.T, spec engine.Spec) engine.Instance {
	t.Helper()
	inst, err := enginetest.Launch(t, run.Launcher{}, spec)
	must.Do(t, err)
	return inst
}

func shell(script string) engine.Spec {
	return engine.Spec{Kind: "openai", Command: []string{"sh", "-c", script}, StopGrace: time.Minute}
}

func TestLaunchSaysWhatIsWrongWithTheCommand(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plain": "no program", "script": "#!/no/such/interpreter\n",
		"binary": "\x00\x01",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	must.Do(t, os.Chmod(filepath.Join(dir, "plain"), 0o644))
	for name, tc := range map[string]struct {
		spec engine.Spec
		want string
	}{
		"nothing":          {engine.Spec{}, "no command"},
		"unknown in PATH":  {engine.Spec{Command: []string{"no-such-engine"}}, `"no-such-engine" is not in PATH`},
		"unknown path":     {engine.Spec{Command: []string{"/no/such/engine"}}, "does not exist"},
		"relative to dir":  {engine.Spec{Command: []string{"./plain"}, Dir: dir}, "chmod +x"},
		"PATH of the plan": {engine.Spec{Command: []string{"plain"}, Env: map[string]string{"PATH": dir}}, "chmod +x"},
		"a folder":         {engine.Spec{Command: []string{dir}}, "it is a folder"},
		"no interpreter":   {engine.Spec{Command: []string{"./script"}, Dir: dir}, "#! line"},
		"not a program":    {engine.Spec{Command: []string{"./binary"}, Dir: dir}, "not a program"},
		"missing dir":      {engine.Spec{Command: []string{"sh"}, Dir: "/no/such/dir"}, `"/no/such/dir"`},
		"dir is a file":    {engine.Spec{Command: []string{"sh"}, Dir: filepath.Join(dir, "plain")}, "not a folder"},
		"bad env":          {engine.Spec{Command: []string{"sh"}, Env: map[string]string{"A=B": "1"}}, `"A=B"`},
		"unknown kind": {
			engine.Spec{Kind: "vlmm", Command: []string{"sh"}},
			`expected one of "command", "embedded"`,
		},
		"arguments too big": {engine.Spec{Command: []string{"sh", strings.Repeat("x", 8<<20)}}, "too long"},
	} {
		if tc.spec.Kind == "" {
			tc.spec.Kind = "openai"
		}
		_, err := enginetest.Launch(t, run.Launcher{}, tc.spec)
		var f *engine.Failure
		if !errors.As(err, &f) || f.Op != "start" || !strings.Contains(f.Reason, tc.want) {
			t.Errorf("%s: got %v, want a failure to start with %q", name, err, tc.want)
		}
	}
}

func TestLaunchReplacesAndMarks(t *testing.T) {
	spec := shell(`echo "arg $0 env $P port $MXFLOW_PORT owner $MXFLOW_OWNER launch $MXFLOW_LAUNCH in $PWD"`)
	spec.Dir = t.TempDir()
	spec.Command = append(spec.Command, "{port}")
	spec.Env = map[string]string{"P": "<{port}>", "MXFLOW_OWNER": "a plan's own"}
	inst, err := run.Launcher{}.Launch(t.Context(), spec,
		engine.Launch{ID: "launch", Owner: "owner", LogPath: filepath.Join(t.TempDir(), "run", "engine.log")})
	must.Do(t, err)
	defer func() {
		must.Do(t, inst.Stop(context.Background()))
	}()
	<-inst.Exited()
	port := inst.BaseURL()[strings.LastIndexByte(inst.BaseURL(), ':')+1:]
	want := "arg " + port + " env <" + port + "> port " + port + " owner owner launch launch in " + spec.Dir
	if got := logscan.Tail(inst.LogPath(), 5); !slices.Equal(got, []string{want}) {
		t.Errorf("the engine saw\n%q, want\n%q", got, want)
	}
}

func TestStartCommand(t *testing.T) {
	t.Setenv("INHERITED", "yes")
	t.Setenv("DROPPED", "yes")
	t.Setenv("MXFLOW_SIGNING_KEY", "secret")
	spec := shell(`echo "$INHERITED,$DROPPED$MXFLOW_SIGNING_KEY,$SET,$MXFLOW_PORT,{port}"; sleep 1000 & exit 5`)
	spec.Kind, spec.StopGrace = "", 0
	spec.Env, spec.Unset = map[string]string{"SET": "yes"}, []string{"DROPPED", "SET"}
	step, err := run.StartCommand(spec,
		engine.Launch{ID: "step", Owner: "owner", LogPath: filepath.Join(t.TempDir(), "log")})
	must.Do(t, err)
	<-step.Exited()
	must.Do(t, step.Stop(t.Context()))
	if exit := step.Exit(); exit == nil || exit.String() != "exit status 5" {
		t.Errorf("Exit is %v, want exit status 5", exit)
	}
	if got := logscan.Tail(step.LogPath(), 5); !slices.Equal(got, []string{"yes,,yes,,{port}"}) {
		t.Errorf("the command saw %q", got)
	}
	if _, err := run.StartCommand(engine.Spec{}, engine.Launch{}); err == nil ||
		err.Error() != "command could not start: it has no command" {
		t.Errorf("starting nothing: %v", err)
	}
}

func TestLogKeepsOrderAndSetsAnOldLogAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.log")
	must.Do(t, os.WriteFile(path, []byte("Using backend: STALE\n"), 0o600))
	inst, err := run.Launcher{}.Launch(t.Context(), shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2"),
		engine.Launch{ID: "launch", Owner: "owner", LogPath: path})
	must.Do(t, err)
	<-inst.Exited()
	must.Do(t, inst.Stop(t.Context()))
	if got := logscan.Tail(path, 10); !slices.Equal(got, []string{"1", "2", "3", "4"}) {
		t.Errorf("the log is %q", got)
	}
	if old := logscan.Tail(path+".old", 10); len(old) != 1 {
		t.Errorf("the old log is %q", old)
	}
}

// The kernel's parent death signal follows the thread that forked: the engine
// must survive whatever Go does to its threads.
func TestEngineOutlivesThreads(t *testing.T) {
	var inst engine.Instance
	done := make(chan error)
	go func() {
		goruntime.LockOSThread() // and end with the lock: the thread ends too
		var err error
		inst, err = enginetest.Launch(t, run.Launcher{}, enginetest.Fake(""))
		done <- err
	}()
	must.Do(t, <-done)
	var all sync.WaitGroup
	for range 50 {
		all.Go(goruntime.LockOSThread)
	}
	all.Wait()
	must.Do(t, inst.Ready(t.Context()))
	if inst.Exit() != nil {
		t.Errorf("it ended with a thread: %v", inst.Exit())
	}
}

func TestPeakMemorySeesSpikes(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	// 64 MiB are held only for a moment; the kernel's high-water mark keeps it.
	inst := launched(t, enginetest.Fake(enginetest.Spikes))
	must.Do(t, inst.Ready(t.Context()))
	if err := inst.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := inst.PeakMemory(); got < 64<<20 || got > 1<<30 {
		t.Errorf("peak memory is %d MiB, want somewhat more than 64", got>>20)
	}
}

// A stopped process receives no signal but SIGKILL until it is continued.
func TestStopEndsASuspendedEngine(t *testing.T) {
	inst := launched(t, shell("kill -STOP $$; sleep 1000"))
	must.Do(t, inst.Stop(t.Context()))
	if exit := inst.Exit(); exit == nil || exit.Signal != "SIGTERM" {
		t.Errorf("Exit is %v, want SIGTERM", exit)
	}
}

func TestLogIsBounded(t *testing.T) {
	inst, err := enginetest.Launch(t, run.Launcher{LogLimit: 64 << 10},
		shell(
			`echo first; i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; while :; do echo last; sleep 0.1; done`)) // what is printed during a cut is lost
	must.Do(t, err)
	size := func() int64 {
		info, err := os.Stat(inst.LogPath())
		must.Do(t, err)
		return info.Size()
	}
	last := func() string { return strings.Join(logscan.Tail(inst.LogPath(), 1), "") }
	scan := func() int { // the log is without its mark for a moment
		scan, err := logscan.New([]string{"first", "[mxflow] log limit reached: about * bytes were dropped"})
		must.Do(t, err)
		must.Do(t, scan.File(inst.LogPath()))
		return len(scan.Matches())
	}
	for limit := time.Now().Add(30 * time.Second); last() != "last" || size() > 64<<10 ||
		scan() != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d bytes, ending in %q; want its beginning and the mark, too, but only %d of them",
				size(), last(), scan())
		}
	}
}

func TestTheConfigurationFileLiesBesideTheLog(t *testing.T) {
	spec := shell(`cat "$0"; ls -l "$0"`)
	spec.Command = append(spec.Command, "{config}")
	spec.Config, spec.ConfigName = []byte("a: 1\n"), "llm_args.yaml"
	inst := launched(t, spec)
	<-inst.Exited()
	got := logscan.Tail(inst.LogPath(), 5)
	if len(got) != 2 || got[0] != "a: 1" || !strings.HasPrefix(got[1], "-rw-------") {
		t.Errorf("the engine read %q", got)
	}
	if _, err := os.Stat(strings.TrimSuffix(inst.LogPath(), ".log") + ".llm_args.yaml"); err != nil {
		t.Error(err)
	}
	spec.ConfigName = "../llm_args.yaml"
	if _, err := enginetest.Launch(t, run.Launcher{}, spec); err == nil ||
		!strings.Contains(err.Error(), "not a plain file name") {
		t.Errorf("a path as the name: %v", err)
	}
}

func TestAModelThatIsAFileIsLookedFor(t *testing.T) {
	spec := shell("exit 0")
	spec.Dir, spec.ModelPath = t.TempDir(), "x.gguf"
	want := filepath.Join(spec.Dir, "x.gguf")
	_, err := enginetest.Launch(t, run.Launcher{}, spec)
	var f *engine.Failure
	if !errors.As(err, &f) || f.Op != "start" || !strings.Contains(f.Reason, want) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want a failure to start that names %s", err, want)
	}
	must.Do(t, os.WriteFile(want, nil, 0o600))
	if _, err := enginetest.Launch(t, run.Launcher{}, spec); err != nil {
		t.Error(err)
	}
}
