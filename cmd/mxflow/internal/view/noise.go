package view

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

// Noise is how much the launches of arms that do not differ varied.
type Noise struct {
	Type    string           `json:"type"`
	Plan    string           `json:"plan"`
	Run     string           `json:"run"`
	Session string           `json:"session,omitempty"`
	Verdict verdict.Verdict  `json:"verdict"`
	Exit    int              `json:"exit"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	LogTail []string         `json:"log_tail,omitempty"`
	Engine  string           `json:"engine"`
	// Arms have Launches that count; these saw so many Tunes, and all of that work on
	// record so many Boots of the machine.
	Arms     int             `json:"arms"`
	Launches int             `json:"launches"`
	Tunes    int             `json:"tunes"`
	Boots    int             `json:"boots"`
	Metrics  []decide.Spread `json:"metrics"`

	pinned bool
}

// Count counts the arms and tunes of the launches that count.
func (n *Noise) Count(launches []*ledger.Launch) {
	arms, tunes := map[string]bool{}, map[any]bool{}
	for _, l := range launches {
		arms[l.VariantKey] = true
		if tune, seen := l.Observed["tune"]; seen {
			tunes[tune.Value] = true
		}
		n.pinned = l.Engine["caches.tuning"] == "pinned"
	}
	n.Arms, n.Launches, n.Tunes = len(arms), len(launches), len(tunes)
}

func (n *Noise) CountBoots(onRecord []*ledger.Launch) {
	boots := map[string]bool{}
	for _, l := range onRecord {
		boots[decide.BootOf(l)] = true
	}
	n.Boots = len(boots)
}

// Print prints the spreads as a table, what was not varied, and what is on record.
func (n *Noise) Print(on table.Screen) {
	fmt.Fprintln(on)
	if n.Verdict != verdict.Pass {
		on.Sentence(fmt.Sprintf("%s: %s", strings.ToUpper(string(n.Verdict)), verdict.Behind("", strings.Join(verdict.Lines(n.Reasons), "; "))))
		if len(n.LogTail) > 0 {
			fmt.Fprintf(on, "its log ended with\n  | %s\n", strings.Join(n.LogTail, "\n  | "))
		}
	}
	if len(n.Metrics) == 0 {
		on.Sentence("No launch of all arms counts, so nothing is known of its noise.")
		return
	}
	on.Sentence(fmt.Sprintf("engine.%s against itself: %s of %d arms that do not differ", n.Engine, verdict.Count(n.Launches, "launch"), n.Arms))
	fmt.Fprintln(on)
	spread := func(x *float64) string {
		switch {
		case x == nil:
			return "–"
		case *x == 0:
			return "none"
		case *x > 1:
			return ">100%"
		}
		return verdict.Digits(*x, "ratio", 0)[1:]
	}
	head := []string{"metric", "mean", "requests", "launches", "arms"}
	if n.Boots > 1 {
		head = append(head, "boots")
	}
	for _, r := range n.Metrics[0].Resolves {
		head = append(head, fmt.Sprint(r.Launches))
	}
	var rows [][]string
	pairs, differed := 0, []string{}
	for _, m := range n.Metrics {
		row := []string{m.Metric, verdict.Number(m.Mean, m.Unit), spread(m.Requests), spread(m.Launches), spread(m.Arms)}
		if n.Boots > 1 {
			row = append(row, spread(m.Boots))
		}
		for _, r := range m.Resolves {
			effect := spread(r.Effect)
			if effect == "none" {
				effect = "<0.1%" // launches that gave the same value resolve all but rounding
			}
			row = append(row, effect)
		}
		rows = append(rows, row)
		if pairs += m.Pairs; m.Differed > 0 {
			differed = append(differed, fmt.Sprintf("%s in %d of %d pairs", m.Metric, m.Differed, m.Pairs))
		}
	}
	on.Table(head, rows)
	fmt.Fprintln(on)
	on.Sentence("requests, launches, arms: the standard deviation within a launch, between launches of an arm, and between arms beyond that (none: no more than launches explain). 2, 4, 8: the smallest effect that so many launches per arm resolve, in 8 of 10 cases, by the noise on record.")
	fmt.Fprintln(on)
	switch {
	case pairs == 0:
		on.Sentence("The arms were not compared: a test takes 3 launches of each.")
	case len(differed) == 0:
		on.Sentence(fmt.Sprintf("No arm was shown to be faster than another, in %s by the plan's error rates.", verdict.Count(pairs, "comparison")))
	default:
		on.Sentence(fmt.Sprintf("Arms that do not differ were shown to differ: %s. A change of the engine would pass as wrongly: it is their caches or tunes, or the launches are not fresh.", strings.Join(differed, ", ")))
	}
	var tunes string
	switch {
	case n.Tunes == 0:
		tunes = "no tune was seen in the caches"
	case n.pinned:
		tunes = fmt.Sprintf("each arm kept one tune (%d seen), which is in arms", n.Tunes)
	default:
		tunes = fmt.Sprintf("each launch drew its tune (%d seen), which is in launches", n.Tunes)
	}
	boots := "one boot of the machine, so what a reboot changes is not in it"
	if n.Boots > 1 {
		boots = fmt.Sprintf("%d boots on record", n.Boots)
	}
	on.Sentence(fmt.Sprintf("Varied: %s; %s. Not varied: the machine and what is sent.", tunes, boots))
}
