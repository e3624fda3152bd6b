package engines

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

// Level finds a level by its name, or by its kind if that is unique: in the baseline's
// protocol first.
func Level(p *plans.Plan, name string) (*plans.Block, error) {
	protocols := slices.Clone(p.Protocols)
	if p.Baseline != nil {
		slices.SortStableFunc(protocols, func(a, b *plans.Protocol) int {
			first := func(pr *plans.Protocol) int {
				if pr.Name == p.Baseline.Protocol {
					return 0
				}
				return 1
			}
			return first(a) - first(b)
		})
	}
	var names []string
	for _, pr := range protocols {
		for _, b := range pr.Levels {
			switch {
			case b.Kind == plans.BenchmarkLevel || b.Kind == plans.RegressionLevel:
				continue
			case b.Level() == name:
				return b, nil
			}
			if !slices.Contains(names, b.Level()) {
				names = append(names, b.Level())
			}
		}
	}
	switch name {
	case plans.BenchmarkLevel:
		return nil, errors.New("level benchmark compares variants over several launches: mxflow apply runs it, and mxflow bench measures a running server")
	case plans.RegressionLevel:
		return nil, errors.New("level regression is decided from the launches of level benchmark: mxflow apply runs both")
	}
	return nil, fmt.Errorf("no protocol has a level %q; there are %s", name, orNone(names))
}

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
		return "", errors.New("the plan declares no engine")
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
			return nil, fmt.Errorf("--set %s: write it as knob=value", text)
		}
		i := slices.IndexFunc(p.Knobs, func(k *plans.Knob) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--set %s: the plan has no knob %q; it has %s", text, name, orNone(plans.Names(p.Knobs, func(k *plans.Knob) string { return k.Name })))
		}
		if p.Knobs[i].Value(value) == nil {
			names := p.Knobs[i].ValueNames()
			return nil, fmt.Errorf("--set %s: knob %s has no value %q; it has %s", text, name, value, orNone(names))
		}
		values[name] = value
	}
	return values, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none at all"
	}
	return strings.Join(names, ", ")
}
