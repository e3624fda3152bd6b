package telemetry

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// until waits until the recorder has something; the test's own time limit bounds
// it.
func until(t *testing.T, r *Recorder, there func() bool) {
	t.Helper()
	for !there() {
		if r.ctx.Err() != nil {
			t.Fatal("the recorder ended")
		}
		time.Sleep(time.Millisecond)
	}
}

// has reports how many values a series has so far.
func (r *Recorder) has(name, source string) int {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	if s := r.tape.series[track{name, source}]; s != nil {
		return len(s.At)
	}
	return 0
}

func (r *Recorder) told(about string) bool {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	return slices.ContainsFunc(r.tape.notes, func(n note) bool { return n.about == about })
}

func begin(t *testing.T, c Config) *Recorder {
	t.Helper()
	r, err := Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Stop() })
	return r
}

func find(series []measure.Series, name, source string) measure.Series {
	for _, s := range series {
		if s.Name == name && s.Source == source {
			return s
		}
	}
	return measure.Series{}
}

// sound fails the test where a series is not as measure.Series says.
func sound(t *testing.T, series []measure.Series) {
	t.Helper()
	for _, s := range series {
		if len(s.At) == 0 || len(s.At) != len(s.Value) {
			t.Errorf("%s %s: %d times of %d values", s.Name, s.Source, len(s.At), len(s.Value))
		}
		for i := range s.At {
			if s.At[i] < 0 || i > 0 && s.At[i] <= s.At[i-1] || s.Value[i]-s.Value[i] != 0 {
				t.Errorf("%s %s: value %d is %v at %v", s.Name, s.Source, i, s.Value[i], s.At[i])
			}
		}
	}
}
