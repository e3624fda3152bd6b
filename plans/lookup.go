package plans

// Engine is the engine "kind.name", nil where the plan has none.
func (p *Plan) Engine(key string) *Engine {
	return find(p.Engines, func(e *Engine) bool { return e.Kind+"."+e.Name == key })
}

// Knob is the knob of that name, nil where the plan has none.
func (p *Plan) Knob(name string) *Knob {
	return find(p.Knobs, func(k *Knob) bool { return k.Name == name })
}

// Value is the knob's value of that name, nil if it has none.
func (k *Knob) Value(name string) *KnobValue {
	return find(k.Values, func(v *KnobValue) bool { return v.Name == name })
}

// Workload is the workload of that name, nil where the plan has none.
func (p *Plan) Workload(name string) *Workload {
	return find(p.Workloads, func(w *Workload) bool { return w.Name == name })
}

// Protocol is the protocol of that name, nil where the plan has none.
func (p *Plan) Protocol(name string) *Protocol {
	return find(p.Protocols, func(q *Protocol) bool { return q.Name == name })
}

// Target is the target of that name, nil where the plan has none.
func (p *Plan) Target(name string) *Target {
	return find(p.Targets, func(t *Target) bool { return t.Name == name })
}

// Phase is the phase of that name, nil where the plan has none.
func (p *Plan) Phase(name string) *Phase {
	return find(p.Phases, func(ph *Phase) bool { return ph.Name == name })
}

// Feature is the feature of that name in whichever phase, nil where the plan
// has none.
func (p *Plan) Feature(name string) *Feature {
	for _, ph := range p.Phases {
		if f := find(ph.Features, func(f *Feature) bool { return f.Name == name }); f != nil {
			return f
		}
	}
	return nil
}

// find is the first element that fits. Plans are small, and those who look up
// often make their own map.
func find[T any](list []*T, fits func(*T) bool) *T {
	for _, e := range list {
		if fits(e) {
			return e
		}
	}
	return nil
}
