package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Override is what a person says against a gate's verdict: why, who and until when, or that an
// earlier one is withdrawn.
type Override struct {
	Reason, By, Expires string
	Revoke              bool
}

// Waiver is the waiver of the standing decision about a gate, with that decision and the waiver
// before it, or why there can be none.
func (o Override) Waiver(st *store.Store, node string, now time.Time) (w *ledger.Waiver, d ledger.Decided,
	old *ledger.Waiver, err error,
) {
	w = &ledger.Waiver{Reason: o.Reason, By: o.By, Expires: now, Revoked: o.Revoke}
	if !o.Revoke {
		if w.Expires, err = expiry(o.Expires, now); err != nil {
			return nil, d, nil, fmt.Errorf("--expires %w", err)
		}
	}
	newest, _, decided := st.Latest(node)
	row := RowsOf(st, now).At(node)
	if !(decided && runtime.Waivable(runtime.Kind(newest.Kind))) && (row.Gate == "" || row.Locked.IsZero()) {
		return nil, d, nil, fmt.Errorf("%s is not a gate: only the end of a phase can be waived, which unlocks the "+
			"next one. A waiver makes no measurement count and lets no feature into the stack", node)
	}
	switch {
	case !row.Locked.IsZero():
		err = fmt.Errorf("there is nothing to waive: %s is locked and undecided: %s", node, row.Locked.String())
	case !row.InForce():
		err = fmt.Errorf("there is nothing to waive: %s was decided once but is no longer in the plan: there is "+
			"nothing left to unlock", node)
	}
	if err != nil {
		return nil, d, nil, err
	}
	d, old = *row.Decided, st.Waiver(node)
	switch {
	case d.Verdict.Unlocks():
		err = fmt.Errorf("nothing to waive: %s %s, and the phases after it are unlocked", node, verdict.Did(d.Verdict))
	case !ledger.Overridable(d.Verdict):
		err = fmt.Errorf("%s %s, so there is no decision to waive. Fix the cause (%s) and run apply again",
			node, verdict.Did(d.Verdict), Brief(d.Decision))
	case w.Revoked && !old.Covers(d.Decision, now):
		err = fmt.Errorf("no waiver of %s is in force%s: nothing to revoke", node,
			verdict.Behind(": ", old.Effect(d.Decision, now).String()))
	}
	w.Node, w.Attempt, w.Verdict = d.Node, d.Attempt, d.Verdict
	return w, d, old, err
}

// longestWaiver is the maximum duration of a waiver: a permanent one would be a changed
// rule that the plan does not show.
const longestWaiver = 366 * 24 * time.Hour

// expiry parses the end of a waiver: a time from now, a day (its end, UTC), or an RFC
// 3339 instant.
func expiry(text string, now time.Time) (time.Time, error) {
	const forms = "give a time from now (36h, 14d, 2w), a day (2026-12-24, to its end in UTC) or an instant " +
		"(2026-12-24T18:00:00+01:00)"
	text = strings.TrimSpace(text)
	at, err := time.Parse(time.RFC3339, text)
	if day, dayErr := time.Parse(time.DateOnly, text); dayErr == nil {
		at, err = day.Add(24*time.Hour-time.Second), nil
	}
	if text == "" {
		return at, fmt.Errorf("is missing: every waiver ends; %s", forms)
	}
	if err != nil {
		d, err := fromNow(text)
		if err != nil {
			return at, fmt.Errorf("%q is not a time: %s", text, forms)
		}
		at = now.Add(d).Round(time.Second)
	}
	at = at.UTC()
	switch {
	case !at.After(now):
		return at,
			fmt.Errorf("%s is not in the future (now %s): %s", text, now.UTC().Format(time.RFC3339), forms)
	case at.Sub(now) > longestWaiver:
		return at,
			fmt.Errorf("%s is more than a year away, the limit for a waiver: waive again then, or change "+
				"the rule", text)
	}
	return at, nil
}

// fromNow parses a duration, including whole days and weeks.
func fromNow(text string) (time.Duration, error) {
	for unit, hours := range sorted.All(map[string]int{"d": 24, "w": 7 * 24}) {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 16)
			// Clamped far beyond longestWaiver and far from overflow.
			return time.Duration(min(n, 4000)) * time.Duration(hours) * time.Hour, err
		}
	}
	return time.ParseDuration(text)
}
