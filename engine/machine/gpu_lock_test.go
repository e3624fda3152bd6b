package machine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

var lockedGPU = GPU{Index: 3, UUID: "GPU-aaaa", Name: "A100"}

// holdGPU holds the GPU until its input ends or it is killed.
func holdGPU(dir string) {
	_, err := LockGPUs(context.Background(), dir, []GPU{lockedGPU},
		GPUHolder{PID: os.Getpid(), User: "other", State: "s", Since: time.Now()}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin)
}

func holder(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GPU_TEST_HOLD="+dir)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd
}

func acquireNow(dir string, gpus ...GPU) (map[string]*GPULock, error) {
	return LockGPUs(context.Background(), dir, gpus, GPUHolder{PID: os.Getpid()}, 0, nil)
}

func TestLockDiesWithItsHolder(t *testing.T) {
	dir := t.TempDir()
	other := holder(t, dir)
	// The second of two is held: the first is released.
	free := GPU{UUID: "GPU-0"}
	_, err := acquireNow(dir, lockedGPU, free)
	var held *GPUHeldError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.PID != other.Process.Pid {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"GPU 3", "user other", fmt.Sprint(other.Process.Pid), dir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if locks, err := acquireNow(dir, free); err != nil || len(locks) != 1 {
		t.Fatalf("the first of two was kept: %v", err)
	}

	// A waiter gets the lock when the holder is killed, and is told once for whom it waits.
	told := make(chan *GPUHeldError, 10)
	got := make(chan error, 1)
	go func() {
		_, err := LockGPUs(context.Background(), dir, []GPU{lockedGPU}, GPUHolder{PID: os.Getpid()}, time.Minute,
			func(e *GPUHeldError) { told <- e })
		got <- err
	}()
	if e := <-told; e.Holder.PID != other.Process.Pid {
		t.Errorf("told of %v", e)
	}
	other.Process.Kill()
	if err := <-got; err != nil {
		t.Fatalf("the holder is dead: %v", err)
	}
	if len(told) > 0 {
		t.Errorf("told %d times more", len(told))
	}
}

func TestLockWaitEnds(t *testing.T) {
	dir := t.TempDir()
	holder(t, dir)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("interrupted")
	_, err := LockGPUs(ctx, dir, []GPU{lockedGPU}, GPUHolder{PID: 1}, time.Hour, func(*GPUHeldError) { cancel(stop) })
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// Any user may be the first, whatever their umask, and nothing but an ordinary file is locked.
func TestLockFile(t *testing.T) {
	dir := t.TempDir()
	locks, err := acquireNow(dir, lockedGPU)
	must.Do(t, err)
	path := filepath.Join(dir, "mxflow-GPU-aaaa.lock")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile(path); !strings.Contains(string(text), fmt.Sprintf(`"pid":%d`, os.Getpid())) {
		t.Errorf("it says %q", text)
	}
	must.Do(t, locks[lockedGPU.UUID].Unlock())
	// Left by a dead process, or written by something else: no lock.
	for _, text := range []string{`{"pid":1}`, `{"pid":`, "\x00\xff", strings.Repeat("x", 1<<20)} {
		os.WriteFile(path, []byte(text), 0o666)
		again, err := acquireNow(dir, lockedGPU)
		if err != nil {
			t.Fatalf("%.20q: %v", text, err)
		}
		again[lockedGPU.UUID].Unlock()
	}
	if os.Getuid() != 0 {
		os.Chmod(path, 0o444)
		if _, err := acquireNow(dir, lockedGPU); err != nil {
			t.Errorf("a file that can only be read: %v", err)
		}
	}
	for name, spoil := range map[string]func() error{
		"a link":   func() error { return os.Symlink("/dev/null", path) },
		"a folder": func() error { return os.Mkdir(path, 0o755) },
	} {
		os.RemoveAll(path)
		must.Do(t, spoil())
		if _, err := acquireNow(dir, lockedGPU); err == nil || !strings.Contains(err.Error(), "MXFLOW_GPU_LOCK_DIR") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := acquireNow(filepath.Join(dir, "gone"), lockedGPU); err == nil {
		t.Error("locked in a folder that does not exist")
	}
}
