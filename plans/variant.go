package plans

import (
	"fmt"
	"maps"
	"sort"
)

// checkChanges refuses a feature that sets a knob to what its parent has
// already: the comparison would be of a thing with itself.
func (l *loader) checkChanges() {
	base := map[string]string{}
	for _, k := range l.plan.Knobs {
		base[k.Name] = k.Default
	}
	if l.plan.Baseline != nil {
		for knob, value := range l.plan.Baseline.Set {
			base[knob] = value
		}
	}
	children := map[string][]*featureNotes{}
	for _, n := range l.checks.order {
		if n.feature.BuildsOn.Kind == OnFeature {
			children[n.feature.BuildsOn.Feature] = append(children[n.feature.BuildsOn.Feature], n)
		}
	}
	// One map of values serves the whole walk: each feature changes it on the
	// way down and puts it back on the way up.
	var walk func(n *featureNotes, values map[string]string)
	walk = func(n *featureNotes, values map[string]string) {
		f := n.feature
		before := map[string]string{}
		for _, knob := range keysOf(f.Set) {
			before[knob] = values[knob]
			if values[knob] == f.Set[knob] {
				l.fail(n.setAt[knob], "Knob value does not change", "Knob %q is %q in the parent (%s) already, so setting it tests nothing. Set another value, or remove it.", knob, f.Set[knob], parentName(f))
			}
			values[knob] = f.Set[knob]
		}
		if c := f.Choose; c != nil {
			before[c.Knob] = values[c.Knob]
			if at, same := n.chooseAt[values[c.Knob]]; same {
				l.fail(at, "Knob value does not change", "Knob %q is %q in the parent (%s) already, so this alternative tests nothing: every alternative is compared with it anyway. Take it out of choose.", c.Knob, values[c.Knob], parentName(f))
			}
			// Which of them a child builds on is known only in a run.
			values[c.Knob] = ""
		}
		for _, child := range children[f.Name] {
			walk(child, values)
		}
		for knob, value := range before {
			values[knob] = value
		}
	}
	for _, n := range l.checks.order {
		switch n.feature.BuildsOn.Kind {
		case OnBaseline:
			walk(n, base)
		case OnAccepted:
			walk(n, l.underAny(n.feature, base))
		}
	}
}

// underAny is what the stack below a feature has for certain: what has been
// accepted is known only in a run, but a knob that no other feature sets to
// anything else has the baseline's value in every stack.
func (l *loader) underAny(f *Feature, base map[string]string) map[string]string {
	values := maps.Clone(base)
	for _, n := range l.checks.order {
		if n.feature == f {
			continue
		}
		for knob, value := range n.feature.Set {
			if value != base[knob] {
				delete(values, knob)
			}
		}
		if c := n.feature.Choose; c != nil {
			delete(values, c.Knob)
		}
	}
	return values
}

func parentName(f *Feature) string {
	switch f.BuildsOn.Kind {
	case OnFeature:
		return "feature." + f.BuildsOn.Feature
	case OnAccepted:
		return "accepted, whatever that will be: no other feature sets it to anything else"
	}
	return string(f.BuildsOn.Kind)
}

// checkProof refuses knob values that a variant uses under a protocol that
// proves kernels, and that say nothing by which they could be proved.
func (l *loader) checkProof() {
	proves := map[string]bool{}
	for _, p := range l.plan.Protocols {
		proves[p.Name] = p.Level("kernels") != nil
	}
	// user of a value by knob and value, for the message.
	users := map[[2]string]string{}
	use := func(knob, value, user string) {
		if _, known := users[[2]string{knob, value}]; !known {
			users[[2]string{knob, value}] = user
		}
	}
	visited := map[*featureNotes]bool{}
	any := l.plan.Baseline != nil && proves[l.plan.Baseline.Protocol]
	for _, n := range l.checks.order {
		if !proves[n.feature.Protocol] {
			continue
		}
		any = true
		// A variant has its ancestors' values too.
		for a := n; a != nil && !visited[a]; a = l.checks.features[a.feature.BuildsOn.Feature] {
			visited[a] = true
			for _, knob := range keysOf(a.feature.Set) {
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
	var keys [][2]string
	for key := range users {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i][0]+"\x00"+keys[i][1] < keys[j][0]+"\x00"+keys[j][1] })
	for _, key := range keys {
		k := l.checks.knobs[key[0]]
		if k == nil {
			continue
		}
		v := k.Value(key[1])
		if v == nil || !v.MustSee.Empty() || !v.MustNotSee.Empty() {
			continue
		}
		where := v.Range.hcl()
		detail := fmt.Sprintf(`Kernels are proved for every value in use, and nothing would show that %s has %s = %q. Add to this value: must_see { log = ["*what the engine logs then*"] }, or must_see { observed = { … } }, or must_not_see, or take the kernels level out of the protocol.`, users[key], k.Name, v.Name)
		if l.opts.Unproven {
			l.warn(where, "Unproven knob value", "%s", detail)
			continue
		}
		l.fail(where, "Unproven knob value", "%s", detail)
	}
}
