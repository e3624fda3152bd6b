package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// patience is how long anything that must happen may take before a scenario
// fails. It is no measure of speed: passing scenarios never wait so long.
const patience = 60 * time.Second

// cmdExits is
//
//	exits STATUS program [args...]
//
// exec for a program whose exit status matters, not only that it failed.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS program [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := endOf(exit); got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[1], got, args[0])
	}
}

// endOf is an exit status, or the name of the signal that ended a process.
func endOf(exit *exec.ExitError) string {
	if exit == nil {
		return "0"
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return strconv.Itoa(exit.ExitCode())
}

// processes are those a scenario has started in the background, by name.
type (
	processes    map[string]*background
	processesKey struct{}
)

type background struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid once done is closed
}

// cmdStart is
//
//	start NAME program [args...]
//
// It runs a program in the background with its output in NAME.out and NAME.err,
// where it can be read while the program goes on.
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME program [args...]")
	}
	path := args[1]
	if path == "mxflow" {
		path = program
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "PLANS", "NO_COLOR", "MXFLOW_EMBEDDED_FAULT", "DOCKER_HOST"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stdout, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	b := &background{cmd: cmd, done: make(chan struct{})}
	go func() {
		b.err = cmd.Wait()
		close(b.done)
	}()
	ts.Value(processesKey{}).(processes)[args[0]] = b
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-b.done
	})
}

func started(ts *testscript.TestScript, name string) *background {
	b := ts.Value(processesKey{}).(processes)[name]
	if b == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return b
}

// cmdSignal is
//
//	signal NAME INT|KILL|HUP|TERM
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || unix.SignalNum("SIG"+args[1]) == 0 {
		ts.Fatalf("usage: signal NAME INT|KILL|HUP|TERM")
	}
	ts.Check(started(ts, args[0]).cmd.Process.Signal(unix.SignalNum("SIG" + args[1])))
}

// cmdFinish is
//
//	finish NAME STATUS
//
// It waits for the end of what start started. STATUS is an exit status, or the
// signal that ended it, such as SIGKILL.
func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: finish NAME STATUS")
	}
	b := started(ts, args[0])
	select {
	case <-b.done:
	case <-time.After(patience):
		ts.Fatalf("%s has not ended", args[0])
	}
	var exit *exec.ExitError
	if b.err != nil && !errors.As(b.err, &exit) {
		ts.Fatalf("%v", b.err)
	}
	if got := endOf(exit); got != args[1] {
		ts.Fatalf("%s ended with %s, want %s\n%s%s", args[0], got, args[1],
			ts.ReadFile(args[0]+".out"), ts.ReadFile(args[0]+".err"))
	}
}

// cmdWaitFor is
//
//	wait-for FILE REGEXP
//
// It waits until a file, which need not exist yet, has a line that matches.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-for FILE REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var text []byte
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if text, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && pattern.Match(text) {
			return
		}
	}
	ts.Fatalf("%s never had %q, but only:\n%s", filepath.Base(args[0]), args[1], bytes.TrimSpace(text))
}
