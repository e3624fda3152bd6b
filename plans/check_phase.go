package plans

// gatesThatLockNothing warns of a gate that no phase waits for, where a phase
// further down waits for nothing: an after was forgotten. Several last phases
// are fine, and so are phases side by side without gates.
func (c *planCheck) gatesThatLockNothing() {
	awaited := map[string]bool{}
	for _, ph := range c.plan.Phases {
		for _, name := range append(append([]string(nil), ph.After...), ph.AfterDecided...) {
			awaited[name] = true
		}
		for _, f := range ph.Features {
			if parent := c.ns.features[f.BuildsOn.Feature]; parent != nil && parent.Phase != ph.Name {
				awaited[parent.Phase] = true
			}
		}
	}
	var adrift *Phase // the last phase that waits for nothing
	for i := len(c.plan.Phases) - 1; i >= 0; i-- {
		ph := c.plan.Phases[i]
		if ph.Gate != nil && !awaited[ph.Name] && adrift != nil {
			c.warn(ph.Gate.Range, "Gate locks nothing", "No phase waits for phase %q, and phase %q, further down, waits for none: it starts even if this gate fails. Add after = [phase.%s] to it if it should not.", ph.Name, adrift.Name, ph.Name)
		}
		if !c.waits(ph) {
			adrift = ph
		}
	}
}

// waits reports whether a phase is connected to what is before it.
func (c *planCheck) waits(ph *Phase) bool {
	if len(ph.After)+len(ph.AfterDecided) > 0 {
		return true
	}
	for _, f := range ph.Features {
		if f.BuildsOn.Kind == OnFeature || f.BuildsOn.Kind == OnAccepted {
			return true
		}
	}
	return false
}
