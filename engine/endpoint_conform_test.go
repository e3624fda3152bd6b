package engine_test

import (
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/enginetest"
)

func TestEndpointLauncherConforms(t *testing.T) {
	// A process that this launcher has not started.
	running := func(m enginetest.Misbehaviour) enginetest.SpecFunc {
		return func(t *testing.T) engine.Spec {
			inst, err := launch(t, engine.ProcessLauncher{}, enginetest.Fake(m))
			if err != nil {
				t.Fatal(err)
			}
			return at(inst.BaseURL() + "/v1")
		}
	}
	enginetest.RunForeign(t, engine.EndpointLauncher{}, running(""), running(enginetest.NeverReady))
}
