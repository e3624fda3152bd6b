package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/kinds"
	process "github.com/mxflow/mxflow/engine/run"
)

// TestEmbeddedConforms runs the test that every engine passes against the
// embedded one, as a plan would start it.
func TestEmbeddedConforms(t *testing.T) {
	t.Parallel()
	embeddedConforms(t, process.Launcher{}, engine.Spec{
		Command: []string{scenario.Program, "engine", "serve", "--port", "{port}"},
	})
}

func embeddedConforms(t *testing.T, launcher engine.Launcher, s engine.Spec) {
	spec := func(fault string) enginetest.SpecFunc {
		return func(*testing.T) engine.Spec {
			s := s
			s.Kind, s.StopGrace, s.Env = "embedded", 10*time.Second, map[string]string{}
			if fault != "" {
				s.Env["MXFLOW_EMBEDDED_FAULT"] = fault
			}
			return s
		}
	}
	enginetest.Run(t, launcher, spec(""),
		enginetest.Fault{Is: enginetest.DiesEarly, Spec: spec("oom"), Status: 1, Says: "OutOfMemoryError"},
		enginetest.Fault{Is: enginetest.NeverReady, Spec: spec("never_ready")},
		enginetest.Fault{Is: enginetest.DiesLater, Spec: spec("crash_after:2"), Status: 1, Says: "fatal error", Trigger: ask},
	)
}

// ask sends one request and reads what comes, which may end in the middle.
func ask(baseURL string) {
	body := strings.NewReader(`{"prompt":"The capital of France is","max_tokens":8,"temperature":0}`)
	resp, err := http.Post(baseURL+"/v1/completions", "application/json", body)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}

// TestEmbeddedConformsInDocker is TestEmbeddedConforms with the engine in a
// container of an image that holds nothing but mxflow.
func TestEmbeddedConformsInDocker(t *testing.T) {
	dockertest.Need(t)
	image := dockertest.Image(t, scenario.Program)
	kind, _ := kinds.Lookup("embedded")
	var command []string
	for _, arg := range kind.ImageCommand {
		command = append(command, kinds.Fill(arg, "", engine.HowDocker.Host()))
	}
	embeddedConforms(t, docker.Launcher{}, engine.Spec{
		Command: command, Docker: &engine.Docker{Image: image, Pull: "never"},
	})
}
