package engine_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/enginetest"
)

func TestPortTakenIsAFailureWithTheLog(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, taken, _ := net.SplitHostPort(l.Addr().String())
	spec := enginetest.Fake("")
	spec.Command[1] = taken
	inst, err := launch(t, engine.ProcessLauncher{}, spec)
	if err != nil {
		t.Fatal(err)
	}
	err = inst.Ready(t.Context())
	var f *engine.Failure
	if !errors.As(err, &f) || f.Exit == nil || !strings.Contains(f.Error(), "address already in use") {
		t.Errorf("Ready: %v", err)
	}
}

func TestReadyFallsBackWhereHealthIsUnknown(t *testing.T) {
	spec := enginetest.Fake(enginetest.NoHealth)
	inst, err := launch(t, engine.ProcessLauncher{}, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReadyTellsWhatTheEngineAnswered(t *testing.T) {
	spec := enginetest.Fake(enginetest.NeverReady)
	inst, err := launch(t, engine.ProcessLauncher{}, spec)
	if err != nil {
		t.Fatal(err)
	}
	// Past the start of the process the answer is 503, not "connection refused".
	for limit := time.Now().Add(30 * time.Second); len(engine.TailLog(inst.LogPath(), 9)) < 2 && time.Now().Before(limit); {
		time.Sleep(5 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = inst.Ready(ctx)
	if err == nil || !strings.Contains(err.Error(), "last answer: 503 Service Unavailable to GET /health: loading") {
		t.Errorf("Ready: %v", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready: %v, want the context's error inside", err)
	}
}
