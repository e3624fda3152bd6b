package apply

import (
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

type launchTime struct {
	// engine is the digest of the kind and the model that it loaded, variant and work the
	// keys of what was started and sent.
	engine, variant, purpose, work string
	// start is the time until it was ready, 0 if it was not measured; seconds.
	start, seconds float64
}

func engineKey(kind, model string) string { return runtime.ShortID(kind, model) }

// LaunchHistory are launches made before, oldest first.
type LaunchHistory struct{ all []launchTime }

// LaunchHistoryOf returns the launches of a state directory, which may be nil.
func LaunchHistoryOf(st *store.Store) *LaunchHistory {
	k := &LaunchHistory{}
	if st != nil {
		for _, l := range st.Launches(store.LaunchFilter{OK: true}) {
			k.add(l)
		}
	}
	return k
}

// newestWhere returns the newest launches of a sort, oldest first.
func (k *LaunchHistory) newestWhere(are func(launchTime) bool) (list []launchTime) {
	// As fast as now, not as many launches ago.
	const newest = 30
	for _, t := range k.all {
		if are(t) {
			list = append(list, t)
		}
	}
	return list[max(0, len(list)-newest):]
}

func (k *LaunchHistory) add(l *ledger.Launch) {
	model := variant.ModelOf(engine.Spec{Command: strings.Fields(l.Engine["command"])}, nil)
	t := launchTime{
		engine: engineKey(l.Engine["kind"], model), variant: l.VariantKey, purpose: l.Purpose, work: l.Work,
		start: l.Metrics["engine.startup_s"].Stats["median"], seconds: l.Seconds,
	}
	finite := !slices.ContainsFunc([]float64{t.start, t.seconds}, func(s float64) bool {
		return math.IsInf(s, 0) || math.IsNaN(s)
	})
	if l.OK && finite && t.seconds > 0 && t.start >= 0 {
		k.all = append(k.all, t)
	}
}
