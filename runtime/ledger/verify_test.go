package ledger

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestVerify(t *testing.T) {
	path, data, _ := create(t, small()...)
	rep := must.Get(Verify(path))(t)
	if rep.Records != 4 || rep.Runs != 1 || rep.Launches != 1 || rep.Decisions != 1 || rep.Size != 5 ||
		rep.Checkpoint != 5 || rep.Bytes != int64(len(data)) || len(rep.Notices) != 0 {
		t.Errorf("unexpected report %+v", rep)
	}
	if !bytes.Contains(data, []byte("chat.tg.gain >= 0.10")) {
		t.Error("a rule cannot be found by grep")
	}
	path, _, _ = create(t, overruled()...)
	rep = must.Get(Verify(path))(t)
	if rep.Waivers != 1 || rep.Decisions != 3 {
		t.Errorf("with a waiver: %+v", rep)
	}
	path, _, _ = create(t, decision("r1", "n", 1))
	rep = must.Get(Verify(path))(t)
	if len(rep.Notices) != 1 || !strings.Contains(rep.Notices[0], "launch l1") {
		t.Errorf("a launch that is not there: %q", rep.Notices)
	}
}

// Every byte of the file is covered: whichever is changed, put in or taken out.
func TestEveryByteIsCovered(t *testing.T) {
	path, data, _ := create(t, small()...)
	os.Remove(checkpointPath(path))
	if !verifies(data) {
		t.Fatal("the ledger itself does not verify")
	}
	for i := range data {
		for _, b := range []byte{data[i] ^ 0x20, 0, '\n'} {
			bad := slices.Concat(data[:i], []byte{b}, data[i+1:])
			if b != data[i] && verifies(bad) {
				t.Fatalf("byte %d: %q changed to %q goes unnoticed", i, data[i], b)
			}
		}
		if verifies(slices.Concat(data[:i], data[i+1:])) || verifies(slices.Concat(data[:i+1], data[i:])) {
			t.Fatalf("removing or doubling byte %d goes unnoticed", i)
		}
		// Once through the file is enough.
		write(t, path, slices.Concat(data[:i], []byte{data[i] ^ 1}, data[i+1:]))
		if _, err := Verify(path); !errors.As(err, new(*DamageError)) {
			t.Fatalf("byte %d: %v is not a DamageError", i, err)
		}
	}
}

// verifies is Verify without the files.
func verifies(data []byte) bool {
	s, err := scan(bytes.NewReader(data), "", nil)
	return err == nil && !s.torn && s.tree.n > 0
}

// forge writes lines whose hashes are right, as someone who rewrites the whole file would.
func forge(leaves ...string) []byte {
	var tr tree
	var out []byte
	for _, leaf := range leaves {
		_ = tr.add([]byte(leaf))
		out = append(out, formatLine([]byte(leaf), tr.root)...)
	}
	return out
}

func TestForgedRecords(t *testing.T) {
	leaf := func(r *Record) string { b, _ := marshal(r); return string(b) }
	run := leaf(runStart("r1"))
	local := decision("r1", "n", 1)
	local.Time = noon.In(time.FixedZone("", 3600))
	alien, kind, two := decision("r1", "n", 1), decision("r1", "n", 1), decision("r1", "n", 1)
	alien.Decision.Verdict, kind.Decision.Kind, two.End = "passed", "poem", &End{}
	wrong := decision("r1", "n", 1)
	wrong.Type = "launch"

	for name, c := range map[string]struct {
		leaves []string
		want   string
	}{
		"no record":         {[]string{"hello"}, "is not a record"},
		"null":              {[]string{"null"}, "not JSON as mxflow writes it"},
		"unknown field":     {[]string{strings.Replace(run, `"run":`, `"walk":1,"run":`, 1)}, "walk"},
		"duplicate key":     {[]string{strings.Replace(run, `"run":`, `"run":"r0","run":`, 1)}, "duplicate"},
		"duplicate map key": {[]string{strings.Replace(run, `"os":`, `"os":"x","os":`, 1)}, "duplicate"},
		"other case":        {[]string{strings.Replace(run, `"run":`, `"Run":`, 1)}, "from byte"},
		"space":             {[]string{run + " "}, "from byte"},
		"two records":       {[]string{run + run}, "after top-level value"},
		"escapes":           {[]string{strings.Replace(run, `"linux"`, `"\u006cinux"`, 1)}, "notation"},
		"not UTC":           {[]string{leaf(local)}, "not UTC"},
		"verdict":           {[]string{leaf(alien)}, `unknown verdict "passed"`},
		"kind":              {[]string{leaf(kind)}, `unknown kind "poem"`},
		"two of them":       {[]string{leaf(two)}, "has 2"},
		"wrong type":        {[]string{leaf(wrong)}, "contains a decision"},
		"run twice":         {[]string{run, run}, "starts run r1 a second time"},
		"end twice":         {[]string{leaf(end("r1")), leaf(end("r1"))}, "ends run r1 a second time"},
		"launch twice":      {[]string{leaf(launch("r1", "l1")), leaf(launch("r1", "l1"))}, "launch ID l1"},
		"attempt again": {
			[]string{leaf(decision("r1", "n", 2)), leaf(decision("r1", "n", 2))},
			"attempt 2 of n after attempt 2",
		},
		"attempt zero": {[]string{leaf(decision("r1", "n", 0))}, "count from 1"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/ledger"
			write(t, path, forge(append([]string{header}, c.leaves...)...))
			_, err := Verify(path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
			before, _ := os.ReadFile(path)
			if _, err := Open(path, nil); err == nil {
				t.Error("Open takes it")
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("Open changed a damaged file")
			}
		})
	}
}

func TestOtherFiles(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"older": {
			string(forge("mxflow-ledger/4")),
			`has format "mxflow-ledger/4", but this mxflow reads only "mxflow-ledger/6". Nothing was changed. Read it with`,
		},
		"newer":     {string(forge("mxflow-ledger/9")), "Read it with the mxflow that wrote it"},
		"text":      {"dear diary", "not a ledger"},
		"text line": {"dear\tdiary\n", "not a ledger"},
		"no tab":    {"dear diary\n", "no tab"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/ledger"
			write(t, path, []byte(c.data))
			_, err := Open(path, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
		})
	}
}

// TestReportEndsBeforeDamage: what is reported of a damaged ledger ends before the damage.
func TestReportEndsBeforeDamage(t *testing.T) {
	leaves := []string{header}
	for _, r := range nodes(20) {
		leaf := must.Get(marshal(r))(t)
		leaves = append(leaves, string(leaf))
	}
	leaves[8] = strings.Replace(leaves[8], `"pass"`, `"passed"`, 1)
	path := t.TempDir() + "/ledger"
	write(t, path, forge(leaves...))
	rep, err := Verify(path)
	var damage *DamageError
	if !errors.As(err, &damage) || damage.Line != 9 || damage.Offset != int64(len(forge(leaves[:8]...))) {
		t.Errorf("got %v, want line 9", err)
	}
	var before tree
	for _, leaf := range leaves[:8] {
		must.Do(t, before.add([]byte(leaf)))
	}
	if rep.Root != before.root || rep.Size != 8 || rep.Records != 7 || rep.Bytes != damage.Offset {
		t.Errorf("%+v, want 7 records with root %s", rep, before.root)
	}
}

// Whatever a file holds, reading it ends without a panic, and what reads well is written again byte for byte.
func FuzzRead(f *testing.F) {
	path, data, sizes := create(f, small()...)
	_ = path
	f.Add(data)
	f.Add(data[:sizes[2]])
	_, judged, _ := create(f, overruled()...)
	f.Add(judged)
	f.Add(data[:len(data)-9])
	f.Add(append(bytes.Clone(data), make([]byte, 600)...))
	f.Add([]byte(nil))
	f.Add(forge(header, "{}", "null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scan(bytes.NewReader(data), "fuzz", nil)
		if s.good > int64(len(data)) || len(s.Records) > 0 && int64(len(s.Records)) != s.tree.n-1 {
			t.Fatalf("%d of %d bytes good, %d records, %d leaves", s.good, len(data), len(s.Records), s.tree.n)
		}
		if err == nil && !s.torn && s.good != int64(len(data)) {
			t.Fatal("bytes that nothing covers")
		}
		if s.tree.n == 0 {
			return
		}
		leaves := []string{header}
		for _, r := range s.Records {
			leaf, _, err := encode(r)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, string(leaf))
		}
		if !bytes.Equal(forge(leaves...), data[:s.good]) {
			t.Fatal("written again, it differs")
		}
	})
}

// FuzzDecode reaches what the hashes keep FuzzRead from: the JSON of a record.
func FuzzDecode(f *testing.F) {
	for _, r := range append(small(), overruled()...) {
		leaf, _, err := encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(leaf)
	}
	f.Fuzz(func(t *testing.T, leaf []byte) {
		r, err := decode(leaf)
		if err != nil || r.check() != nil || strings.Contains(string(leaf), "\n") {
			return
		}
		again, _, err := encode(r)
		if err != nil || !bytes.Equal(again, leaf) {
			t.Fatalf("%s\nis written again as\n%s\n%v", leaf, again, err)
		}
	})
}

// A file cut at any byte is either recovered to exactly the lines that are
// whole, or refused; with the checkpoint in place it is refused.
func TestCutAtEveryByte(t *testing.T) {
	// Small, since each cut costs some fsyncs.
	recs := []*Record{runStart("r"), {
		Type: "decision", Time: noon, Run: "r",
		Decision: &Decision{Node: "n", Kind: "gate", Attempt: 1, Verdict: "fail"},
	}, end("r")}
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
	for _, bad := range []string{
		"x", header + "\n", header + "\n-1\nx\n", header + "\n07\nx\n",
		strings.Replace(string(behind), "\n2\n", "\n+2\n", 1),
	} {
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
		if err := l.Append(decision("r1", "n", 1)); err == nil ||
			!strings.Contains(err.Error(), "1 record not recorded") {
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
