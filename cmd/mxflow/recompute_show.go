package main

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// recomputation is what `show --recompute` found.
type recomputation struct {
	Run string `json:"run,omitempty"`
	// On is the architecture that it was recomputed on.
	On       string       `json:"recomputed_on"`
	Launches []recomputed `json:"launches"`
	// Doubtful are decisions that rest on launches which do not agree.
	Doubtful []string `json:"doubtful_decisions,omitempty"`
	Agrees   bool     `json:"agrees"`
}

// showRecomputed evaluates the launches of a run, those that its decisions rest
// on included, or one launch by its ID, and compares with what was stored.
func (a *app) showRecomputed(st *store.Store, id string) error {
	var out recomputation
	var launches []*ledger.Launch
	var decisions []store.Decided
	if l, ok := st.LaunchByID(id); ok {
		launches = []*ledger.Launch{l}
	} else {
		v, err := st.Run(id)
		if err != nil {
			return fmt.Errorf("%w; and no launch is called %q", err, id)
		}
		out.Run, launches, decisions = v.ID, launchesOf(st, v), v.Decisions
	}
	out.On = goruntime.GOARCH
	bad, found := map[string]bool{}, map[outcome]int{}
	for _, l := range launches {
		out.Launches = append(out.Launches, recompute(st, l))
	}
	out.Launches = append(out.Launches, unrecorded(st, decisions)...)
	for _, r := range out.Launches {
		found[r.Outcome]++
		bad[r.Launch] = r.Outcome == differs || r.Outcome == noRaw
	}
	for _, d := range decisions {
		if slices.ContainsFunc(d.Launches, func(id string) bool { return bad[id] }) {
			out.Doubtful = append(out.Doubtful, d.Node)
		}
	}
	out.Agrees = found[differs] == 0 && found[noRaw] == 0 && found[agrees]+found[within] > 0
	if a.json {
		a.printJSON(out)
	} else {
		a.printRecomputed(out, decisions, found)
	}
	switch {
	case found[differs] > 0:
		return a.fail(verdict.ExitFail, fmt.Errorf("%s not what %s raw data say", isAre(found[differs], "launch", "launches"), itsTheir(found[differs])))
	case found[noRaw] > 0:
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("%s without raw data cannot be recomputed", count(found[noRaw], "launch")))
	case !out.Agrees:
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("there is nothing to recompute: no launch has metrics that come from samples"))
	}
	return nil
}

// launchesOf are the launches of a run, and those of earlier runs that its
// decisions rest on.
func launchesOf(st *store.Store, v *store.RunView) []*ledger.Launch {
	out := slices.Clone(v.Launches)
	seen := map[string]bool{}
	for _, l := range out {
		seen[l.ID] = true
	}
	for _, d := range v.Decisions {
		for _, id := range d.Launches {
			if l, ok := st.LaunchByID(id); ok && !seen[id] {
				seen[id] = true
				out = append(out, l)
			}
		}
	}
	return out
}

// unrecorded are launches that decisions name and the ledger does not have.
func unrecorded(st *store.Store, decisions []store.Decided) (out []recomputed) {
	seen := map[string]bool{}
	for _, d := range decisions {
		for _, id := range d.Launches {
			if _, ok := st.LaunchByID(id); !ok && !seen[id] {
				seen[id] = true
				out = append(out, recomputed{Launch: id, Outcome: noRaw, Why: verdict.New(code.NoSuchLaunch)})
			}
		}
	}
	return out
}

func (a *app) printRecomputed(out recomputation, decisions []store.Decided, found map[outcome]int) {
	var rows, differences [][]string
	type ofLaunches struct {
		why      verdict.Reason
		launches []string
	}
	var why []ofLaunches
	numbers, metrics, elsewhere := 0, 0, map[string]bool{}
	for _, r := range out.Launches {
		rows = append(rows, []string{r.Launch, r.Variant, string(r.Outcome), fmt.Sprint(r.Metrics), fmt.Sprint(r.Numbers), fmt.Sprint(len(r.New))})
		for _, d := range r.Differ {
			differences = append(differences, []string{r.Launch, d.Address, d.What, d.Stored, d.Again})
		}
		if !r.Why.IsZero() {
			at := slices.IndexFunc(why, func(o ofLaunches) bool { return o.why.Equal(r.Why) })
			if at < 0 {
				at, why = len(why), append(why, ofLaunches{why: r.Why})
			}
			why[at].launches = append(why[at].launches, r.Launch)
		}
		for _, address := range r.Elsewhere {
			elsewhere[address] = true
		}
		numbers, metrics = numbers+r.Numbers, metrics+r.Metrics
	}
	if out.Run != "" {
		fmt.Fprintf(a.stdout, "run %s, recomputed from raw data\n\n", out.Run)
	}
	a.printTable([]string{"launch", "variant", "outcome", "metrics", "numbers", "new"}, rows)
	if len(differences) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable([]string{"launch", "metric", "what", "stored", "again"}, differences)
	}
	fmt.Fprintln(a.stdout)
	for _, of := range why {
		fmt.Fprintf(a.stdout, "%s: %s.\n", strings.Join(of.launches, ", "), tell.Line(of.why))
	}
	if len(elsewhere) > 0 {
		fmt.Fprintf(a.stdout, "Not from samples, and not compared: %s.\n", strings.Join(slices.Sorted(maps.Keys(elsewhere)), ", "))
	}
	if found[within] > 0 {
		fmt.Fprintf(a.stdout, "Where it says so, launches were recorded on another architecture than this one (%s), so statistics had to agree within %g only.\n", out.On, elsewhereTolerance)
	}
	if !out.Agrees {
		if len(out.Doubtful) > 0 {
			fmt.Fprintf(a.stdout, "Decisions that rest on launches which do not agree: %s.\n", strings.Join(out.Doubtful, ", "))
		}
		return
	}
	how := "bit for bit"
	if found[within] > 0 {
		how = "as said"
	}
	fmt.Fprintf(a.stdout, "Everything agrees %s: %s of %s in %s.\n", how, count(numbers, "number"), count(metrics, "metric"), count(found[agrees]+found[within], "launch"))
	if len(decisions) > 0 {
		fmt.Fprintf(a.stdout, "So what the rules of this run read agrees too: %s.\n", count(len(decisions), "decision"))
	}
}

func isAre(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, plural(n, one+" is", many+" are"))
}

func itsTheir(n int) string {
	return plural(n, "its", "their")
}
