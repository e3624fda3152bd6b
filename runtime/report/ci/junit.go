// Package ci writes the contents of a state directory for continuous integration: as
// JUnit XML, and as Markdown for GitHub. It decides nothing.
package ci

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	counts
	Time   elapsed  `xml:"time,attr"`
	Suites []*suite `xml:"testsuite"`
}

type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type suite struct {
	Name string `xml:"name,attr"`
	counts
	Time      elapsed    `xml:"time,attr"`
	Timestamp string     `xml:"timestamp,attr,omitempty"`
	Cases     []testCase `xml:"testcase"`
}

type testCase struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Time    elapsed `xml:"time,attr"`
	Failure *said   `xml:"failure"`
	Error   *said   `xml:"error"`
	Skipped *said   `xml:"skipped"`
	Out     string  `xml:"system-out,omitempty"`
}

// elapsed is in seconds, written with three decimals.
type elapsed float64

// MarshalText is the value of an attribute.
func (s elapsed) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%.3f", s), nil }

type said struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// junit is a file in progress: the causes it has told, and the launches it has counted.
type junit struct {
	*report.Summary
	told    verdict.Page
	counted map[string]bool
}

// JUnit writes a suite for the run and one per phase, with a case per gate and feature,
// or per rule if their own tests decided them. It is red exactly if the newest apply does
// not end with 0: fail and inconclusive are failures; error, invalid, locked and undecided
// are errors; a waiver, and a feature that its phase's gate did without, are skipped, so
// both are visible.
func JUnit(w io.Writer, s *report.Summary) error {
	run := s.Run
	if run == nil {
		return report.ErrNothing
	}
	all, j := suites{Name: "mxflow " + run.Plan}, &junit{Summary: s, counted: map[string]bool{}}
	of := func(name string) *suite {
		for _, s := range all.Suites {
			if s.Name == name {
				return s
			}
		}
		all.Suites = append(all.Suites, &suite{Name: name, Timestamp: run.Started.UTC().Format("2006-01-02T15:04:05")})
		return all.Suites[len(all.Suites)-1]
	}
	ofRun := of("run")
	apply := testCase{Class: "run", Name: "mxflow apply finished"}
	apply.Out = "run " + run.ID + ": " + s.Answer.String()
	if why := verdict.Behind("run "+run.ID+" ", s.Unfinished()); why != "" {
		apply.Error = &said{why, "error", why}
	}
	ofRun.add(apply)
	unlocked := map[string]bool{} // the phases whose end unlocks later ones
	for _, r := range s.Rows {
		if r.Gate != "" && r.InForce() {
			unlocked[r.Gate] = r.Decided.Verdict.Unlocks() || r.Overruled.State == report.Waived
		}
	}
	for _, r := range s.Rows {
		// People follow features, gates and what must hold before either. Nodes below them appear
		// in their reasons.
		follow := r.Node == ledger.Baseline || r.Gate != "" || r.Feature != ""
		if d := r.Decided; d != nil {
			follow = d.Node == ledger.Baseline || d.Kind == ledger.KindStep && !d.Verdict.Unlocks() ||
				slices.Contains([]string{ledger.KindFeature, ledger.KindGate, ledger.KindPhase}, d.Kind)
		}
		if follow && !r.Gone {
			s := of("phase " + cmp.Or(r.Phase, ledger.Baseline))
			for _, k := range j.casesOf(r, unlocked[r.Phase]) {
				s.add(k)
			}
		}
	}
	if len(all.Suites) == 1 {
		ofRun.add(testCase{
			Class: "run", Name: "something was decided",
			Error: &said{"nothing was decided", "undecided", "nothing was decided"},
		})
	}
	for _, s := range all.Suites {
		all.Time += s.Time
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures,
			all.Errors+s.Errors, all.Skipped+s.Skipped
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

func (s *suite) add(k testCase) {
	k.Time = max(0, k.Time) // a clock may be set back during a run
	s.Tests, s.Time = s.Tests+1, s.Time+k.Time
	switch {
	case k.Failure != nil:
		s.Failures++
	case k.Error != nil:
		s.Errors++
	case k.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, k)
}

// casesOf are the cases of a node: one, or if its own tests decided it one of each of its
// rules. A case has one cause: what kept the rules from being tested is told in one case.
func (j *junit) casesOf(r report.Row, unlocked bool) (cases []testCase) {
	k := testCase{Class: cmp.Or(r.Phase, ledger.Baseline), Name: r.Node}
	d := r.Decided
	switch {
	case d == nil && r.Locked.Kind == code.NotTargeted.Kind:
		k.Skipped = &said{Message: r.Locked.String()}
		return []testCase{k}
	case d == nil && !r.Locked.IsZero():
		why := r.Locked.String()
		k.Error = &said{"locked: " + why, "locked", why}
		return []testCase{k}
	case d == nil:
		k.Error = &said{"not decided", "undecided", "not reached"}
		return []testCase{k}
	}
	excuse := ""
	if r.Overruled.State == report.Waived {
		excuse = verdict.Semicolons(r.Overruled.Reasons)
	} else if d.Kind == ledger.KindFeature && unlocked {
		excuse = "the gate of phase " + r.Phase + " does not need it"
	}
	k.Time = j.measured(d.Decision)
	// Its rules cover its outcome: what is invalid although they pass is in none of them.
	worst := verdict.Pass
	for _, rule := range d.Rules {
		if !rule.Verdict.Unlocks() && (rule.Decides || d.Kind != ledger.KindFeature) {
			worst = rule.Verdict
		}
	}
	if report.TestsDecided(d.Decision) && d.Verdict.Unlocks() == worst.Unlocks() {
		for i, rule := range d.Rules {
			one := k
			one.Name += ": " + rule.Name
			why := []string{rule.Brief()}
			if !rule.Verdict.Unlocks() {
				why = append(why, verdict.Lines(rule.Reasons)...)
			}
			if i == 0 {
				why = append(why, verdict.Lines(d.Marks())...)
			}
			recorded := excuse
			if !rule.Decides && d.Kind == ledger.KindFeature {
				recorded = cmp.Or(excuse, "recorded only")
			}
			one.came(rule.Verdict, strings.Join(why, "\n"), recorded)
			cases = append(cases, one)
			k.Time = 0
		}
		return cases
	}
	k.came(d.Verdict, strings.Join(report.ReasonLines(&j.told, d.Decision, report.Causes(d.Decision)), "\n"), excuse)
	return []testCase{k}
}

// measured is how long the launches took that a decision rests on, each counted in the first
// case that does.
func (j *junit) measured(d *ledger.Decision) (seconds elapsed) {
	ids := slices.Clone(d.Launches)
	for _, l := range j.Store.Launches(store.LaunchFilter{Node: d.Node + ".qualify"}) {
		ids = append(ids, l.ID)
	}
	for _, id := range ids {
		if l, known := j.Store.LaunchByID(id); known && !j.counted[id] {
			j.counted[id] = true
			seconds += elapsed(l.Seconds)
		}
	}
	return seconds
}

// came records an outcome in the case; an excuse is why it blocks nothing.
func (k *testCase) came(v verdict.Verdict, why, excuse string) {
	first, _, _ := strings.Cut(why, "\n")
	s := &said{string(v) + ": " + first, string(v), why}
	switch {
	case v.Unlocks():
		k.Out = why
	case excuse != "":
		k.Skipped = &said{Message: fmt.Sprintf("%s, but %s", v, excuse), Text: why}
	case v == verdict.Fail || v == verdict.Inconclusive:
		k.Failure = s
	default:
		k.Error = s
	}
}
