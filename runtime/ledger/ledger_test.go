package ledger

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestAppendAndRead(t *testing.T) {
	path, _, _ := create(t, small()...)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	more := append([]*Record{runStart("r2")}, nodes(5)...)
	if err := l.Append(more...); err != nil {
		t.Fatal(err)
	}
	want := append(small(), more...)
	s, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != len(want) || l.Len() != len(want) || s.Root() != l.Root() || s.Size() != l.Size() {
		t.Fatalf("reader and writer disagree: %d and %d records", s.Len(), l.Len())
	}
	for i, r := range s.Records() {
		if !reflect.DeepEqual(r, want[i]) {
			t.Errorf("record %d came back as %+v", i, r)
		}
	}
	if root, err := l.RootAt(5); err != nil || root == l.Root() {
		t.Errorf("RootAt(5) = %v, %v", root, err)
	}
	if _, err := l.RootAt(99); err == nil {
		t.Error("RootAt knows the future")
	}
}

func TestAppendCanonicalises(t *testing.T) {
	path, _, _ := create(t)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := decision("r1", "n", 1)
	r.Time = noon.In(time.FixedZone("here", 7200))
	r.Decision.LogTail = []string{"half a rune \xe2\x82", "\u2028 \t\n\x00"}
	r.Decision.Variant = map[string]string{"a\xff": "1"}
	r.Decision.Reasons = []string{}
	if err := l.Append(r); err != nil {
		t.Fatal(err)
	}
	r.Decision.Node = "changed later"
	for _, got := range l.Records() {
		if got.Decision.Node != "n" || !got.Time.Equal(noon) || got.Decision.LogTail[0] != "half a rune \uFFFD\uFFFD" {
			t.Errorf("recorded %+v", got.Decision)
		}
	}
	if _, err := Verify(path); err != nil {
		t.Error(err)
	}
}

func TestAppendRefuses(t *testing.T) {
	path, _, _ := create(t, small()...)
	before, _ := os.ReadFile(path)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	root := l.Root()
	nan := decision("r1", "n", 1)
	nan.Decision.Seconds = math.NaN()
	big := decision("r1", "n", 1)
	big.Decision.LogTail = []string{strings.Repeat("x", maxLine)}
	for _, bad := range []*Record{nil, {}, decision("r1", "feature.a", 1), nan, big, launch("r1", "l1"), runStart("r1")} {
		// A good one before it must not stay either.
		if err := l.Append(decision("r1", "fine", 1), bad); err == nil || !strings.Contains(err.Error(), "record 2 of 2") {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) || l.Root() != root || l.Len() != 4 {
		t.Error("a refused batch left something behind")
	}
	if err := l.Append(decision("r1", "fine", 1)); err != nil {
		t.Error(err)
	}
	if _, err := Verify(path); err != nil {
		t.Error(err)
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
			l, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			good, root := l.file, l.Root()
			fault := c.fault
			fault.file = good
			l.file = &fault
			err = l.Append(decision("r1", "n", 1), decision("r1", "m", 1))
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
				if l, err = Open(path); err != nil {
					t.Fatalf("open again: %v", err)
				}
				defer l.Close()
				if l.Len() < 4 {
					t.Errorf("%d records", l.Len())
				}
			}
			if _, err := Verify(path); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestForeignWriterIsNoticed(t *testing.T) {
	path, _, _ := create(t)
	a, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := a.Append(runStart("a")); err != nil {
		t.Fatal(err)
	}
	if err := b.Append(runStart("b")); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	if rep, err := Verify(path); err != nil || rep.Records != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestClosed(t *testing.T) {
	path, _, _ := create(t)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if err := l.Append(runStart("r1")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// Readers see a prefix, whatever the writer is doing.
func TestReadWhileWriting(t *testing.T) {
	path, _, _ := create(t)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			seen := 0
			for stop := false; !stop; {
				select {
				case <-done:
					stop = true
				default:
				}
				s, err := Read(path)
				if err != nil {
					t.Error(err)
					return
				}
				if s.Len() < seen {
					t.Errorf("%d records after %d", s.Len(), seen)
				}
				seen = s.Len()
				for i, r := range s.Records() {
					if want := fmt.Sprintf("n%d", i); r.Decision.Node != want {
						t.Errorf("record %d is about %s", i, r.Decision.Node)
					}
				}
			}
			if seen != 150 {
				t.Errorf("saw %d records at the end", seen)
			}
		})
	}
	// Several goroutines may share the writer too.
	wg.Go(func() {
		for range l.Records() {
			_, _ = l.Root(), l.Size()
		}
	})
	for i := 0; i < 150; i += 3 {
		if err := l.Append(decision("r", fmt.Sprintf("n%d", i), 1), decision("r", fmt.Sprintf("n%d", i+1), 1), decision("r", fmt.Sprintf("n%d", i+2), 1)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}
