package store

import (
	"os"
	"path/filepath"
	"testing"
)

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
	other, out := child(t, "lock", dir)
	if line, err := out.ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	if by := look(true); by == nil || by.PID != other.Process.Pid || by.Started.IsZero() {
		t.Errorf("it is held by %+v", by)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.Wait()
	if by := look(false); by != nil {
		t.Errorf("it is held by the dead %+v", by)
	}
	// One who has not said who it is.
	l, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "lock"), 0); err != nil {
		t.Fatal(err)
	}
	if by := look(true); by != nil {
		t.Errorf("nobody signed, and it is held by %+v", by)
	}
	l.Unlock()
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
		l, err := Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-stopped
}
