package plans

import (
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// exact reports whether an input has no noise that a threshold would have to
// stand clear of: words, outcomes, and what is counted. Numbers of the plan
// count as exact too.
func (in *Input) exact() bool {
	if in.Kind != InputMetric {
		return true
	}
	return in.Counts() || in.Stat != "std" && in.Stat != "cv" && in.occurs()
}

// occurs tells crashes, errors and tokens of requests, which occur or do not.
// Tokens a step (accept_length) are an average.
func (in *Input) occurs() bool {
	if in.Of == "count" {
		return true
	}
	m, ok := measure.LookupIn(in.Metric, measure.PerRequest)
	return ok && m.Unit == "tokens" && in.Cell != commandKind
}

// once tells what a launch has once and hardly varies between launches: memory,
// and numbers that an engine says of itself.
func (in *Input) once() bool {
	if in.Of == "GB" || strings.HasPrefix(in.Metric, "observed.") {
		return true
	}
	m, ok := measure.LookupIn(in.Metric, measure.PerLaunch)
	return ok && m.Observed && in.Cell == ""
}

// positive tells what is more than zero whatever happens, and has a logarithm.
func (in *Input) positive() bool {
	switch {
	case in.Relation != Own && in.Relation != Base, in.MayBeZero(), in.Stat == "std", in.Stat == "cv":
		return false
	case in.Cell == commandKind:
		return in.Better != "" // else it may be anything
	}
	return in.Metric != "itl" || in.Stat != "min" // tokens that come at once
}

// form is how a claim about an input is decided.
func (in *Input) form(threshold float64) verdict.Form {
	switch {
	case in.once():
		return verdict.Range
	case in.Ratio():
		return verdict.Ratio
	case in.Relation == Delta:
		return verdict.Difference
	case in.positive() && threshold > 0:
		return verdict.LogLevel
	}
	return verdict.Level
}

// baseOf reports whether base is the same number of the other arm as own.
func baseOf(own, base *Input) bool {
	if own.Kind != InputMetric || own.Relation != Own || base.Relation != Base {
		return false
	}
	a, b := own.quantity(), base.quantity()
	b.Relation, b.Root, b.Unsent, a.Unsent = Own, false, "", ""
	return a == b
}

// related makes up the input that compares own with its base.
func related(own, base *Input, rel Relation) *Input {
	in := *own
	in.Var, in.Relation, in.Root = "", rel, base.Root
	path := strings.TrimSuffix(own.Path, "."+own.Stat)
	if base.Root {
		path += ".root"
	}
	if own.Stat != "median" && own.Stat != "p50" {
		path += "." + own.Stat
	}
	in.Path = path + "." + string(rel)
	if rel == Change {
		in.Unit = ""
	}
	return &in
}

// apart takes a delta apart: the candidate's number and that of its base.
func apart(delta *Input) (own, base *Input) {
	o, b := *delta, *delta
	path := strings.TrimSuffix(strings.TrimSuffix(delta.Path, ".delta"), ".root")
	o.Path, o.Var, o.Relation, o.Root = path, "", Own, false
	b.Path, b.Var, b.Relation = path+".base", "", Base
	if delta.Root {
		b.Path = path + ".root"
	}
	return &o, &b
}
