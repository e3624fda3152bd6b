package machine

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 9000)
	var got []string
	lines(strings.NewReader("GPU-1, 1\n\r\n  \nGPU-2, 2\r\n"+long+"\nGPU-1, 3\n"+long+"GPU-1, 4\nGPU-2, 715"), func(line string, _ time.Time) {
		g, err := parseGPU(line, []field{{name: "uuid"}, {name: "power.draw"}})
		if err != nil {
			got = append(got, "bad")
			return
		}
		got = append(got, g.UUID+" "+g.Values["power.draw"])
	})
	// The last line is incomplete: it may have been 7150.
	if want := "GPU-1 1, GPU-2 2, bad, GPU-1 3, bad"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFollowEnds(t *testing.T) {
	run := func(ctx context.Context, silence time.Duration) (n int, err error) {
		err = follow(ctx, silence, nil, func(string, time.Time) { n++ })
		return n, err
	}
	inPath(t, "nvidia-smi", "#!/bin/sh\necho GPU-1, 1; echo GPU-2, 2; exit 9\n")
	if n, err := run(context.Background(), 0); n != 2 || err == nil || !strings.Contains(err.Error(), "exit status 9") {
		t.Errorf("died: %d lines, %v", n, err)
	}
	inPath(t, "nvidia-smi", "#!/bin/sh\necho GPU-1, 1\n")
	if n, err := run(context.Background(), silence); n != 1 || err == nil {
		t.Errorf("ended: %d lines, %v", n, err)
	}
	// A driver that hangs; a grandchild holds the pipe open.
	inPath(t, "nvidia-smi", "#!/bin/sh\necho GPU-1, 1; sleep 600 & wait\n")
	if n, err := run(context.Background(), 50*time.Millisecond); n != 1 || err == nil || !strings.Contains(err.Error(), "printed nothing for 50ms") {
		t.Errorf("hung: %d lines, %v", n, err)
	}
	inPath(t, "nvidia-smi", "#!/bin/sh\ntrap '' TERM INT; while :; do echo GPU-1, 1; done\n")
	ctx, cancel := context.WithCancel(context.Background())
	if err := follow(ctx, silence, nil, func(string, time.Time) { cancel() }); err != nil {
		t.Errorf("stopped: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := run(context.Background(), silence); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without nvidia-smi: %v", err)
	}
}

// TestProcessLists: lists are told apart by time, or by a process that comes again; one that
// cannot be read, or has not ended, does not count.
func TestProcessLists(t *testing.T) {
	w := &gpuSamples{Sampler: newSampler(context.Background(), SamplerConfig{GPUs: []string{"a"}}), look: time.Second, used: map[string]float64{"a": 1}, before: map[string]Occupancy{}, unknown: map[string]string{}}
	w.own = []int{os.Getpid()}
	self := strconv.Itoa(os.Getpid())
	at := w.config.Zero
	for _, list := range [][]string{
		{self + ", a, 1, x", "1, a, 5, y", self + ", b, 9, x"},
		{self + ", a, 2, x", "1, a, 5, y", self + ", a, 3, x", "1, a, 6, y"},
		{self + ", a, 4, x", "GPU is lost", "2, a, 5, y"},
		{self + ", a, 5, x"},
		{self + ", a, 6, x"},
	} {
		at = at.Add(w.look)
		for _, line := range list {
			w.process(line+"\n", at)
			at = at.Add(time.Millisecond)
		}
	}
	own, foreign := w.series[track{measure.GPUProcessMemory, "a"}], w.series[track{measure.GPUForeign, "a"}]
	for i, mib := range []float64{1, 2, 3, 5} {
		if len(own.Value) != 4 || own.Value[i] != mib/mibPerGB || foreign.Value[i] != []float64{0, 1, 1, 0}[i] {
			t.Errorf("own memory %v, foreign %v", own.Value, foreign.Value)
		}
	}
}
