package steps

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
)

// text is what a case gives of one feature, as attributes.
func (f *sketched) text(indent string, ownRoot bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, indent+format+"\n", args...) }
	if len(f.metrics) > 0 {
		line("launches = {")
		for _, m := range f.metrics {
			line("  %q = { %s }", m.key, m.text(m.solve(ownRoot)))
		}
		line("}")
	}
	pairs := func(name string, words map[string]string) {
		if len(words) == 0 {
			return
		}
		var list []string
		for _, key := range slices.Sorted(maps.Keys(words)) {
			list = append(list, key+" = "+quotedHCL(words[key]))
		}
		line("%s = { %s }", name, strings.Join(list, ", "))
	}
	pairs("levels", f.words[plans.InputLevel])
	pairs("knobs", f.words[plans.InputKnob])
	observed := []string{}
	for name, word := range f.words[plans.InputObserved] {
		observed = append(observed, name+" = "+quotedHCL(word))
	}
	for name, truth := range f.truths {
		observed = append(observed, fmt.Sprintf("%s = %v", name, truth))
	}
	if slices.Sort(observed); len(observed) > 0 {
		line("observed = { %s }", strings.Join(observed, ", "))
	}
	word := f.words[plans.InputFeature]["verdict"]
	if f.accepted != nil && word == "" {
		word = map[bool]string{true: "pass", false: "fail"}[*f.accepted]
	}
	if word != "" {
		line("verdict = %q", word)
	}
	if f.accepted != nil && *f.accepted != (word == "pass") {
		line("accepted = %v", *f.accepted)
	}
	return b.String()
}

// text is one metric as a case gives it.
func (m *sketchedMetric) text(s solved) string {
	var parts []string
	add := func(name string, v float64) {
		if !math.IsNaN(v) {
			parts = append(parts, name+" = "+rounded(v))
		}
	}
	switch base := s.base; {
	case !math.IsNaN(s.candidate):
		if math.IsNaN(base) && !math.IsNaN(s.ratio) {
			base = s.candidate / s.ratio
		} else if math.IsNaN(base) {
			base = s.candidate - s.delta
		}
		add("base", base)
		add("candidate", s.candidate)
	case !math.IsNaN(s.ratio):
		add("base", base)
		switch m.in.Better {
		case string(measure.Lower):
			add("gain", 1-s.ratio)
		case string(measure.Higher):
			add("gain", s.ratio-1)
		default:
			add("change", s.ratio-1)
		}
	case !math.IsNaN(s.delta):
		add("base", or(base, m.usual()))
		add("delta", s.delta)
	default:
		add("base", base)
	}
	add("root", s.root)
	if spread := m.spread(s); spread < usualCaseSpread {
		add("spread", spread)
	}
	if m.launches > 0 {
		add("launches", float64(m.launches))
	}
	if m.requests > 0 {
		add("requests", float64(m.requests))
	}
	return strings.Join(parts, ", ")
}

// usualCaseSpread is how launches differ in a case that does not say.
const usualCaseSpread = 0.005

// spread is less than usual where a level stands close to its limit, as a share
// that has to be almost 1 does.
func (m *sketchedMetric) spread(s solved) float64 {
	spread := usualCaseSpread
	for _, l := range m.limits {
		if v := s.candidate; l.in.Relation == plans.Own && !math.IsNaN(v) && v != 0 {
			spread = min(spread, math.Abs(v-l.at)/math.Abs(v)/15)
		}
	}
	return spread
}

// rounded is a number as a person would write it: the margin is wide enough.
func rounded(v float64) string {
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}
