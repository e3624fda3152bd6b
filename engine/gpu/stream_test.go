package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNewStream(t *testing.T) {
	fake(t, "old")
	s, err := NewStream(context.Background(), []string{"GPU-33333333-0000-0000-0000-000000000000", "GPU-22222222-0000-0000-0000-000000000000"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Has("power.draw.instant") || !s.Has("power.draw") || !s.Has("clocks_event_reasons.active") || !s.Has("clocks.current.sm") {
		t.Errorf("asks for %v", s.asked)
	}
	if len(s.First) != 2 || !strings.HasPrefix(s.First[0].UUID, "GPU-3") {
		t.Errorf("first values of %v", s.First)
	}
	if mask, ok := s.First[1].Throttle(); !ok || mask != 0x44 {
		t.Errorf("throttled: %x, %v", mask, ok)
	}
	if mask, ok := s.First[0].Throttle(); ok {
		t.Errorf("the one that does not tell is throttled: %x", mask)
	}
	for uuid, want := range map[string]string{"GPU-44": "shows no values for GPU GPU-44"} {
		if _, err := NewStream(context.Background(), []string{uuid}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uuid, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := NewStream(context.Background(), []string{"GPU-44"}); !errors.Is(err, ErrNone) {
		t.Errorf("without nvidia-smi: %v", err)
	}
}

// streamOf is a stream of two GPUs with the fields that these tests need.
func streamOf(names ...string) *Stream {
	s := &Stream{uuids: []string{"GPU-1", "GPU-2"}, silence: silence}
	for _, name := range names {
		s.asked = append(s.asked, field{name, []string{name}})
	}
	return s
}

func TestReading(t *testing.T) {
	s := streamOf("timestamp", "uuid", "power.draw", "utilization.gpu", "clocks_event_reasons.active")
	now := time.Date(2026, 11, 20, 10, 11, 25, 812e6, time.UTC)
	for _, test := range []struct {
		line, power string
		delay       time.Duration
		problem     string
	}{
		{line: "2026/11/20 10:11:25.792, GPU-1, 128.28, 15, 0x0000000000000004", power: "128.28", delay: 20 * time.Millisecond},
		// In another time zone.
		{line: "2026/11/20 15:56:25.792, GPU-2, 128.28, 15, 0x0", power: "128.28", delay: 20 * time.Millisecond},
		{line: "2026/11/19 21:11:25.792, GPU-2, 128.28, 15, 0x0", power: "128.28", delay: 20 * time.Millisecond},
		// The clock was set: the arrival time counts.
		{line: "2026/11/20 10:11:20.000, GPU-1, 1, 15, 0x0", power: "1"},
		{line: "2026/11/20 10:11:25.813, GPU-1, 1, 15, 0x0", power: "1"},
		{line: "[N/A], GPU-1, [N/A], [Not Supported], [N/A]"},
		{line: "2026/11/20 10:11:25.792, GPU-3, 1, 15, 0x0", problem: "not a requested GPU"},
		{line: "2026/11/20 10:11:25.792, [N/A], 1, 15, 0x0", problem: "not a requested GPU"},
		{line: "2026/11/20 10:11:25.792, GPU-1, 1, 15", problem: "4 values for 5 fields"},
		{line: "GPU-1, 128.28, 15, 0x0, GPU-1, 128.28, 15, 0x0, 1", problem: "9 values"},
		{line: "2026/11/20 10:11:25.792, GPU-1, 128.2x, 15, 0x0", problem: "power.draw is"},
		{line: "2026/11/20 10:11:25.792, GPU-1, -1, 15, 0x0", problem: "power.draw is"},
		{line: "2026/11/20 10:11:25.792, GPU-1, NaN, 15, 0x0", problem: "power.draw is"},
		{line: "2026/11/20 10:11:25.792, GPU-1, Inf, 15, 0x0", problem: "power.draw is"},
		{line: "2026/11/20 10:11:25.792, GPU-1, 1, 101, 0x0", problem: "utilization.gpu is"},
		{line: "2026/11/20 10:11:25.792, GPU-1, 1, 1, yes", problem: "clocks_event_reasons.active is"},
		{line: "Unable to determine the device handle for GPU0: GPU is lost.", problem: "1 values"},
	} {
		r, err := s.parse(test.line+"\n", now)
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: %+v, %v", test.line, r, err)
			}
			continue
		}
		if err != nil || r.Values["power.draw"] != test.power || r.Delay != test.delay || !r.At.Equal(now.Add(-test.delay)) {
			t.Errorf("%s: %+v, %v", test.line, r, err)
		}
	}
}

func TestLines(t *testing.T) {
	s := streamOf("uuid", "power.draw")
	now := time.Now()
	long := strings.Repeat("x", 9000)
	var got []string
	lines(strings.NewReader("GPU-1, 1\n\r\n  \nGPU-2, 2\r\n"+long+"\nGPU-1, 3\n"+long+"GPU-1, 4\nGPU-2, 715"), func(line string, _ time.Time, err error) {
		r, bad := s.parse(line, now)
		if err != nil || bad != nil {
			got = append(got, "bad")
			return
		}
		got = append(got, r.UUID+" "+r.Values["power.draw"])
	})
	// The last line is incomplete: it may have been 7150.
	if want := "GPU-1 1, GPU-2 2, bad, GPU-1 3, bad"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// smiScript puts a shell script into PATH as nvidia-smi.
func smiScript(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestRunEnds(t *testing.T) {
	s := streamOf("uuid", "power.draw")
	run := func(ctx context.Context) (n int, err error) {
		err = s.Run(ctx, time.Millisecond, func(_ Reading, err error) {
			if err == nil {
				n++
			}
		})
		return n, err
	}
	smiScript(t, "echo GPU-1, 1; echo GPU-2, 2; exit 9\n")
	if n, err := run(context.Background()); n != 2 || err == nil || !strings.Contains(err.Error(), "exit status 9") {
		t.Errorf("died: %d readings, %v", n, err)
	}
	smiScript(t, "echo GPU-1, 1\n")
	if n, err := run(context.Background()); n != 1 || err == nil {
		t.Errorf("ended: %d readings, %v", n, err)
	}
	// A driver that hangs; a grandchild holds the pipe open.
	s.silence = 50 * time.Millisecond
	smiScript(t, "echo GPU-1, 1; sleep 600 & wait\n")
	if n, err := run(context.Background()); n != 1 || err == nil || !strings.Contains(err.Error(), "printed nothing for 50ms") {
		t.Errorf("hung: %d readings, %v", n, err)
	}
	s.silence = silence
	smiScript(t, "trap '' TERM INT; while :; do echo GPU-1, 1; done\n")
	ctx, cancel := context.WithCancel(context.Background())
	err := s.Run(ctx, time.Millisecond, func(Reading, error) { cancel() })
	if err != nil {
		t.Errorf("stopped: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := run(context.Background()); !errors.Is(err, ErrNone) {
		t.Errorf("without nvidia-smi: %v", err)
	}
}

func FuzzReading(f *testing.F) {
	f.Add("2026/11/20 11:11:25.792, GPU-1, 128.28, 15, 0x0000000000000000")
	f.Add("[N/A], GPU-2, [N/A], , ")
	s := streamOf("timestamp", "uuid", "power.draw", "utilization.gpu", "clocks_event_reasons.active")
	now := time.Now()
	f.Fuzz(func(t *testing.T, line string) {
		r, err := s.parse(line, now)
		if err != nil {
			return
		}
		if r.UUID != "GPU-1" && r.UUID != "GPU-2" || r.At.After(now) || now.Sub(r.At) > late {
			t.Errorf("%q: %+v", line, r)
		}
		for name := range r.Values {
			if n, ok := r.Number(name); name != "clocks_event_reasons.active" && (!ok || n < 0) {
				t.Errorf("%q: %s is %v", line, name, fmt.Sprint(r.Values[name]))
			}
		}
	})
}
