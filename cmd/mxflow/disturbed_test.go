package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// What a scenario that measures comes to rests on launches, and those that run beside
// it disturb them. So one that fails beside others is set aside and run once more when
// they have ended. There it has to hold; and a scenario that measures nothing gets no
// second try, since what fails there now and then is a fault.

// aside is what was set aside by tests in parallel.
type aside[T any] struct {
	mu   sync.Mutex
	list []T
}

func (a *aside[T]) add(v T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, v)
}

// besideOthers is the T of scenarios that run in parallel. Those that measure and fail
// are set aside, by name.
type besideOthers struct {
	*testing.T
	disturbed *aside[string]
	// work is the folder of the scenario that this is the T of.
	work string
}

func (b *besideOthers) Run(name string, f func(testscript.T)) {
	b.T.Run(name, func(t *testing.T) { f(&besideOthers{T: t, disturbed: b.disturbed}) })
}

func (b *besideOthers) Verbose() bool { return testing.Verbose() }

// passed reports whether the scenario has neither failed nor been skipped so far.
func (b *besideOthers) passed() bool { return !b.Failed() && !b.Skipped() }

func (b *besideOthers) FailNow() {
	if !measured(b.work) {
		b.T.FailNow()
	}
	b.disturbed.add(filepath.Base(b.Name()))
	b.SkipNow()
}

// alone is the T of scenarios that run one after the other when a test has ended, where
// testing.T takes no subtests any more.
type alone struct {
	*testing.T
	// stopped is set where the scenario failed or was skipped.
	stopped bool
}

func (a *alone) Run(_ string, f func(testscript.T)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(&alone{T: a.T})
	}()
	<-ended
}

func (a *alone) Parallel()     {}
func (a *alone) Verbose() bool { return testing.Verbose() }
func (a *alone) passed() bool  { return !a.stopped }

func (a *alone) Skip(...any) {
	a.stopped = true
	runtime.Goexit()
}

func (a *alone) FailNow() {
	a.stopped = true
	a.Fail()
	runtime.Goexit()
}

func (a *alone) Fatal(args ...any) {
	a.Error(args...)
	a.FailNow()
}

// measuring is what a ledger has of launches that measured: a benchmark's, or one whose
// levels time what the engine does.
var measuring = [][]byte{[]byte(`"purpose":"benchmark"`), []byte(`"name":"stress"`), []byte(`"name":"profile"`)}

// measured reports whether a ledger below dir has a launch that measured.
func measured(dir string) (found bool) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(path, "ledger") {
			return nil
		}
		if text, err := os.ReadFile(path); err == nil && slices.ContainsFunc(measuring, func(sign []byte) bool { return bytes.Contains(text, sign) }) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// mostOfOthers is the share of the machine that others may take of a test that has
// to tell what it measures.
const mostOfOthers = 0.25

// processorTime is how long all processors together have worked since the start of
// the machine, and how many they are: none where the system does not say.
type processorTime struct {
	worked time.Duration
	number int
}

// processors reads the time of all processors, in hundredths of a second.
func processors(t *testing.T) processorTime {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTime{} // no Linux
	}
	return parseProcessors(string(text))
}

func parseProcessors(text string) (p processorTime) {
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return p
	}
	// user, nice, system, idle, iowait, irq, softirq, and stolen by other machines.
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return processorTime{}
		}
		if i != 3 && i != 4 {
			p.worked += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	p.number = strings.Count(text, "\ncpu")
	return p
}

// othersSince is the share of all processors that was taken since by others than
// those who took own; 0 where that cannot be told.
func (p processorTime) othersSince(before processorTime, own, wall time.Duration) float64 {
	if before.number == 0 || p.number == 0 || wall <= 0 {
		return 0
	}
	return max(0, float64(p.worked-before.worked-own)/float64(wall)/float64(p.number))
}
