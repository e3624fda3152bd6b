package engines

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Named finds an engine by "kind.name" or just its name.
func Named(p *plans.Plan, name string) (string, error) {
	var keys, fit []string
	for _, e := range p.Engines {
		key := e.Kind + "." + e.Name
		keys = append(keys, key)
		if name == key || name == e.Name {
			fit = append(fit, key)
		}
	}
	switch {
	case len(keys) == 0:
		return "", errors.New("the plan declares no engine: add an engine block")
	case name == "" && p.Baseline != nil:
		return p.Baseline.Engine, nil
	case name == "" && len(keys) == 1:
		return keys[0], nil
	case name == "":
		return "", fmt.Errorf("the plan has several engines and no baseline: name one of %s", strings.Join(keys, ", "))
	case len(fit) == 0:
		return "", fmt.Errorf("the plan has no engine %q: it has %s", name, strings.Join(keys, ", "))
	case len(fit) > 1:
		return "", fmt.Errorf("%q could be any of %s: give its kind too", name, strings.Join(fit, ", "))
	}
	return fit[0], nil
}

// Knobs reads --set flags.
func Knobs(p *plans.Plan, sets []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range sets {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: write it as KNOB=VALUE", text)
		}
		i := slices.IndexFunc(p.Knobs, func(k *plans.Knob) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--set %s: the plan has no knob %q; it has %s", text, name,
				lang.OrNothing(plans.Names(p.Knobs, func(k *plans.Knob) string { return k.Name })))
		}
		if p.Knobs[i].Value(value) == nil {
			names := p.Knobs[i].ValueNames()
			return nil,
				fmt.Errorf("--set %s: knob %s has no value %q; it has %s", text, name, value, lang.OrNothing(names))
		}
		values[name] = value
	}
	return values, nil
}
