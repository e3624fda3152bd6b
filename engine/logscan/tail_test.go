package logscan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
	"github.com/mxflow/mxflow/plans/redact"
)

func TestTail(t *testing.T) {
	redact.Know([]string{"hunter2-hunter2"})
	path := filepath.Join(t.TempDir(), "engine.log")
	if got := Tail(path, 9); got != nil {
		t.Errorf("a log that is not there yet has the lines %q", got)
	}
	log, err := os.Create(path)
	require.NoError(t, err)
	defer log.Close()
	for _, step := range []struct {
		gains string
		want  []string
	}{
		{"one\n\n\x1b[31mtwo\x1b[0m\nLoading:  0%\rLoading: 50%", []string{"two", "Loading: 50%"}},
		{"\rLoading: 100%\nthree\n", []string{"Loading: 100%", "three"}},
		{"key hunter2-hun", []string{"three", "key "}},
		{"ter2\n", []string{"three", "key " + redact.Mark}},
		{strings.Repeat("x", tailWindow) + "\nlast\n", []string{"last"}},
	} {
		if _, err := log.WriteString(step.gains); err != nil {
			t.Fatal(err)
		}
		if got := Tail(path, 2); !slices.Equal(got, step.want) {
			t.Errorf("after %.40q: %q, want %q", step.gains, got, step.want)
		}
	}
}
