package explain

import (
	"math"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// rule is a rule, explained comparison by comparison.
type rule struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Of      string `json:"of,omitempty"` // an alternative's name
	Expr    string `json:"expr"`
	Source  string `json:"source"`
	Verdict string `json:"verdict"`
	// Decides is false for a criterion that is only recorded.
	Decides  bool             `json:"decides"`
	Reasons  []verdict.Reason `json:"reasons,omitempty"`
	Compared []argument       `json:"comparisons"`
	// Missing are the missing inputs, with the reasons.
	Missing []verdict.Reason `json:"missing,omitempty"`
	// Read are the inputs outside of comparisons.
	Read []verdict.Input `json:"read,omitempty"`
	Open []string        `json:"open,omitempty"`
	// Ended is why no more launches are made for an open rule.
	Ended verdict.Reason `json:"ended,omitzero"`
}

// argument is one comparison in facts and numbers.
type argument struct {
	Text string `json:"text"`
	// Negated is set if the rule requires it not to hold.
	Negated bool   `json:"negated,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	// How is the test.
	How verdict.Reason `json:"how,omitzero"`
	// Unit is that of Data, and OwnUnit that of the rule's own number: of thresholds and
	// estimates.
	Unit    string  `json:"unit,omitempty"`
	OwnUnit string  `json:"own_unit,omitempty"`
	Data    []datum `json:"data,omitempty"`
	Looks   []look  `json:"looks,omitempty"`
	// Said is what follows the looks: levels, what decided, the interval.
	Said []verdict.Reason `json:"said,omitempty"`
	// Change is what would have changed it, More how many more launches would.
	Change verdict.Reason `json:"what_would_change_it,omitzero"`
	More   verdict.Reason `json:"more_launches,omitzero"`
	// series is what Data are values of.
	series string
}

// datum is one launch's value.
type datum struct {
	// Number is the launch's in the progress output, and Order counts every start.
	Number int     `json:"number"`
	Order  int     `json:"order"`
	Round  int     `json:"round"`
	Arm    string  `json:"arm"`
	Launch string  `json:"launch"`
	Value  float64 `json:"value"`
}

// look is one look at the data, and its consequence.
type look struct {
	verdict.Look
	Came verdict.Reason `json:"came"`
}

// rulesOf explains rules that were decided together.
func rulesOf(st *store.Store, rules []verdict.Rule, of string) (out []rule) {
	for i, r := range rules {
		out = append(out, ruleOf(st, r, of, noMore(rules, i)))
	}
	return out
}

// ruleOf explains a rule. ended is why no more launches are made for what is open; no
// fact if more are.
func ruleOf(st *store.Store, r verdict.Rule, of string, ended verdict.Reason) rule {
	out := rule{
		Name: r.Name, Role: r.Role, Of: of, Expr: r.Expr, Source: r.Source, Verdict: string(r.Verdict), Decides: r.Decides, Open: r.Open,
		Compared: []argument{}, Ended: ended,
	}
	var reads []string
	tested := false
	for _, c := range r.Comparisons {
		tested = tested || c.Test != nil
		reads = append(reads, c.Reads...)
		out.Compared = append(out.Compared, argue(st, c, ended))
	}
	var absent []verdict.Reason
	for _, in := range r.Inputs {
		switch {
		case !in.Missing.IsZero():
			absent = append(absent, in.Absence())
			out.Missing = append(out.Missing, verdict.New(code.IsMissing).On(in.Path).From(in.Missing))
		case !slices.Contains(reads, in.Path):
			out.Read = append(out.Read, in)
		}
	}
	if !tested {
		out.Reasons = slices.DeleteFunc(slices.Clone(r.Reasons), func(reason verdict.Reason) bool { return slices.ContainsFunc(absent, reason.Equal) })
	}
	return out
}

// noMore is why no more launches are made for what the rule at i left open; no fact if
// more are.
func noMore(rules []verdict.Rule, i int) verdict.Reason {
	if !rules[i].Decides {
		return verdict.New(code.RecordedOnly)
	}
	if rules[i].Verdict == verdict.Pass || rules[i].Verdict == verdict.Fail {
		return verdict.New(code.DecidedWithout)
	}
	for _, other := range rules {
		if other.Decides && other.Verdict != verdict.Pass && other.Verdict != verdict.Inconclusive {
			return verdict.New(code.OtherDecided).On(other.Name).Is(other.Verdict)
		}
	}
	return verdict.Reason{}
}

// argue explains one comparison.
func argue(st *store.Store, c verdict.Comparison, ended verdict.Reason) argument {
	out := argument{Text: c.Text, Verdict: string(c.Verdict)}
	t := c.Test
	switch {
	case t == nil:
		out.say(verdict.New(code.Untestable, verdict.Arg{Name: "left", Value: c.Left}, verdict.Arg{Name: "right", Value: c.Right}))
		return out
	case t.Form == verdict.Exact:
		out.exact(c)
	default:
		out.test(st, t, ended)
	}
	out.Negated = t.Negated
	out.say(t.Note)
	return out
}

// say adds facts, skipping zero ones.
func (a *argument) say(facts ...verdict.Reason) {
	for _, r := range facts {
		if !r.IsZero() {
			a.Said = append(a.Said, r)
		}
	}
}

// exact explains a comparison on the values themselves, or on per-launch counts.
func (a *argument) exact(c verdict.Comparison) {
	left, right, op := c.Left, c.Right, c.Op
	if c.Turned && c.Test.Each != "" {
		left, right, op = right, left, plans.Turned(op)
	}
	args := []verdict.Arg{{Name: "left", Value: left}, verdict.Text("op", op), {Name: "right", Value: right}}
	holds := func(is bool) verdict.Arg {
		return verdict.Text("holds", map[bool]string{true: "true", false: "false"}[is])
	}
	if c.Test.Each == "" {
		a.How = verdict.New(code.ByValues)
		a.say(verdict.New(code.Found, append(args, holds(c.Holds))...))
		return
	}
	each := "launch"
	switch {
	case verdict.Holds(c.Test.Beside, code.Crashed):
		a.How = verdict.New(code.ByCrashes)
	case c.Test.Each == "pair":
		a.How, each = verdict.New(code.ByPairs), "pair"
	default:
		a.How = verdict.New(code.ByCount)
	}
	args = append(args, verdict.Text("each", each))
	if c.Launch > 0 {
		args = append(args, verdict.Int("launch", c.Launch), verdict.Int("launches", c.Launches))
	}
	if c.Test.Negated {
		args = append(args, verdict.Text("negated", "not"))
	}
	if c.Verdict == verdict.Pass || c.Verdict == verdict.Fail {
		args = append(args, holds(c.Verdict == verdict.Pass))
	}
	a.say(verdict.New(code.FoundEach, args...))
	a.say(c.Test.Beside...)
}

// test explains a comparison decided by a test of launches.
func (a *argument) test(st *store.Store, t *verdict.Test, ended verdict.Reason) {
	a.Unit, a.OwnUnit, a.series = t.Unit, t.OwnUnit(), t.Metric+" "+t.Stat+" "+t.Unit
	a.How, a.Data = how(t), dataOf(st, t)
	for i, l := range t.Looks {
		a.Looks = append(a.Looks, look{l, came(t, i, ended)})
	}
	if len(t.Unpaired) > 0 {
		a.say(verdict.New(code.NotPaired, verdict.List("launches", t.Unpaired)))
	}
	if t.Form == verdict.Range {
		a.say(ranges(t)...)
		return
	}
	a.say(levels(t))
	for _, r := range t.Beside {
		if r.Code == code.Settles || r.Code == code.SettlesNever {
			a.More = r
		} else {
			a.say(r)
		}
	}
	a.say(stopped(t, ended), interval(t))
	a.Change = change(t)
}

// how names the test.
func how(t *verdict.Test) verdict.Reason {
	form := t.Form
	switch {
	case len(t.Places) == 0:
	case form == verdict.Ratio:
		return verdict.New(code.ByRounds, verdict.Text("logs", "yes"))
	case form == verdict.Difference:
		return verdict.New(code.ByRounds)
	case form == verdict.LogLevel || form == verdict.Level:
		return verdict.New(code.ByPlaces)
	}
	by, known := map[verdict.Form]code.Code{
		verdict.Ratio: code.ByLogs, verdict.Difference: code.ByDifferences, verdict.LogLevel: code.ByLogLevel, verdict.Level: code.ByLevel, verdict.Range: code.ByRange,
	}[form]
	if !known {
		return verdict.New(code.ByUnknown, verdict.Text("form", string(form)))
	}
	return verdict.New(by)
}

// dataOf are the values that a test read, in the order of the starts.
func dataOf(st *store.Store, t *verdict.Test) (data []datum) {
	numbers := map[string]map[string]int{} // of a session, by launch
	add := func(arm string, ids []string, values []float64) {
		for i, v := range values {
			d := datum{Arm: arm, Launch: ids[i], Value: v}
			if l, ok := st.LaunchByID(ids[i]); ok {
				if numbers[l.Session] == nil {
					numbers[l.Session] = ledger.Numbers(st.Launches(store.LaunchFilter{Session: l.Session}))
				}
				d.Number, d.Order, d.Round = numbers[l.Session][l.ID], l.Order, l.Ordinal
			}
			data = append(data, d)
		}
	}
	add(t.Against, t.BaseLaunches, t.Base)
	add(t.Arm, t.Launches, t.Values)
	slices.SortStableFunc(data, func(a, b datum) int { return a.Order - b.Order })
	return data
}

// came is the consequence of the look at i; a test ends with its last one.
func came(t *verdict.Test, i int, ended verdict.Reason) verdict.Reason {
	last := i == len(t.Looks)-1
	switch {
	case last && t.Stop == verdict.StopScreen:
		return verdict.New(code.LookScreens)
	case t.Looks[i].DF == 0 && t.Looks[i].N == 2 && t.First == 2:
		return verdict.New(code.LookUnclear)
	case t.Looks[i].DF == 0:
		return verdict.New(code.LookEarly)
	case t.Near(t.Looks[i]):
		return verdict.New(code.LookNear, verdict.Int("launches", t.Looks[i].N))
	case !last, t.Stop == verdict.StopOpen && ended.IsZero():
		return verdict.New(code.LookGoesOn)
	}
	switch t.Stop {
	case verdict.StopPass:
		return verdict.New(code.LookPasses, level("level", t.Pass))
	case verdict.StopFail:
		return verdict.New(code.LookFails, level("level", t.Fail))
	case verdict.StopFutile:
		return verdict.New(code.LookFutile)
	case verdict.StopEnd:
		return verdict.New(code.LookLast)
	}
	return verdict.New(code.LookOpen)
}

func level(name string, p float64) verdict.Arg { return verdict.Num(name, p, "level") }

func chance(name string, p float64) verdict.Arg { return verdict.Num(name, p, "p") }

// levels is the levels of looks, and how the budget was shared.
func levels(t *verdict.Test) verdict.Reason {
	if t.Pass == 0 && t.Fail == 0 {
		return verdict.Reason{}
	}
	var looks []string
	for _, n := range t.Plan {
		looks = append(looks, strconv.Itoa(n))
	}
	var shares []verdict.Reason
	for _, s := range t.Share {
		shares = append(shares, s.Reason())
	}
	return verdict.New(code.Levels, level("pass", t.Pass), level("fail", t.Fail), verdict.List("plan", looks)).From(shares...)
}

// stopped is why the test ended; for an open one, what follows: ended is why no more
// launches are made.
func stopped(t *verdict.Test, ended verdict.Reason) verdict.Reason {
	if len(t.Looks) == 0 {
		return verdict.New(code.NoLook, verdict.Int("launches", len(t.Values)), verdict.Int("base", len(t.Base)))
	}
	l := t.Looks[len(t.Looks)-1]
	args := []verdict.Arg{verdict.Int("launches", l.N), verdict.Text("against", t.Against)}
	decided := args
	if len(t.Values) > l.N {
		decided = append(decided, verdict.Int("behind", len(t.Values)))
	}
	switch t.Stop {
	case verdict.StopPass:
		return verdict.New(code.DecidedPass, append(decided, chance("p", l.PPass), level("level", t.Pass))...)
	case verdict.StopFail:
		return verdict.New(code.DecidedFail, append(decided, chance("p", l.PFail), level("level", t.Fail))...)
	case verdict.StopScreen:
		return verdict.New(code.StoppedScreen, args...)
	case verdict.StopFutile:
		return verdict.New(code.StoppedFutile, append(args, verdict.Num("chance", l.Chance, "share"))...)
	case verdict.StopEnd:
		if t.Near(l) {
			margin := verdict.Num("near", l.Margin, t.Unit)
			if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
				margin = verdict.Num("near", math.Expm1(l.Margin), "share")
			}
			args = append(args, margin)
		}
		return verdict.New(code.StoppedEnd, append(args, chance("p_pass", l.PPass), chance("p_fail", l.PFail))...)
	case verdict.StopOpen:
		return verdict.New(code.StoppedOpen, args...).From(ended)
	}
	return verdict.New(code.StoppedUnknown, verdict.Text("stop", string(t.Stop)))
}

// interval is the estimate and its interval in the rule's own number.
func interval(t *verdict.Test) verdict.Reason {
	if t.Estimate == nil || t.Low == nil || t.High == nil {
		return verdict.Reason{}
	}
	return verdict.New(code.Estimated, own("estimate", t, *t.Estimate), own("low", t, *t.Low), own("high", t, *t.High))
}

// ranges explains a comparison of ranges.
func ranges(t *verdict.Test) []verdict.Reason {
	span := func(name string, values []float64) verdict.Arg {
		return verdict.Span(name, slices.Min(values), slices.Max(values), t.Unit)
	}
	has := []verdict.Arg{verdict.Text("arm", t.Arm), span("values", t.Values)}
	so := []verdict.Arg{own("low", t, *t.Low), own("high", t, *t.High), own("limit", t, t.Threshold)}
	if t.Against != "" {
		has = append(has, verdict.Text("against", t.Against), span("base", t.Base))
		relation := "difference"
		if t.Relative() {
			relation = "change"
		}
		so = append(so, verdict.Text("relation", relation))
	}
	return []verdict.Reason{verdict.New(code.Ranged, has...), verdict.New(code.RangeBetween, so...)}
}

// change is what would have changed the verdict: other thresholds on the same launches,
// or another estimate with the same spread.
func change(t *verdict.Test) verdict.Reason {
	if t.Low == nil || t.High == nil {
		return verdict.Reason{}
	}
	size := max(math.Abs(*t.Low), math.Abs(*t.High))
	if t.OwnUnit() == "ratio" {
		size = max(size, 1) // of a change of nothing
	}
	if math.Abs(*t.Low-*t.High) <= 1e-6*size {
		return verdict.Reason{} // nothing varied by more than rounding
	}
	// The threshold that would just pass and the one that would just fail.
	args := []verdict.Arg{own("pass", t, *t.Low), own("fail", t, *t.High)}
	if !t.More {
		args = []verdict.Arg{own("pass", t, *t.High), own("fail", t, *t.Low), verdict.Text("less", "less")}
	}
	c := code.WouldPass
	switch {
	case t.Stop == verdict.StopPass:
		return verdict.New(code.WouldPassToo, args...)
	case t.Needed == nil:
		return verdict.Reason{}
	case t.Stop == verdict.StopFail:
		c = code.WouldHavePassed
	}
	return verdict.New(c, append(args, own("needed", t, *t.Needed))...)
}

// own is one of a rule's own numbers with its unit.
func own(name string, t *verdict.Test, x float64) verdict.Arg {
	return verdict.Num(name, x, t.OwnUnit())
}

// hypothesis explains the outcome of a hypothesis: first the outcome, then each test of
// it.
func hypothesis(h *ledger.Hypothesis) (said []verdict.Reason) {
	came := []verdict.Arg{verdict.Text("expect", h.Expect), verdict.Text("outcome", h.Outcome)}
	if h.PostHoc {
		came = append(came, verdict.Text("post_hoc", "post hoc"))
	}
	said = append(said, verdict.New(code.HypothesisCame, came...).On(h.Metric))
	if h.Test != nil {
		for _, c := range h.Test.Comparisons {
			if t := c.Test; t != nil && len(t.Looks) > 0 {
				said = append(said, stopped(t, verdict.New(code.ForHypothesis)))
				if bounds := interval(t); !bounds.IsZero() {
					said = append(said, bounds)
				}
			}
		}
	}
	return said
}
