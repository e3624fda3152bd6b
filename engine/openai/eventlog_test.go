package openai

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

func logged(events []measure.Event) []measure.Event {
	var l eventLog
	for _, e := range events {
		l.add(e)
	}
	return l.events()
}

func TestEventLog(t *testing.T) {
	if got := logged(nil); got != nil {
		t.Errorf("events out of nothing: %v", got)
	}
	events := []measure.Event{
		{At: 0, Kind: measure.KindOther, Tokens: -1},
		{At: 1, Kind: measure.KindText, Tokens: 1, Bytes: 3},
		{At: 1, Kind: measure.KindReasoning, Tokens: 0, Bytes: 1 << 40},
		{At: math.MaxInt64, Kind: measure.KindTool, Tokens: math.MaxInt, Bytes: 1},
		{At: math.MaxInt64, Kind: measure.KindUsage, Tokens: -1},
		{At: 5, Kind: measure.KindDone, Tokens: 7},
	}
	for range 10 { // over several chunks
		events = append(events, events...)
	}
	if got := logged(events); !slices.Equal(got, events) {
		t.Errorf("%d events came back as other %d", len(events), len(got))
	}
}

// An event of a typical stream takes what the comment on eventLog says.
func TestEventLogIsSmall(t *testing.T) {
	var l eventLog
	for i := range 1000 {
		l.add(measure.Event{At: time.Duration(i) * 20 * time.Millisecond, Kind: measure.KindText, Tokens: i + 1, Bytes: 5})
	}
	size := 0
	for _, c := range l.chunks {
		size += cap(c)
	}
	if size > 8*1000 {
		t.Errorf("1000 events take %d bytes", size)
	}
}

func FuzzEventLog(f *testing.F) {
	f.Add(int64(20e6), int64(20e6), uint8(1), uint8(5), int64(1), int64(2), int64(4))
	f.Add(int64(0), int64(-1), uint8(4), uint8(0), int64(-9), int64(math.MaxInt64), int64(0))
	f.Fuzz(func(t *testing.T, at, at2 int64, kind, kind2 uint8, tokens, tokens2, size int64) {
		one := measure.Event{At: time.Duration(at), Kind: measure.Kind(kind & 7), Tokens: int(tokens), Bytes: int(size & math.MaxInt64)}
		two := measure.Event{At: time.Duration(at2), Kind: measure.Kind(kind2 & 7), Tokens: int(tokens2), Bytes: 3}
		events := []measure.Event{one, two, one, one, two}
		got := logged(events)
		for i := range events {
			events[i].Tokens = max(events[i].Tokens, -1)
		}
		if !slices.Equal(got, events) {
			t.Errorf("got %+v\nwant %+v", got, events)
		}
	})
}
