package load

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// answerAt is a sample whose text events come at the given times in ms.
func answerAt(kind measure.Kind, at ...float64) measure.Sample {
	s := measure.Sample{Events: []measure.Event{{Kind: measure.KindOther, At: time.Millisecond}}}
	for _, ms := range at {
		s.Events = append(s.Events, measure.Event{Kind: kind, At: time.Duration(ms * float64(time.Millisecond))})
	}
	s.Events = append(s.Events, measure.Event{Kind: measure.KindUsage, At: time.Hour}, measure.Event{Kind: measure.KindDone, At: time.Hour})
	return s
}

func TestHeldBack(t *testing.T) {
	// As a real vLLM sent 55 events of 128 tokens on a machine without time to
	// spare: 46 in one read, and the others as they were made.
	starved := []float64{}
	for i := range 46 {
		starved = append(starved, 173+float64(i)*0.002)
	}
	starved = append(starved, 194, 222, 227, 235, 279, 285, 290, 293, 294)
	whole := make([]float64, 16)
	for i := range whole {
		whole[i] = 200
	}
	for name, c := range map[string]struct {
		sample measure.Sample
		want   Held
	}{
		"one piece":           {answerAt(measure.KindText, whole...), Held{1, 1, 200 * time.Millisecond}},
		"reasoning":           {answerAt(measure.KindReasoning, whole...), Held{1, 1, 200 * time.Millisecond}},
		"most of it":          {answerAt(measure.KindText, starved...), Held{1, 1, 173 * time.Millisecond}},
		"too few to say":      {answerAt(measure.KindText, whole[:7]...), Held{}},
		"a stream":            {answerAt(measure.KindText, 200, 201, 202, 203, 204, 205, 206, 207), Held{Of: 1}},
		"half of it":          {answerAt(measure.KindText, 200, 200, 200, 200, 204, 205, 206, 207), Held{Of: 1}},
		"a step of many":      {answerAt(measure.KindText, 200, 210, 210, 210, 210, 210, 210, 210, 210, 210), Held{Of: 1}},
		"at once but at once": {answerAt(measure.KindText, 9, 9, 9, 9, 9, 9, 9, 9), Held{Of: 1}},
	} {
		if got := HeldBack([]measure.Sample{c.sample}, 10*time.Millisecond); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	warm, failed, context := answerAt(measure.KindText, whole...), answerAt(measure.KindText, whole...), answerAt(measure.KindText, whole...)
	warm.Warmup, failed.Err, context.Context = true, "stalled", true
	if got := HeldBack([]measure.Sample{warm, failed, context}, 0); got != (Held{}) {
		t.Errorf("what is not measured counts: %+v", got)
	}
	// Answers that take 0.4 ms a token are made in 6 ms: found all at once behind
	// another's prefill, they are late by no more than that.
	quick, slow := make([]float64, 16), make([]float64, 16)
	for i := range quick {
		quick[i], slow[i] = 20+0.4*float64(i), 200+4*float64(i)
	}
	if got := HeldBack([]measure.Sample{answerAt(measure.KindText, quick...), answerAt(measure.KindText, whole...)}, 10*time.Millisecond); got != (Held{Of: 2}) {
		t.Errorf("quick answers that were read at once: %+v", got)
	}
	if got := HeldBack([]measure.Sample{answerAt(measure.KindText, slow...), answerAt(measure.KindText, whole...)}, 10*time.Millisecond); got != (Held{Requests: 1, Of: 2, Longest: 200 * time.Millisecond}) {
		t.Errorf("slow answers that came in one piece: %+v", got)
	}
}
