// Package record has the scenarios of the record: what is kept, resumed, overruled, signed,
// verified, replayed and reported.
package record

import (
	"testing"

	"github.com/mxflow/mxflow/internal/testing/scenario"
)

func TestMain(m *testing.M) { scenario.Main(m) }

func TestScript(t *testing.T) { scenario.Run(t) }
