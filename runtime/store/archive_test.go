package store

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestHostileArchives: what Export would not have written is refused, and nothing is
// written outside of the folder that it is unpacked into.
func TestHostileArchives(t *testing.T) {
	s := open(t, t.TempDir())
	sum := must.Get(s.Put([]byte("plan")))(t)
	if err := s.Append(&ledger.Record{
		Type: "run", Time: noon, Run: "r1",
		RunStart: &ledger.RunStart{Plan: "p", PlanSource: sum},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // which brings the checkpoint up to date
		t.Fatal(err)
	}
	var whole bytes.Buffer
	must.Do(t, s.Export(&whole, "key", false))
	type entry struct {
		tar.Header
		data string
	}
	var entries []entry
	in := tar.NewReader(bytes.NewReader(whole.Bytes()))
	for h, err := in.Next(); err == nil; h, err = in.Next() {
		var data bytes.Buffer
		must.Get(data.ReadFrom(in))(t)
		entries = append(entries, entry{*h, data.String()})
	}
	artifact := "artifacts/sha256/" + sum[:2] + "/" + sum[2:]
	file := func(name, data string) entry {
		return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644}, data}
	}
	link := func(kind byte, name, to string) entry {
		return entry{tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o644}, ""}
	}
	without := func(name string) (out []entry) {
		for _, e := range entries {
			if e.Name != name {
				out = append(out, e)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"whole":           {entries, ""},
		"traversal":       {append(entries, file("../outside", "x")), `the unexpected file "../outside"`},
		"absolute":        {append(entries, file("/tmp/outside", "x")), "the unexpected file"},
		"traversal below": {append(entries, file("artifacts/sha256/../../../outside", "x")), "the unexpected file"},
		"secret":          {append(entries, file("secret.key", "x")), "the unexpected file"},
		"link": {
			append(without(archivedLedger), link(tar.TypeSymlink, archivedLedger, "/etc/passwd")),
			"not a regular file",
		},
		"hard link": {
			append(without(artifact), link(tar.TypeLink, artifact, archivedLedger)),
			"not a regular file",
		},
		"device":     {append(without(artifact), link(tar.TypeChar, artifact, "")), "not a regular file"},
		"twice":      {append(entries, entries[0]), "exists"},
		"has digest": {append(without(artifact), file(artifact, "plam")), "another digest"},
		"named by nothing": {
			append(entries, file("artifacts/sha256/2c/f24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
				"hello")), "which no record refers to",
		},
		"no ledger": {without(archivedLedger), "ledger"},
		"nothing":   {nil, "ledger"},
		"extended headers": {
			append(without(artifact),
				entry{tar.Header{
					Typeflag: tar.TypeReg, Name: artifact, Size: 4,
					PAXRecords: map[string]string{"MXFLOW.x": "1"},
				}, "plan"}), "not a regular file",
		},
		"an edited ledger": {append(without(archivedLedger),
			file(archivedLedger, strings.Replace(entries[0].data, "r1", "r2", 1))), "does not match its tree hash"},
		"a missing artifact": {without(artifact), ""}, // audit verify names it
	} {
		var b bytes.Buffer
		out := tar.NewWriter(&b)
		for _, e := range c.entries {
			h := e.Header
			must.Do(t, out.WriteHeader(&h))
			must.Get(out.Write([]byte(e.data)))(t)
		}
		must.Do(t, out.Close())
		dir := t.TempDir()
		t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
		path := filepath.Join(dir, "export.tar")
		write := os.WriteFile(path, b.Bytes(), 0o644)
		if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil || write != nil {
			t.Fatal(err, write)
		}
		got, err := OpenArchive(path)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case err == nil:
			must.Do(t, got.Close())
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) > 0 {
			t.Errorf("%s: %s is left", name, left[0].Name())
		}
		if found, _ := os.ReadDir(dir); len(found) != 2 {
			t.Errorf("%s: wrote beside the folder: %v", name, found)
		}
	}
	// A sparse file claims more than the archive holds.
	sparse := append([]byte{}, whole.Bytes()...)
	sparse[156] = tar.TypeGNUSparse
	if _, err := unpackFiles(bytes.NewReader(sparse), t.TempDir()); err == nil {
		t.Error("a sparse file is taken")
	}
}

func TestArtifacts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	file := filepath.Join(t.TempDir(), "log")
	os.WriteFile(file, []byte("abc"), 0o600)
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if s.Has(sum) {
		t.Error("Has before Put")
	}
	if _, err := s.Get(sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if got, err := s.PutFile(file); err != nil || got != sum {
			t.Fatalf("%s, %v", got, err)
		}
		if got, err := s.Put([]byte("abc")); err != nil || got != sum {
			t.Fatalf("%s, %v", got, err)
		}
	}
	at := filepath.Join(dir, "artifacts", "sha256", "ba", sum[2:])
	if b, err := s.Get(sum); err != nil || !bytes.Equal(b, []byte("abc")) || !s.Has(sum) {
		t.Errorf("%q, %v", b, err)
	}
	// Damage is told, and mended by who has the bytes.
	os.Chmod(at, 0o644)
	os.WriteFile(at, []byte("abd"), 0o644)
	if _, err := s.Get(sum); err == nil || !strings.Contains(err.Error(), "has digest") {
		t.Errorf("got %v", err)
	}
	must.Get(s.Put([]byte("abc")))(t)
	must.Get(s.Get(sum))(t)
	for _, bad := range []string{"", "ba", "../../../etc/passwd", strings.ToUpper(sum), sum + "00"} {
		if _, err := s.Get(bad); err == nil || s.Has(bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := s.PutFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	left := filepath.Join(dir, "artifacts", "sha256", ".new-1")
	os.WriteFile(left, nil, 0o644)
	s.Close()
	open(t, dir)
	if files, _ := filepath.Glob(filepath.Join(dir, "artifacts", "sha256", ".new-*")); len(files) != 0 {
		t.Errorf("left over: %v", files)
	}
}

// TestArtifactThatIsNoFile: an artifact is read as a file or not at all. A pipe
// would be waited for without end, and a device read without end.
func TestArtifactThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	sum := must.Get(s.Put([]byte("abc")))(t)
	at := s.artifact(sum)
	copied := filepath.Join(t.TempDir(), "copy")
	os.WriteFile(copied, []byte("abc"), 0o600)
	for name, put := range map[string]func() error{
		"a pipe":             func() error { return exec.Command("mkfifo", at).Run() },
		"a link to a device": func() error { return os.Symlink("/dev/zero", at) },
		"a link to a copy":   func() error { return os.Symlink(copied, at) },
		"a folder":           func() error { return os.Mkdir(at, 0o700) },
	} {
		must.Do(t, os.Remove(at))
		if err := put(); err != nil {
			t.Logf("%s cannot be made here: %v", name, err)
			os.WriteFile(at, []byte("abc"), 0o600)
			continue
		}
		if _, err := s.Get(sum); err == nil || !strings.Contains(err.Error(), "not a regular file") ||
			!strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "a folder" {
			continue // which nothing replaces
		}
		// Who has the bytes mends it.
		if _, err := s.Put([]byte("abc")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Get(sum); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// inventSample fills every field, so one that has no column comes back otherwise.
func inventSample(t *testing.T, rng *rand.Rand) measure.Sample {
	str := func() string {
		return []string{"", "chat.o32", "stop", "γεια\x00\xff", strings.Repeat("long ", rng.IntN(2000))}[rng.IntN(5)]
	}
	num := func() int {
		return []int{-1, 0, 1, rng.IntN(1 << 20), math.MaxInt, math.MinInt}[rng.IntN(6)]
	}
	var s measure.Sample
	fields := reflect.ValueOf(&s).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); {
		case f.Kind() == reflect.String:
			f.SetString(str())
		case f.Kind() == reflect.Bool:
			f.SetBool(rng.IntN(2) == 0)
		case f.CanInt():
			f.SetInt(int64(num()))
		case fields.Type().Field(i).Name != "Sent" && fields.Type().Field(i).Name != "Events":
			t.Fatalf("no way to invent the field %s", fields.Type().Field(i).Name)
		}
	}
	if rng.IntN(4) > 0 {
		s.Sent = time.Unix(rng.Int64N(1<<33)-1<<32, rng.Int64N(1e9)).UTC()
	}
	for range rng.IntN(4) * rng.IntN(60) {
		s.Events = append(s.Events,
			measure.Event{At: time.Duration(num()), Kind: measure.Kind(rng.IntN(256)), Tokens: num(), Bytes: num()})
	}
	return s
}

func TestSamplesRoundTrip(t *testing.T) {
	st := open(t, t.TempDir())
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var want []measure.Sample
		for range rng.IntN(4) * rng.IntN(60) {
			want = append(want, inventSample(t, rng))
		}
		l, again := &ledger.Launch{ID: "l", VariantKey: "v"}, &ledger.Launch{ID: "l", VariantKey: "v"}
		if err := errors.Join(st.WriteSamples("", l, want), st.WriteSamples("", again, want)); err != nil ||
			again.Samples != l.Samples {
			t.Fatalf("seed %d: the same samples are other bytes: %s and %s, %v", seed, l.Samples, again.Samples, err)
		}
		got := must.Get(st.ReadSamples(l))(t)
		if !reflect.DeepEqual(got, want) {
			for i := range want {
				if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("seed %d, sample %d of %d: got %d samples\n%+v", seed, i, len(want), len(got), want[i])
				}
			}
			t.Fatalf("seed %d: %d samples instead of %d", seed, len(got), len(want))
		}
	}
}

func TestSamplesRefused(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.WriteSamples("", &ledger.Launch{},
		[]measure.Sample{{Sent: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}); err == nil {
		t.Error("stored a time that does not fit")
	}
	sum := must.Get(s.Put([]byte("no parquet")))(t)
	if _, err := s.ReadSamples(&ledger.Launch{Samples: sum}); err == nil || !strings.Contains(err.Error(), sum) {
		t.Errorf("got %v", err)
	}
}

// Damaged samples never reach the Parquet library.
func TestDamagedSamples(t *testing.T) {
	s := open(t, t.TempDir())
	l := &ledger.Launch{ID: "l"}
	must.Do(t, s.WriteSamples("", l, []measure.Sample{{Workload: "chat", Events: []measure.Event{{At: 1}}}}))
	path := s.artifact(l.Samples)
	whole := must.Get(os.ReadFile(path))(t)
	os.Chmod(path, 0o644)
	for i := 0; i < len(whole); i += 7 {
		bad := bytes.Clone(whole)
		bad[i] ^= 4
		must.Do(t, os.WriteFile(path, bad, 0o644))
		if _, err := s.ReadSamples(l); err == nil || !strings.Contains(err.Error(), "has digest") {
			t.Fatalf("byte %d: got %v", i, err)
		}
	}
}

// TestRawDataOfAnother: a file that another launch's record names is refused, whatever its
// digest, and so is one that names nobody.
func TestRawDataOfAnother(t *testing.T) {
	s := open(t, t.TempDir())
	make := func(run, id, arm string) *ledger.Launch {
		l := launch(run, id, arm, 1, true)
		if err := errors.Join(
			s.WriteSamples(run, l.Launch, []measure.Sample{{Workload: "chat"}}),
			s.WriteSeries(run, l.Launch,
				[]measure.Series{{Name: measure.GPUPower, At: []time.Duration{1}, Value: []float64{1}}}),
		); err != nil {
			t.Fatal(err)
		}
		add(t, s, l)
		return l.Launch
	}
	own := make("r1", "s.a.1", "a")
	must.Get(s.ReadSamples(own))(t)
	must.Get(s.ReadSeries(own))(t)
	nobodys := &ledger.Launch{}
	must.Do(t, s.WriteSamples("", nobodys, nil))
	for key, other := range map[string]*ledger.Launch{"launch": make("r1", "s.a.2", "a"), "run": nobodys} {
		forged := *own
		forged.Samples, forged.Series = other.Samples, other.Series
		_, err := s.ReadSamples(&forged)
		if f, ok := errors.AsType[*verdict.Fault](err); !ok || f.Reason.Kind != "replay.raw_of_another" ||
			f.Reason.Values["key"].Text != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	// The arms' roles exchanged: the record says another key than the file.
	exchanged := *own
	exchanged.VariantKey = "b"
	for _, read := range []func(*ledger.Launch) error{
		func(l *ledger.Launch) error { _, err := s.ReadSamples(l); return err },
		func(l *ledger.Launch) error { _, err := s.ReadSeries(l); return err },
	} {
		if f, ok := errors.AsType[*verdict.Fault](read(&exchanged)); !ok || f.Reason.Values["found"].Text != "a" ||
			f.Reason.Values["wanted"].Text != "b" {
			t.Error(read(&exchanged))
		}
	}
}

// TestReadArtifact: JSON that a launch left is read as that launch's alone.
func TestReadArtifact(t *testing.T) {
	s := open(t, t.TempDir())
	left := func(text string) string { return must.Get(s.Put([]byte(text)))(t) }
	rec := launch("r1", "l1", "k1", 1, true)
	rec.Launch.Left = map[string]string{
		"own":   left(`{"of":{"run":"r1","launch":"l1","arm":"k1"},"said":"Paris"}`),
		"other": left(`{"of":{"run":"r1","launch":"l2","arm":"k1"},"said":"Paris"}`),
		"bare":  left(`{"said":"Paris"}`),
		"cut":   left(`{"of":`),
	}
	add(t, s, runStart("r1"), rec)
	l, _ := s.LaunchByID("l1")
	for path, says := range map[string]string{
		"own": "", "other": "raw_of_another", "bare": "raw_of_another", "cut": "cut of launch l1",
		"none": "launch l1 left no none",
	} {
		var a struct {
			Header
			Said string `json:"said"`
		}
		switch err := s.ReadArtifact(l, path, &a); {
		case says == "":
			must.Do(t, err)
			must.Equal(t, path, a.Said, "Paris")
		case err == nil || !strings.Contains(err.Error(), says):
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
}

func TestSeriesRoundTrip(t *testing.T) {
	st := open(t, t.TempDir())
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 8))
		var want []measure.Series
		for range rng.IntN(20) {
			s := measure.Series{
				Name:   []string{measure.GPUPower, "engine.running", ""}[rng.IntN(3)],
				Source: []string{"", "GPU-0", `position="1"`}[rng.IntN(3)], Unit: []string{"W", ""}[rng.IntN(2)],
			}
			for range 1 + rng.IntN(3000) {
				s.At = append(s.At, time.Duration(rng.Int64()-rng.Int64()))
				s.Value = append(s.Value,
					[]float64{0, math.Copysign(0, -1), rng.NormFloat64(), math.MaxFloat64, math.Inf(1)}[rng.IntN(5)])
			}
			want = append(want, s)
		}
		l, again := &ledger.Launch{ID: "l"}, &ledger.Launch{ID: "l"}
		if err := errors.Join(st.WriteSeries("", l, want), st.WriteSeries("", again, want)); err != nil ||
			again.Series != l.Series {
			t.Fatalf("seed %d: the same series are other bytes: %s and %s, %v", seed, l.Series, again.Series, err)
		}
		got, err := st.ReadSeries(l)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %d series of %d came back, %v", seed, len(got), len(want), err)
		}
	}
}

func TestSeriesRefused(t *testing.T) {
	s := open(t, t.TempDir())
	l := &ledger.Launch{}
	if err := s.WriteSeries("", l,
		[]measure.Series{{Name: "gpu.power_w", At: []time.Duration{1, 2}, Value: []float64{1}}}); err == nil ||
		!strings.Contains(err.Error(), "gpu.power_w") {
		t.Errorf("uneven series: %v", err)
	}
	must.Do(t, s.WriteSamples("", l, []measure.Sample{{Workload: "chat"}}))
	if _, err := s.ReadSeries(&ledger.Launch{Series: l.Samples}); err == nil ||
		!strings.Contains(err.Error(), "not mxflow's sampled series") {
		t.Errorf("samples read as series: %v", err)
	}
	must.Do(t, s.WriteSeries("", l, []measure.Series{{Name: "gpu.power_w"}}))
	if got, err := s.ReadSeries(l); err != nil || len(got) != 0 {
		t.Errorf("a series without readings came back as %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		kind parquetKind
		rows []measure.Series
		want string
	}{
		"uneven": {
			seriesKind,
			[]measure.Series{{Name: "a", At: []time.Duration{1, 2}, Value: []float64{1}}},
			"2 times but 1 values",
		},
		"version": {
			parquetKind{seriesKind.key, seriesKind.what, "9"},
			[]measure.Series{{Name: "a"}},
			"version 9, but this mxflow reads 3: use a newer mxflow",
		},
	} {
		data := must.Get(writeParquet(c.kind, Origin{}, c.rows))(t)
		sum := must.Get(s.Put(data))(t)
		if got, err := s.ReadSeries(&ledger.Launch{Series: sum}); err == nil || got != nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
