package launch

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// endless is a command that prints without end: it is stopped when it has
// printed too much, and not by its time limit.
func TestEndlessOutputIsStopped(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	c := &variant.Command{Format: variant.FormatJSON, Timeout: 5 * time.Minute}
	inst, err := run.Launcher{}.Launch(t.Context(), engine.Spec{
		Kind: "command", Command: []string{"sh", "-c", "head -c 70000000 /dev/zero; exec sleep 1000"}, StopGrace: time.Second,
	}, engine.Launch{ID: "endless", Owner: "test", LogPath: log, OutPath: outPath(log)})
	try.OK(t, err)
	defer func() { _ = inst.Stop(context.Background()) }()
	st := &Started{Inst: inst, Lab: &Lab{}, Record: &ledger.Launch{OK: true}, command: commandUse{of: c, dir: dir}}
	err = st.Execute(t.Context(), c)
	var failure *engine.Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.Reason, "printed more than 64 MiB") {
		t.Errorf("got %v", err)
	}
}
