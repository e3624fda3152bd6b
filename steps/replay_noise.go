package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// checkNoise computes the launch noise that stood before each session again, from
// the launches that the ledger holds before it, and compares with what the
// decision was floored by: also where it records none, though launches before
// tell how its rules' metrics vary. Without its floor a test decides too soon.
func (r *Replay) checkNoise(out *Replayed, d store.Decided, rules replayRules) {
	for _, ev := range d.Evidence {
		addresses := slices.Collect(maps.Keys(ev.Noise))
		if ev.Broken == "" {
			addresses = append(addresses, noiseKeys(rules.reading(d, ev.Feature))...)
		}
		slices.Sort(addresses)
		addresses = slices.Compact(addresses)
		work, variants := r.armsOf(ev)
		now := r.noiseBefore(ev.Session, work, variants, addresses)
		was := map[string]gates.Noise{}
		for address, n := range ev.Noise {
			was[address] = gates.Noise(n)
		}
		for _, address := range addresses {
			was, recorded := was[address]
			now, there := now[address]
			if !recorded && !there {
				continue
			}
			out.Numbers += 2
			if was != now {
				out.differ("noise", fmt.Sprintf("%s before session %s", address, ev.Session), noiseText(was.SD, was.DF), noiseText(now.SD, now.DF))
			}
		}
	}
}

// reading are the compiled rules by which the noise of a piece of evidence was
// looked up: those of a gate that read its feature, and all of a feature's own.
func (rules replayRules) reading(d store.Decided, feature string) (out []*plans.Rule) {
	for _, part := range rules.parts {
		for _, r := range part.rules {
			if runtime.Kind(d.Kind) != runtime.KindGate || readsFeature([]*plans.Rule{r}, feature) {
				out = append(out, r)
			}
		}
	}
	return out
}

// armsOf is what was sent to the launches of a piece of evidence, and their variants.
func (r *Replay) armsOf(ev ledger.Evidence) (work string, variants []string) {
	for _, id := range slices.Concat(ev.Candidate.Launches, ev.Parent.Launches) {
		if l, ok := r.store.LaunchByID(id); ok {
			work, variants = l.Work, append(variants, l.VariantKey)
		}
	}
	slices.Sort(variants)
	return work, slices.Compact(variants)
}

// noiseBefore remembers what was pooled: most decisions of a session ask for the same.
func (r *Replay) noiseBefore(session, work string, variants, addresses []string) map[string]gates.Noise {
	key := strings.Join(slices.Concat([]string{session, work}, variants, addresses), " ")
	n, ok := r.noise[key]
	if !ok {
		n = Noise(NoiseBefore(r.store.Records(), session, work, variants...), addresses)
		r.noise[key] = n
	}
	return n
}

func noiseText(sd, df float64) string {
	if df == 0 {
		return "none"
	}
	return fmt.Sprintf("%v with %v degrees of freedom", sd, df)
}
