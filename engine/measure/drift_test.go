package measure

import (
	"math"
	"testing"
	"time"
)

// Four requests that get twice as fast half way, in whatever order they are
// handed over: the log of the first half's median over the second's.
func TestDrift(t *testing.T) {
	at := func(due time.Duration, v ...float64) answer {
		return answer{&Sample{Scheduled: due}, Values{"tg": v}}
	}
	for _, c := range []struct {
		name    string
		answers []answer
		want    float64
		known   bool
	}{
		{"faster", []answer{at(3, 40), at(1, 20), at(0, 20), at(2, 40)}, math.Log(0.5), true},
		{"steady", []answer{at(0, 20), at(1, 30), at(2, 30), at(3, 20)}, 0, true},
		{"the one in the middle is in neither half", []answer{at(0, 10), at(1, 10), at(2, 1000), at(3, 10), at(4, 10)}, 0, true},
		{"too few", []answer{at(0, 20), at(1, 20), at(2, 40)}, 0, false},
		{"more than one value a request", []answer{at(0, 1, 2), at(1, 1, 2), at(2, 1, 2), at(3, 1, 2)}, 0, false},
		{"no log of zero", []answer{at(0, 0), at(1, 1), at(2, 1), at(3, 1)}, 0, false},
		{"failed requests have none", []answer{at(0, 20), at(1), at(2, 20), at(3, 20), at(4, 20)}, 0, true},
	} {
		got, known := driftOf(c.answers, "tg")
		if known != c.known || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v %v, want %v %v", c.name, got, known, c.want, c.known)
		}
	}
	s := summarize([]answer{at(0, 20), at(1, 20), at(2, 40), at(3, 40)}, CellRun{})["tg"]
	if math.Abs(s.Stats[Drift]-math.Log(0.5)) > 1e-12 || IsStat(Drift) {
		t.Errorf("%+v", s)
	}
}
