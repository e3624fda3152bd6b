package steps

import (
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Noise is how much launches of one variant differed, by gates.NoiseKey: the
// standard deviation of the logs of their values, pooled over the variants of
// all sessions that sent the same work on the same machine. Launches are those
// before the session that is to be decided, so that a decision made again, with
// whatever was recorded since, rests on the same number.
func Noise(before []*ledger.Launch, keys []string) map[string]gates.Noise {
	type arm struct{ session, variant string }
	out := map[string]gates.Noise{}
	for _, key := range keys {
		address, stat := key, "median"
		if i := strings.LastIndexByte(key, '.'); i >= 0 && measure.IsStat(key[i+1:]) {
			address, stat = key[:i], key[i+1:]
		}
		groups := map[arm][]float64{}
		var order []arm
		for _, l := range before {
			v, ok := l.Metrics[address].Stats[stat]
			if !ok || !(v > 0) {
				continue
			}
			a := arm{l.Session, l.VariantKey}
			if groups[a] == nil {
				order = append(order, a)
			}
			groups[a] = append(groups[a], v)
		}
		var lists [][]float64
		for _, a := range order {
			lists = append(lists, groups[a])
		}
		if sd, df := stats.Pool(lists); df > 0 {
			out[key] = gates.Noise{SD: sd, DF: df}
		}
	}
	return out
}

// NoiseBefore are the launches that tell the noise of a session: benchmark
// launches that count, of the same work, that were recorded before its first.
func NoiseBefore(all []*ledger.Launch, session, work string) (out []*ledger.Launch) {
	for _, l := range all {
		if session != "" && l.Session == session {
			break
		}
		if l.Purpose == ledger.ForBenchmark && sound(l) && l.Work == work && work != "" {
			out = append(out, l)
		}
	}
	return out
}

// noiseKeys are those of the metrics that rules read of launches.
func noiseKeys(rules []*plans.Rule) (list []string) {
	seen := map[string]bool{}
	for _, r := range rules {
		if r == nil || r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Kind != plans.InputMetric {
				continue
			}
			if a := gates.NoiseKey(in); !seen[a] {
				seen[a] = true
				list = append(list, a)
			}
		}
	}
	return list
}
