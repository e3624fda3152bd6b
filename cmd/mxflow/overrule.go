package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// signature is who overrules a decision, and why: without both nobody could say
// later whether it was right.
type signature struct{ reason, by string }

func (s *signature) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.reason, "reason", "", "why, for those who read it later (required)")
	c.Flags().StringVar(&s.by, "by", "", "your name (required)")
}

func (s *signature) check() (err error) {
	if s.reason, err = oneLineFlag("reason", s.reason, 2000, "why"); err != nil {
		return err
	}
	s.by, err = oneLineFlag("by", s.by, 200, "who decides this")
	return err
}

// oneLineFlag is a text that can stand in one line of a table.
func oneLineFlag(flag, text string, most int, what string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", fmt.Errorf("--%s is missing or empty: say %s", flag, what)
	case !utf8.ValidString(text) || strings.IndexFunc(text, unicode.IsControl) >= 0:
		return "", fmt.Errorf("--%s holds what cannot be printed: write it as plain text", flag)
	case len(text) > most:
		return "", fmt.Errorf("--%s is %d bytes long, and at most %d are kept: say it shorter", flag, len(text), most)
	}
	return text, nil
}

// writer opens the state directory that a reader of these arguments would read,
// to record what a person decided. It is refused while an apply is at work there:
// what is overruled might change under the hands of both.
func writer(a *app, args []string) (st *store.Store, done func(), err error) {
	if st, done, err = opened(a, args); err != nil {
		return nil, nil, err
	}
	if signer := audit.Signer(a.stderr); signer != nil {
		if err := st.SignWith(signer, false); err != nil {
			fmt.Fprintln(a.stderr, "note:", err)
		}
	}
	return st, done, nil
}

// opened is writer for who signs what is there.
func opened(a *app, args []string) (st *store.Store, done func(), err error) {
	if len(args) > 0 && store.IsArchive(args[0]) {
		return nil, nil, fmt.Errorf("%s is an export, and nothing is recorded in one: name the plan", args[0])
	}
	seen, err := a.reader(args)
	if err != nil {
		return nil, nil, err
	}
	dir := seen.Dir()
	seen.Close()
	lock, err := store.Lock(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("nothing was recorded: %w", err)
	}
	if st, err = store.Open(dir); err != nil {
		_ = lock.Unlock() // the error that counts is the other one
		return nil, nil, err
	}
	for _, n := range st.Notices() {
		fmt.Fprintln(a.stderr, "note:", n)
	}
	return st, func() {
		_, _ = st.Close(), lock.Unlock()
		audit.Publish(dir, a.stderr)
	}, nil
}

// standingOf is the decision about a node that stands now, or why there is none.
func standingOf(st *store.Store, node string) (store.Decided, error) {
	for _, l := range report.Locked(st) {
		if l.Node == node {
			return store.Decided{}, fmt.Errorf("%s is locked and was not decided: %s", node, tell.Line(l.Cause))
		}
	}
	for _, d := range report.Standing(st) {
		if d.Node == node {
			return d, nil
		}
	}
	return store.Decided{}, fmt.Errorf("%s was decided once, and the plan has it no more: there is nothing left that it could unlock", node)
}

// longestWaiver is how long a waiver lasts at most: one for ever would be a
// changed rule that the plan does not show.
const longestWaiver = 366 * 24 * time.Hour

// expiry reads when a waiver ends: a time from now, a day (its end, UTC), or an
// instant as in RFC 3339.
func expiry(text string, now time.Time) (time.Time, error) {
	const forms = "give a time from now (36h, 14d, 2w), a day (2026-12-24, to its end in UTC) or an instant (2026-12-24T18:00:00+01:00)"
	text = strings.TrimSpace(text)
	at, err := time.Parse(time.RFC3339, text)
	if day, dayErr := time.Parse(time.DateOnly, text); dayErr == nil {
		at, err = day.Add(24*time.Hour-time.Second), nil
	}
	if text == "" {
		return at, fmt.Errorf("--expires is missing: a waiver ends some day; %s", forms)
	}
	if err != nil {
		d, err := fromNow(text)
		if err != nil {
			return at, fmt.Errorf("--expires %q is no time: %s", text, forms)
		}
		at = now.Add(d).Round(time.Second)
	}
	at = at.UTC()
	switch {
	case !at.After(now):
		return at, fmt.Errorf("--expires %s is not after now (%s): %s", text, now.UTC().Format(time.RFC3339), forms)
	case at.Sub(now) > longestWaiver:
		return at, fmt.Errorf("--expires %s is more than a year away, and a waiver lasts a year at most: waive again then, or change the rule", text)
	}
	return at, nil
}

// fromNow reads a duration; beyond Go's units, whole days and weeks.
func fromNow(text string) (time.Duration, error) {
	for unit, hours := range map[string]int{"d": 24, "w": 7 * 24} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 16)
			// Cut far beyond longestWaiver and far from overflow.
			return time.Duration(min(n, 4000)) * time.Duration(hours) * time.Hour, err
		}
	}
	return time.ParseDuration(text)
}
