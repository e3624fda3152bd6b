package load

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// checkProof refuses knob values without evidence that a variant uses under a protocol
// that proves kernels, and evidence from a profile under a protocol that takes none.
func (l *loader) checkProof() {
	values := func(users map[[2]string]string) map[[2]string]*plans.KnobValue {
		used := map[[2]string]*plans.KnobValue{}
		for key := range users {
			if k := l.byName[key[0]]; k != nil && !k.Arms && k.Value(key[1]) != nil {
				used[key] = k.Value(key[1])
			}
		}
		return used
	}
	users := l.users(func(p *plans.Protocol) bool { return p.Level("kernels") != nil })
	for key, v := range sorted.By(values(users), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if !v.MustSee.Empty() || !v.MustNotSee.Empty() {
			continue
		}
		where := lang.HCL(v.Range)
		detail := fmt.Sprintf(
			`Every knob value in use needs evidence; %s = %q (%s) has none. Add to this value: ‹must_see { log = ["*what the engine logs then*"] }›, or ‹must_see { observed = { … } }›, or must_not_see, or remove the kernels level from the protocol.`, key[0], v.Name, users[key])
		if l.opts.Unproven {
			l.Warn(where, "unproven-knob-value", "Unproven knob value", "%s", detail)
			continue
		}
		l.Fail(where, "unproven-knob-value", "Unproven knob value", "%s", detail)
	}
	users = l.users(func(p *plans.Protocol) bool { return p.Level("profile") == nil })
	for key, v := range sorted.By(values(users), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if v.MustSee.Traced() || v.MustNotSee.Traced() {
			l.Fail(lang.HCL(v.Range), "trace-without-profile", "No profile for evidence",
				`%s = %q (%s) needs a profile as evidence, but its protocol takes none. Add ‹level "profile" {}› to the protocol, or name a line of the log instead of trace.`, key[0], v.Name, users[key])
		}
	}
}

// users names, by knob and value, one user of it under a protocol for which of holds.
func (l *loader) users(of func(*plans.Protocol) bool) map[[2]string]string {
	proves := map[string]bool{}
	for _, p := range l.plan.Protocols {
		proves[p.Name] = of(p)
	}
	users := map[[2]string]string{}
	use := func(knob, value, user string) {
		if _, known := users[[2]string{knob, value}]; !known {
			users[[2]string{knob, value}] = user
		}
	}
	visited := map[*featureNotes]bool{}
	any := l.plan.Baseline != nil && proves[l.plan.Baseline.Protocol]
	for _, n := range l.order {
		if !proves[n.feature.Protocol] {
			continue
		}
		any = true
		// A variant has its ancestors' values too.
		for a := n; a != nil && !visited[a]; a = l.features[a.feature.BuildsOn.Feature] {
			visited[a] = true
			for _, knob := range lang.KeysOf(a.feature.Set) {
				use(knob, a.feature.Set[knob], "feature."+a.feature.Name)
			}
			for _, alternative := range a.feature.Alternatives {
				use(a.feature.Choose.Knob, alternative.Set[a.feature.Choose.Knob], "feature."+alternative.Name)
			}
		}
	}
	if any {
		for _, k := range l.plan.Knobs {
			value := k.Default
			if l.plan.Baseline != nil && l.plan.Baseline.Set[k.Name] != "" {
				value = l.plan.Baseline.Set[k.Name]
			}
			use(k.Name, value, "baseline")
		}
	}
	return users
}
