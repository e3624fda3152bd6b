package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/process"
)

func TestTheConfigurationFileLiesBesideTheLog(t *testing.T) {
	spec := shell(`cat "$0"; ls -l "$0"`)
	spec.Command = append(spec.Command, "{config}")
	spec.Config, spec.ConfigName = []byte("a: 1\n"), "llm_args.yaml"
	inst, err := enginetest.Launch(t, process.Launcher{}, spec)
	if err != nil {
		t.Fatal(err)
	}
	<-inst.Exited()
	got := logscan.Tail(inst.LogPath(), 5)
	if len(got) != 2 || got[0] != "a: 1" || !strings.HasPrefix(got[1], "-rw-------") {
		t.Errorf("the engine read %q", got)
	}
	if _, err := os.Stat(strings.TrimSuffix(inst.LogPath(), ".log") + ".llm_args.yaml"); err != nil {
		t.Error(err)
	}
	spec.ConfigName = "../llm_args.yaml"
	if _, err := enginetest.Launch(t, process.Launcher{}, spec); err == nil || !strings.Contains(err.Error(), "no plain file name") {
		t.Errorf("a path as the name: %v", err)
	}
}

func TestAModelThatIsAFileIsLookedFor(t *testing.T) {
	spec := shell("exit 0")
	spec.Dir, spec.ModelPath = t.TempDir(), "x.gguf"
	want := filepath.Join(spec.Dir, "x.gguf")
	_, err := enginetest.Launch(t, process.Launcher{}, spec)
	var f *engine.Failure
	if !errors.As(err, &f) || f.Op != "start" || !strings.Contains(f.Reason, want) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want a failure to start that names %s", err, want)
	}
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.Launch(t, process.Launcher{}, spec); err != nil {
		t.Error(err)
	}
}
