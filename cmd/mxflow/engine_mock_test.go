package main

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
)

// TestCalibrateWithProgram calibrates the measuring client with the mock inside
// mxflow, as apply and bench do. How good it is depends on the machine.
func TestCalibrateWithProgram(t *testing.T) {
	c, err := mock.Calibrate(t.Context(), mock.Spec{
		Command: []string{program, "engine", "mock"}, Streams: 2, Rate: 50, Duration: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Requests != 2 || c.Events != 22 {
		t.Errorf("calibration %+v", c)
	}
}
