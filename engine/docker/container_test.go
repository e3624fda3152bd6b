package docker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestChecked: what a docker block may say, and what it must not.
func TestChecked(t *testing.T) {
	one := func(attr string, d engine.Docker) (errs int) {
		Check(d, func(at string, err error) {
			if err != nil && at != attr {
				t.Errorf("%+v: %s: %v", d, at, err)
			} else if err != nil {
				errs++
			}
		})
		return errs
	}
	profile := filepath.Join(t.TempDir(), "seccomp.json")
	must.Do(t, os.WriteFile(profile, []byte("{}"), 0o644))
	ulimit := func(name, value string) engine.Docker { return engine.Docker{Ulimits: map[string]string{name: value}} }
	volume := func(source, target string) engine.Docker {
		return engine.Docker{Volumes: map[string]string{source: target}}
	}
	device := func(name string) engine.Docker { return engine.Docker{Devices: []string{name}} }
	gpus := func(values ...any) (all []engine.Docker) {
		for _, v := range values {
			all = append(all, engine.Docker{GPUs: v})
		}
		return all
	}
	for attr, test := range map[string]struct{ good, bad []engine.Docker }{
		"gpus": {
			gpus(nil, "0", 0.0, []any{}, "all", 2.0, "3", []any{"0", "GPU-5d1e"}, []any{0.0, 1.0},
				[]any{"MIG-GPU-1/2/3"},
				"amd"),
			gpus("some", -1.0, 1.5, true, []any{"0", "0"}, []any{""}, []any{"cuda:0"}, []any{-1.0}),
		},
		"devices": {
			[]engine.Docker{{Devices: []string{
				"/dev/kfd", "/dev/dri", "/dev/a:/dev/b", "/dev/a:/dev/b:rw", "/dev/a:r",
				"amd.com/gpu=0",
			}}},
			[]engine.Docker{
				device("kfd"), device(""), device("/dev/a:b"), device("/dev/a:/b:x"),
				device("/dev/a:/b:rwm:x"),
			},
		},
		"security_opt": {
			[]engine.Docker{{SecurityOpt: []string{
				"seccomp=unconfined", "label=disable", "label:disable", "no-new-privileges",
				"apparmor=unconfined", "systempaths=unconfined", "seccomp=" + profile,
			}}},
			[]engine.Docker{{SecurityOpt: []string{"unconfined"}}, {SecurityOpt: []string{"seccomp=/no/such.json"}}},
		},
		"shm_size": {
			[]engine.Docker{{}, {ShmSize: "32g"}, {ShmSize: "512m"}, {ShmSize: "64MB"}, {ShmSize: "1.5GiB"}},
			[]engine.Docker{{ShmSize: "much"}, {ShmSize: "-1g"}, {ShmSize: "0"}, {ShmSize: "1x"}},
		},
		"ulimits": {
			[]engine.Docker{ulimit("memlock", "-1"), ulimit("nofile", "1024:4096")},
			[]engine.Docker{ulimit("memory", "1"), ulimit("stack", "big"), ulimit("nofile", "9:")},
		},
		"volumes": {
			[]engine.Docker{volume("/a,b", "/b:ro"), volume("cache", "/c"), volume("/a", "/b:rw")},
			[]engine.Docker{volume("/a", "b"), volume("", "/b"), volume("a/b", "/b"), volume("/x", "/b:rox")},
		},
		"network": {
			[]engine.Docker{{Network: "host"}, {Network: "mine"}, {Network: "bridge"}},
			[]engine.Docker{{Network: "none"}, {Network: "container:x"}},
		},
		"ipc": {[]engine.Docker{{IPC: "host"}, {IPC: "container:x"}}, []engine.Docker{{IPC: "own"}}},
	} {
		for _, d := range test.good {
			if one(attr, d) != 0 {
				t.Errorf("%s is refused: %+v", attr, d)
			}
		}
		for _, d := range test.bad {
			if one(attr, d) != 1 {
				t.Errorf("%s is taken: %+v", attr, d)
			}
		}
	}
}

// A process that is in no container's cgroup has none, whatever lies in the working folder.
func TestNoCgroup(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("memory.current", []byte("900"), 0o644))
	if got := cgroupOf(os.Getpid(), "nobody's"); got != (cgroup{}) {
		t.Errorf("%+v", got)
	}
}

// TestMemory: what the kernel counts, less files that it can reclaim, in both versions.
func TestMemory(t *testing.T) {
	for name, test := range map[string]struct {
		v1    bool
		files map[string]string
		want  int64
	}{
		"nothing": {},
		"v2": {files: map[string]string{
			"memory.current": "900",
			"memory.stat":    "anon 1\ninactive_file 300\n",
		}, want: 600},
		"more files than in use": {files: map[string]string{
			"memory.current": "100",
			"memory.stat":    "inactive_file 300\n",
		}},
		"v1": {
			v1: true, want: 600,
			files: map[string]string{
				"memory.usage_in_bytes": "900", "memory.max_usage_in_bytes": "900",
				"memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
			},
		},
		"a spike": {
			v1:    true,
			files: map[string]string{"memory.usage_in_bytes": "500", "memory.max_usage_in_bytes": "2000"}, want: 2000,
		},
	} {
		dir := t.TempDir()
		for file, text := range test.files {
			must.Do(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
		}
		if got := (cgroup{dir: dir, v1: test.v1, cached: new(engine.Peak)}).bytes(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
