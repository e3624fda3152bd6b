package plans

// joint is what conditions that have to hold together leave of each quantity.
type joint struct {
	c *planCheck
	// kind is what the rules are called: rule or criterion.
	kind string
	// side is set for one side of an or, which need not hold.
	side bool
	// outer is what holds besides, without being changed.
	outer *joint
	left  map[Input]remaining
	// either are the alternatives among them, which are looked at when everything
	// else is known.
	either []alternative
}

// alternative is an or that has to hold.
type alternative struct {
	rule  *Rule
	logic *Logic
}

// rule looks at the conditions of one rule, and at whether they can hold beside
// those of the rules before.
func (j *joint) rule(r *Rule, l *Logic) {
	for _, part := range l.parts() {
		switch {
		case part.Op == LogicOr:
			j.either = append(j.either, alternative{r, part})
			for _, side := range part.Args {
				inner := &joint{c: j.c, kind: j.kind, side: true} // what contradicts itself never holds, whatever else does
				inner.rule(r, side)
				inner.alternatives()
			}
			continue
		case part.Op == LogicCompare && !j.c.comparison(r, part.Leaf):
			continue
		}
		if f := factOf(j.kind, r, part); f != nil {
			if !j.side {
				j.c.worse(f)
			}
			if found := j.add(f); found != nil {
				j.c.clashes(found)
			}
		}
	}
}

// alternatives reports every or none of whose sides can hold.
func (j *joint) alternatives() {
	for _, a := range j.either {
		if found := j.refuted(a.rule, a.logic); len(found) > 0 {
			j.c.noSide(a.rule, found)
		}
	}
}

// refuted says why a condition cannot hold beside the others, side by side where it
// has several; nil where it may.
func (j *joint) refuted(r *Rule, l *Logic) (found []*clash) {
	if l.Op == LogicOr {
		for _, side := range l.Args {
			why := j.refuted(r, side)
			if why == nil {
				return nil
			}
			found = append(found, why...)
		}
		return found
	}
	inner := &joint{c: j.c, kind: j.kind, outer: j}
	for _, part := range l.parts() {
		if part.Op == LogicOr {
			continue
		}
		if f := factOf(j.kind, r, part); f != nil {
			if why := inner.add(f); why != nil && !why.point {
				return []*clash{why}
			}
		}
	}
	for _, part := range l.parts() {
		if part.Op == LogicOr {
			if why := inner.refuted(r, part); why != nil {
				return why
			}
		}
	}
	return nil
}

// add takes a condition into what has to hold. One that cannot hold is left out,
// so that it is reported once.
func (j *joint) add(f *fact) *clash {
	key := f.in.quantity()
	left := j.of(key, f.in)
	found := left.narrow(f)
	if found == nil {
		if j.left == nil {
			j.left = map[Input]remaining{}
		}
		j.left[key] = left
	}
	return found
}

func (j *joint) of(key Input, in *Input) remaining {
	for at := j; at != nil; at = at.outer {
		if left, ok := at.left[key]; ok {
			return left
		}
	}
	return remaining{interval: j.c.domain(in)}
}
