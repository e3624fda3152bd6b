package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
)

func TestGPUs(t *testing.T) {
	for _, test := range []struct {
		given any
		want  string // the flag; empty for none
		bad   bool
	}{
		{given: nil},
		{given: "0"},
		{given: 0.0},
		{given: []any{}},
		{given: "all", want: "all"},
		{given: 2.0, want: "2"},
		{given: "3", want: "3"},
		{given: []any{"0", "GPU-5d1e"}, want: `"device=0,GPU-5d1e"`},
		{given: []any{0.0, 1.0}, want: `"device=0,1"`},
		{given: []any{"MIG-GPU-1/2/3"}, want: "device=MIG-GPU-1/2/3"},
		{given: "some", bad: true},
		{given: -1.0, bad: true},
		{given: 1.5, bad: true},
		{given: true, bad: true},
		{given: []any{"0", "0"}, bad: true},
		{given: []any{""}, bad: true},
		{given: []any{"cuda:0"}, bad: true},
		{given: []any{-1.0}, bad: true},
	} {
		got, err := GPUs(test.given)
		if got != test.want || (err != nil) != test.bad {
			t.Errorf("gpus = %v: %q, %v; want %q", test.given, got, err, test.want)
		}
	}
}

func TestSizeLimitsVolumes(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "32g": true, "512m": true, "64MB": true, "1.5GiB": true, "much": false, "-1g": false, "0": false, "1x": false,
	} {
		if err := Size(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := Ulimits(map[string]string{"memlock": "-1", "nofile": "1024:4096"}); err != nil {
		t.Error(err)
	}
	err := Ulimits(map[string]string{"memory": "1", "stack": "big", "nofile": "9:"})
	for _, want := range []string{"memory", "stack", "nofile"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s named", err, want)
		}
	}
	mounts, err := Mounts(map[string]string{"/a,b": "/b:ro", "cache": "/c"})
	if want := `type=bind,"source=/a,b",target=/b,readonly type=volume,source=cache,target=/c`; err != nil || strings.Join(mounts, " ") != want {
		t.Errorf("%q, %v", mounts, err)
	}
	for source, target := range map[string]string{"/a": "b", "": "/b", "a/b": "/b", "/x": "/b:rox"} {
		if _, err := Mounts(map[string]string{source: target}); err == nil {
			t.Errorf("%q = %q was taken", source, target)
		}
	}
}

// TestMemory: what the kernel counts, less files that it can reclaim, in both versions.
func TestMemory(t *testing.T) {
	for name, test := range map[string]struct {
		v1    bool
		files map[string]string
		want  int64
	}{
		"nothing":                {},
		"v2":                     {files: map[string]string{"memory.current": "900", "memory.stat": "anon 1\ninactive_file 300\n"}, want: 600},
		"more files than in use": {files: map[string]string{"memory.current": "100", "memory.stat": "inactive_file 300\n"}},
		"v1": {
			v1: true, want: 600,
			files: map[string]string{"memory.usage_in_bytes": "900", "memory.max_usage_in_bytes": "900", "memory.stat": "inactive_file 1\ntotal_inactive_file 300\n"},
		},
		"a spike": {v1: true, files: map[string]string{"memory.usage_in_bytes": "500", "memory.max_usage_in_bytes": "2000"}, want: 2000},
	} {
		dir := t.TempDir()
		for file, text := range test.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := (cgroup{dir: dir, v1: test.v1, cached: new(engine.Peak)}).bytes(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	for text, want := range map[string]int64{"360KiB / 23GiB": 360 << 10, "1.5GiB / 2GiB": 3 << 29, "12kB": 12000, "0B / 0B": 0, "": 0, "--": 0} {
		if got := statsBytes(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
