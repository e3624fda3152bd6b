package plans

// scope is where a rule stands.
type scope struct {
	// own is the feature that bare names belong to; nil when there is none.
	own *Feature
	// criterion is true in a feature, false in a gate.
	criterion bool
	// phase is the gate's.
	phase *Phase
	// earlier are phases that the gate's comes after, found when asked for and no
	// further than needed: most gates read what is close. open are those whose
	// own predecessors were not looked at yet, nearest first.
	earlier map[string]bool
	open    []*Phase
	// shown is set where values are shown and nothing is decided, so that a
	// comparison may be of any form; all are taken for exact.
	shown bool
	// trial is set where a suggestion is tried, which needs none of its own.
	trial bool
}

func (ns *namespace) gateScope(ph *Phase) *scope {
	sc := &scope{phase: ph, earlier: map[string]bool{}, open: []*Phase{ph}}
	if len(ph.Features) == 1 {
		sc.own = ph.Features[0]
	}
	return sc
}

// decidedBefore reports whether f is decided when the gate is: it belongs to the
// gate's phase or to one that this comes after, directly or not.
func (ns *namespace) decidedBefore(sc *scope, f *Feature) bool {
	if f.Phase == sc.phase.Name {
		return true
	}
	for len(sc.open) > 0 && !sc.earlier[f.Phase] {
		nearest := sc.open[0]
		sc.open = sc.open[1:]
		for _, list := range [][]string{nearest.After, nearest.AfterDecided} {
			for _, name := range list {
				if ph := ns.phases[name]; ph != nil && !sc.earlier[name] {
					sc.earlier[name] = true
					sc.open = append(sc.open, ph)
				}
			}
		}
	}
	return sc.earlier[f.Phase]
}
