package scenario

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// What a scenario that measures comes to rests on launches, and those that run beside
// it disturb them. So one that fails beside others is set aside and run once more when
// they have ended. There it has to hold; and a scenario that measures nothing gets no
// second try, since what fails there now and then is a fault.

// Aside is what was set aside by tests in parallel.
type Aside[T any] struct {
	mu   sync.Mutex
	List []T
}

func (a *Aside[T]) Add(v T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.List = append(a.List, v)
}

// besideOthers is the T of scenarios that run in parallel. Those that measure and fail
// are set aside, by name.
type besideOthers struct {
	*testing.T
	disturbed *Aside[string]
	// work is the folder of the scenario that this is the T of.
	work string
}

func (b *besideOthers) Run(name string, f func(testscript.T)) {
	b.T.Run(name, func(t *testing.T) { f(&besideOthers{T: t, disturbed: b.disturbed}) })
}

func (b *besideOthers) Verbose() bool { return testing.Verbose() }

func (b *besideOthers) FailNow() {
	if !measured(b.work) {
		b.T.FailNow()
	}
	b.disturbed.Add(filepath.Base(b.Name()))
	b.SkipNow()
}

// alone is the T of scenarios that run one after the other when a test has ended, where
// testing.T takes no subtests any more.
type alone struct{ *testing.T }

func (a *alone) Run(_ string, f func(testscript.T)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(&alone{a.T})
	}()
	<-ended
}

func (a *alone) Parallel()     {}
func (a *alone) Verbose() bool { return testing.Verbose() }

func (a *alone) Skip(...any) {
	runtime.Goexit()
}

func (a *alone) FailNow() {
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
		if text, err := os.ReadFile(path); err == nil &&
			slices.ContainsFunc(measuring, func(sign []byte) bool { return bytes.Contains(text, sign) }) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
