package plans

import "github.com/mxflow/mxflow/gates/verdict"

// Case is one test of a gate, or of a feature's criteria: given these
// measurements, this verdict is expected. Cases stand in files of their own
// (*.mxtest.hcl, *.mxtest.yaml) beside the plan.
type Case struct {
	Name string
	// Feature is set where a feature's criteria are decided, Phase where a gate is.
	Feature, Phase string
	// Given is what was measured, by feature; by "spec[short]" for an alternative
	// and "gemm@production" for a confirmation. What is not given is missing.
	Given map[string]*GivenFeature
	// Expect is the verdict of the whole; empty where only rules are looked at.
	Expect verdict.Verdict
	// ExpectRules are verdicts by the name of a rule or criterion.
	ExpectRules map[string]verdict.Verdict
	// ExpectChosen is the value that should win, of a feature that chooses.
	ExpectChosen string
	Range        Range
}

// Of names what the case is about: `feature gemm`, `gate cutlass`.
func (c *Case) Of() string {
	if c.Feature != "" {
		return "feature " + c.Feature
	}
	return "gate " + c.Phase
}

// GivenFeature is what a case says of one feature.
type GivenFeature struct {
	Feature  string
	Launches []GivenMetric
	// Levels are verdicts by level. What is not known of a level is absent.
	Levels map[string]verdict.Verdict
	// Knobs stand in place of the candidate's, as the plan sets them.
	Knobs map[string]string
	// Observed are words and truths that every launch of the candidate says.
	Observed map[string]any
	// Verdict is the feature's own, empty where it is not decided; Accepted says
	// whether it entered the stack.
	Verdict  verdict.Verdict
	Accepted bool
	// Noise is the launch noise that was recorded before, by address.
	Noise map[string]GivenNoise
}

// GivenMetric is what every launch of the arms has of one statistic of a metric.
type GivenMetric struct {
	// Address is without the statistic: "chat.tg". Stat is "median" unless the case
	// says otherwise.
	Address, Stat string
	Unit, Better  string
	// Requests is how many requests each launch's number comes from, 0 for what a
	// launch has once. Values is how many values that makes: gaps, for itl.
	Requests, Values int
	// Base, Candidate and Root are by round; nil where a launch does not have it.
	Base, Candidate, Root []*float64
}

// GivenNoise is the standard deviation of the logs of launches, with its degrees
// of freedom.
type GivenNoise struct{ SD, DF float64 }
