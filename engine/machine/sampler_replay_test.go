package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/require"
)

// phase is what testdata/load.py reports about one.
type phase struct {
	Phase      string  `json:"phase"`
	Start      float64 `json:"start"`
	End        float64 `json:"end"`
	FromMilliJ float64 `json:"from_mj"`
	ToMilliJ   float64 `json:"to_mj"`
	N          int     `json:"n"`
}

// recorded is the time at which each line of a recording arrived or was requested, in s
// since the Unix epoch.
func recorded(t *testing.T, path, column string) (at []float64) {
	t.Helper()
	names, lines := rows(path)
	i := slices.Index(names, column)
	for _, line := range lines {
		if column == "timestamp" {
			asked, err := time.Parse("2006/01/02 15:04:05.000", line[i])
			require.NoError(t, err)
			at = append(at, float64(asked.UnixMilli())/1e3)
			continue
		}
		n, err := strconv.ParseFloat(line[i], 64)
		require.NoError(t, err)
		at = append(at, n)
	}
	return at
}

// TestReplay plays what an H200 showed under a known load to the recorder, and compares
// the resulting energy with the driver's own counter.
func TestReplay(t *testing.T) {
	const uuid = "GPU-00000000-0000-0000-0000-000000000000"
	asked, arrived := recorded(t, "testdata/h200/stream.csv", "timestamp"), recorded(t, "testdata/h200/stream.csv", "arrival")
	for i := range asked {
		if late := arrived[i] - asked[i]; late < 0 || late > 0.01 {
			t.Errorf("line %d came %v s after its time: its time is not the one of this machine's clock", i, late)
		}
	}
	fakeMachine{stream: "testdata/h200/stream.csv", does: "hang"}.use(t)
	r := begin(t, SamplerConfig{GPUs: []string{uuid}})
	until(t, r, func() bool { return r.has(measure.GPUPowerInstant, uuid) == len(asked) })
	series, notes := r.Stop()
	if sound(t, series); len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}
	// The recording's own times instead of those of its replay.
	power := func(name string) measure.Series {
		s := find(series, name, uuid)
		for i := range s.At {
			s.At[i] = time.Duration((asked[i] - asked[0]) * 1e9)
		}
		return s
	}
	instant, average := power(measure.GPUPowerInstant), power(measure.GPUPower)
	at := func(unix float64) time.Duration { return time.Duration((unix - asked[0]) * 1e9) }
	text, err := os.ReadFile("testdata/h200/phases.jsonl")
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(text))
	var all []phase
	for dec.More() {
		var p phase
		require.NoError(t, dec.Decode(&p))
		all = append(all, p)
	}
	all = append(all, phase{"all", all[0].Start, all[len(all)-1].End, all[0].FromMilliJ, all[len(all)-1].ToMilliJ, 0})
	for _, p := range all {
		counted := (p.ToMilliJ - p.FromMilliJ) / 1e3
		off := func(s measure.Series) float64 { return 100 * (integral(s, at(p.Start), at(p.End))/counted - 1) }
		now, mean := off(instant), off(average)
		t.Logf("%-6s %5.2f s, %7.1f J: %+.1f%% by instantaneous power, %+.1f%% by the average", p.Phase, p.End-p.Start, counted, now, mean)
		switch {
		case (p.Phase == "all" || p.Phase == "full" || p.Phase == "small") && math.Abs(now) > 2:
			t.Errorf("energy of %s is off by %.1f%%", p.Phase, now)
		case p.Phase == "full" && mean > -5: // why energy is not computed from the average
			t.Errorf("the average follows the load at once: it is off by %.1f%%", mean)
		}
	}
	throttled := find(series, measure.GPUThrottle, uuid)
	if !slices.Contains(throttled.Value, 4) || slices.Max(throttled.Value) != 4 {
		t.Errorf("at its power limit the GPU said %v", throttled.Value)
	}
	// Its clock went from 1980 down to 1410 MHz there, and nothing was wrong with it.
	for _, name := range []string{measure.GPUClock, measure.GPUThrottle} {
		power(name)
	}
	cell := measure.CellRun{Cell: "chat", From: 0, To: at(all[len(all)-1].End)}
	if d := measure.Disturbances(measure.Recording{Cells: []measure.CellRun{cell}, Series: series}); len(d) > 0 {
		t.Errorf("a GPU at its power limit is said to be disturbed: %+v", d)
	}
	if m := find(series, measure.GPUMemory, uuid); slices.Max(m.Value) != 1103/mibPerGB {
		t.Errorf("memory is %v", m.Value)
	}
}

// TestReplayProcesses distinguishes an H200's processes, as nvidia-smi showed them: first
// two, then one.
func TestReplayProcesses(t *testing.T) {
	const uuid = "GPU-00000000-0000-0000-0000-000000000000"
	names, lines := rows("testdata/h200/apps.csv")
	cell := func(line []string, name string) string { return line[slices.Index(names, name)] }
	s := newSampler(context.Background(), SamplerConfig{GPUs: []string{uuid}})
	w := &gpuSamples{Sampler: s, before: map[string]Occupancy{}, unknown: map[string]string{}}
	for from := 0; from < len(lines); {
		to := from
		var list []GPUProcess
		for ; to < len(lines) && cell(lines[to], "timestamp") == cell(lines[from], "timestamp"); to++ {
			pid, err1 := strconv.Atoi(cell(lines[to], "pid"))
			mib, err2 := strconv.ParseFloat(cell(lines[to], "used_memory"), 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			list = append(list, GPUProcess{PID: pid, GPU: cell(lines[to], "gpu_uuid"), MiB: &mib, Name: cell(lines[to], "process_name")})
		}
		w.used = map[string]float64{uuid: 1103 * float64(len(list))}
		w.judge(list, s.config.Zero.Add(time.Duration(from)*time.Second), func(pid int) bool { return pid == 420 })
		from = to
	}
	series, _ := s.result()
	if foreign := find(series, measure.GPUForeign, uuid).Value; !slices.Equal(foreign, []float64{0, 1, 1, 1, 1, 1, 1, 1, 0, 0}) {
		t.Errorf("foreign processes: %v", foreign)
	}
	for _, gb := range find(series, measure.GPUProcessMemory, uuid).Value {
		if gb != 1094/mibPerGB {
			t.Errorf("the engine's own memory is %v", gb)
		}
	}
}

// integral is the area below a series between two times, by the trapezoidal rule.
func integral(s measure.Series, from, to time.Duration) (sum float64) {
	value := func(at time.Duration) float64 {
		for i := 1; i < len(s.At); i++ {
			if s.At[i] >= at {
				share := float64(at-s.At[i-1]) / float64(s.At[i]-s.At[i-1])
				return s.Value[i-1] + share*(s.Value[i]-s.Value[i-1])
			}
		}
		return s.Value[len(s.Value)-1]
	}
	last, lastValue := from, value(from)
	for i, at := range s.At {
		if at <= from || at >= to {
			continue
		}
		sum += (at - last).Seconds() * (lastValue + s.Value[i]) / 2
		last, lastValue = at, s.Value[i]
	}
	return sum + (to-last).Seconds()*(lastValue+value(to))/2
}
