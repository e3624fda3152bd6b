package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
)

func TestCalm(t *testing.T) {
	all := []gpu.GPU{
		{Index: 0, UUID: "GPU-a", Name: "A", Values: map[string]string{"temperature.gpu": "70", "power.draw": "300.5", "clocks.current.sm": "345"}},
		{Index: 1, UUID: "GPU-b", Name: "B", Values: map[string]string{"temperature.gpu": "40"}},
	}
	for _, test := range []struct {
		want         Calm
		uuids        string
		rest, failed string
	}{
		{Calm{MaxTemperature: 70}, "GPU-a GPU-b", "", ""},
		{Calm{MaxTemperature: 50}, "GPU-a GPU-b", "the temperature of GPU 0 (A, GPU-a) is 70 °C, to be at most 50", ""},
		{Calm{MaxTemperature: 30}, "GPU-a GPU-b", "; the temperature of GPU 1", ""},
		{Calm{MaxPower: 300}, "GPU-a", "the power draw of GPU 0 (A, GPU-a) is 300.5 W, to be at most 300", ""},
		{Calm{MinClock: 1000}, "GPU-a", "the SM clock of GPU 0 (A, GPU-a) is 345 MHz, to be at least 1000", ""},
		{Calm{MinClock: 345, MaxClock: 345}, "GPU-a", "", ""},
		{Calm{MaxClock: 300}, "GPU-a", "to be at most 300", ""},
		{Calm{}, "GPU-a", "", ""},
		{Calm{MaxTemperature: 90}, "GPU-c", "", "GPU GPU-c cannot be waited for: nvidia-smi does not show it"},
		{Calm{MaxPower: 90}, "GPU-b", "", "the power draw of GPU 1 (B, GPU-b) cannot be waited for: its driver does not tell it"},
	} {
		rest, err := test.want.look(all, strings.Fields(test.uuids))
		if test.failed != "" {
			if err == nil || err.Error() != test.failed {
				t.Errorf("%+v: %q, %v", test.want, rest, err)
			}
			continue
		}
		if err != nil || !strings.Contains(rest, test.rest) || (test.rest == "") != (rest == "") {
			t.Errorf("%+v: %q, %v", test.want, rest, err)
		}
	}
	if _, err := (Calm{}).look(nil, []string{"GPU-a"}); !errors.Is(err, gpu.ErrNone) {
		t.Errorf("without a GPU: %v", err)
	}
}

// machineList has what gpu.List needs.
const machineList = "index, uuid, name, driver_version, temperature.gpu, power.draw, clocks.current.sm\n0, GPU-a, NVIDIA A, 580.1, HOT, 80, 345\n"

func TestSettle(t *testing.T) {
	ctx := context.Background()
	if err := Settle(ctx, nil, Calm{}); err == nil {
		t.Error("no GPU was waited for")
	}
	hot := strings.ReplaceAll(machineList, "HOT", "71")
	machine{stream: hot}.use(t)
	err := Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50})
	if err == nil || !strings.Contains(err.Error(), "after 0s of waiting, the temperature of GPU 0 (NVIDIA A, GPU-a) is 71 °C, to be at most 50") {
		t.Errorf("too hot: %v", err)
	}
	var told string
	ended, cancel := context.WithCancel(ctx)
	err = Settle(ended, []string{"GPU-a"}, Calm{MaxTemperature: 50, Timeout: time.Hour, Waiting: func(what string) { told = what; cancel() }})
	if !errors.Is(err, context.Canceled) || !strings.Contains(told, "71 °C") {
		t.Errorf("interrupted: %v, %q", err, told)
	}
	// It cools down while it is waited for.
	cool := strings.ReplaceAll(machineList, "HOT", "49")
	err = Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50, Timeout: time.Hour, Every: time.Millisecond, Waiting: func(string) { machine{stream: cool}.use(t) }})
	if err != nil {
		t.Errorf("cooled down: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50}); !errors.Is(err, gpu.ErrNone) {
		t.Errorf("without nvidia-smi: %v", err)
	}
}
