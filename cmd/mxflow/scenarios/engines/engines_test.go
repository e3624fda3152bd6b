// Package engines has the scenarios of starting, watching, checking and stopping engines,
// wherever they run.
package engines

import (
	"testing"

	"github.com/mxflow/mxflow/internal/testing/scenario"
)

func TestMain(m *testing.M) { scenario.Main(m) }

func TestScript(t *testing.T) { scenario.Run(t) }
