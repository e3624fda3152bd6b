package plans

// PilotStep is the kind of step that finds out how many launches may stand side by side.
const PilotStep = "pilot"

// Pilot is what a step of that kind says.
type Pilot struct {
	// Within is by which share a launch's numbers may change beside neighbours.
	Within float64 `json:"within"`
	// Launches are those that are made alone, and as many beside neighbours.
	Launches int `json:"launches"`
}

// PilotOf is the plan's pilot, and the phase that it is in; nil where it has none.
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

// PilotRounds is how many rounds a pilot has: what it says, or else three on each place,
// since by how much launches vary is told on one place, and at least twelve.
func (p *Plan) PilotRounds(pilot Pilot) int {
	switch {
	case pilot.Launches > 0:
		return pilot.Launches
	case p.Executor == nil:
		return leastPilot
	}
	return max(leastPilot, 3*p.Executor.Places())
}

// leastPilot is how many rounds show of launches that vary by three quarters of what a pilot
// allows that neighbours are harmless, four times in five.
const leastPilot = 12
