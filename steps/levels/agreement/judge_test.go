package agreement

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

// session is what a parent was asked about one launch of its own and one of a candidate,
// whose looks agree as asked.
func session(n int, agrees func(r *rand.Rand, l Probe) bool) *Probes {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	a := &Probes{All: map[string]map[string]map[Part]int{}}
	for _, arm := range []string{"own", "other"} {
		a.Launches = append(a.Launches, arm)
		a.All[arm] = map[string]map[Part]int{"chat": {}}
		for _, part := range parts {
			a.All[arm]["chat"][part] = 100 * n
			for i := range n {
				l := Probe{
					Launch: arm, Cell: "chat", Request: i, Part: part, Was: "yes", Is: "yes",
					Took: float64(i % 2), Prompt: 64 * (1 + i/2%2),
				}
				if arm == "other" && !agrees(r, l) {
					l.Is = "no"
				}
				a.Looks = append(a.Looks, l)
			}
		}
	}
	return a
}

func TestJudge(t *testing.T) {
	always := func(*rand.Rand, Probe) bool { return true }
	sometimes := func(wrong float64) func(*rand.Rand, Probe) bool {
		return func(r *rand.Rand, _ Probe) bool { return r.Float64() >= wrong }
	}
	in := func(yes func(Probe) bool) func(*rand.Rand, Probe) bool {
		return func(_ *rand.Rand, l Probe) bool { return !yes(l) }
	}
	limit := func(least float64) *float64 { return &least }
	for _, c := range []struct {
		name           string
		n              int
		agrees         func(*rand.Rand, Probe) bool
		least          *float64
		shown, refuted bool
	}{
		{"the same model", 32, always, nil, true, false},
		{"too few to show it", 16, always, nil, false, false},
		{"other kernels", 128, sometimes(0.03), nil, true, false},
		{"another model", 32, sometimes(0.6), nil, false, true},
		{"a fifth is another model's", 256, sometimes(0.2), nil, false, true},
		{
			"first tokens are guessed", 64, in(func(l Probe) bool { return l.Part == First && l.Request%2 == 0 }),
			nil, false, true,
		},
		{"every second answer, and fast", 64, in(func(l Probe) bool { return l.Took == 0 }), nil, false, true},
		{"the end of each", 64, in(func(l Probe) bool { return l.Part == End }), nil, false, true},
		{"long prompts are not read", 64, in(func(l Probe) bool { return l.Prompt == 128 }), nil, false, true},
		{"quantised, as declared", 256, sometimes(0.1), limit(0.8), true, false},
		{"less than declared", 256, sometimes(0.4), limit(0.9), false, true},
	} {
		r := Claim{Own: []string{"own"}, Other: []string{"other"}, Least: c.least}.Judge(session(c.n, c.agrees))
		if r.Holds() != c.shown || r.Refuted() != c.refuted {
			t.Errorf("%s: shown %v, refuted %v: %+v", c.name, r.Holds(), r.Refuted(), r.Worst())
		}
	}
}

// A parent that does not go on as its own answers do says nothing about another's: not even
// that they are its own where few are declared to be enough. With a temperature it may differ.
func TestParentDisagreesWithItself(t *testing.T) {
	limit := func(least float64) *float64 { return &least }
	for name, c := range map[string]struct {
		own, other     float64 // how often the parent agrees
		least          *float64
		sampled        bool
		says           bool // that it cannot be compared
		shown, refuted bool
	}{
		"a stub":                      {0, 0, nil, false, true, false, false},
		"a stub, declared":            {0, 0, limit(0.8), false, true, false, false},
		"only the port is its own":    {0, 1, limit(0.8), false, true, false, false},
		"worse than the stub":         {0.4, 0, limit(0.8), false, true, false, true},
		"half of the time":            {0.6, 0.6, limit(0.8), false, false, false, true},
		"sampled, declared":           {0.3, 1, limit(0.8), true, false, true, false},
		"sampled, less than declared": {0.3, 0.3, limit(0.8), true, false, false, true},
	} {
		a := session(128, func(*rand.Rand, Probe) bool { return true })
		if c.sampled {
			a.Sampled = []string{"chat"}
		}
		for i := range a.Looks {
			share := map[string]float64{"own": c.own, "other": c.other}[a.Looks[i].Launch]
			a.Looks[i].Is = map[bool]string{true: "yes", false: "no"}[float64(i%100) < 100*share]
		}
		r := Claim{Own: []string{"own"}, Other: []string{"other"}, Least: c.least}.Judge(a)
		if says := len(r.SelfDisagrees) > 0; says != c.says || r.Holds() != c.shown || r.Refuted() != c.refuted {
			t.Errorf("%s: cannot be compared %v, shown %v, refuted %v: %+v", name, says, r.Holds(),
				r.Refuted(), r.Worst())
		}
	}
}

// What was not asked is no proof: launches without a position, parts that no answer
// reached, and nothing at all.
func TestNothingAsked(t *testing.T) {
	unreached := func(part func(l Probe) bool) func(a *Probes) {
		return func(a *Probes) {
			for i, l := range a.Looks {
				a.Looks[i].Unreached = l.Launch == "other" && l.Part == End && part(l)
			}
		}
	}
	for _, c := range []struct {
		name    string
		n       int
		change  func(a *Probes)
		holds   bool
		missing int
	}{
		{"all was asked", 64, func(*Probes) {}, true, 0},
		{"a launch without positions", 64, func(a *Probes) { a.All["third"] = map[string]map[Part]int{} }, false, 1},
		{"ends that no answer reached", 64, unreached(func(Probe) bool { return true }), false, 0},
		// Those that are left of answers that differ are the ones that agree.
		{"126 of 128 ends are known", 128, unreached(func(l Probe) bool { return l.Request >= 126 }), true, 0},
		{"104 of 128 ends are known", 128, unreached(func(l Probe) bool { return l.Request >= 104 }), false, 0},
		{"a cell that was measured, of which no answer was kept", 64, func(a *Probes) {
			for _, arm := range a.All {
				arm["code"] = map[Part]int{}
			}
		}, false, 1},
		{"a tenth of the answers hidden", 64, func(a *Probes) {
			a.All["other"]["chat"][Hidden] = a.All["other"]["chat"][First] / 10
		}, false, 1},
		{"openings that the parent does not have", 64, func(a *Probes) {
			a.All["other"]["chat"][Opening] = a.All["other"]["chat"][End]
		}, false, 0},
		{"recited", 64, func(a *Probes) {
			for i := range a.Looks {
				a.Looks[i].Recited = a.Looks[i].Launch == "other"
			}
		}, false, 0},
		{"nothing", 0, func(a *Probes) { *a = Probes{} }, false, 0},
	} {
		a := session(c.n, func(*rand.Rand, Probe) bool { return true })
		claim := Claim{Own: []string{"own"}, Other: []string{"other"}}
		if c.change(a); a.All["third"] != nil {
			claim.Other = append(claim.Other, "third")
		}
		if r := claim.Judge(a); r.Holds() != c.holds || r.Refuted() || c.missing > 0 && len(r.Missing) != c.missing {
			t.Errorf("%s: shown %v, refuted %v, %+v", c.name, r.Holds(), r.Refuted(), r)
		}
	}
}

func TestPositions(t *testing.T) {
	answer := func(i int, text string) *Answer {
		s := measure.Sample{Text: text}
		for _, w := range strings.SplitAfter(text, " ") {
			s.Events = append(s.Events, measure.Event{Kind: measure.KindText, Bytes: len(w)})
		}
		s.OutputTokens = len(s.Events)
		return &Answer{Request: i, Text: text, Starts: starts(text, s)}
	}
	var answers []*Answer
	for i := range 8 {
		answers = append(answers,
			answer(i,
				fmt.Sprintf("Sure, here is answer %d of what the river carries to the sea and what of it comes back "+
					"to the beach", i)))
	}
	got := positions(answers)
	// "Sure, here is answer " is what all open with.
	for _, p := range got[First] {
		if at := p.Answer.Starts[p.Token]; !strings.HasPrefix(p.Answer.Text[at:], fmt.Sprint(" ", p.Answer.Request)) {
			t.Errorf("the first token of its own is at %q", p.Answer.Text[at:])
		}
	}
	if n := len(got[First]) + len(got[Beginning]) + len(got[Middle]) + len(got[End]); len(got[First]) != 8 ||
		n != 8*18 {
		t.Errorf("%d first positions of %d", len(got[First]), n)
	}
	end := got[End][0]
	if !end.recitedIn(answers) || end.recitedIn([]*Answer{end.Answer}) {
		t.Errorf("what all answers end with is recited, and no answer by itself")
	}
}

// An answer has positions at its words, before whatever separates them, and one that is not
// the text that came has none.
func TestStarts(t *testing.T) {
	for text, want := range map[string]int{
		"one two three four": 4, "one\ntwo\u00a0three\tfour": 4,
		"onetwothreefour": 1, "one two ": 3,
	} {
		s := measure.Sample{OutputTokens: 8, Events: []measure.Event{{Kind: measure.KindText, Bytes: len(text)}}}
		if got := starts(text, s); len(got) != want {
			t.Errorf("%q: %v, want %d", text, got, want)
		}
	}
	if got := starts("[redacted]", measure.Sample{Events: []measure.Event{{Kind: measure.KindText, Bytes: 4}}}); got !=
		nil {
		t.Errorf("%v", got)
	}
}
