package steps

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// brokenLog is an engine whose log is not followed to its end.
type brokenLog struct {
	engine.Instance
	path   string
	broken bool
}

func (b brokenLog) LogPath() string { return b.path }

func (b brokenLog) LogBroken() bool { return b.broken }

// What is missing in a log that broke off must not decide, either way.
func TestKernelsOfALogThatBrokeOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("it is there\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		must, not []string
		broken    bool
		want      verdict.Verdict // empty: an error
	}{
		{"whole, seen", []string{"*there*"}, nil, false, verdict.Pass},
		{"whole, not seen", []string{"*absent*"}, nil, false, verdict.Fail},
		{"broken, seen", []string{"*there*"}, nil, true, verdict.Pass},
		{"broken, not seen", []string{"*absent*"}, nil, true, ""},
		{"broken, nothing against it", nil, []string{"*absent*"}, true, ""},
		{"broken, seen against it", []string{"*absent*"}, []string{"*there*"}, true, verdict.Fail},
	} {
		q := &qualification{Started: &launch.Started{How: "process", Inst: brokenLog{path: path, broken: c.broken}, Record: &ledger.Launch{}}}
		wanted := []variant.Evidence{{Knob: "knob", Value: "on", MustSee: c.must, MustNotSee: c.not}}
		v, reasons, err := (&kernels{}).proved(t.Context(), q, wanted, append(append([]string(nil), c.must...), c.not...))
		if v != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s %q, %v; want %q", c.name, v, tell.Lines(reasons), err, c.want)
		}
	}
}
