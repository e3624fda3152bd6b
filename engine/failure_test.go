package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFailureTellsTheWholeStory(t *testing.T) {
	f := &Failure{
		Op: "become ready", Reason: "it ended 2.3s after its start", Exit: &Exit{Code: 3},
		LogTail: []string{"loading", "\x1b[31mRuntimeError\x1b[0m: no GPU"},
	}
	want := "engine could not become ready: it ended 2.3s after its start (exit status 3)\n" +
		"last lines of its log:\n  | loading\n  | RuntimeError: no GPU"
	if got := f.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f = &Failure{Op: "answer", Exit: &Exit{Code: -1, Signal: "SIGSEGV"}}
	for i := range 100 {
		f.LogTail = append(f.LogTail, fmt.Sprint("line ", i))
	}
	got := f.Error()
	if !strings.Contains(got, "ended by SIGSEGV") || strings.Contains(got, "line 84\n") ||
		!strings.HasSuffix(got, "line 99") {
		t.Errorf("got\n%s", got)
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		15 * time.Minute: "15m", time.Hour: "1h", 90 * time.Second: "1m30s", 2345 * time.Millisecond: "2.3s",
		300*time.Millisecond + 7: "300ms", 0: "0s", 30 * time.Second: "30s", 10 * time.Minute: "10m",
		61 * time.Minute: "1h1m",
	} {
		if got := Brief(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
