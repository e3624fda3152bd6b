package levels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// RecordedProfile is a qualification launch's profile.
type RecordedProfile struct {
	Launch *ledger.Launch
	Is     *trace.Analysis
	// On is what it is compared with; without a Model nothing is on record.
	On trace.Basis
}

func (r *RecordedProfile) String() string {
	return fmt.Sprintf("%s (launch %s of %s)", r.Launch.Variant, r.Launch.ID, verdict.Second(r.Launch.Started))
}

// FindProfile is the recorded profile of the baseline, or of a feature and, if there is one, of
// its parent.
func FindProfile(st *store.Store, feature string) (own, parent *RecordedProfile, err error) {
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
			return nil, nil, fmt.Errorf("the baseline has not been qualified yet: %w", store.ErrApplyFirst)
		}
		return nil, nil, fmt.Errorf("no feature %q on record: there is %s.%s", feature, lang.OrNothing(names),
			lang.DidYouMean(feature, names))
	}
	for _, id := range d.Launches { // the newest is the last
		if l, ok := st.LaunchByID(id); ok && l.Left[Analysis] != "" {
			if own, err = profileIn(st, l); err != nil {
				return nil, nil, err
			}
		}
	}
	if own == nil {
		return nil, nil, fmt.Errorf("%s has no profile on record: add a level profile to its protocol and apply",
			strings.TrimSuffix(node, ".qualify"))
	}
	if feature == "" {
		return own, nil, nil
	}
	parent, err = parentProfile(st, feature, own.Launch)
	return own, parent, err
}

// parentProfile is the newest profile of a feature's parent or, if the feature was not
// measured, of the baseline.
func parentProfile(st *store.Store, feature string, own *ledger.Launch) (*RecordedProfile, error) {
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
		if of, known := keys[l.VariantKey]; known && of == stacked && l.Left[Analysis] != "" {
			return profileIn(st, l)
		}
	}
	return nil, nil
}

func profileIn(st *store.Store, l *ledger.Launch) (*RecordedProfile, error) {
	is, err := AnalysisOf(st, l)
	if err != nil {
		return nil, err
	}
	on, err := BasisOfLaunch(st, l)
	return &RecordedProfile{l, is, on}, err
}
