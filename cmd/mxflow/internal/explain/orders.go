package explain

import (
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// sessionOrder is the order in which a session's launches were started.
type sessionOrder struct {
	Session string `json:"session"`
	// Order has a letter per launch, a group per round: "AB BA"; if rounds ran side by
	// side, one such per place: "gpu 0: AB BA, gpu 1: BA AB".
	Order string `json:"order"`
	// Arms are the letters' variants: "A baseline".
	Arms     []string     `json:"arms"`
	Launches []sessionRow `json:"launches"`
}

// sessionRow is one launch in the order of a session.
type sessionRow struct {
	// Number is the launch's in the progress output, and Order counts every start.
	Number  int    `json:"number"`
	Order   int    `json:"order"`
	Round   int    `json:"round"`
	Arm     string `json:"arm"`
	Launch  string `json:"launch"`
	Started string `json:"started"`
	// Aside is why the launch does not count; no fact if it does.
	Aside verdict.Reason `json:"aside,omitzero"`
}

// letters name the arms of a session.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// ordersOf are the sessions of a decision's launches, with every launch recorded before
// it, and their anomalies.
func ordersOf(st *store.Store, d store.Decided) (orders []sessionOrder, notes []verdict.Reason) {
	used := map[string]bool{}
	var sessions []string
	for _, id := range evidenceLaunches(d.Decision) {
		used[id] = true
		l, ok := st.LaunchByID(id)
		if !ok {
			notes = append(notes, verdict.New(code.LaunchUnrecorded).On(id))
			continue
		}
		if l.Purpose == ledger.ForBenchmark && !slices.Contains(sessions, l.Session) {
			sessions = append(sessions, l.Session)
		}
	}
	for _, session := range sessions {
		launches := before(st, d.Record, session)
		orders = append(orders, orderOf(session, launches, used))
		notes = append(notes, clockNotes(launches)...)
	}
	return orders, notes
}

// before are the launches of a session before a record, in starting order.
func before(st *store.Store, record int, session string) (launches []*ledger.Launch) {
	for i, r := range st.Records() {
		if i >= record {
			break
		}
		if r.Launch != nil && r.Launch.Session == session && r.Launch.Purpose == ledger.ForBenchmark {
			launches = append(launches, r.Launch)
		}
	}
	// By count and not by clock, which may be set back meanwhile.
	slices.SortStableFunc(launches, func(a, b *ledger.Launch) int { return a.Order - b.Order })
	return launches
}

func orderOf(session string, launches []*ledger.Launch, used map[string]bool) sessionOrder {
	out := sessionOrder{Session: session}
	letter := map[string]string{}
	var places []string
	texts, rounds, numbers := map[string]string{}, map[string]int{}, ledger.Numbers(launches)
	for _, l := range launches {
		if letter[l.Variant] == "" {
			at := min(len(out.Arms), len(letters)-1)
			letter[l.Variant] = letters[at : at+1]
			out.Arms = append(out.Arms, letter[l.Variant]+" "+l.Variant)
		}
		row := sessionRow{numbers[l.ID], l.Order, l.Ordinal, l.Variant, l.ID, l.Started.Local().Format(time.TimeOnly), asideOf(l)}
		counts := row.Aside.IsZero() // else another replaces it
		if counts && !used[l.ID] {
			row.Aside = verdict.New(code.NotRead)
		}
		out.Launches = append(out.Launches, row)
		if !counts {
			continue
		}
		on := l.PlaceName()
		switch {
		case texts[on] == "":
			places = append(places, on)
		case l.Ordinal != rounds[on]:
			texts[on] += " "
		}
		rounds[on] = l.Ordinal
		texts[on] += letter[l.Variant]
	}
	slices.Sort(places)
	for i, on := range places {
		if on != "" {
			places[i] = on + ": " + texts[on]
		} else {
			places[i] = texts[on]
		}
	}
	out.Order = strings.Join(places, ", ")
	return out
}

// asideOf is why a launch's measurement does not count.
func asideOf(l *ledger.Launch) verdict.Reason {
	switch {
	case !l.OK:
		return verdict.Say("aside.broke", "engine or harness error").From(l.Error)
	case len(l.Invalid) > 0:
		return verdict.Say("aside.invalid", "does not count").From(l.Invalid...)
	}
	return verdict.Reason{}
}

// clockNotes report where the clock went back between two launches: decisions use the
// order of the starts, and durations a monotonic clock. Launches side by side start at
// once, in any order: only those on one place tell.
func clockNotes(launches []*ledger.Launch) (notes []verdict.Reason) {
	before := map[string]*ledger.Launch{}
	for _, next := range launches {
		if l := before[next.PlaceName()]; l != nil && next.Started.Before(l.Started) {
			notes = append(notes, verdict.Say("explain.clock_back",
				"the machine's clock went back by {by} between the starts of {subject} and {next}; no number "+
					"depends on it",
				verdict.Dur("by", l.Started.Sub(next.Started)), verdict.Text("next", next.ID)).On(l.ID))
		}
		before[next.PlaceName()] = next
	}
	for i, l := range launches[:max(0, len(launches)-1)] {
		next := launches[i+1]
		if l.BootID != "" && next.BootID != "" && l.BootID != next.BootID {
			notes = append(notes, verdict.Say("explain.rebooted",
				"the machine was rebooted between {subject} and {next}",
				verdict.Text("next", next.ID)).On(l.ID))
		}
	}
	for _, l := range launches {
		if l.Replaces != "" {
			notes = append(notes, verdict.Say("explain.in_place_of",
				"launch {subject} replaces {other}, which did not count",
				verdict.Text("other", l.Replaces)).On(l.ID))
		}
	}
	return notes
}
