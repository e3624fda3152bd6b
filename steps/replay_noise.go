package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// checkNoise computes the launch noise that stood before each session again, from
// the launches that the ledger holds before it, and compares with what the
// decision was floored by.
func (r *Replay) checkNoise(out *Replayed, d store.Decided) {
	for _, ev := range d.Evidence {
		if len(ev.Noise) == 0 {
			continue
		}
		addresses := slices.Sorted(maps.Keys(ev.Noise))
		again := r.noiseBefore(ev.Session, r.workOf(ev), addresses)
		for _, address := range addresses {
			was, now := ev.Noise[address], again[address]
			out.Numbers += 2
			if was.SD != now.SD || was.DF != now.DF {
				out.differ("noise", fmt.Sprintf("%s before session %s", address, ev.Session), noiseText(was.SD, was.DF), noiseText(now.SD, now.DF))
			}
		}
	}
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
