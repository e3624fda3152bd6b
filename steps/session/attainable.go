package session

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

// ofSteps are the metrics that follow from the duration of a phase's steps.
var ofSteps = map[string]string{
	"tg": trace.Decode, "tpot": trace.Decode, "itl": trace.Decode,
	"pp": trace.Prefill, "ttft": trace.Prefill, "ttfr": trace.Prefill,
}

// ofMost are the statistics that follow from most steps; a tail comes from steps that
// something else delayed.
var ofMost = []string{"median", "p50", "mean"}

// attainable is the most that can come of the kernels that a feature's hypothesis claims
// to make faster, by the newest profile of its parent: no fact if it names none.
func (l *Lab) attainable(f *plans.Feature, parent *variant.Variant) verdict.Reason {
	h := f.Hypothesis
	if of := l.Variants.Plan.Feature(f.Of); of != nil && len(of.Alternatives) > 0 && of.Alternatives[0].Name == f.Name {
		h = of.Hypothesis // reported once, for the first of its alternatives
	}
	if h == nil || len(h.Kernels) == 0 || h.Probe == nil {
		return verdict.Reason{}
	}
	claim := trace.Claim(h.Kernels)
	var kernels []string
	for _, category := range slices.Sorted(maps.Keys(claim)) {
		kernels = append(kernels, fmt.Sprintf("%s %g×", category, claim[category]))
	}
	made := verdict.List("kernels", kernels)
	unknown := func(why verdict.Reason) verdict.Reason {
		return verdict.Say("forecast.unforeseen",
			"{subject}: the gain from {kernels} as fast is unknown{causes?: {causes}}",
			made).On(h.Metric).From(why)
	}
	of := claimOf(h)
	if of == nil {
		return unknown(verdict.Say("forecast.not_relative", "{expect} is a level, not a change",
			verdict.Text("expect", h.Expect)))
	}
	phase := ofSteps[of.Metric.Metric]
	if phase == "" || !slices.Contains(ofMost, of.Metric.Stat) {
		return unknown(verdict.Say("forecast.not_of_steps",
			"{subject} does not follow from how long steps take; medians and means of tg, tpot, itl, pp, ttft "+
				"and ttfr do").On(h.Metric))
	}
	requests := l.concurrencyOf(of.Metric.Cell)
	if requests == 0 {
		return unknown(verdict.Say("forecast.not_closed", "an open loop has no number of requests at once"))
	}
	on, analysis, err := l.profileOf(parent)
	switch {
	case err != nil:
		return unknown(verdict.Say("forecast.profile_unread", "the profile cannot be used: {error}",
			verdict.Err(err)))
	case on == nil:
		return unknown(verdict.Say("forecast.unprofiled",
			`no profile of {subject} is on record (level "profile" takes one)`).On(parent.Name))
	}
	r, gain, why := mostIn(analysis, phase, requests, claim)
	if !why.IsZero() {
		return unknown(why)
	}
	// A latency improves downwards: a gain of 25% more steps per second is 20% less.
	most, beyond := gain.Most, of.AtLeast && of.Threshold > gain.Most
	if of.Metric.Better == string(measure.Lower) {
		most = 1/(1+gain.Most) - 1
		beyond = !of.AtLeast && of.Threshold < most
	}
	args := []verdict.Arg{
		made, verdict.Num("claimed", of.Threshold, "ratio"), verdict.Num("most", most, "ratio"),
		verdict.Num("saved", gain.Saved, "µs"),
		verdict.Span("step", r.Step.Low, r.Step.High, "µs"), verdict.Text("phase", r.Phase),
		verdict.Text("launch", on.ID),
	}
	if r.Step.Low == r.Step.High {
		args[4] = verdict.Num("step", r.Step.Low, "µs")
	}
	if beyond {
		return verdict.Say("forecast.unattainable",
			"warning: the hypothesis is out of reach: it claims {claimed~most} of {subject}, and {kernels} as "+
				"fast gives at most {most~claimed}, as it takes {saved:2} off a {phase} step of {step:3} (profile of "+
				"{launch})",
			args...).On(h.Metric)
	}
	return verdict.Say("forecast.attainable",
		"{subject}: at most {most} with {kernels} as fast, which takes {saved:2} off a {phase} step of {step:3} "+
			"(profile of {launch})",
		args...).On(h.Metric)
}

// mostIn is what the parts of an analysis allow that a metric follows from: those of its
// phase and, if several requests are served, of prompts, which delay others' decoding.
// The part that allows most counts.
func mostIn(a *trace.Analysis, phase string, requests int, claim trace.Claim) (best *trace.Roofline, gain trace.Gain,
	why verdict.Reason,
) {
	why = verdict.Say("forecast.no_part",
		"the profile has no {subject} at {requests|request|requests} at once whose steps are counted",
		verdict.Int("requests", requests)).On(phase)
	try := func(p *trace.Part) {
		r, err := trace.RooflineOf(p, trace.Basis{})
		if err != nil || !r.Timed() {
			return // as if it did not exist
		}
		g, unseen := r.Gain(claim)
		switch {
		case best != nil && len(unseen) > 0:
		case len(unseen) > 0:
			var has []string
			for _, row := range r.Rows {
				has = append(has, row.Category)
			}
			why = verdict.Say("forecast.no_kernels", "the profile shows no {subject} kernels; it has {has}",
				verdict.List("has", has)).On(unseen[0])
		case best == nil || g.Open || !gain.Open && g.Most > gain.Most:
			best, gain, why = r, g, verdict.Reason{}
		}
	}
	for i := range a.Parts {
		if p := &a.Parts[i]; p.Phase == phase && p.Requests == requests {
			try(p)
		}
	}
	for i := range a.Parts {
		if p := &a.Parts[i]; best != nil && requests > 1 && p.Phase == trace.Prefill {
			try(p)
		}
	}
	if gain.Open {
		why = verdict.Say("forecast.nothing_left",
			"these kernels overlap with others for the whole step, so there is no bound")
	}
	return best, gain, why
}

// claimOf is the change that a hypothesis claims; nil if it claims none.
func claimOf(h *plans.Hypothesis) *plans.Compare {
	if c := h.Probe.Cond.Compare; c.Form != verdict.Exact && c.Metric.Relation == plans.Change {
		return c
	}
	return nil
}

// concurrencyOf is the concurrency of a cell; 0 if unknown.
func (l *Lab) concurrencyOf(address string) int {
	for _, w := range l.Variants.Plan.Workloads {
		for _, c := range w.Cells() {
			if c.Address == address && !w.Open() {
				return max(c.Concurrency, 1)
			}
		}
	}
	return 0
}

// profileOf is the newest launch of a variant with a profile on record; nil if there is
// none.
func (l *Lab) profileOf(v *variant.Variant) (*ledger.Launch, *trace.Analysis, error) {
	if l.Launches.Store == nil {
		return nil, nil, nil
	}
	all := slices.DeleteFunc(l.Launches.Store.Launches(store.LaunchFilter{VariantKey: v.Key, OK: true}),
		func(l *ledger.Launch) bool { return l.Left[levels.Analysis] == "" || !decide.Usable(l) })
	if len(all) == 0 {
		return nil, nil, nil
	}
	on := all[len(all)-1]
	a, err := levels.AnalysisOf(l.Launches.Store, on)
	return on, a, err
}
