package launch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// Places are where launches may run side by side, as the plan's executor divides this
// host; none if there is no executor, if it has other machines, or if one of the variants
// cannot run twice at once. The error names a device that does not exist.
func (l *Lab) Places(ctx context.Context, vs []*variant.Variant) ([]*ledger.Place, error) {
	if l.Variants.Plan.Executor == nil || l.Variants.Plan.Executor.IsRemote() || l.OnePlace(vs) {
		return nil, nil
	}
	l.placing.Do(func() { l.places, l.unplaced = l.divide(ctx) })
	return l.places, l.unplaced
}

// OnePlace reports whether launches of some variants run one after the other, however
// many places there are: one of them cannot run twice at once on this host.
func (l *Lab) OnePlace(vs []*variant.Variant) bool {
	return !l.Variants.Plan.Executor.IsRemote() &&
		slices.ContainsFunc(vs, func(v *variant.Variant) bool { return !canRunInParallel(v.Spec) })
}

// canRunInParallel reports whether a Spec can run several times at once, each on GPUs that it
// does not name.
func canRunInParallel(spec engine.Spec) bool {
	switch spec.How() {
	case engine.HowProcess:
		return spec.Port == 0
	case engine.HowDocker:
		return local(spec)
	}
	return false
}

// divide distributes the executor's GPUs.
func (l *Lab) divide(ctx context.Context) (places []*ledger.Place, err error) {
	x := l.Variants.Plan.Executor
	for i := range x.Places() {
		places = append(places, &ledger.Place{Name: "slot " + strconv.Itoa(i+1)})
	}
	if len(x.Devices) > 0 {
		all, err := machine.GPUs(ctx)
		if err != nil {
			return nil, fmt.Errorf("the executor names GPUs, but they cannot be listed: %w", err)
		}
		chosen, err := machine.ChooseGPUs(all, nil, x.Devices)
		if err != nil {
			return nil, err
		}
		if len(chosen) != len(x.Devices) {
			return nil, fmt.Errorf("the executor's devices %s name %d GPUs, some of them twice",
				strings.Join(x.Devices, ", "), len(chosen))
		}
		for _, g := range chosen[1:] { // rounds on other models would not be comparable
			if g.Name != chosen[0].Name {
				return nil, fmt.Errorf("the executor's devices are different models: GPU %d is %s and GPU %d is %s",
					chosen[0].Index, chosen[0].Name, g.Index, g.Name)
			}
		}
		for i, p := range places {
			var indices []string
			for _, g := range chosen[i*x.PerLaunch : (i+1)*x.PerLaunch] {
				p.GPUs, indices = append(p.GPUs, g.UUID), append(indices, strconv.Itoa(g.Index))
			}
			p.Name = "gpu " + strings.Join(indices, ",")
		}
	}
	return places, nil
}
