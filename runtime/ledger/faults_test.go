package ledger

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// faulty is a file on which things fail when told to.
type faulty struct {
	file
	short         int // bytes that a failing write leaves behind
	write, sync   error
	truncate      error
	failSyncsOnly int
}

func (f *faulty) WriteAt(b []byte, off int64) (int, error) {
	if f.write != nil {
		n, _ := f.file.WriteAt(b[:min(f.short, len(b))], off)
		return n, f.write
	}
	return f.file.WriteAt(b, off)
}

func (f *faulty) Sync() error {
	if f.sync != nil && f.failSyncsOnly > 0 {
		f.failSyncsOnly--
		return f.sync
	}
	return f.file.Sync()
}

func (f *faulty) Truncate(n int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.file.Truncate(n)
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault  faulty
		broken bool
	}{
		"full disk":                 {faulty{write: syscall.ENOSPC, short: 30}, false},
		"full disk, line whole":     {faulty{write: syscall.ENOSPC, short: 1 << 20}, false},
		"short write":               {faulty{write: io.ErrShortWrite}, false},
		"fsync":                     {faulty{sync: syscall.EIO, failSyncsOnly: 1}, false},
		"fsync, also the second":    {faulty{sync: syscall.EIO, failSyncsOnly: 2}, true},
		"full disk and no truncate": {faulty{write: syscall.ENOSPC, short: 30, truncate: syscall.EIO}, true},
		"fsync and no truncate":     {faulty{sync: syscall.EIO, failSyncsOnly: 1, truncate: syscall.EIO}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, _ := create(t, small()...)
			l := opened(t, path)
			good, root := l.file, l.Root()
			fault := c.fault
			fault.file = good
			l.file = &fault
			err := l.Append(decision("r1", "n", 1), decision("r1", "m", 1))
			cause := c.fault.write
			if cause == nil {
				cause = c.fault.sync
			}
			if !errors.Is(err, cause) || l.Len() != 4 || l.Root() != root {
				t.Fatalf("got %v, %d records", err, l.Len())
			}
			l.file = good
			err = l.Append(decision("r1", "n", 1))
			if (err != nil) != c.broken {
				t.Fatalf("the next append: %v", err)
			}
			if c.broken {
				l.Close()
				if l, err = Open(path, nil); err != nil {
					t.Fatalf("open again: %v", err)
				}
				defer l.Close()
				if l.Len() < 4 {
					t.Errorf("%d records", l.Len())
				}
			}
			must.Get(Verify(path))(t)
		})
	}
}

// TestCheckpointFails: what cannot be put into the checkpoint is not recorded.
func TestCheckpointFails(t *testing.T) {
	path, data, _ := create(t, small()...)
	l := opened(t, path)
	for _, inTheWay := range []string{checkpointPath(path) + ".new", checkpointPath(path)} {
		must.Do(t, errors.Join(os.RemoveAll(inTheWay), os.MkdirAll(inTheWay+"/x", 0o755)))
		if err := l.Append(decision("r1", "n", 1)); err == nil || !strings.Contains(err.Error(), "1 record not recorded") {
			t.Errorf("got %v", err)
		}
		if now, _ := os.ReadFile(path); l.Len() != 4 || string(now) != string(data) {
			t.Error("it was recorded")
		}
		must.Do(t, os.RemoveAll(inTheWay))
	}
	must.Do(t, l.Append(decision("r1", "n", 1)))
	if rep, err := Verify(path); err != nil || rep.Checkpoint != 6 {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestForeignWriterIsNoticed(t *testing.T) {
	path, _, _ := create(t)
	a := opened(t, path)
	b := opened(t, path)
	must.Do(t, a.Append(runStart("a")))
	if err := b.Append(runStart("b")); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	if rep, err := Verify(path); err != nil || rep.Records != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestClosed(t *testing.T) {
	path, _, _ := create(t)
	l := must.Get(Open(path, nil))(t)
	must.Do(t, errors.Join(l.Close(), l.Close()))
	if err := l.Append(runStart("r1")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
