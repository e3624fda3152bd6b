package endpoint_test

import (
	"testing"

	"github.com/mxflow/mxflow/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }
