package load

import (
	"slices"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// checkPilot refuses a pilot without neighbours to try, and launches that would not wait
// for its result.
func (c *planCheck) checkPilot() {
	in, pilot := c.plan.PilotOf()
	if pilot == nil {
		return
	}
	at, x := lang.HCL(pilot.Range), c.plan.Executor
	if c.plan.Baseline == nil {
		c.Fail(at, "pilot", "Pilot without a baseline", "A pilot launches the baseline, alone and with copies of itself as neighbours. Add: baseline { engine = engine.kind.name, protocol = protocol.name }, each on its own line.")
	}
	switch {
	case x == nil || x.Elsewhere():
		c.Fail(at, "pilot", "Pilot without a local executor", "A pilot finds out how many launches can run side by side on this host, which needs an executor. Add: executor \"local\" { slots = 4 }, or remove the step.")
	case x.Slots < 2:
		c.Fail(at, "pilot", "Pilot without neighbours", "The executor runs one launch at a time, so none has a neighbour. Raise slots, or remove the step.")
	}
	for _, ph := range c.plan.Phases {
		for _, b := range ph.Steps {
			switch {
			case b.Kind == plans.PilotStep && b != pilot:
				c.Fail(lang.HCL(b.Range), "pilot", "Second pilot", "Step pilot.%s of phase %s already finds the number of parallel launches for the whole plan. Remove one.", pilot.Name, in.Name)
			case (b.Kind == plans.CompareStep || b.Kind == plans.MatrixStep) && !c.follows(ph, in, map[string]bool{}) && (ph != in || slices.Index(ph.Steps, b) < slices.Index(ph.Steps, pilot)):
				c.Fail(lang.HCL(b.Range), "pilot", "Launches before the pilot", "Step %s.%s does not wait for step pilot.%s, which finds out how many of its launches can run in parallel. Put it after the pilot, or into a phase that comes after phase %s.", b.Kind, b.Name, pilot.Name, in.Name)
			}
		}
		if len(ph.Features) > 0 && ph != in && !c.follows(ph, in, map[string]bool{}) {
			c.Fail(lang.HCL(ph.Range), "pilot", "Launches before the pilot", "Features of phase %s do not wait for step pilot.%s, which finds out how many of their launches can run in parallel. Add to the phase: after = [phase.%s].", ph.Name, pilot.Name, in.Name)
		}
	}
}

// follows reports whether a phase comes after another, at any distance.
func (c *planCheck) follows(ph, other *plans.Phase, seen map[string]bool) bool {
	for _, name := range slices.Concat(ph.After, ph.AfterDecided) {
		before := c.plan.Phase(name)
		if before == nil || seen[name] {
			continue
		}
		seen[name] = true
		if before == other || c.follows(before, other, seen) {
			return true
		}
	}
	return false
}
