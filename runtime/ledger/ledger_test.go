package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/signing"
)

func TestAppendAndRead(t *testing.T) {
	path, _, _ := create(t, small()...)
	l := opened(t, path)
	more := append([]*Record{runStart("r2")}, nodes(5)...)
	must.Do(t, l.Append(more...))
	want := append(small(), more...)
	s := must.Get(Read(path))(t)
	if len(s.Records) != len(want) || l.Len() != len(want) {
		t.Fatalf("reader and writer disagree: %d and %d records", len(s.Records), l.Len())
	}
	for i, r := range s.Records {
		got, _ := json.Marshal(r)
		if was, _ := json.Marshal(want[i]); !bytes.Equal(got, was) {
			t.Errorf("record %d came back as %s", i, got)
		}
	}
	if root, err := tlog.TreeHash(5, &l.state.tree); err != nil || root == l.Root() {
		t.Errorf("the root of 5 leaves is %v, %v", root, err)
	}
}

func TestAppendCanonicalises(t *testing.T) {
	path, _, _ := create(t)
	l := opened(t, path)
	r := decision("r1", "n", 1)
	r.Time = noon.In(time.FixedZone("here", 7200))
	r.Decision.LogTail = []string{"half a rune \xe2\x82", "\u2028 \t\n\x00"}
	r.Decision.Variant = map[string]string{"a\xff": "1"}
	r.Decision.Reasons = []verdict.Reason{}
	must.Do(t, l.Append(r))
	r.Decision.Node = "changed later"
	for _, got := range l.Index().Records {
		if got.Decision.Node != "n" || !got.Time.Equal(noon) || got.Decision.LogTail[0] != "half a rune \uFFFD\uFFFD" {
			t.Errorf("recorded %+v", got.Decision)
		}
	}
	w := waiver(1)
	w.Waiver.Expires = w.Waiver.Expires.In(time.FixedZone("", 3600))
	_, seen, err := encode(w)
	if err != nil || seen.Waiver.Expires.Location() != time.UTC || !seen.Waiver.Expires.Equal(w.Waiver.Expires) {
		t.Errorf("%v, %v", seen.Waiver.Expires, err)
	}
	must.Get(Verify(path))(t)
}

func TestAppendRefuses(t *testing.T) {
	path, _, _ := create(t, small()...)
	before, _ := os.ReadFile(path)
	l := opened(t, path)
	root := l.Root()
	nan := decision("r1", "n", 1)
	nan.Decision.Seconds = math.NaN()
	big := decision("r1", "n", 1)
	big.Decision.LogTail = []string{strings.Repeat("x", maxLine)}
	for _, bad := range []*Record{
		nil,
		{},
		decision("r1", "feature.a", 1), nan, big, launch("r1", "l1"),
		runStart("r1"),
	} {
		// A good one before it must not stay either.
		must.Refuse(t, bad, l.Append(decision("r1", "fine", 1), bad), "record 2 of 2")
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) || l.Root() != root || l.Len() != 4 {
		t.Error("a refused batch left something behind")
	}
	must.Do(t, l.Append(decision("r1", "fine", 1)))
	must.Get(Verify(path))(t)
}

// Readers see a prefix, whatever the writer is doing.
func TestReadWhileWriting(t *testing.T) {
	path, _, _ := create(t)
	l := opened(t, path)
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
				if len(s.Records) < seen {
					t.Errorf("%d records after %d", len(s.Records), seen)
				}
				seen = len(s.Records)
				for i, r := range s.Records {
					must.Equal(t, i, fmt.Sprintf("n%d", i), r.Decision.Node)
				}
			}
			if seen != 150 {
				t.Errorf("saw %d records at the end", seen)
			}
		})
	}
	// Several goroutines may share the writer too.
	wg.Go(func() {
		for range 150 {
			_, _ = l.Root(), l.Len()
		}
	})
	for i := 0; i < 150; i += 3 {
		if err := l.Append(decision("r", fmt.Sprintf("n%d", i), 1), decision("r", fmt.Sprintf("n%d", i+1), 1),
			decision("r", fmt.Sprintf("n%d", i+2), 1)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.state.Records)
}

func (l *Ledger) Root() tlog.Hash {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.tree.root
}

// BenchmarkAppend is what a durable record costs: encoding, tree, one write, one fsync, and
// a signed checkpoint, which takes two more.
func BenchmarkAppend(b *testing.B) {
	key := must.Get(signing.Open(filepath.Join(b.TempDir(), "signing.key")))(b)
	l := must.Get(Open(filepath.Join(b.TempDir(), "ledger"), key))(b)
	defer l.Close()
	n := 0
	for b.Loop() {
		n++
		must.Do(b, l.Append(decision("r", "n", n)))
	}
}

// BenchmarkFsync is what this disk takes for one line by itself: nothing that is durable is faster.
func BenchmarkFsync(b *testing.B) {
	f := must.Get(os.Create(filepath.Join(b.TempDir(), "file")))(b)
	defer f.Close()
	line := make([]byte, 1000)
	for b.Loop() {
		must.Get(f.Write(line))(b)
		must.Do(b, f.Sync())
	}
}
