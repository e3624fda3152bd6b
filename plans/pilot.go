package plans

// PilotStep is the kind of step that finds out how many launches may run side by side.
const PilotStep = "pilot"

// Pilot is the content of such a step.
type Pilot struct {
	// Within is the share by which a launch's numbers may change beside neighbours.
	Within float64 `json:"within"`
	// Launches is how many launches are made alone, and as many beside neighbours.
	Launches int `json:"launches"`
}

// PilotOf is the plan's pilot, after its phase; nil if it has none.
func (p *Plan) PilotOf() (*Phase, *Block) {
	for _, ph := range p.Phases {
		for _, b := range ph.Steps {
			if b.Kind == PilotStep {
				return ph, b
			}
		}
	}
	return nil, nil
}

// PilotRounds is the number of rounds of a pilot: Launches if set, else three per place,
// since the variation of launches is estimated within one place, and at least twelve.
func (p *Plan) PilotRounds(pilot Pilot) int {
	switch {
	case pilot.Launches > 0:
		return pilot.Launches
	case p.Executor == nil:
		return leastPilot
	}
	return max(leastPilot, 3*p.Executor.Places())
}

// leastPilot is how many rounds show, four times in five, that neighbours are harmless if
// launches vary by three quarters of what a pilot allows.
const leastPilot = 12
