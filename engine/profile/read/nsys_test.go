package read

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/profile"
)

// TestNsys: marks of threads, a second stream, overflowing rows, and times below each other.
func TestNsys(t *testing.T) {
	a, err := openOne(t, filepath.Join("testdata", "nsys.sqlite"), profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &a.Parts[0]
	if len(a.Parts) != 1 || p.Phase != profile.Decode || p.Requests != 2 || p.Steps != 2 || p.Tokens != 4 || p.Wall != 180 || p.Busy != 116 || p.GPU != 121 {
		t.Errorf("parts are %+v", a.Parts)
	}
	got := times(p)
	for name, want := range map[string]float64{"moe": 81, "norm_activation": 20, "memory": 10, "dense_gemm": 10, "wait queued": 29, "wait launch": 20, "wait in_step": 10, "wait tokenizer": 3, "wait unrecorded": 2} {
		if got[name] != want {
			t.Errorf("%s: %v µs, want %v", name, got[name], want)
		}
	}
	if f := a.Files[0]; f.Kind != "nsys" || !slices.Equal(f.Processes, []string{"python3"}) || f.Hidden != 0 || len(f.Digest) != 64 {
		t.Errorf("the file is %+v", f)
	}
	if len(p.Threads) != 1 || p.Threads[0].Name != "Worker, thread 931" {
		t.Errorf("threads are %+v", p.Threads)
	}
	if long := p.Kernels[len(p.Kernels)-1]; len(long.Name) < 11000 || long.Short != "long_gemm<8>" {
		t.Errorf("the last kernel is %.80q, %q", long.Name, long.Short)
	}
}

// TestNsysWindow: bounds by the wall clock.
func TestNsysWindow(t *testing.T) {
	start := time.Unix(1795342178, 0)
	for _, c := range []struct {
		from, to int64
		gpu      float64
	}{{0, 170_000, 60.5}, {170_000, 0, 60.5}, {170_000, 245_000, 40.5}, {900_000, 0, 0}} {
		var o profile.Options
		if c.from > 0 {
			o.From = start.Add(time.Duration(c.from))
		}
		if c.to > 0 {
			o.To = start.Add(time.Duration(c.to))
		}
		a, err := openOne(t, filepath.Join("testdata", "nsys.sqlite"), o)
		if c.gpu == 0 {
			if !errors.Is(err, profile.ErrNoKernels) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || a.Parts[0].GPU != c.gpu {
			t.Errorf("%+v: %+v, %v", c, a, err)
		}
	}
}

func TestNsysBad(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "nsys.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(b []byte)) string {
		b := slices.Clone(whole)
		change(b)
		return string(b)
	}
	for name, c := range map[string]struct {
		text, says string
		is         error
	}{
		"cut":          {string(whole[:len(whole)-3000]), "it is truncated", nil},
		"head alone":   {string(whole[:50]), "is truncated", nil},
		"page size":    {changed(func(b []byte) { b[16], b[17] = 0, 7 }), "damaged", nil},
		"UTF-16":       {changed(func(b []byte) { b[59] = 2 }), "UTF-16", nil},
		"circle":       {changed(func(b []byte) { binary.BigEndian.PutUint32(b[108:], 1) }), "damaged", nil},
		"other tables": {strings.NewReplacer("StringIds", "Stringids", "TARGET_INFO_SESSION_START_TIME", "target_info_session_start_time").Replace(string(whole)), "no Nsight Systems tables (StringIds", nil},
		"no kernels":   {strings.ReplaceAll(string(whole), "CUPTI_ACTIVITY_KIND_KERNEL", "cupti_activity_kind_kernel"), "", profile.ErrHidden},
	} {
		a, err := openOne(t, trace(t, "a.sqlite", c.text), profile.Options{})
		if a != nil || err == nil || !strings.Contains(err.Error(), "a.sqlite: nsys: ") || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %+v, %v, want %q, %v", name, a, err, c.says, c.is)
		}
	}
	if _, err := openOne(t, filepath.Join("testdata", "graphs.sqlite"), profile.Options{}); !errors.Is(err, profile.ErrHidden) {
		t.Errorf("graphs alone: %v", err)
	}
	open := trace(t, "a.sqlite", string(whole))
	if err := os.WriteFile(open+"-wal", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openOne(t, open, profile.Options{}); err == nil || !strings.Contains(err.Error(), "still writing") {
		t.Errorf("with a journal beside it: %v", err)
	}
}

// TestReport: a report is read through nsys, if that is installed.
func TestReport(t *testing.T) {
	path := trace(t, "a.nsys-rep", "of nsys alone")
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := openOne(t, path, profile.Options{}); err == nil || !strings.Contains(err.Error(), "nsys is not in PATH: on a machine that has it, run nsys export --type sqlite a.nsys-rep") {
		t.Errorf("without nsys: %v", err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("a script of a shell")
	}
	recorded, err := filepath.Abs(filepath.Join("testdata", "nsys.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	for script, says := range map[string]string{
		"#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\n/bin/cat " + recorded + " > \"$2\"\n": "",

		"#!/bin/sh\necho no licence\nexit 3\n":                                          "nsys export: exit status 3\nno licence",
		"#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\necho text > \"$2\"\n": "as exported by nsys: not a profile",
	} {
		if err := os.WriteFile(filepath.Join(bin, "nsys"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		a, err := openOne(t, path, profile.Options{})
		switch {
		case says != "":
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v", says, err)
			}
		case err != nil || a.Files[0].Name != "a.nsys-rep" || a.Files[0].Bytes != 13 || a.Parts[0].Steps != 2:
			t.Errorf("%+v, %v", a, err)
		}
	}
}

func FuzzNsys(f *testing.F) {
	for _, name := range []string{"nsys.sqlite", "graphs.sqlite"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint16(100), byte(5))
		f.Add(data, uint16(700), byte(0xff))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16, to byte) {
		if int(at) < len(data) && at > 15 {
			data = slices.Clone(data)
			data[at] = to
		}
		path := filepath.Join(t.TempDir(), "a.sqlite")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		parts, err := readNsys(db, int64(len(data)), &profile.File{}, profile.Options{})
		if err == nil && len(parts) == 0 {
			t.Error("nothing was read, and that is no error")
		}
	})
}

// BenchmarkNsys reads an export of 10 million kernels, made by SQLite itself.
func BenchmarkNsys(b *testing.B) {
	sqlite, err := exec.LookPath("sqlite3")
	if err != nil {
		b.Skip("sqlite3 makes the file")
	}
	path := filepath.Join(b.TempDir(), "a.sqlite")
	columns := []string{
		"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", "launchType", "registersPerThread",
		"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "localMemoryTotal", "graphNodeId",
	}
	make := exec.Command(sqlite, path, `
PRAGMA journal_mode = off; PRAGMA synchronous = off;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (`+strings.Join(columns, " INTEGER, ")+` INTEGER);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 599)
  INSERT INTO StringIds SELECT i, 'void ns::gemm_kernel<' || i || ', true>(int)' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999999)
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000000000 + 6000 * i, 1000005000 + 6000 * i + i % 700, 0, 1, 7, i / 500 + 1, 930 << 24, i % 600, i % 600,
    1, 168, 132, 1, 1, 384, 1, 1, 1024, 200000, 120324096, 7 * (i % 600) + 1 FROM n;`)
	if out, err := make.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		a, err := Open(b.Context(), []string{path}, profile.Options{})
		if err != nil || a.Parts[0].Count() != 10_000_000 {
			b.Fatal(err)
		}
	}
	var used runtime.MemStats
	runtime.ReadMemStats(&used)
	b.ReportMetric(float64(used.Sys)/(1<<20), "MiB-from-system")
}
