package logscan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/redact"
)

func TestFollower(t *testing.T) {
	redact.Know([]string{"hunter2-hunter2"})
	path := filepath.Join(t.TempDir(), "engine.log")
	f := &Follower{Path: path}
	if got := f.Lines(); got != nil {
		t.Errorf("a log that is not there yet has the lines %q", got)
	}
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, step := range []struct {
		gains string
		want  []string
	}{
		{"one\n\n\x1b[31mtwo\x1b[0m\nLoading:  0%\rLoading: 50%", []string{"one", "two", "Loading: 50%"}},
		{"", []string{"Loading: 50%"}},
		{"\rLoading: 100%\nthree\n", []string{"Loading: 100%", "three"}},
		{"", nil},
		{"key hunter2-hun", []string{"key "}},
		{"ter2\n", []string{"key " + redact.Mark}},
		{strings.Repeat("x", tailWindow) + "\nlast\n", []string{"last"}},
	} {
		if _, err := log.WriteString(step.gains); err != nil {
			t.Fatal(err)
		}
		if got := f.Lines(); !slices.Equal(got, step.want) {
			t.Errorf("after %.40q: %q, want %q", step.gains, got, step.want)
		}
	}
	// The middle was dropped: the rest is read.
	if err := log.Truncate(0); err != nil {
		t.Fatal(err)
	}
	f.Lines()
	if _, err := log.WriteAt([]byte("new\n"), 0); err != nil {
		t.Fatal(err)
	}
	if got := f.Lines(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("after a cut: %q", got)
	}
}
