package ledger

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestVerify(t *testing.T) {
	path, data, _ := create(t, small()...)
	rep := must.Get(Verify(path))(t)
	if rep.Records != 4 || rep.Runs != 1 || rep.Launches != 1 || rep.Decisions != 1 || rep.Size != 5 || rep.Checkpoint != 5 || rep.Bytes != int64(len(data)) || len(rep.Notices) != 0 {
		t.Errorf("unexpected report %+v", rep)
	}
	if !bytes.Contains(data, []byte("chat.tg.gain >= 0.10")) {
		t.Error("a rule cannot be found by grep")
	}
	path, _, _ = create(t, overruled()...)
	rep = must.Get(Verify(path))(t)
	if rep.Waivers != 1 || rep.Retractions != 1 || rep.Decisions != 4 {
		t.Errorf("of people: %+v", rep)
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
		"number":            {[]string{strings.Replace(leaf(decision("r1", "n", 1)), `"seconds":0`, `"seconds":0.0`, 1)}, "notation"},
		"not UTC":           {[]string{leaf(local)}, "not UTC"},
		"verdict":           {[]string{leaf(alien)}, `unknown verdict "passed"`},
		"kind":              {[]string{leaf(kind)}, `unknown kind "poem"`},
		"two of them":       {[]string{leaf(two)}, "has 2"},
		"wrong type":        {[]string{leaf(wrong)}, "contains a decision"},
		"run twice":         {[]string{run, run}, "starts run r1 a second time"},
		"end twice":         {[]string{leaf(end("r1")), leaf(end("r1"))}, "ends run r1 a second time"},
		"launch twice":      {[]string{leaf(launch("r1", "l1")), leaf(launch("r1", "l1"))}, "launch ID l1"},
		"attempt again":     {[]string{leaf(decision("r1", "n", 2)), leaf(decision("r1", "n", 2))}, "attempt 2 of n after attempt 2"},
		"attempt zero":      {[]string{leaf(decision("r1", "n", 0))}, "count from 1"},
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
		"newer":     {string(forge("mxflow-ledger/9")), "use the mxflow that wrote it, or a newer one"},
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
