package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
)

// fakeEnv makes this binary a worker that behaves in some way.
const fakeEnv = "MXFLOW_TEST_WORKER"

func TestMain(m *testing.M) {
	if how := os.Getenv(fakeEnv); how != "" {
		fake(how)
		return
	}
	os.Exit(m.Run())
}

// fake is a worker that makes no launches.
func fake(how string) {
	if how == "noise" {
		fmt.Println(strings.Repeat("Welcome!\n", mostNoise))
	}
	fmt.Println("Last login: never")
	w := NewWire(os.Stdin, os.Stdout)
	for {
		m, err := w.Receive()
		switch {
		case err != nil:
			return
		case m.Hello != nil && how == "refuses":
			_ = w.Send(Message{Failed: verdict.New(code.WorkerRefuses)})
		case m.Hello != nil:
			_ = w.Send(Message{Ready: &Ready{Place: &ledger.Place{Name: m.Hello.Host, Host: m.Hello.Host}}})
		case m.Stop:
			_ = w.Send(Message{Stop: true})
		case m.Order != nil:
			answer(w, how, m.Order)
		}
	}
}

// answer sends what came of an order.
func answer(w *Wire, how string, o *launch.Order) {
	log := []byte("what the engine said")
	done := &launch.OrderResult{Record: o.Record, Result: []byte("[]")}
	done.Record.Log, done.Record.VariantKey, done.Record.Node =
		"0f8a8ec4bd3a6b70b3ddd2a6be7dd7c9c4a31a5d2ec52be4df9ca8b8ae8fb1b5", o.Variant.Key, o.Node
	switch how {
	case "dies":
		os.Exit(3)
	case "cut":
		fmt.Printf(`{"mxflow":%d,"sum":"x","bytes":1000}`+"\nhalf", version)
		os.Exit(0)
	case "garbled":
		fmt.Println("slurmstepd: error: *** on the wrong stream ***")
	case "silent", "hangs":
		return
	case "stops":
		_ = w.Send(Message{Stop: true})
		return
	case "breaks":
		_ = w.Send(Message{Failed: verdict.New(code.LaunchGone, verdict.Text("class", launch.GoneBroke))})
		return
	case "other":
		done.Record.ID = "another"
	case "redrawn":
		done.Record.Draw.Seed = "chosen"
	}
	if how != "incomplete" {
		_ = w.Send(Message{Sum: "whatever it says", Data: log})
	}
	done.Record.Log = sumOf(log)
	sum, _ := Sum(done)
	if how == "changed" {
		done.Record.Seconds = 1
	}
	_ = w.Send(Message{Done: done, Sum: sum})
}

func sumOf(data []byte) string {
	dir, _ := os.MkdirTemp("", "sum")
	defer os.RemoveAll(dir)
	s, err := store.Open(dir)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	sum, _ := s.Put(data)
	return sum
}

// poolOf is a pool of one worker that behaves in some way.
func poolOf(t *testing.T, how string) *Pool {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "state"))
	must.Do(t, err)
	self, err := os.Executable()
	must.Do(t, err)
	p := &Pool{Plan: &plans.Plan{Executor: &plans.Executor{
		Kind: plans.SSHExecutor, Hosts: []string{"one"}, PerLaunch: 1, Slots: 1, Program: "mxflow",
		Command: []string{"env", fakeEnv + "=" + how, self},
	}}, Store: s, Force: t.Context()}
	t.Cleanup(func() { _ = s.Close() })
	t.Cleanup(p.Close)
	return p
}

func orderAt(on *ledger.Place) *launch.Order {
	return &launch.Order{
		Kind: ledger.ForBenchmark, Run: "r", Node: "feature.x.benchmark", Variant: decide.Arm{Name: "x", Key: "key"},
		Record: &ledger.Launch{
			ID: "s.x.1", Session: "s", Purpose: ledger.ForBenchmark, Ordinal: 1, Order: 2, OK: true,
			Draw: ledger.Draw{Seed: "drawn", Step: 1}, Place: on,
		},
	}
}

func quiet(verdict.Reason) {}

// TestMake: a launch counts as made where its whole result arrives, and is lost in every
// other case.
func TestMake(t *testing.T) {
	for how, class := range map[string]string{
		"good": "", "dies": launch.GoneEnded, "stops": launch.GoneEnded, "cut": launch.GoneEnded,
		"garbled": launch.GoneDamaged, "changed": launch.GoneDamaged, "incomplete": launch.GoneDamaged,
		"other": launch.GoneDamaged, "redrawn": launch.GoneDamaged, "breaks": launch.GoneBroke,
		"silent": launch.GoneSilent,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := poolOf(t, how)
			if how == "silent" {
				p.silence = time.Second
			}
			on, err := p.Stand(t.Context(), 0, nil, quiet)
			must.Do(t, err)
			done, err := p.Make(t.Context(), t.Context(), orderAt(on), func(runtime.Event) {})
			gone, lost := errors.AsType[*launch.LostError](err)
			switch {
			case class == "":
				if err != nil || done.Record.ID != "s.x.1" || !p.Store.Has(done.Record.Log) {
					t.Errorf("%+v, %v", done, err)
				}
			case !lost || gone.Why.Values["class"].Text != class || gone.Why.Subject != "one" || done != nil:
				t.Errorf("%+v: %v, want it lost: %s", done, err, class)
			}
		})
	}
}

// TestStand: a worker that does not come up is an error that has what it said, and one
// that is gone is replaced on the next occasion.
func TestStand(t *testing.T) {
	for how, want := range map[string]code.Kind{"refuses": code.WorkerRefuses.Kind, "noise": "worker.unstarted"} {
		_, err := poolOf(t, how).Stand(t.Context(), 0, nil, quiet)
		if f, ok := errors.AsType[*verdict.Fault](err); !ok || f.Reason.Kind != want {
			t.Errorf("%s: %v, want %s", how, err, want)
		}
	}
	p := poolOf(t, "dies")
	first, err := p.Stand(t.Context(), 0, nil, quiet)
	must.Do(t, err)
	if again, err := p.Stand(t.Context(), 0, []*ledger.Place{first}, quiet); err != nil || again != first {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := p.Make(t.Context(), t.Context(), orderAt(first), nil); err == nil {
		t.Fatal("it did not die")
	}
	if _, err := p.Make(t.Context(), t.Context(), orderAt(first), nil); err == nil {
		t.Error("somebody else made a launch in its place")
	}
	if next, err := p.Stand(t.Context(), 0, nil, quiet); err != nil || next == first || !next.Same(first) {
		t.Errorf("%v, %v", next, err)
	}
}

// TestMakeStops: an apply that is interrupted asks for the launch to be stopped, and one
// that must not wait ends the worker.
func TestMakeStops(t *testing.T) {
	for _, hardly := range []bool{false, true} {
		p := poolOf(t, "hangs")
		on, err := p.Stand(t.Context(), 0, nil, quiet)
		must.Do(t, err)
		soft, stop := context.WithCancel(t.Context())
		hard, kill := context.WithCancel(t.Context())
		if stop(); hardly {
			kill()
		}
		if _, err := p.Make(soft, hard, orderAt(on), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		kill()
	}
}

// TestCommand: what is started for each slot.
func TestCommand(t *testing.T) {
	p := &Pool{Program: "/shared/mxflow", Hello: Hello{Owner: "0123"}, Plan: &plans.Plan{Executor: &plans.Executor{
		Kind: plans.SlurmExecutor, PerLaunch: 1, Slots: 2, Command: []string{"srun"}, Partition: "gpu", Account: "team",
		GRES: "gpu:1", Time: "1:00:00", Args: []string{"--exclusive"},
	}}}
	argv, err := p.scheduler().command(t.Context(), 1, &Hello{}, quiet)
	must.Do(t, err)
	want := "srun --job-name=mxflow-0123-2 --nodes=1 --ntasks=1 --unbuffered --account=team --gres=gpu:1 " +
		"--partition=gpu --time=1:00:00 --exclusive /shared/mxflow worker"
	if got := strings.Join(argv, " "); got != want {
		t.Errorf("%s\n%s", got, want)
	}
	p.Plan.Executor = &plans.Executor{
		Kind: plans.SSHExecutor, Hosts: []string{"a", "b"},
		Devices: []string{"0", "1", "2", "3"}, PerLaunch: 2, Command: []string{"ssh", "{host}"}, Program: "/opt/mxflow",
	}
	hello := Hello{}
	if argv, err = p.scheduler().command(t.Context(), 3, &hello, quiet); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(argv, "|"); got != "ssh|b|exec /opt/mxflow worker" || hello.Host != "b" ||
		strings.Join(hello.Devices, ",") != "2,3" {
		t.Errorf("%s on %s with %v", got, hello.Host, hello.Devices)
	}
	for program, want := range map[string]string{
		"/opt/my tools/mxflow": "exec '/opt/my tools/mxflow' worker",
		"~/bin/$x/mxflow":      `exec "$HOME"/'bin/$x/mxflow' worker`, "mxflow": "exec mxflow worker",
	} {
		p.Plan.Executor.Program = program
		if argv, err = p.scheduler().command(t.Context(), 0, &Hello{}, quiet); err != nil || argv[len(argv)-1] != want {
			t.Errorf("%s: %s, want %s (%v)", program, argv[len(argv)-1], want, err)
		}
	}
}

// TestReceiveTakesNoRoomOnItsWord: a worker that announces much and sends little.
func TestReceiveTakesNoRoomOnItsWord(t *testing.T) {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	_, err := NewWire(strings.NewReader(fmt.Sprintf("{\"mxflow\":%d,\"bytes\":%d}\nfew", version, longest)),
		nil).Receive()
	goruntime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("%d bytes were reserved", took)
	}
}

// TestEndOfJob: how a job ended, by what Slurm says of it.
func TestEndOfJob(t *testing.T) {
	for said, want := range map[string]string{
		"NODE_FAIL": "NODE_FAIL", "PREEMPTED": "PREEMPTED", "COMPLETED": "",
		"FAILED": "", "of accounting": "CANCELLED",
	} {
		dir := t.TempDir()
		scripts := map[string]string{"squeue": "echo " + said, "sacct": "exit 1"}
		if said == "of accounting" {
			scripts = map[string]string{
				"squeue": "echo slurm_load_jobs error: Invalid job id specified >&2; exit 1",
				"sacct":  "echo CANCELLED by 1000",
			}
		}
		for name, script := range scripts {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		}
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		must.Equal(t, said, (slurm{}).ended(t.Context(), "7"), want)
	}
}
