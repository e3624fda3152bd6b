package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/agents"
	"github.com/mxflow/mxflow/engine/profile"
	"github.com/mxflow/mxflow/engine/roofline"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/levels"
)

// onRecord is a profile that a qualification launch left.
type onRecord struct {
	launch *ledger.Launch
	is     *profile.Analysis
	on     roofline.Basis
}

func (r *onRecord) String() string {
	return fmt.Sprintf("%s (launch %s of %s)", r.launch.Variant, r.launch.ID, tell.Second(r.launch.Started))
}

func (r *onRecord) forAgents() *agents.Profiled {
	if r == nil {
		return nil
	}
	return &agents.Profiled{Launch: r.launch.ID, Variant: r.launch.Variant, Is: r.is}
}

// namesPlan reports whether the first argument is a plan, or a folder with one, and no
// profile.
func namesPlan(arg string) bool {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return lang.IsPlanFile(arg)
	}
	entries, _ := os.ReadDir(arg)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return hasPlanName(e.Name()) })
}

// profileOfPlan shows what is on record of a plan.
func (a *app) profileOfPlan(args []string, kernels int, limits bool, on *served) error {
	feature := ""
	switch len(args) {
	case 1:
	case 2:
		feature = args[1]
	default:
		return fmt.Errorf("%s is a plan: name one feature behind it, not %s", args[0], strings.Join(args[1:], ", "))
	}
	st, err := a.reader(args[:1])
	if err != nil {
		return err
	}
	defer st.Close()
	own, parent, err := recordedProfile(st, feature)
	if err != nil {
		return err
	}
	switch {
	case a.json && parent != nil:
		a.printJSON(struct {
			Analysis *profile.Analysis `json:"analysis"`
			Parent   *profile.Analysis `json:"parent"`
			Diff     *profile.Diff     `json:"diff"`
		}{own.is, parent.is, profile.DiffOf(parent.is, own.is)})
		return nil
	case a.json && limits:
		a.printJSON(on.limited(own.is))
		return nil
	case a.json:
		a.printJSON(own.is)
		return nil
	}
	if !limits {
		on = &served{recorded: &own.on}
		if own.on.Model == nil {
			on = nil
		}
	}
	fmt.Fprintf(a.stdout, "%s\n", own)
	a.printProfile(own.is, kernels, on)
	if parent != nil {
		fmt.Fprintln(a.stdout)
		a.printProfileDiff(profile.DiffOf(parent.is, own.is), parent.String(), own.String(), kernels)
	}
	return nil
}

// recordedProfile is the profile on record of the baseline, or of a feature and, where there
// is one, of what it was measured against.
func recordedProfile(st *store.Store, feature string) (own, parent *onRecord, err error) {
	node := runtime.BaselineID
	if feature != "" {
		node = runtime.QualifyID(feature)
	}
	d, _, known := st.Latest(node)
	if !known {
		var names []string
		for _, other := range st.Decisions() {
			if f := other.Decision.Feature; f != "" && !slices.Contains(names, f) {
				names = append(names, f)
			}
		}
		if feature == "" {
			return nil, nil, fmt.Errorf("the baseline was not qualified yet: mxflow apply does that")
		}
		return nil, nil, fmt.Errorf("no feature %q on record: there is %s.%s", feature, lang.OrNothing(names), lang.DidYouMean(feature, names))
	}
	for _, id := range slices.Backward(d.Launches) {
		l, ok := st.LaunchByID(id)
		if !ok || l.Left[levels.Analysis] == "" {
			continue
		}
		r, err := profileIn(st, l)
		if err != nil {
			return nil, nil, err
		}
		if own == nil {
			own = r
		}
	}
	if own == nil {
		return nil, nil, fmt.Errorf("%s has no profile on record: add level \"profile\" {} to its protocol and apply", strings.TrimSuffix(node, ".qualify"))
	}
	if feature == "" {
		return own, nil, nil
	}
	parent, err = profileOfParent(st, feature, own.launch)
	return own, parent, err
}

// profileOfParent is the newest profile of the variant that a feature was measured against;
// where it was not measured, of the baseline.
func profileOfParent(st *store.Store, feature string, own *ledger.Launch) (*onRecord, error) {
	keys := map[string]bool{}
	if d, _, known := st.Latest(runtime.BenchmarkID(feature)); known {
		for _, id := range d.Launches {
			if l, ok := st.LaunchByID(id); ok && l.VariantKey != own.VariantKey {
				keys[l.VariantKey] = l.Variant != ledger.Baseline
			}
		}
	}
	stacked := false
	for _, stack := range keys {
		stacked = stacked || stack
	}
	if len(keys) == 0 {
		d, _, known := st.Latest(runtime.BaselineID)
		if !known {
			return nil, nil
		}
		for _, id := range d.Launches {
			if l, ok := st.LaunchByID(id); ok {
				keys[l.VariantKey] = false
			}
		}
	}
	for _, l := range slices.Backward(st.Launches(store.LaunchFilter{OK: true})) {
		if of, known := keys[l.VariantKey]; known && of == stacked && l.Left[levels.Analysis] != "" {
			return profileIn(st, l)
		}
	}
	return nil, nil
}

func profileIn(st *store.Store, l *ledger.Launch) (*onRecord, error) {
	is, err := levels.AnalysisOf(st, l)
	if err != nil {
		return nil, err
	}
	on, err := levels.HeldAgainst(st, l)
	return &onRecord{l, is, on}, err
}
