package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func newGCCommand(a *app) *cobra.Command {
	var keep, older string
	var yes bool
	c := &cobra.Command{
		Use:   "gc [PLAN]",
		Short: "Free space in the state directory",
		Long: `Lists what can be removed, and removes it with --yes: compiler caches, worktrees and
their builds, logs of finished runs, then raw data of launches behind no current
decision, least recently used first. --keep stops as soon as the state directory is no
larger than SIZE; --older-than keeps what was used since.

Caches and builds are recreated when needed. Raw data are gone for good: their digests
stay in the ledger, which records the removal, audit verify counts them, and audit
replay names the decisions that it can no longer make again. Plans and the ledger are
kept. No apply can be running.`,
		Example: "  mxflow gc --keep 20GB plan.hcl\n  mxflow gc --older-than 30d --yes plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if keep == "" && older == "" {
				return errors.New("say what to remove: --keep SIZE, --older-than DURATION, or both")
			}
			most, before, err := limits(keep, older, time.Now())
			if err != nil {
				return err
			}
			st, done, err := writer(a, args)
			if err != nil {
				return err
			}
			defer done()
			resting := map[string]bool{}
			for _, d := range report.Standing(st) {
				for _, id := range d.Launches {
					resting[id] = true
				}
			}
			all, total, err := st.Rooms(resting)
			if err != nil {
				return err
			}
			going, left := chosen(all, total, most, before)
			if yes {
				if err := st.Remove(going); err != nil {
					return a.fail(verdict.ExitBroken, err)
				}
			}
			printRoom(a, going, total, left, most, yes)
			return nil
		},
	}
	c.Flags().StringVar(&keep, "keep", "", "remove until the state directory is no larger than `SIZE` (20GB)")
	c.Flags().StringVar(&older, "older-than", "", "remove only what has not been used for this `DURATION` (30d, 12h)")
	c.Flags().BoolVar(&yes, "yes", false, "remove what the list shows")
	a.jsonFlag(c, "print as JSON")
	return c
}

// mostDays is more than the age of any state directory.
const mostDays = 36500

// limits are the values of --keep and --older-than: most is -1 without the first.
func limits(keep, older string, now time.Time) (most int64, before time.Time, err error) {
	most, before = -1, now.Add(time.Hour)
	if keep != "" {
		if most, err = units.FromHumanSize(keep); err != nil || most < 0 {
			return 0, before, fmt.Errorf("--keep %s: give a size such as 20GB or 500MB", keep)
		}
	}
	if older != "" {
		d, err := time.ParseDuration(older)
		if days, ok := strings.CutSuffix(older, "d"); ok {
			var n float64
			n, err = strconv.ParseFloat(days, 64)
			if !(n >= 0 && n <= mostDays) { // also for NaN
				d = -1
			} else {
				d = time.Duration(n * 24 * float64(time.Hour))
			}
		}
		if err != nil || d < 0 {
			return 0, before, fmt.Errorf("--older-than %s: give a duration such as 30d or 12h", older)
		}
		before = now.Add(-d)
	}
	return most, before, nil
}

// chosen are the items to remove, and what is left then.
func chosen(all []store.Room, total, most int64, before time.Time) (going []store.Room, left int64) {
	left = total
	for _, r := range all {
		if most >= 0 && left <= most {
			break
		}
		if r.Used.Before(before) {
			going, left = append(going, r), left-r.Bytes
		}
	}
	return going, left
}

func printRoom(a *app, going []store.Room, total, left, most int64, removed bool) {
	if a.json {
		a.printJSON(map[string]any{"going": append([]store.Room{}, going...), "bytes": total, "left": left, "removed": removed})
		return
	}
	var rows [][]string
	for _, r := range going {
		rows = append(rows, []string{r.Kind, r.Name, units.HumanSize(float64(r.Bytes)), tell.Minute(r.Used)})
	}
	if len(rows) > 0 {
		a.printTable([]string{"kind", "name", "size", "last used"}, rows)
		fmt.Fprintln(a.stdout)
	}
	if most >= 0 && left > most {
		fmt.Fprintf(a.stdout, "%s remain, more than --keep: the ledger, plans and raw data behind current decisions are kept.\n", units.HumanSize(float64(left)))
	}
	size := fmt.Sprintf("%s of %s", units.HumanSize(float64(total-left)), units.HumanSize(float64(total)))
	switch {
	case len(going) == 0:
		fmt.Fprintln(a.stdout, "Nothing to remove.")
	case removed:
		fmt.Fprintf(a.stdout, "Removed %s.\n", size)
	default:
		fmt.Fprintf(a.stdout, "Would remove %s. Nothing was removed; --yes removes it.\n", size)
	}
}
