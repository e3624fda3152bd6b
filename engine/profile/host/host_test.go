package host

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mxflow/mxflow/engine/profile"
)

func stat(name string, user, system, started int) *fstest.MapFile {
	return &fstest.MapFile{Data: fmt.Appendf(nil, "31 (%s) S 1 31 31 0 -1 4194560 1 0 0 0 %d %d 0 0 20 0 3 0 %d 1 1", name, user, system, started)}
}

func TestSince(t *testing.T) {
	before, err := Read(fstest.MapFS{
		"30/task/30/stat": stat("VLLM::EngineCor", 100, 20, 7),
		"30/task/31/stat": stat("a) (b", 5, 0, 7), "30/task/31/schedstat": {Data: []byte("50000123 77 4\n")},
		"30/task/32/stat": stat("idle", 1, 0, 7),
		"30/task/33/stat": stat("ends", 9, 0, 7),
	}, 30, 99)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Read(fstest.MapFS{
		"30/task/30/stat": stat("VLLM::EngineCor", 150, 30, 7),
		"30/task/31/stat": stat("a) (b", 5, 0, 7), "30/task/31/schedstat": {Data: []byte("50123123 78 5\n")},
		"30/task/32/stat": stat("idle", 1, 0, 7),
		// With the number of one that ended.
		"30/task/33/stat": stat("starts", 2, 0, 8),
	}, 30)
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Thread{{Name: "VLLM::EngineCor, thread 30", Total: 600_000}, {Name: "starts, thread 33", Total: 20_000}, {Name: "a) (b, thread 31", Total: 123}}
	if got := after.Since(before); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestBad(t *testing.T) {
	for name, c := range map[string]struct {
		proc fstest.MapFS
		says string
	}{
		"nobody":    {fstest.MapFS{}, "processes [30] have no threads"},
		"no name":   {fstest.MapFS{"30/task/30/stat": {Data: []byte("31 a b")}}, "30/task/30/stat: \"31 a b\" has no name"},
		"cut":       {fstest.MapFS{"30/task/30/stat": {Data: []byte("31 (a) S 1 2")}}, "3 fields after the name"},
		"no number": {fstest.MapFS{"30/task/30/stat": {Data: []byte("31 (a) S" + strings.Repeat(" x", 30))}}, "invalid syntax"},
	} {
		if s, err := Read(c.proc, 30); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v, want %q", name, s, err, c.says)
		}
	}
}

// TestSelf reads this very process if there is a /proc.
func TestSelf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	s, err := Read(os.DirFS("/proc"), os.Getpid())
	if err != nil || len(s.Since(nil)) == 0 {
		t.Errorf("%v, %v", s, err)
	}
}
