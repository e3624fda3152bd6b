package record

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

// An engine may repeat a secret anywhere in its answer.
func TestRedactSamples(t *testing.T) {
	const secret = "hunter2-hunter2"
	said := "it said " + secret
	s := []measure.Sample{{Text: said, Reasoning: said, Tools: said, Doubts: said, Err: said}}
	Redact(s, redact.New([]string{secret}))
	v, texts := reflect.ValueOf(s[0]), 0
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.String {
			continue
		}
		if text := v.Field(i).String(); strings.Contains(text, secret) {
			t.Errorf("%s: %q", v.Type().Field(i).Name, text)
		} else if strings.HasPrefix(text, "it said ") {
			texts++
		}
	}
	must.Equal(t, "texts that are left", texts, 5)
}

// answer is a sample whose events are separated by these gaps.
func answer(gaps ...time.Duration) measure.Sample {
	s := measure.Sample{}
	at := 50 * time.Millisecond
	for _, g := range gaps {
		at += g
		s.Events = append(s.Events, measure.Event{At: at, Kind: measure.KindText, Tokens: -1, Bytes: 4})
	}
	return s
}

func TestStepRate(t *testing.T) {
	const ms = time.Millisecond
	every := func(gap time.Duration, n int) []time.Duration { return slices.Repeat([]time.Duration{gap}, n) }
	for name, c := range map[string]struct {
		samples []measure.Sample
		want    float64
	}{
		"a token each 2 ms": {[]measure.Sample{answer(every(2*ms, 30)...)}, 500},
		// A speculative step of 8 ms gives four tokens, which are sent one after the other.
		"four at once": {[]measure.Sample{
			answer(slices.Repeat([]time.Duration{8 * ms, ms / 10, ms / 10, ms / 10}, 20)...),
		}, 1000 / 8.3},
		// Events that come twice as often as steps are possible are not attributed to
		// speculation.
		"smoothed": {[]measure.Sample{answer(every(ms/2, 100)...)}, 2000},
		// All at once is one step, however many tokens it is.
		"one piece": {[]measure.Sample{answer(every(0, 100)...)}, 0},
		"too few":   {[]measure.Sample{answer(every(2*ms, 7)...)}, 0},
		"the median": {[]measure.Sample{
			answer(every(2*ms, 20)...), answer(every(4*ms, 20)...),
			answer(every(ms, 20)...),
		}, 500},
		"warm-up": {[]measure.Sample{{Warmup: true, Events: answer(every(ms, 20)...).Events}}, 0},
		"failed":  {[]measure.Sample{{Err: "x", Events: answer(every(ms, 20)...).Events}}, 0},
	} {
		got, known := stepRate(c.samples, ms)
		if known != (c.want > 0) || math.Abs(got-c.want) > 0.01*c.want {
			t.Errorf("%s: %v steps a second, want %v", name, got, c.want)
		}
	}
}

func TestUsedGPUs(t *testing.T) {
	all := []string{"a", "b", "c"}
	busy := []measure.Series{
		{Name: measure.GPUUtilization, Source: "a", Value: []float64{0.1, 0.9}},
		{Name: measure.GPUUtilization, Source: "b", Value: []float64{1}},
		{Name: measure.GPUUtilization, Source: "c", Value: []float64{0.1}}, // a desktop
	}
	held := append(busy, measure.Series{Name: measure.GPUProcessMemory, Source: "a", Value: []float64{0, 20}})
	for name, c := range map[string]struct {
		series []measure.Series
		want   []string
	}{
		"computed": {busy, []string{"a", "b"}}, "held": {held, []string{"a"}}, "unseen": {nil, nil},
	} {
		if got := usedGPUs(all, c.series); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDatasetRows(t *testing.T) {
	for text, want := range map[string]plans.DataRows{
		`{"prompt": "a", "output_tokens": 4}`: {Count: 1},
		"{\"prompt\": \"a\", \"output_tokens\": 4}\n\n{\"prompt\": \"b\"}": {
			Count:      2,
			Unanswered: 3,
		},
		`{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "a"}]}`: {
			Count:      1,
			Unanswered: 1, Chat: 1,
		},
		`{"conversations": [{"from": "human", "value": "a"}], "max_tokens": 9}`: {Count: 1},
		`{"prompt": "a", "tools": [{"type": "function", "function": {"name": "f"}}], "max_tokens": 12}`: {
			Count: 1,
			Chat:  1,
		},
	} {
		got, err := DatasetRows("x.jsonl", []byte(text))
		if err != nil || got != want {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}

// TestDatasetIsReadOnce: a file is read for the first cell that sends it, and the
// next ones take what was read.
func TestDatasetIsReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	text := []byte("{\"prompt\": \"a\", \"output_tokens\": 4}\n")
	must.Do(t, os.WriteFile(file, text, 0o600))
	sum := sha256.Sum256(text)
	d := &plans.Dataset{File: file, Digest: hex.EncodeToString(sum[:])}
	var l Sender
	w := &plans.Workload{Data: d}
	first, err := promptSpec(w, plans.Cell{}, "", "", &l.datasets)
	if err != nil || len(first.Data.Rows) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	must.Do(t, os.Remove(file))
	second, err := promptSpec(w, plans.Cell{}, "", "", &l.datasets)
	if err != nil || second.Data != first.Data {
		t.Errorf("read again: %v", err)
	}
	if _, err := promptSpec(w, plans.Cell{}, "", "", new(datasets)); err == nil ||
		!strings.Contains(err.Error(), "cannot read the dataset again") {
		t.Errorf("a file that is gone: %v", err)
	}
	other := *d
	other.Digest = strings.Repeat("0", 64)
	if _, err := l.datasets.read(&other); err == nil {
		t.Error("a file of another digest was taken from what was read before")
	}
}
