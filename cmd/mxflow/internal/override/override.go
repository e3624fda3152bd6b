// Package override reads a person's override of an outcome: of which gate, until when, and why in
// one line. It records nothing.
package override

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// OneLine checks that a text fits on one line of a table.
func OneLine(flag, text string, most int, what string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", fmt.Errorf("--%s is missing or empty: give %s", flag, what)
	case !utf8.ValidString(text) || strings.IndexFunc(text, unicode.IsControl) >= 0:
		return "", fmt.Errorf("--%s contains unprintable characters: use plain text", flag)
	case len(text) > most:
		return "", fmt.Errorf("--%s is %d bytes long, the limit is %d: shorten it", flag, len(text), most)
	}
	return text, nil
}

// Standing is the standing decision about a node, or an error why there is none.
func Standing(st *store.Store, node string) (ledger.Decided, error) {
	switch r := report.RowsOf(st, time.Now()).At(node); {
	case !r.Locked.IsZero():
		return ledger.Decided{}, fmt.Errorf("%s is locked and undecided: %s", node, r.Locked.String())
	case r.InForce():
		return *r.Decided, nil
	}
	return ledger.Decided{},
		fmt.Errorf("%s was decided once but is no longer in the plan: there is nothing left to unlock", node)
}

// longestWaiver is the maximum duration of a waiver: a permanent one would be a changed
// rule that the plan does not show.
const longestWaiver = 366 * 24 * time.Hour

// Expiry parses the end of a waiver: a time from now, a day (its end, UTC), or an RFC
// 3339 instant.
func Expiry(text string, now time.Time) (time.Time, error) {
	const forms = "give a time from now (36h, 14d, 2w), a day (2026-12-24, to its end in UTC) or an instant " +
		"(2026-12-24T18:00:00+01:00)"
	text = strings.TrimSpace(text)
	at, err := time.Parse(time.RFC3339, text)
	if day, dayErr := time.Parse(time.DateOnly, text); dayErr == nil {
		at, err = day.Add(24*time.Hour-time.Second), nil
	}
	if text == "" {
		return at, fmt.Errorf("--expires is missing: every waiver ends; %s", forms)
	}
	if err != nil {
		d, err := fromNow(text)
		if err != nil {
			return at, fmt.Errorf("--expires %q is not a time: %s", text, forms)
		}
		at = now.Add(d).Round(time.Second)
	}
	at = at.UTC()
	switch {
	case !at.After(now):
		return at,
			fmt.Errorf("--expires %s is not in the future (now %s): %s", text, now.UTC().Format(time.RFC3339), forms)
	case at.Sub(now) > longestWaiver:
		return at,
			fmt.Errorf("--expires %s is more than a year away, the limit for a waiver: waive again then, or change "+
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

// Gate is the address of a gate that a person names by its phase.
func Gate(st *store.Store, name string) (string, error) {
	node, err := view.Node(st, runtime.PhaseID(name))
	if err != nil {
		if node, err = view.Node(st, name); err != nil {
			return "", err
		}
	}
	d, _, decided := st.Latest(node)
	gate := decided && runtime.Waivable(runtime.Kind(d.Kind))
	if r := report.RowsOf(st, time.Now()).At(node); !gate && (r.Gate == "" || r.Locked.IsZero()) {
		return "", fmt.Errorf("%s is not a gate: only the end of a phase can be waived, which unlocks the next one. "+
			"A waiver makes no measurement count and lets no feature into the stack", node)
	}
	return node, nil
}
