package limit

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
)

// A launch keeps its basis, and replay must arrive at the same limit.
func TestBasisIsKept(t *testing.T) {
	m := read(t, gptOSS20B)
	was := Basis{Model: m, Source: "config.json", GPUs: map[string]string{"GPU-1": "NVIDIA H100 80GB HBM3"}}
	kept, err := json.Marshal(was)
	require.NoError(t, err)
	var is Basis
	require.NoError(t, json.Unmarshal(kept, &is))
	if !reflect.DeepEqual(was, is) {
		t.Errorf("kept: %+v, was %+v", is.Model, was.Model)
	}
	if a, b := was.Model.Decode(8, 1200), is.Model.Decode(8, 1200); !reflect.DeepEqual(a, b) || a == nil {
		t.Errorf("work of a step: %+v, was %+v", b, a)
	}
}
