package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/endpoint"
)

// restarted is an endpoint whose restart command is a shell script.
func restarted(url, script string) engine.Spec {
	return at(url, func(s *engine.Spec) { s.Endpoint.Restart = []string{"sh", "-c", script} })
}

func TestRestartIsAFreshStartWithTheVariantsEnvironment(t *testing.T) {
	s := httptest.NewServer(upstream("vllm", ""))
	defer s.Close()
	said := filepath.Join(t.TempDir(), "said")
	spec := restarted(s.URL, `echo "$KERNEL ${MXFLOW_OWNER-none}" > "$SAID"`)
	spec.Env = map[string]string{"KERNEL": "cutlass", "SAID": said}
	t.Setenv("MXFLOW_OWNER", "of an mxflow around this one")
	inst, err := attach(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	// Without marks, what the command leaves running is nobody's to sweep.
	if text, err := os.ReadFile(said); err != nil || string(text) != "cutlass none\n" {
		t.Errorf("the command saw %q (%v)", text, err)
	}
	if err := inst.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if inst.About()["fresh"] != "yes" || inst.Startup() <= 0 {
		t.Errorf("fresh is %q, startup %v", inst.About()["fresh"], inst.Startup())
	}
}

func TestRestartThatFails(t *testing.T) {
	_, err := attach(t, restarted("http://127.0.0.1:1", "echo unit vllm.service not found; exit 5"))
	var f *engine.Failure
	if !errors.As(err, &f) || f.Op != "start" || !strings.Contains(f.Error(), "exit status 5") || !strings.Contains(f.Error(), "| unit vllm.service not found") {
		t.Errorf("Launch: %v", err)
	}
	spec := restarted("http://127.0.0.1:1", "exec sleep 1000")
	spec.ReadyTimeout = 100 * time.Millisecond
	if _, err := attach(t, spec); err == nil || !strings.Contains(err.Error(), "did not end within 100ms: it must return") {
		t.Errorf("Launch: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err = endpoint.Launcher{}.Launch(ctx, restarted("http://127.0.0.1:1", "exec sleep 1000"),
		engine.Launch{ID: "launch", Owner: "owner", LogPath: filepath.Join(t.TempDir(), "log")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Launch: %v, want it to be context.Canceled", err)
	}
}

// TestFollowedLogIsOfThisLaunch: what was written before the launch is no
// evidence of it, also where the file is replaced or cut.
func TestFollowedLogIsOfThisLaunch(t *testing.T) {
	s := httptest.NewServer(upstream("vllm", ""))
	defer s.Close()
	for name, change := range map[string]string{
		"appended": `echo "$TEXT" >> "$LOG"`,
		"cut":      `echo "$TEXT" > "$LOG"`,
		"replaced": `mv "$LOG" "$LOG.1"; echo "$TEXT" > "$LOG"`,
		"rotated":  `echo "$TEXT" >> "$LOG"; mv "$LOG" "$LOG.1"; echo later > "$LOG"`,
		"absent":   `rm "$LOG"; echo "$TEXT" > "$LOG"`,
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "server.log")
			if err := os.WriteFile(log, []byte("Using Marlin backend, which was yesterday\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			spec := restarted(s.URL, change)
			spec.Endpoint.LogFile = log
			spec.Env = map[string]string{"LOG": log, "TEXT": "Using backend: CUTLASS"}
			inst, err := attach(t, spec)
			if err != nil {
				t.Fatal(err)
			}
			if err := inst.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(inst.LogPath())
			if err != nil || !strings.Contains(string(text), "CUTLASS") || strings.Contains(string(text), "Marlin") {
				t.Errorf("the log of the launch is %q (%v)", text, err)
			}
			if err := inst.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(log); err != nil {
				t.Errorf("the server's own log: %v", err)
			}
		})
	}
	t.Run("never there", func(t *testing.T) {
		spec := restarted(s.URL, "true")
		spec.Endpoint.LogFile = filepath.Join(t.TempDir(), "none.log")
		inst, err := attach(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := inst.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("log_file %q is not there", spec.Endpoint.LogFile)) {
			t.Errorf("Ready: %v", err)
		}
	})
}
