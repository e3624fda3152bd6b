package ledger

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// A file cut at any byte is either recovered to exactly the lines that are
// whole, or refused; with the checkpoint in place it is refused.
func TestCutAtEveryByte(t *testing.T) {
	// Small, since each cut costs some fsyncs.
	recs := []*Record{runStart("r"), {Type: "decision", Time: noon, Run: "r", Decision: &Decision{Node: "n", Kind: "gate", Attempt: 1, Verdict: "fail"}}, end("r")}
	path, data, sizes := create(t, recs...)
	text := ofCheckpoint(t, path)
	for cut := range data {
		write(t, path, data[:cut])
		write(t, checkpointPath(path), text)
		if _, err := Open(path, nil); !errors.As(err, new(*DamageError)) || !strings.Contains(err.Error(), "removed") {
			t.Fatalf("cut at %d: with a checkpoint ahead, Open says %v", cut, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, data[:cut]) {
			t.Fatalf("cut at %d: a refused file was changed", cut)
		}
		must.Do(t, os.Remove(checkpointPath(path)))
		whole := 0
		for whole+1 < len(sizes) && sizes[whole+1] <= int64(cut) {
			whole++
		}
		snap, err := Read(path)
		if err != nil || int64(cut) >= sizes[0] && len(snap.Records) != whole {
			t.Fatalf("cut at %d: Read gives %v, want %d records", cut, err, whole)
		}
		l, err := Open(path, nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if l.Len() != whole {
			t.Fatalf("cut at %d: %d records, want %d", cut, l.Len(), whole)
		}
		torn := cut != 0 && int64(cut) != sizes[whole]
		if got := len(l.Notices()) == 1; got != torn {
			t.Fatalf("cut at %d: notices %q", cut, l.Notices())
		}
		if torn {
			from := int64(0)
			if int64(cut) > sizes[0] {
				from = sizes[whole]
			}
			kept, err := os.ReadFile(path + ".torn-1")
			if err != nil || !bytes.Equal(kept, data[from:cut]) {
				t.Fatalf("cut at %d: kept %q, %v", cut, kept, err)
			}
			os.Remove(path + ".torn-1")
		}
		if err := l.Append(recs[whole:]...); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
			t.Fatalf("cut at %d: appended again, the file differs", cut)
		}
		l.Close()
	}
}

// A power cut may leave anything in place of what was written, where nobody was told of it.
func TestHoles(t *testing.T) {
	path, data, sizes := create(t, append(small(), nodes(40)...)...)
	whole := ofCheckpoint(t, path)
	first, _, _ := create(t, small()...)
	behind := ofCheckpoint(t, first)
	acknowledged := sizes[4] // the forty were one batch that was cut
	for name, spoil := range map[string]func(b []byte){
		"hole":          func(b []byte) { clear(b[8*512 : 9*512]) },
		"all of it":     func(b []byte) { clear(b[acknowledged:]) },
		"one byte":      func(b []byte) { b[8*512+7] = 0 },
		"other content": func(b []byte) { copy(b[8*512:9*512], bytes.Repeat([]byte("x\n"), 256)) },
	} {
		t.Run(name, func(t *testing.T) {
			bad := bytes.Clone(data)
			spoil(bad)
			write(t, path, bad)
			write(t, checkpointPath(path), whole)
			if _, err := Open(path, nil); !errors.As(err, new(*DamageError)) {
				t.Fatalf("got %v, want damage", err)
			}
			write(t, checkpointPath(path), behind)
			l := opened(t, path)
			if l.Len() < 4 || len(l.Notices()) != 1 {
				t.Errorf("%d records, notices %q", l.Len(), l.Notices())
			}
			if _, err := Verify(path); err != nil {
				t.Errorf("after recovery: %v", err)
			}
		})
	}
}

func TestCheckpoint(t *testing.T) {
	path, data, sizes := create(t, small()...)
	whole, _ := os.ReadFile(checkpointPath(path))

	// Behind is harmless: a crash came between.
	earlier := t.TempDir() + "/ledger"
	l := must.Get(Open(earlier, nil))(t)
	l.Append(small()[0])
	l.Close()
	behind, _ := os.ReadFile(checkpointPath(earlier))
	write(t, checkpointPath(path), behind)
	if rep, err := Verify(path); err != nil || rep.Checkpoint != 2 {
		t.Errorf("a checkpoint that is behind: %+v, %v", rep, err)
	}
	l = must.Get(Open(path, nil))(t)
	l.Close()
	if now, _ := os.ReadFile(checkpointPath(path)); !bytes.Equal(now, whole) {
		t.Error("Open does not bring the checkpoint up to date")
	}

	// Ahead: the end was cut off at a line, which no line can tell.
	write(t, path, data[:sizes[2]])
	if _, err := Verify(path); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("got %v", err)
	}
	// Gone altogether.
	os.Remove(path)
	if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a removed ledger was begun anew")
	}
	// Rewritten from the first record on, with hashes that are right.
	leaf, _ := marshal(runStart("other"))
	write(t, path, append(forge(header, string(leaf)), nil...))
	write(t, checkpointPath(path), behind)
	if _, err := Verify(path); err == nil || !strings.Contains(err.Error(), "rewritten") {
		t.Errorf("got %v", err)
	}
	// A checkpoint that is no checkpoint.
	for _, bad := range []string{"x", "mxflow-ledger/4\n", "mxflow-ledger/1\n-1\nx\n", "mxflow-ledger/1\n07\nx\n", strings.Replace(string(behind), "\n2\n", "\n+2\n", 1)} {
		write(t, checkpointPath(path), []byte(bad))
		if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "checkpoint") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

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
