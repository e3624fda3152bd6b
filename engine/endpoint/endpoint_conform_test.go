package endpoint_test

import (
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/process"
)

func TestEndpointLauncherConforms(t *testing.T) {
	// A process that this launcher has not started.
	running := func(m enginetest.Misbehaviour) enginetest.SpecFunc {
		return func(t *testing.T) engine.Spec {
			inst, err := enginetest.Launch(t, process.Launcher{}, enginetest.Fake(m))
			if err != nil {
				t.Fatal(err)
			}
			return at(inst.BaseURL() + "/v1")
		}
	}
	enginetest.RunForeign(t, endpoint.Launcher{}, running(""), running(enginetest.NeverReady))
}
