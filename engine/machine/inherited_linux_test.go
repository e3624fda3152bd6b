package machine

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadInherited(t *testing.T) {
	groupFiles := t.TempDir()
	for name, text := range map[string]string{
		"cpu.max": "400000 100000\n", "user.slice/cpu.max": "max 100000\n", "user.slice/cpu.weight": "100\n",
		"user.slice/a:b/cpu.max": "50000 100000\n", "user.slice/a:b/memory.max": "max\n",
	} {
		path := filepath.Join(groupFiles, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inGroups := func(text string) map[string]string { return groups(text, groupFiles) }
	for name, tc := range map[string]struct {
		read func(string) map[string]string
		text string
		want map[string]string
	}{
		"status": {
			allowed, "Name:\tmx\nCpus_allowed:\t03\nCpus_allowed_list:\t0-1,8\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t1\n",
			map[string]string{"cpus": "0-1,8", "memory_nodes": "0"},
		},
		"status of another kernel": {allowed, "Name:\tmx\nCpus_allowed\n", map[string]string{}},
		"limits": {
			limits, "Limit                     Soft Limit           Hard Limit           Units     \n" +
				"Max cpu time              unlimited            unlimited            seconds   \n" +
				"Max open files            1024                 524288               files     \n" +
				"Max address space         18446744073709551614 18446744073709551614 bytes     \n" +
				"Max nice priority         0                    0                    \n",
			map[string]string{"limit.cpu_time": "unlimited", "limit.open_files": "1024 of 524288", "limit.address_space": "18446744073709551614", "limit.nice_priority": "0"},
		},
		"limits that are cut": {limits, "Max open files            1024\nMax\n\n", map[string]string{}},
		"cgroup 1": {
			inGroups, "9:name=systemd:/user.slice\n4:memory:/a:b\n2:cpu,cpuacct:/\n",
			map[string]string{"cgroup.systemd": "/user.slice", "cgroup.memory": "/a:b", "cgroup.cpu,cpuacct": "/"},
		},
		"cgroup 2": {
			inGroups, "0::/user.slice/a:b\n",
			map[string]string{"cgroup": "/user.slice/a:b", "cpu.max": "50000 100000, max 100000, 400000 100000", "cpu.weight": "100", "memory.max": "max"},
		},
		"cgroup 2 of which nothing is to be seen": {inGroups, "0::/../elsewhere\n", map[string]string{"cgroup": "/../elsewhere", "cpu.max": "400000 100000"}},
		"cgroup that is cut":                      {inGroups, "0:\n\n", map[string]string{}},
		"nothing":                                 {inGroups, "", map[string]string{}},
	} {
		if got := tc.read(tc.text); !maps.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for value, want := range map[int]string{0: "default", 2<<13 | 4: "default", 2<<13 | 7: "best-effort 7", 1 << 13: "realtime 0", 3<<13 | 7: "idle"} {
		if got := ioPriority(value); got != want {
			t.Errorf("I/O priority %#x: %s, want %s", value, got, want)
		}
	}
	for want, p := range map[string][2]uint32{"other": {0, 0}, "fifo 10": {1, 10}, "idle": {5, 0}, "7": {7, 0}} {
		if got := policy(p[0], p[1]); got != want {
			t.Errorf("policy %v: %s, want %s", p, got, want)
		}
	}
}

// TestInherited: it stays the same while nobody changes it, and shows a change to one
// thread of many.
func TestInherited(t *testing.T) {
	before := Inherited()
	for _, name := range []string{"cpus", "nice", "policy", "io_priority", "oom_score_adj", "limit.open_files", "limit.address_space"} {
		if before[name] == "" {
			t.Errorf("%s is missing: %q", name, before)
		}
	}
	changed, done := make(chan error), make(chan bool)
	go func() {
		runtime.LockOSThread() // the thread ends with its goroutine
		changed <- unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
		<-done
	}()
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	now := Inherited()
	close(done)
	if before["nice"] != "19" && (!strings.Contains(now["nice"], "19") || now["nice"] == "19") {
		t.Errorf("nice was %s, is %s with a thread of 19", before["nice"], now["nice"])
	}
	now["nice"] = before["nice"]
	if !maps.Equal(now, before) {
		t.Errorf("was %q, is %q", before, now)
	}
}

// What each launch pays.
func BenchmarkInherited(b *testing.B) {
	for b.Loop() {
		Inherited()
	}
}
