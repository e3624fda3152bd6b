package gates

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Settings are how a set of rules is decided.
type Settings struct {
	// FalsePass, FalseFail, Min and Max are those of the plan's decision block; Max is
	// less if a benchmark makes fewer launches.
	FalsePass, FalseFail float64
	Min, Max             int
	// Alternatives is how many candidates compete for one place (choose): each gets an
	// equal part of the false pass rate. 0 and 1 are the same.
	Alternatives int
	// Noise is the stored launch noise by metric address ("chat.tg", and
	// "chat.ttft.p99" for a statistic that is not the median): the standard deviation
	// of the logs of launches.
	Noise map[string]verdict.Noise
}

// Decide decides rules that must all hold, each from the launches there are. The error
// budget is shared among them, as under one "and".
//
// Every input is checked to be present, finite and from enough samples before anything is
// compared: expr-lang calls !(NaN < 0.95) true, so nothing missing may reach it.
func Decide(rules []*plans.Rule, ev *Evidence, s Settings) []verdict.Rule {
	d := &decider{rules: rules, ev: ev, settings: s, shares: shares(rules, s.Alternatives)}
	out := make([]verdict.Rule, len(rules))
	for i, rule := range rules {
		out[i] = d.rule(rule)
	}
	return out
}

// decider decides the rules of one decision.
type decider struct {
	rules    []*plans.Rule
	ev       *Evidence
	settings Settings
	shares   map[*plans.Compare]share
	// cache holds the comparisons of a cell that several rules ask for.
	cache map[string]*shift
}

func (d *decider) feature(in *plans.Input) *Feature {
	if d.ev == nil || in == nil {
		return nil
	}
	return d.ev.Features[in.Feature]
}

// most is the maximum of launches per arm in the benchmark behind an input.
func (d *decider) most(in *plans.Input) int {
	if f := d.feature(in); f != nil && f.Max > 0 {
		return f.Max
	}
	return d.settings.Max
}

// design is the looks for a test of an input, none before first, and their error rates.
func (d *decider) design(in *plans.Input, first int) (stats.Design, error) {
	most, falsePass := d.most(in), d.settings.FalsePass
	if f := d.feature(in); f != nil && f.Try > 1 {
		left := false
		if falsePass, left = stats.Rung(falsePass, f.Try); !left {
			return stats.Design{}, fault(Tried(in.Feature, f.Try, d.settings.FalsePass))
		}
	}
	return stats.Offer(falsePass, d.settings.FalseFail, min(d.settings.Min, most), most, first)
}

// rule decides one rule.
func (d *decider) rule(rule *plans.Rule) verdict.Rule {
	if rule == nil {
		return broke(verdict.Rule{Decides: true}, verdict.Say("undecidable.no_rule",
			"there is no rule (a bug in mxflow, not in the plan)"))
	}
	c := &ruling{decider: d, rule: rule, inputs: rule.Inputs(), compares: rule.Compares(), readings: map[*plans.Input]*reading{}, leaves: map[*plans.Compare]*finding{}}
	c.out = verdict.Rule{
		Name: rule.Name, Expr: rule.Expr, Decides: true,
		Source: fmt.Sprintf("%s:%d:%d", rule.ExprRange.File, rule.ExprRange.Start.Line, rule.ExprRange.Start.Column),
	}
	if !sound(c) {
		return broke(c.out, verdict.Say("undecidable.not_compiled",
			"the rule was not compiled (a bug in mxflow, not in the plan)"))
	}
	return c.decide()
}

// sound reports whether a rule has everything needed to decide it.
func sound(c *ruling) bool {
	return len(c.inputs) > 0 && !slices.ContainsFunc(c.compares, func(leaf *plans.Compare) bool {
		in := leaf.Metric
		switch leaf.Form {
		case verdict.Exact:
			return false
		case verdict.Range:
			return in == nil || in.Kind != plans.InputMetric
		case verdict.Ratio:
			return in == nil || in.Kind != plans.InputMetric || !in.Ratio()
		case verdict.Difference:
			return in == nil || in.Kind != plans.InputMetric || in.Relation != plans.Delta
		case verdict.Level, verdict.LogLevel:
			return in == nil || in.Kind != plans.InputMetric || in.Comparing()
		}
		return true
	})
}

func broke(out verdict.Rule, why verdict.Reason) verdict.Rule {
	out.Verdict = verdict.Error
	out.Reasons = append(out.Reasons, why)
	return out
}

// fault is the error for a fact that keeps a rule from being decided.
func fault(why verdict.Reason) error { return &verdict.Fault{Reason: why} }
