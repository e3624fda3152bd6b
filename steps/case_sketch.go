package steps

import (
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// sketch is measurements under which comparisons come out as wanted: what a case
// for them would give, by feature.
type sketch struct {
	plan *plans.Plan
	// margin is how far from a threshold its numbers stay, in parts of it.
	margin   float64
	features map[string]*sketched
}

// sketched is what a sketch gives of one feature.
type sketched struct {
	margin   float64
	metrics  []*sketchedMetric
	words    map[plans.InputKind]map[string]string
	accepted *bool
	truths   map[string]bool
}

func (s *sketch) of(feature string) *sketched {
	f := s.features[feature]
	if f == nil {
		f = &sketched{margin: s.margin, words: map[plans.InputKind]map[string]string{}, truths: map[string]bool{}}
		s.features[feature] = f
	}
	return f
}

func (f *sketched) word(kind plans.InputKind, name, value string) {
	if f.words[kind] == nil {
		f.words[kind] = map[string]string{}
	}
	f.words[kind][name] = value
}

// metric is the metric of an input, with what was asked of it before.
func (f *sketched) metric(in *plans.Input) *sketchedMetric {
	key := gates.NoiseKey(in)
	for _, m := range f.metrics {
		if m.key == key {
			return m
		}
	}
	m := &sketchedMetric{key: key, in: in, margin: f.margin}
	f.metrics = append(f.metrics, m)
	return m
}

// want asks for a rule's tree to come out as pass or as fail: every part of it,
// or only one comparison where the others are to come out the other way.
func (s *sketch) want(l *plans.Logic, pass bool, only *plans.Leaf) {
	switch l.Op {
	case plans.LogicCompare:
		s.leaf(l.Leaf, pass || only != nil && l.Leaf != only)
	case plans.LogicTruth:
		s.truth(l.Truth, (pass || only != nil) != l.Negated)
	default:
		for _, arg := range l.Args {
			s.want(arg, pass, only)
		}
	}
}

// truth sets a yes or no.
func (s *sketch) truth(in *plans.Input, yes bool) {
	f := s.of(in.Feature)
	switch {
	case in.Kind == plans.InputObserved:
		f.truths[in.Name] = yes
	case in.Name == "accepted":
		f.accepted = &yes
	case in.Name == "decided":
		f.word(plans.InputFeature, "verdict", string(verdict.Pass))
	}
}

// leaf asks for one comparison to come out as the rule wants, or the other way.
func (s *sketch) leaf(leaf *plans.Leaf, pass bool) {
	c := leaf.Claim
	if c == nil {
		return
	}
	if c.Form != verdict.Exact {
		m := s.of(c.Input.Feature).metric(c.Input)
		m.limits = append(m.limits, sketchLimit{in: c.Input, form: c.Form, at: c.Threshold, more: c.More == pass})
		return
	}
	in, constant, op := leaf.Left.Input, leaf.Right.Constant, leaf.Op
	if in == nil {
		in, constant, op = leaf.Right.Input, leaf.Left.Constant, plans.Turned(op)
	}
	if in == nil || constant == nil {
		return
	}
	wanted := pass != leaf.Negated
	switch in.Kind {
	case plans.InputMetric:
		if in.Counts() {
			s.counted(in, countFor(op, constant, wanted, firstLook, 40*firstLook))
			return
		}
		m := s.of(in.Feature).metric(in)
		if limit, ok := constant.(float64); ok && in.Ratio() {
			more := (op == ">" || op == ">=") == wanted
			m.limits = append(m.limits, sketchLimit{in: in, form: c.Form, at: limit, more: more})
			return
		}
		m.count = countFor(op, constant, wanted)
	default:
		for _, w := range s.wordsFor(in, constant) {
			if saysSo(op, w, constant) != wanted {
				continue
			}
			if in.Type == plans.BoolInput {
				s.truth(in, w == "true")
			} else {
				s.of(in.Feature).word(in.Kind, in.Name, w)
			}
			return
		}
	}
}

// firstLook is how many launches of an arm there are where nothing asks for
// another number.
const firstLook = 4

// counted asks for a number of launches, or of requests of all launches together.
func (s *sketch) counted(in *plans.Input, n *float64) {
	median := *in
	median.Stat = "median"
	m := s.of(in.Feature).metric(&median)
	switch {
	case n == nil:
	case in.Stat == "n":
		m.launches = int(*n)
	case m.launches > 0:
		m.requests = max(1, int(*n)/m.launches)
	default:
		m.requests = max(1, int(*n)/firstLook)
	}
}
