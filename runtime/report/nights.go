package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/nights"
	"github.com/mxflow/mxflow/runtime/store"
)

// Night is one run of mxflow watch, as readers show it.
type Night struct {
	Time      time.Time           `json:"time"`
	Run       string              `json:"run"`
	Watched   string              `json:"watched"`
	Candidate ledger.Version      `json:"candidate"`
	Good      ledger.Version      `json:"good"`
	Anchor    ledger.Version      `json:"anchor"`
	Outcome   ledger.NightOutcome `json:"outcome"`
	// MachineChanged are parts of the machine that are others than the night before: what was measured
	// before is not continued.
	MachineChanged []string       `json:"machine_changed,omitempty"`
	Sessions       []NightSession `json:"sessions,omitempty"`
	// OverAnchor is the candidate against the anchor, by the metric that is nearest to what a rule forbids.
	// It is a product of nights if Chained is set.
	OverAnchor *NightChange       `json:"over_anchor,omitempty"`
	Chained    bool               `json:"chained,omitempty"`
	Found      *ledger.NightFound `json:"found,omitempty"`
	Why        verdict.Reason     `json:"why,omitzero"`
	By         string             `json:"by,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	// Undecided counts nights in a row, and Takes says what would decide. Slower are metrics that are
	// shown to be worse than the anchor's, within the rules.
	Undecided int              `json:"undecided,omitempty"`
	Takes     []verdict.Reason `json:"takes,omitempty"`
	Slower    []NightChange    `json:"slower,omitempty"`
	// Since is the night on which Good became last good, or of the alarm that is still open; zero if none is
	// on record.
	Since time.Time `json:"since,omitzero"`
}

// NightSession is a session that compared the candidate.
type NightSession struct {
	Against string          `json:"against"`
	Again   bool            `json:"again,omitempty"`
	Verdict verdict.Verdict `json:"verdict"`
	Brief   string          `json:"brief"`
	Changes []NightChange   `json:"changes,omitempty"`
	// Decision is what it rests on.
	Decision *ledger.Decision `json:"-"`
}

// NightChange is the relative change of a metric, with the bounds of the test that decided: absent if it
// had none.
type NightChange struct {
	Metric string   `json:"metric"`
	Change float64  `json:"change"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}

func changeOf(e nights.Effect) NightChange {
	c := NightChange{Metric: strings.TrimSuffix(e.Metric, ".median"), Change: e.Change(e.Is)}
	low, high := e.Change(e.Low), e.Change(e.High)
	if low > high {
		low, high = high, low
	}
	if !math.IsInf(e.Low, 0) && !math.IsInf(e.High, 0) {
		c.Low, c.High = &low, &high
	}
	return c
}

// String is "chat.tg -0.3% (-1.9% to +1.2%)".
func (c NightChange) String() string {
	if c.Low == nil {
		return c.Metric + " " + verdict.Percent(c.Change, 1)
	}
	is, low, high := verdict.FasterWithin(c.Change, *c.Low, *c.High)
	return fmt.Sprintf("%s %s (%s to %s)", c.Metric, is, low, high)
}

// NightsOf are the nights on record, oldest first, and what they add up to.
func NightsOf(st *store.Store) (list []Night, s nights.State) {
	since := map[string]time.Time{}
	var before *ledger.RunView
	for _, w := range st.Nights() {
		trials := nights.Trials(w, st.Attempt)
		n := nightOf(w, st)
		n.OverAnchor, n.Chained = overAnchor(s, w, trials)
		run, err := st.Run(w.Run)
		if err == nil && before != nil && w.Machine != "" && s.Machine != "" && w.Machine != s.Machine {
			n.MachineChanged = machineChanges(before, run)
		}
		if err == nil && w.Machine != "" {
			before = run
		}
		if n.Since = since[w.Good.ID]; s.Open != nil && w.Outcome == ledger.NightWorse {
			n.Since = s.Open.Time
		}
		s = s.After(w, trials)
		if s.Good.ID == w.Candidate.ID && w.Outcome != ledger.NightQuiet {
			since[s.Good.ID] = w.Time
		}
		n.Undecided = s.Undecided
		for _, x := range trials {
			for _, e := range x.Effects {
				if slices.Contains(s.Shifted(), e.Metric) && e.High < 0 &&
					(x.Against == ledger.AgainstAnchor || w.Good.ID == w.Anchor.ID) && !x.Again {
					n.Slower = append(n.Slower, changeOf(e))
				}
			}
		}
		list = append(list, n)
	}
	return list, s
}

func nightOf(w ledger.Watched, st *store.Store) Night {
	n := Night{
		Time: w.Time, Run: w.Run, Watched: w.Watched, Candidate: w.Candidate, Good: w.Good, Anchor: w.Anchor,
		Outcome: w.Outcome, Found: w.Found, Why: w.Why, By: w.By, Reason: w.Reason,
	}
	for _, t := range w.Sessions {
		d := st.Attempt(t.Node, t.Attempt)
		if d == nil {
			continue
		}
		x := NightSession{
			Against: t.Against, Again: t.Again, Verdict: d.Verdict, Brief: Brief(d), Decision: d,
		}
		for _, e := range nights.EffectsOf(d) {
			x.Changes = append(x.Changes, changeOf(e))
		}
		n.Sessions = append(n.Sessions, x)
		if w.Outcome == ledger.NightUndecided && d.Verdict == verdict.Inconclusive {
			n.Takes = append(n.Takes, takes(d)...)
		}
	}
	return n
}

// takes is what would decide the open rules of a decision.
func takes(d *ledger.Decision) (list []verdict.Reason) {
	for _, r := range d.Rules {
		if r.Verdict != verdict.Inconclusive {
			continue
		}
		for _, c := range r.Comparisons {
			if c.Test == nil {
				continue
			}
			for _, b := range c.Test.Remarks {
				if b.AnyOf(code.Settles, code.SettlesNever) {
					list = append(list, b.On(cmp.Or(b.Subject, r.Name)))
				}
			}
		}
	}
	return list
}

// overAnchor is the candidate of a night against the anchor: as a session measured it, or what the nights
// since multiply to.
func overAnchor(s nights.State, w ledger.Watched, trials []nights.Session) (c *NightChange, chained bool) {
	var good, anchor []nights.Effect
	for _, x := range trials {
		switch {
		case x.Again:
		case x.Against == ledger.AgainstAnchor || w.Good.ID == w.Anchor.ID:
			anchor = x.Effects
		default:
			good = x.Effects
		}
	}
	if w.Anchor.ID == s.Anchor.ID && (w.Machine == s.Machine || s.Machine == "") && anchor == nil {
		anchor, chained = s.Chained(good), true
	}
	if e := nights.Nearest(anchor); e != nil {
		of := changeOf(*e)
		return &of, chained
	}
	return nil, false
}

// machineChanges are the parts of the machine in which two runs differ.
func machineChanges(before, after *ledger.RunView) (changed []string) {
	if before.Start == nil || after.Start == nil {
		return nil
	}
	for name, is := range sorted.Union(before.Start.Environment, after.Start.Environment) {
		if is[0] != is[1] {
			changed = append(changed, fmt.Sprintf("%s %s → %s", name, cmp.Or(is[0], "none"), cmp.Or(is[1], "none")))
		}
	}
	return changed
}

// String is the night in a sentence, without a full stop: "main 5b1e77d2 raise the limit on 2026-11-30: moved;
// last good is 5b1e77d2; against the anchor v0.26.0 chat.tg -0.3% (-1.9% to +1.2%)".
func (n Night) String() string {
	good := n.Good
	if n.Outcome == ledger.NightMoved || n.Outcome == ledger.NightStart || n.Outcome == ledger.NightAccepted {
		good = n.Candidate
	}
	text := fmt.Sprintf("%s %s on %s: %s; last good is %s", n.Watched, Named(n.Candidate),
		n.Time.UTC().Format(time.DateOnly), n.Outcome, good.Short())
	if n.OverAnchor != nil && n.Anchor.ID != n.Candidate.ID {
		text += fmt.Sprintf("; against the anchor %s %s", Named(n.Anchor), n.OverAnchor)
	}
	return text
}

// Named is a version with what it is.
func Named(v ledger.Version) string { return strings.TrimSpace(v.Short() + " " + v.Title) }

// Followed is what followed from a night, for a table.
func (n Night) Followed() string {
	switch n.Outcome {
	case ledger.NightMoved, ledger.NightStart:
		return "last good"
	case ledger.NightAccepted:
		return fmt.Sprintf("last good, accepted by %s: %s", n.By, n.Reason)
	case ledger.NightAlarm, ledger.NightWorse:
		if n.Found != nil {
			return cmp.Or(n.Found.Said, n.Found.Outcome)
		}
	}
	return n.Why.String()
}

// NightBlocks are the newest nights of a watch, a row each, or all with most 0.
func (s *Summary) NightBlocks(most int) []Block {
	if len(s.Nights) == 0 {
		return nil
	}
	last := s.Nights[len(s.Nights)-1]
	b := Block{
		Title: "Nights of " + last.Watched,
		Table: Table{Head: []string{
			"night", "version", "verdict", "against last good", "against the anchor", "followed",
		}},
	}
	for i, n := range slices.Backward(s.Nights) {
		if most > 0 && i < len(s.Nights)-most {
			b.Notes = []string{fmt.Sprintf("%d earlier: mxflow report has all.", i+1)}
			break
		}
		row := []string{
			n.Time.UTC().Format(time.DateOnly), Named(n.Candidate),
			string(n.Outcome), "–", "–", n.Followed(),
		}
		for _, x := range n.Sessions {
			if x.Against == ledger.AgainstGood && !x.Again {
				row[3] = x.Brief + " vs " + n.Good.Short()
			}
		}
		if n.OverAnchor != nil {
			row[4] = n.OverAnchor.String()
			if n.Chained {
				row[4] = "≈ " + row[4]
			}
		}
		for _, c := range n.Slower {
			row[5] = strings.TrimPrefix(row[5]+"; slower than the anchor: "+c.String(), "; ")
		}
		b.Rows = append(b.Rows, row)
		if len(n.MachineChanged) > 0 { // below it are nights on another machine
			b.Rows = append(b.Rows, []string{
				"═══", "machine changed", strings.Join(n.MachineChanged, ", "), "═══", "═══", "not compared across",
			})
		}
	}
	b.Notes = append(b.Notes, fmt.Sprintf("The anchor is %s. ≈ multiplies the nights since a session measured "+
		"both, and their bounds.", Named(last.Anchor)))
	return []Block{b}
}
