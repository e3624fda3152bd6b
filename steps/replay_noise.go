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
		again := r.noiseBefore(ev.Session, r.workOf(ev), addresses)
		for _, address := range addresses {
			was, recorded := ev.Noise[address]
			now, there := again[address]
			if !recorded && !there {
				continue
			}
			out.Numbers += 2
			if was.SD != now.SD || was.DF != now.DF {
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

// workOf is what was sent to the launches of a piece of evidence.
func (r *Replay) workOf(ev ledger.Evidence) string {
	for _, id := range slices.Concat(ev.Candidate.Launches, ev.Parent.Launches) {
		if l, ok := r.store.LaunchByID(id); ok {
			return l.Work
		}
	}
	return ""
}

func (r *Replay) noiseBefore(session, work string, addresses []string) map[string]gates.Noise {
	key := session + " " + work + " " + strings.Join(addresses, " ")
	if n, ok := r.noise[key]; ok {
		return n
	}
	n := Noise(NoiseBefore(r.store.Launches(store.LaunchFilter{}), session, work), addresses)
	r.noise[key] = n
	return n
}

func noiseText(sd, df float64) string {
	if df == 0 {
		return "none"
	}
	return fmt.Sprintf("%v with %v degrees of freedom", sd, df)
}
