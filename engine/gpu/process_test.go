package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRounds(t *testing.T) {
	var got []string
	r := &rounds{quiet: time.Hour, end: time.NewTimer(time.Hour), each: func(list []Process, _ time.Time) {
		var pids []string
		for _, p := range list {
			pids = append(pids, fmt.Sprint(p.PID, p.GPU))
		}
		got = append(got, strings.Join(pids, "+"))
	}}
	say := func(lines ...string) {
		for _, line := range lines {
			r.line(line+"\n", time.Now(), nil)
		}
	}
	say("1, a, 5, x", "2, a, 5, x", "1, b, 5, x")
	r.flush()
	r.flush()
	// Two lists at once.
	say("1, a, 5, x", "2, a, 5, x", "1, a, 6, x", "2, a, 6, x")
	r.flush()
	// One that cannot be read, which is dropped entirely, then a good one.
	say("1, a, 5, x", "GPU is lost", "2, a, 5, x")
	r.flush()
	say("3, a, 5, x")
	r.line("", time.Now(), errors.New("too long"))
	r.flush()
	say("4, a, 5, x")
	r.flush()
	// The end comes in the middle.
	say("1, a, 5, x")
	r.close()
	r.flush()
	if want := "1a+2a+1b 1a+2a 1a+2a 4a"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFollowProcesses(t *testing.T) {
	fake(t, "gb10")
	ctx, cancel := context.WithCancel(context.Background())
	var lists [][]Process
	err := FollowProcesses(ctx, 100*time.Millisecond, func(list []Process, _ time.Time) {
		if lists = append(lists, list); len(lists) == 2 {
			cancel()
		}
	})
	if err != nil || len(lists) < 2 {
		t.Fatalf("%v, %v", lists, err)
	}
	for _, list := range lists {
		if len(list) != 2 || list[0].PID != 4711 || *list[0].MiB != 71234 || list[1].MiB != nil {
			t.Errorf("got %v", list)
		}
	}
	smiScript(t, "exit 3\n")
	if err := FollowProcesses(context.Background(), time.Second, nil); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("it died: %v", err)
	}
}
