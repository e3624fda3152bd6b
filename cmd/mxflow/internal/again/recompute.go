package again

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/replay"
)

// Recomputation is the result of `show --recompute`.
type Recomputation struct {
	Run string `json:"run,omitempty"`
	// On is the architecture that it was recomputed on.
	On       string              `json:"recomputed_on"`
	Launches []replay.Recomputed `json:"launches"`
	// Doubtful are decisions that rest on launches that do not agree.
	Doubtful []string `json:"doubtful_decisions,omitempty"`
	Agrees   bool     `json:"agrees"`
	// decided counts the decisions that rest on the launches.
	decided int
	found   map[replay.RawOutcome]int
}

// Recomputed evaluates the launches of a run, those that its decisions rest
// on included, or one launch by its ID, and compares with what was stored.
func Recomputed(st *store.Store, id string) (*Recomputation, error) {
	out := &Recomputation{On: goruntime.GOARCH, found: map[replay.RawOutcome]int{}}
	ids, decisions := []string{id}, []store.Decided(nil)
	if _, ok := st.LaunchByID(id); !ok {
		v, err := st.Run(id)
		if err != nil {
			return nil, fmt.Errorf("%w; nor is there a launch named %q", err, id)
		}
		out.Run, out.decided, decisions, ids = v.ID, len(v.Decisions), v.Decisions, nil
		for _, l := range v.Launches {
			ids = append(ids, l.ID)
		}
		for _, d := range decisions {
			ids = append(ids, d.Launches...)
		}
	}
	bad, seen := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		r := replay.Recomputed{Launch: id, Outcome: replay.RawMissing, Why: verdict.New(code.NoSuchLaunch)}
		if l, ok := st.LaunchByID(id); ok {
			r = replay.Recompute(st, l)
		}
		out.Launches = append(out.Launches, r)
		out.found[r.Outcome]++
		bad[id] = r.Outcome == replay.RawDiffers || r.Outcome == replay.RawDamaged || r.Outcome == replay.RawMissing
	}
	for _, d := range decisions {
		if slices.ContainsFunc(d.Launches, func(id string) bool { return bad[id] }) {
			out.Doubtful = append(out.Doubtful, d.Node)
		}
	}
	out.Agrees = out.found[replay.RawDiffers]+out.found[replay.RawDamaged]+out.found[replay.RawMissing] == 0 && out.agree() > 0
	return out, nil
}

// Verdict is the exit status, and what did not agree.
func (out *Recomputation) Verdict() (exit int, err error) {
	differ, damaged, missing := out.found[replay.RawDiffers], out.found[replay.RawDamaged], out.found[replay.RawMissing]
	switch {
	case differ == 1:
		return verdict.ExitFail, fmt.Errorf("1 launch contradicts its raw data")
	case differ > 1:
		return verdict.ExitFail, fmt.Errorf("%d launches contradict their raw data", differ)
	case damaged > 0:
		return verdict.ExitFail, fmt.Errorf("the raw data of %s are damaged", tell.Count(damaged, "launch"))
	case missing > 0:
		return verdict.ExitInconclusive, fmt.Errorf("cannot recompute %s without raw data", tell.Count(missing, "launch"))
	case !out.Agrees:
		return verdict.ExitInconclusive, fmt.Errorf("there is nothing to recompute: no launch has metrics from samples")
	}
	return 0, nil
}

// agree counts the launches that agree.
func (out *Recomputation) agree() int {
	return out.found[replay.RawAgrees] + out.found[replay.RawWithin]
}

// Print prints a line per launch, and each number that came out differently.
func (out *Recomputation) Print(on table.Screen) {
	var rows, differences [][]string
	why := map[string][]string{} // launches by what is wrong with their raw data
	numbers, metrics, elsewhere := 0, 0, map[string]bool{}
	for _, r := range out.Launches {
		rows = append(rows, []string{r.Launch, r.Variant, string(r.Outcome), fmt.Sprint(r.Metrics), fmt.Sprint(r.Numbers), fmt.Sprint(len(r.New))})
		for _, d := range r.Differ {
			differences = append(differences, []string{r.Launch, d.Address, d.What, d.Stored, d.Again})
		}
		if text := tell.Line(r.Why); text != "" {
			why[text] = append(why[text], r.Launch)
		}
		for _, address := range r.Elsewhere {
			elsewhere[address] = true
		}
		numbers, metrics = numbers+r.Numbers, metrics+r.Metrics
	}
	if out.Run != "" {
		fmt.Fprintf(on, "run %s, recomputed from raw data\n\n", out.Run)
	}
	on.Table([]string{"launch", "variant", "outcome", "metrics", "numbers", "new"}, rows)
	if len(differences) > 0 {
		fmt.Fprintln(on)
		on.Table([]string{"launch", "metric", "what", "stored", "again"}, differences)
	}
	fmt.Fprintln(on)
	for _, text := range slices.Sorted(maps.Keys(why)) {
		fmt.Fprintf(on, "%s: %s.\n", strings.Join(why[text], ", "), text)
	}
	if len(elsewhere) > 0 {
		fmt.Fprintf(on, "Not from samples, so not compared: %s.\n", strings.Join(slices.Sorted(maps.Keys(elsewhere)), ", "))
	}
	how := "bit for bit"
	if out.found[replay.RawWithin] > 0 {
		how = "as said"
		fmt.Fprintf(on, "Where noted, launches were recorded on another architecture than this one (%s), so statistics had to agree only within %g.\n", out.On, replay.ElsewhereTolerance)
	}
	if len(out.Doubtful) > 0 {
		fmt.Fprintf(on, "Decisions based on launches that do not agree: %s.\n", strings.Join(out.Doubtful, ", "))
	}
	if !out.Agrees {
		return
	}
	fmt.Fprintf(on, "Everything agrees %s: %s of %s in %s.\n", how, tell.Count(numbers, "number"), tell.Count(metrics, "metric"), tell.Count(out.agree(), "launch"))
	if out.decided > 0 {
		fmt.Fprintf(on, "So the inputs of this run's rules agree too: %s.\n", tell.Count(out.decided, "decision"))
	}
}
