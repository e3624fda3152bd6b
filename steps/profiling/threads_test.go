package profiling

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/internal/try"
)

func TestBusySince(t *testing.T) {
	proc := func(threads map[string][2]string) map[string]float64 {
		dir := t.TempDir()
		for id, is := range threads {
			folder := filepath.Join(dir, "30", "task", id)
			try.OK(t, os.MkdirAll(folder, 0o700))
			for i, name := range []string{"comm", "schedstat"} {
				try.Write(t, filepath.Join(folder, name), is[i])
			}
		}
		return threadsOf(dir, 30, 99)
	}
	before := proc(map[string][2]string{
		"30": {"VLLM::EngineCor\n", "120000000 5 1\n"}, "31": {"a) (b\n", "50000123 77 4\n"},
		"32": {"idle\n", "1000 0 1\n"}, "33": {"worker\n", "90000000 0 1\n"},
	})
	after := proc(map[string][2]string{
		"30": {"VLLM::EngineCor\n", "720000000 5 1\n"}, "31": {"a) (b\n", "50123123 78 5\n"},
		"32": {"idle\n", "1000 0 1\n"}, "33": {"worker\n", "20000000 0 1\n"}, // with the number of one that ended
		"34": {"cut\n", ""},
	})
	want := []trace.Thread{
		{Name: "VLLM::EngineCor, thread 30", Total: 600_000}, {Name: "worker, thread 33", Total: 20_000}, {Name: "a) (b, thread 31", Total: 123},
	}
	if got := threadTimes(before, after); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if runtime.GOOS == "linux" && len(threadTimes(nil, threadsOf("/proc", os.Getpid()))) == 0 {
		t.Error("this process has no threads")
	}
	if len(threadsOf("/nowhere", 1)) != 0 {
		t.Error("threads without /proc")
	}
}
