package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestMain plays the other process when it is asked to, which goes on until it
// is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv("STORE_TEST_DIR")
	var err error
	switch os.Getenv("STORE_TEST_CHILD") {
	case "lock":
		err = holdLock(dir)
	case "append":
		err = appendForEver(dir)
	default:
		os.Exit(m.Run())
	}
	fmt.Println(err)
	os.Exit(1)
}

func holdLock(dir string) error {
	if _, err := Lock(dir); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// child starts this test as the other process and returns what it says.
func child(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+role, "STORE_TEST_DIR="+dir)
	must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, bufio.NewReader(out)
}

// locked is a process that holds the lock.
func locked(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd, out := child(t, "lock", dir)
	if line, err := out.ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	must.Do(t, cmd.Process.Kill())
	cmd.Wait()
}

func TestLockDiesWithItsHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".mxflow")
	child := locked(t, dir)
	_, err := Lock(dir)
	var held *HeldError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.PID != child.Process.Pid {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{filepath.Join(dir, "lock"), fmt.Sprint(child.Process.Pid), filepath.Base(os.Args[0])} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	// Readers do not care.
	must.Get(os.Create(filepath.Join(dir, "ledger")))(t)
	openReadOnly(t, dir)

	kill(t, child)
	if b, _ := os.ReadFile(filepath.Join(dir, "lock")); len(b) == 0 {
		t.Error("the dead holder's file is empty, so this shows nothing")
	}
	l, err := Lock(dir)
	if err != nil {
		t.Fatalf("the holder is dead: %v", err)
	}
	must.Do(t, l.Unlock())
}

func TestLockWithinAProcess(t *testing.T) {
	dir := t.TempDir()
	l := must.Get(Lock(dir))(t)
	var held *HeldError
	if _, err := Lock(dir); !errors.As(err, &held) || held.Holder.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	must.Do(t, l.Unlock())
	// What is written in the file is no lock.
	os.WriteFile(filepath.Join(dir, "lock"), []byte(`{"pid":1,"host":"here"}`), 0o644)
	l = must.Get(Lock(dir))(t)
	// A holder that has not signed yet, or whose file is torn.
	for _, text := range []string{"", `{"pid":`} {
		os.WriteFile(filepath.Join(dir, "lock"), []byte(text), 0o644)
		if _, err := Lock(dir); !errors.As(err, &held) || held.Holder != nil || held.Error() == "" {
			t.Errorf("%q: got %v", text, err)
		}
	}
	l.Unlock()
}

// Whoever looks learns who is at work, and that a dead holder's file means nothing.
func TestAtWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".mxflow")
	look := func(want bool) *Holder {
		t.Helper()
		held, by, err := AtWork(dir)
		if err != nil || held != want {
			t.Fatalf("held %v by %+v, %v; want %v", held, by, err, want)
		}
		return by
	}
	look(false)
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking made the directory")
	}
	other := locked(t, dir)
	if by := look(true); by == nil || by.PID != other.Process.Pid || by.Started.IsZero() {
		t.Errorf("it is held by %+v", by)
	}
	kill(t, other)
	if by := look(false); by != nil {
		t.Errorf("it is held by the dead %+v", by)
	}
	// One who has not said who it is.
	l := must.Get(Lock(dir))(t)
	must.Do(t, os.Truncate(filepath.Join(dir, "lock"), 0))
	if by := look(true); by != nil {
		t.Errorf("nobody signed, and it is held by %+v", by)
	}
	l.Unlock()
}

// The lock names the run that its holder is at work on, and never that of a holder
// who is dead.
func TestLockNamesTheRun(t *testing.T) {
	dir := t.TempDir()
	l := must.Get(Lock(dir))(t)
	defer l.Unlock()
	run := func() string {
		t.Helper()
		held, by, err := AtWork(dir)
		switch {
		case err != nil || !held:
			t.Fatalf("held %v, %v", held, err)
		case by == nil:
			return "nobody"
		}
		return by.Run
	}
	if got := run(); got != "" {
		t.Errorf("before it began one, the run is %q", got)
	}
	// Shorter and longer than what is there.
	for _, id := range []string{"20260102T030405-aabbcc", "r", "r-1"} {
		must.Do(t, l.Begin(id))
		if got := run(); got != id {
			t.Errorf("the run is %q, want %s", got, id)
		}
	}
}

// Whoever looks is in nobody's way.
func TestLookingIsInNobodysWay(t *testing.T) {
	dir := t.TempDir()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, _, err := AtWork(dir); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 300 {
		l := must.Get(Lock(dir))(t)
		must.Do(t, l.Unlock())
	}
	close(stop)
	<-stopped
}
