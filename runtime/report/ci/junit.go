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
	"time"

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
	Class     string  `xml:"classname,attr"`
	Name      string  `xml:"name,attr"`
	Time      elapsed `xml:"time,attr"`
	Timestamp string  `xml:"timestamp,attr,omitempty"`
	Failure   *said   `xml:"failure"`
	Error     *said   `xml:"error"`
	Skipped   *said   `xml:"skipped"`
	Out       string  `xml:"system-out,omitempty"`
}

// stamp is a time as JUnit writes it.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05") }

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
		all.Suites = append(all.Suites, &suite{Name: name})
		return all.Suites[len(all.Suites)-1]
	}
	ofRun := of("run")
	apply := testCase{Class: j.class("run"), Name: "mxflow apply finished", Timestamp: stamp(run.Started)}
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
			Class: j.class("run"), Name: "something was decided",
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
	if k.Timestamp != "" && (s.Timestamp == "" || k.Timestamp < s.Timestamp) {
		s.Timestamp = k.Timestamp
	}
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
	k := testCase{Class: j.class(cmp.Or(r.Phase, ledger.Baseline)), Name: r.Node}
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
	launches := report.EvidenceLaunches(d.Decision)
	for _, l := range j.Store.Launches(store.LaunchFilter{Node: d.Node + ".qualify"}) {
		launches = append(launches, l.ID)
	}
	k.Time, k.Timestamp = j.measured(append(slices.Clone(d.Launches), launches...)), j.began(launches)
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
			decided, text := decidedBy(rule), strings.TrimPrefix(rule.Brief(), rule.Name)
			if len(decided) > 0 {
				one.Timestamp = j.began(decided)
				text += ", by " + verdict.Launches(len(decided))
				if l, known := j.Store.LaunchByID(decided[0]); known {
					text += " of session " + l.Session
				}
			}
			why := []string{strings.TrimLeft(text, ":, ")}
			if !rule.Verdict.Unlocks() {
				why = append(why, verdict.Lines(rule.Reasons)...)
			}
			if i == 0 {
				why = append(why, verdict.Lines(d.Marks())...)
			}
			if len(decided) > 0 {
				why = append(why, "launches: "+strings.Join(decided, ", "))
			}
			recorded := excuse
			if !rule.Decides && d.Kind == ledger.KindFeature {
				recorded = cmp.Or(excuse, "recorded only")
			}
			one.came(rule.Verdict, string(rule.Verdict), strings.Trim(strings.Join(why, "\n"), "\n"), recorded)
			cases = append(cases, one)
			k.Time = 0
		}
		return cases
	}
	why := report.ReasonLines(&j.told, d.Decision, report.Causes(d.Decision))
	if len(launches) > 0 {
		why = append(why, "launches: "+strings.Join(launches, ", "))
	}
	k.came(d.Verdict, report.Word(d.Decision, false), strings.Join(why, "\n"), excuse)
	return []testCase{k}
}

// class is a part of the plan as a class in a package of the plan's name.
func (j *junit) class(part string) string {
	return strings.ReplaceAll(j.Run.Plan, ".", "_") + "." + part
}

// decidedBy are the launches of both arms by which the tests of a rule decided it; none where no number
// of launches did.
func decidedBy(r verdict.Rule) (ids []string) {
	for _, c := range r.Comparisons {
		t, n := c.Test, c.Test.N()
		if t == nil || c.Verdict != r.Verdict {
			continue
		}
		if n == 0 { // it reads all of them, as a range does
			n = max(len(t.Launches), len(t.BaseLaunches))
		}
		for _, arm := range [][]string{t.BaseLaunches, t.Launches} {
			for _, id := range arm[:min(n, len(arm))] {
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// began is when the first of some launches was started.
func (j *junit) began(ids []string) string {
	var first time.Time
	for _, id := range ids {
		if l, known := j.Store.LaunchByID(id); known && (first.IsZero() || l.Started.Before(first)) {
			first = l.Started
		}
	}
	if first.IsZero() {
		return ""
	}
	return stamp(first)
}

// measured is how long launches took, each counted in the first case that rests on it.
func (j *junit) measured(ids []string) (seconds elapsed) {
	for _, id := range ids {
		if l, known := j.Store.LaunchByID(id); known && !j.counted[id] {
			j.counted[id] = true
			seconds += elapsed(l.Seconds)
		}
	}
	return seconds
}

// came records an outcome and its word in the case; an excuse is why it blocks nothing.
func (k *testCase) came(v verdict.Verdict, word, why, excuse string) {
	first, _, _ := strings.Cut(why, "\n")
	s := &said{word + verdict.Behind(": ", first), string(v), why}
	switch {
	case v.Unlocks():
		k.Out = strings.TrimSpace(map[bool]string{true: word + "\n"}[word != string(v)] + why)
	case excuse != "":
		k.Skipped = &said{Message: fmt.Sprintf("%s, but %s", v, excuse), Text: why}
	case v == verdict.Fail || v == verdict.Inconclusive:
		k.Failure = s
	default:
		k.Error = s
	}
}
