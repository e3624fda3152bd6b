package docker

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func decoded(t *testing.T, header string) string {
	t.Helper()
	text, err := base64.URLEncoding.DecodeString(header)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGPUs(t *testing.T) {
	for _, test := range []struct {
		given any
		want  string // count and IDs; empty for none
		bad   bool
	}{
		{given: nil},
		{given: "0"},
		{given: 0.0},
		{given: []any{}},
		{given: "all", want: "-1 []"},
		{given: 2.0, want: "2 []"},
		{given: "3", want: "3 []"},
		{given: []any{"0", "GPU-5d1e"}, want: "0 [0 GPU-5d1e]"},
		{given: []any{0.0, 1.0}, want: "0 [0 1]"},
		{given: []any{"MIG-GPU-1/2/3"}, want: "0 [MIG-GPU-1/2/3]"},
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
		text := ""
		if len(got) > 0 {
			text = fmt.Sprint(got[0].Count, " ", got[0].DeviceIDs)
		}
		if text != test.want || (err != nil) != test.bad {
			t.Errorf("gpus = %v: %q, %v; want %q", test.given, text, err, test.want)
		}
	}
}

func TestSizeLimitsVolumes(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "32g": 32 << 30, "512m": 512 << 20, "64MB": 64 << 20} {
		if got, err := Size(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"much", "-1g", "0", "1x"} {
		if got, err := Size(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	limits, err := Ulimits(map[string]string{"memlock": "-1", "nofile": "1024:4096"})
	if err != nil || fmt.Sprint(limits) != "[memlock=-1:-1 nofile=1024:4096]" {
		t.Errorf("%v, %v", limits, err)
	}
	_, err = Ulimits(map[string]string{"memory": "1", "stack": "big", "nofile": "9:1"})
	for _, want := range []string{"memory", "stack", "nofile"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s named", err, want)
		}
	}
	mounts, err := Volumes(map[string]string{"/a": "/b:ro", "cache": "/c"})
	if err != nil || len(mounts) != 2 || mounts[0].Type != "bind" || !mounts[0].ReadOnly || mounts[1].Type != "volume" || mounts[1].ReadOnly {
		t.Errorf("%+v, %v", mounts, err)
	}
	for source, target := range map[string]string{"/a": "b", "": "/b", "a/b": "/b", "/x": "/b:rox"} {
		if _, err := Volumes(map[string]string{source: target}); err == nil {
			t.Errorf("%q = %q was taken", source, target)
		}
	}
}

// TestReadStats: the daemon's samples, one after the other, as in a stream.
func TestReadStats(t *testing.T) {
	for name, test := range map[string]struct {
		samples string
		want    int64
	}{
		"none":                   {``, 0},
		"no memory":              {`{"read":"2026-01-01T00:00:00Z"}`, 0},
		"cgroup v2":              {`{"memory_stats":{"usage":900,"stats":{"inactive_file":300}}}`, 600},
		"cgroup v1":              {`{"memory_stats":{"usage":900,"max_usage":900,"stats":{"total_inactive_file":300,"inactive_file":1}}}`, 600},
		"the most counts":        {`{"memory_stats":{"usage":900}} {"memory_stats":{"usage":100}}`, 900},
		"a spike between":        {`{"memory_stats":{"usage":500,"max_usage":500}} {"memory_stats":{"usage":400,"max_usage":2000}}`, 2000},
		"a spike of files":       {`{"memory_stats":{"usage":2000,"max_usage":2000,"stats":{"inactive_file":1800}}} {"memory_stats":{"usage":400,"max_usage":2000}}`, 400},
		"more files than in use": {`{"memory_stats":{"usage":100,"stats":{"inactive_file":300}}}`, 0},
		"cut off":                {`{"memory_stats":{"usage":900}} {"memory_stats":{"usa`, 900},
	} {
		t.Run(name, func(t *testing.T) {
			var c Container
			c.readStats(strings.NewReader(test.samples))
			if got := c.PeakMemory(); got != test.want {
				t.Errorf("the peak is %d, want %d", got, test.want)
			}
		})
	}
}

// A missing program is recognised by its exit status, or by what runtimes write instead;
// a program that fails is not mistaken for one.
func TestNoProgram(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"status":     {&execError{program: "sh", code: 127}, true},
		"runc":       {&execError{"sh", `OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH: unknown`, 126}, true},
		"crun":       {notRun("sh", errors.New("crun: executable file `sh` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found")), true},
		"fails":      {&execError{"sh", "no-grep", 1}, false},
		"no grep":    {&execError{program: "sh", code: statusNoGrep}, false},
		"privileges": {notRun("sh", errors.New("privileged mode is incompatible with user namespaces")), false},
	} {
		if got := errors.Is(c.err, errNoProgram); got != c.want {
			t.Errorf("%s: %v: %v", name, c.err, got)
		}
		if got := lacksGrep(c.err); got != (name == "no grep") {
			t.Errorf("%s: lacks grep: %v", name, got)
		}
	}
}
