package gates

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Settings are how a set of rules is decided. A decision records them.
type Settings struct {
	// FalsePass, FalseFail, Min and Max (launches per arm) are the plan's decision
	// settings; Max is less if a benchmark makes fewer launches.
	FalsePass float64 `json:"false_pass"`
	FalseFail float64 `json:"false_fail"`
	Min       int     `json:"min"`
	Max       int     `json:"max"`
	// Alternatives is how many candidates compete for one place (choose): each gets an
	// equal part of the false pass rate. 0 and 1 are the same.
	Alternatives int `json:"alternatives,omitempty"`
	// Version is that of deciding (decide.Version).
	Version string `json:"version,omitempty"`
}

// Decide decides rules that must all hold, each from the launches there are. The error
// budget is shared among them, as under one "and".
//
// Every input is checked to be present, finite and from enough samples before anything is
// compared: expr-lang calls !(NaN < 0.95) true, so nothing missing may reach it.
func Decide(rules []*plans.Rule, ev Evidence, s Settings) []verdict.Rule {
	return decide(rules, ev, s, shares(rules, s.Alternatives))
}

func decide(rules []*plans.Rule, ev Evidence, s Settings, by map[*plans.Compare]share) []verdict.Rule {
	d := &decider{rules: rules, ev: ev, settings: s, shares: by}
	out := make([]verdict.Rule, len(rules))
	for i, rule := range rules {
		out[i] = d.rule(rule)
	}
	return out
}

type decider struct {
	rules    []*plans.Rule
	ev       Evidence
	settings Settings
	shares   map[*plans.Compare]share
	// shifts holds the comparisons of a cell that several rules ask for.
	shifts map[string]*shift
}

func (d *decider) feature(in *plans.Input) *Feature { return d.ev[in.Feature] }

// most is the maximum of launches per arm in the benchmark behind an input.
func (d *decider) most(in *plans.Input) int {
	if f := d.feature(in); f != nil && f.Max > 0 {
		return f.Max
	}
	return d.settings.Max
}

// ruling is one rule while it is being decided.
type ruling struct {
	*decider
	out      verdict.Rule
	readings map[*plans.Input]*reading
	findings map[*plans.Compare]*finding
	absent   []verdict.Verdict
}

// rule reads the inputs of a rule, decides each comparison and joins them. One absent input
// decides for the whole rule, even if an or could do without it: the author believed that
// both sides were watched, and a metric that disappears must not make a rule easier to
// pass.
func (d *decider) rule(rule *plans.Rule) verdict.Rule {
	inputs, compares := rule.Inputs(), rule.Compares()
	c := &ruling{decider: d, readings: map[*plans.Input]*reading{}, findings: map[*plans.Compare]*finding{}}
	if c.out.Decides = true; rule != nil {
		at := rule.ExprRange
		c.out.Name, c.out.Expr = rule.Name, rule.Expr
		c.out.Source = fmt.Sprintf("%s:%d:%d", at.File, at.Start.Line, at.Start.Column)
	}
	unknown := func(leaf *plans.Compare) bool { return leaf.Form != verdict.Exact && leaf.Metric == nil }
	if len(inputs) == 0 || slices.ContainsFunc(compares, unknown) {
		c.out.Verdict = verdict.Error
		c.out.Reasons = []verdict.Reason{verdict.Say("undecidable.not_compiled",
			"the rule was not compiled (a bug in mxflow, not in the plan)")}
		return c.out
	}
	for _, in := range inputs {
		c.out.Inputs = append(c.out.Inputs, c.read(in).Input)
	}
	for _, leaf := range compares {
		f, err := c.find(leaf)
		if err != nil && len(c.absent) > 0 {
			break
		}
		if err != nil {
			c.out.Verdict, c.out.Comparisons = verdict.Invalid, nil
			c.out.Reasons = append(c.out.Reasons, verdict.OfError(err))
			return c.out
		}
		c.findings[leaf] = f
	}
	if len(c.absent) > 0 {
		c.out.Verdict = verdict.Join(c.absent...)
		_, c.out.Open = c.join(rule.Cond)
		return c.out
	}
	var compared []*plans.Input
	for _, leaf := range compares {
		compared = append(compared, leaf.Inputs()...)
		c.out.Comparisons = append(c.out.Comparisons, c.findings[leaf].Comparison)
		c.out.Reasons = append(c.out.Reasons, c.findings[leaf].reason)
	}
	for _, in := range inputs {
		if in.Type == plans.BoolInput && !slices.Contains(compared, in) {
			c.out.Reasons = append(c.out.Reasons, verdict.Say("comparison.truth", "{subject} is {is}",
				verdict.Text("is", fmt.Sprint(c.readings[in].value(in)))).On(in.Path))
		}
	}
	c.out.Verdict, c.out.Open = c.join(rule.Cond)
	c.withdrawStale(compares)
	return c.out
}

func (c *ruling) read(in *plans.Input) *reading {
	if r := c.readings[in]; r != nil {
		return r
	}
	r := read(in, c.ev)
	c.readings[in] = r
	if r.absent != "" {
		c.absent = append(c.absent, r.absent)
		c.out.Reasons = append(c.out.Reasons, r.Absence())
	}
	return r
}

// withdrawStale withdraws the decision of a rule that read numbers of an engine that was not
// started for them. Launches are the replicates: two measurements of one start differ by
// less than two starts do, so neither yes nor no follows. The computed numbers stay, for
// the reader.
func (c *ruling) withdrawStale(compares []*plans.Compare) {
	var names []string
	for _, r := range c.readings {
		if r.stale != "" {
			names = union(names, r.stale)
		}
	}
	if len(names) == 0 {
		return
	}
	for i, leaf := range compares {
		if c.findings[leaf].stale {
			c.out.Comparisons[i].Verdict = verdict.Inconclusive
		}
	}
	args := []verdict.Arg{verdict.List("arms", names)}
	if c.out.Verdict != verdict.Inconclusive {
		args = append(args, verdict.Text("would", string(c.out.Verdict)))
	}
	why := verdict.Say("launches.not_fresh",
		"{would?{would} by the numbers, but }launches of {arms:and} were not fresh starts: the server was "+
			"already running, so launch-to-launch variance is unknown; give its endpoint a restart command",
		args...)
	c.out.Reasons = append([]verdict.Reason{why}, c.out.Reasons...)
	c.out.Verdict, c.out.Open = verdict.Inconclusive, nil
}

// join is the verdict of a part of a rule in three-valued logic, and the features for
// which more launches could change it. Parts of a settled and or or keep nothing open.
func (c *ruling) join(l *plans.Cond) (verdict.Verdict, []string) {
	switch {
	case l.Compare != nil:
		if f := c.findings[l.Compare]; f != nil {
			return f.Verdict, f.open
		}
		return verdict.Inconclusive, nil
	case l.Truth != nil:
		switch r := c.read(l.Truth); {
		case r.unmeasured:
			return verdict.Inconclusive, []string{l.Truth.Feature}
		case r.absent != "":
			return verdict.Inconclusive, nil
		case (r.value(l.Truth) == true) != l.Negated:
			return verdict.Pass, nil
		}
		return verdict.Fail, nil
	}
	settles, all := verdict.Fail, verdict.Pass
	if l.Op == plans.Or {
		settles, all = all, settles
	}
	joined := all
	var open []string
	for _, part := range l.Args {
		v, o := c.join(part)
		if v == settles {
			return settles, nil
		}
		if v != all {
			joined = verdict.Inconclusive
		}
		open = union(open, o...)
	}
	return joined, open
}

// union returns the names of both lists, each once, in order.
func union(a []string, b ...string) []string {
	for _, name := range b {
		if i, there := slices.BinarySearch(a, name); !there {
			a = slices.Insert(slices.Clone(a), i, name)
		}
	}
	return a
}

// Open lists the features for which more launches could settle what is undecided, given
// how the rules came out: none once a rule has failed or can never be decided, as no
// launch changes that. A rule that does not decide ends nothing, but its own question
// keeps launches coming; nor does one that reads what is decided later, such as the
// benchmark's own verdict.
func Open(rules []verdict.Rule) []string {
	var open []string
	for _, r := range rules {
		pending := slices.ContainsFunc(r.Inputs, func(in verdict.Input) bool { return in.Pending })
		if r.Decides && !pending && r.Verdict != verdict.Pass && r.Verdict != verdict.Inconclusive {
			return nil
		}
		open = union(open, r.Open...)
	}
	return open
}

// share is a comparison's share of the chances of a wrong verdict: the levels of p are
// divided by pass and fail.
type share struct {
	pass, fail int
	parts      []verdict.Share
}

// shares divides the budget among the comparisons of rules that must all hold. Parts
// decided on exact values, or on the whole range of launches, take none of it.
func shares(rules []*plans.Rule, alternatives int) map[*plans.Compare]share {
	out := map[*plans.Compare]share{}
	all := share{pass: 1, fail: 1}
	if alternatives > 1 {
		all.pass = alternatives
		all.parts = []verdict.Share{{Of: verdict.ShareAlternatives, N: alternatives}}
	}
	var roots []*plans.Cond
	for _, r := range rules {
		if r != nil && r.Cond != nil {
			roots = append(roots, r.Cond)
		}
	}
	all.split(plans.And, roots, out)
	return out
}

// split divides a share among the parts of a condition that a test decides. Where all
// parts must hold, a false pass of the whole requires one of the part that does not hold,
// so its level stays; a false fail of any part is one of the whole, so their levels add
// up. Where one part is enough, it is the reverse.
func (s share) split(op string, parts []*plans.Cond, out map[*plans.Compare]share) {
	n := 0
	for _, part := range parts {
		if slices.ContainsFunc(part.Compares(), (*plans.Compare).Tested) {
			n++
		}
	}
	switch {
	case n < 2:
	case op == plans.Or:
		s.pass, s.parts = s.pass*n, append(slices.Clone(s.parts), verdict.Share{Of: verdict.ShareOne, N: n})
	default:
		s.fail, s.parts = s.fail*n, append(slices.Clone(s.parts), verdict.Share{Of: verdict.ShareAll, N: n})
	}
	for _, part := range parts {
		if part.Compare != nil {
			out[part.Compare] = s
		} else {
			s.split(part.Op, part.Args, out)
		}
	}
}

// TryNote says which try at a feature a measurement is, and what false pass rate is left
// for it.
func TryNote(feature string, try int, falsePass float64) verdict.Reason {
	rate, left := stats.AlphaForTry(falsePass, try)
	bound, most := stats.Bound(falsePass)
	args := []verdict.Arg{
		verdict.Int("try", try), verdict.Num("of", falsePass, "share"),
		verdict.Num("bound", bound, "share"),
	}
	if !left {
		return verdict.New(code.TriesSpent, append(args, verdict.Int("tries", most))...).On(feature)
	}
	return verdict.New(code.Tried, append(args, verdict.Num("rate", rate, "share"))...).On(feature)
}

// fault is the error for a fact that keeps a rule from being decided.
func fault(why verdict.Reason) error { return &verdict.Fault{Reason: why} }

const (
	Confirmed = "confirmed"
	Refuted   = "refuted"
	Unsettled = "open"
)

// DecideHypothesis holds a hypothesis against what was measured: the rule is its claim as Load
// compiled it. It decides nothing else, so it takes no part of the criteria's error
// budget; but what a criterion compares too is tested at the criterion's levels, or the
// same launches would have two bounds. The hypothesis of the best of several alternatives
// has one chance per alternative to be confirmed by luck. What was not measured refutes
// nothing.
func DecideHypothesis(rule *plans.Rule, criteria []*plans.Rule, ev Evidence, s Settings) (outcome string,
	decided verdict.Rule,
) {
	by, beside := shares([]*plans.Rule{rule}, s.Alternatives), shares(criteria, s.Alternatives)
	for _, claim := range rule.Compares() {
		for _, criterion := range criteria {
			for _, c := range criterion.Compares() {
				if sameQuestion(claim, c) {
					by[claim] = beside[c]
				}
			}
		}
	}
	decided = decide([]*plans.Rule{rule}, ev, s, by)[0]
	decided.Role, decided.Decides = verdict.RoleHypothesis, false
	switch {
	case decided.Verdict == verdict.Pass:
		return Confirmed, decided
	case decided.Verdict == verdict.Fail && len(decided.Comparisons) > 0:
		return Refuted, decided
	}
	return Unsettled, decided
}

// sameQuestion reports whether two comparisons ask the same of the same launches, whatever
// their thresholds.
func sameQuestion(a, b *plans.Compare) bool {
	if a.Metric == nil || b.Metric == nil || a.AtLeast != b.AtLeast || a.Form != b.Form {
		return false
	}
	x, y := a.Metric.Quantity(), b.Metric.Quantity()
	return x.Feature == y.Feature && x.LaunchAddress() == y.LaunchAddress() && x.Stat == y.Stat &&
		x.Against == y.Against
}
