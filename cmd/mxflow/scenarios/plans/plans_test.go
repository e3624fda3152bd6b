// Package plans has the scenarios of writing, planning and applying plans.
package plans

import (
	"testing"

	"github.com/mxflow/mxflow/internal/testing/scenario"
)

func TestMain(m *testing.M) { scenario.Main(m) }

func TestScript(t *testing.T) { scenario.Run(t) }
