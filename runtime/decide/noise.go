package decide

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// enoughFreedom is how many degrees of freedom the newest sessions must have for older
// ones to stop counting: a record of all times would never forget the evening when the
// machine was busy, nor the previous driver.
const enoughFreedom = 2 * gates.LeastFreedom

// noiseAmong is how much launches of one variant differed, by gates.NoiseKey: the standard
// deviation of the logs of their values, pooled over the variants of the newest sessions.
// before are the launches of launchesBefore: from before the session under decision, so
// repeating a decision later uses the same number. variants are those of the comparison,
// whose own starts show how far apart they lie.
func noiseAmong(before []*ledger.Launch, keys, variants []string) map[string]verdict.Noise {
	out := map[string]verdict.Noise{}
	for _, key := range keys {
		values, arms := valuesOf(before, key)
		var groups [][]float64
		var sessions []string
		for _, a := range newest(values, arms) {
			groups = append(groups, values[a])
			if !slices.Contains(sessions, a.session) {
				sessions = append(sessions, a.session)
			}
		}
		if sd, df := stats.Pool(groups); df > 0 {
			out[key] = verdict.Noise{SD: sd, DF: df, Gap: gapOf(values, variants), Sessions: sessions}
		}
	}
	return out
}

// manyStarts of a variant have shown both of two speeds, if either start is as likely to
// have each, in all but one record of a hundred.
const manyStarts = 7

// gapOf is how far apart the starts of variants lay over all sessions, in logs, the widest
// of them, but no more than is taken for granted: what varies by more is in the recorded
// noise, which newer sessions replace. It is 0 if one of them has too few on record.
func gapOf(values map[armKey][]float64, variants []string) (gap float64) {
	for _, variant := range variants {
		var starts []float64
		for arm, own := range values {
			if arm.variant == variant {
				starts = append(starts, own...)
			}
		}
		if len(starts) < manyStarts {
			return 0
		}
		gap = max(gap, math.Log(slices.Max(starts)/slices.Min(starts)))
	}
	return min(gap, stats.UsualGap)
}

// armKey identifies the launches of one variant in one session; for how launches differ,
// on one place.
type armKey struct{ session, variant, place string }

// valuesOf returns the values of launches for a key, by arm, and the arms in order of
// their first launch.
func valuesOf(before []*ledger.Launch, key string) (values map[armKey][]float64, arms []armKey) {
	address, stat := key, "median"
	if i := strings.LastIndexByte(key, '.'); i >= 0 && measure.StatOf(key[i+1:]).Name != "" {
		address, stat = key[:i], key[i+1:]
	}
	values = map[armKey][]float64{}
	for _, l := range before {
		v, ok := l.Metrics[address].Stats[stat]
		if !ok || !(v > 0) {
			continue
		}
		a := armKey{l.Session, l.VariantKey, l.PlaceName()}
		if values[a] == nil {
			arms = append(arms, a)
		}
		values[a] = append(values[a], v)
	}
	return values, arms
}

// newest keeps the arms of whole sessions, newest first, until they have enough degrees
// of freedom, in their original order: another one would change the last bit of sums.
func newest(values map[armKey][]float64, arms []armKey) []armKey {
	free := map[string]int{}
	var sessions []string
	for _, a := range arms {
		if _, seen := free[a.session]; !seen {
			sessions = append(sessions, a.session)
		}
		free[a.session] += len(values[a]) - 1
	}
	counts := map[string]bool{}
	df := 0
	for _, session := range slices.Backward(sessions) {
		if df >= enoughFreedom {
			break
		}
		counts[session] = true
		df += free[session]
	}
	return slices.DeleteFunc(arms, func(a armKey) bool { return !counts[a.session] })
}

// launchesBefore returns the launches that determine the noise of a session: benchmark
// launches that count, of the same work and engine, recorded before its first launch.
// variants are the arms in question, which identify the engine.
func launchesBefore(records iter.Seq2[int, *ledger.Record], session, work string, variants ...string) []*ledger.Launch {
	if work == "" {
		return nil
	}
	var before []*ledger.Launch
	for _, r := range records {
		l := r.Launch
		if l != nil && session != "" && l.Session == session {
			break
		}
		if l != nil && l.Purpose == ledger.ForBenchmark && Usable(l) && l.Work == work {
			before = append(before, l)
		}
	}
	return ofOneEngine(before, variants)
}

// ofOneEngine keeps the launches of one engine as it was developed: of sessions in which
// one of the variants was an arm, of those with an arm that had been beside it, and so
// on. A change is measured beside its origin, so everything that grew from one baseline
// is connected, while another engine, model or image, whose starts may differ by more or
// less, has its own baseline.
func ofOneEngine(launches []*ledger.Launch, variants []string) []*ledger.Launch {
	sessions, beside := map[string][]string{}, map[string][]string{}
	seen := map[armKey]bool{}
	for _, l := range launches {
		if a := (armKey{session: l.Session, variant: l.VariantKey}); !seen[a] {
			seen[a] = true
			sessions[l.VariantKey] = append(sessions[l.VariantKey], l.Session)
			beside[l.Session] = append(beside[l.Session], l.VariantKey)
		}
	}
	related := map[string]bool{}
	for left := slices.Clone(variants); len(left) > 0; left = left[1:] {
		for _, session := range sessions[left[0]] {
			if !related[session] {
				related[session] = true
				left = append(left, beside[session]...)
			}
		}
	}
	return slices.DeleteFunc(launches, func(l *ledger.Launch) bool { return !related[l.Session] })
}

// resolving is the smallest true effect, as a share, that a number of launches per arm
// likely decides, given recorded noise.
func resolving(n verdict.Noise, d stats.Design) func(launches int) float64 {
	pass := stats.Error{Rate: d.FalsePass, Level: d.Pass}
	sd, gap := n.SD*stats.NoiseBound(n.DF), cmp.Or(n.Gap, stats.UsualGap)
	return func(launches int) float64 {
		if launches <= stats.TwoLaunches {
			return math.Expm1(pass.ClearGap(n.SD, n.DF, gap))
		}
		return math.Expm1(pass.Resolves(launches, gap, sd, stats.Likely, false))
	}
}

// mostClear is how far beyond a threshold an effect may have to lie for two launches to be
// worth a word: more than eleven times as fast is no forecast.
const mostClear = 10

// resolution is what least to most launches per arm can show by recorded noise. Equal
// launches do not show everything: the test assumes at least rounding.
func resolution(n verdict.Noise, d stats.Design, least, most int) verdict.Reason {
	if n.SD == 0 {
		return verdict.Say("forecast.resolves_rounding",
			"{subject}: all recorded launches gave the same value: only rounding limits what they resolve")
	}
	resolves, few := resolving(n, d), max(least, d.Looks[0], stats.Recorded)
	share := func(name string, x float64) verdict.Arg { return verdict.Num(name, x, "share") }
	args := []verdict.Arg{
		verdict.Int("few", few), share("with_few", resolves(few)), verdict.Int("many", most),
		share("with_many", resolves(most)),
		share("differ", math.Expm1(n.SD)), share("differ_bound", math.Expm1(n.SD*stats.NoiseBound(n.DF))),
	}
	if margin := (stats.Error{Rate: d.FalsePass}).Margin(few, cmp.Or(n.Gap, stats.UsualGap)); margin > resolves(few)/2 {
		args = append(args, share("margin", math.Expm1(margin)))
	}
	if clear := resolves(stats.TwoLaunches); least <= stats.TwoLaunches && clear <= mostClear {
		args = append(args, share("clear", clear))
	}
	return verdict.Say("forecast.resolves",
		"{subject}: {few} launches per arm resolve {with_few:rough}, {many} resolve {with_many:rough}{clear?, 2 "+
			"decide what is {clear:rough} beyond the threshold} (launches vary by {differ:rough}, up to "+
			"{differ_bound:rough}{margin?; {margin:rough} of what {few} resolve is for starts at two speeds})", args...)
}

// OnRecord is what up to most launches per arm can show of a metric beside a plan's baseline, by the
// noise on record; no fact if there is too little of it.
func OnRecord(p *plans.Plan, records iter.Seq2[int, *ledger.Record], address string, most int) verdict.Reason {
	var last *ledger.Launch
	for _, r := range records {
		if l := r.Launch; l != nil && l.Purpose == ledger.ForBenchmark && l.Variant == ledger.Baseline && Usable(l) {
			last = l
		}
	}
	d := p.Decision
	design, err := stats.DesignFor(d.FalsePass, d.FalseFail, min(d.Min, most), most, stats.TwoLaunches)
	if last == nil || err != nil || most < stats.Unrecorded {
		return verdict.Reason{}
	}
	n := noiseAmong(launchesBefore(records, "", last.Work, last.VariantKey), []string{address}, nil)[address]
	if n.DF < gates.LeastFreedom {
		return verdict.Reason{}
	}
	return resolution(n, design, stats.Unrecorded, most).On(address)
}

// noiseKeys lists the keys of the metrics that rules read from launches.
func noiseKeys(rules []*plans.Rule) (list []string) {
	for _, in := range inputs(rules) {
		if in.Kind != plans.InputMetric {
			continue
		}
		if key := gates.NoiseKey(in); !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	return list
}

// noiseOf is the launch noise of the arms' engine known before a session, for what rules
// read of a feature.
func noiseOf(v *View, f *plans.Feature, a Arms, session, work string) map[string]verdict.Noise {
	if v.Record == nil {
		return nil
	}
	arms, keys := []string{a.Candidate.Key, a.Parent.Key}, noiseKeys(Reading(v.Plan, f))
	find := func() map[string]verdict.Noise {
		return noiseAmong(launchesBefore(v.records(), session, work, arms...), keys, arms)
	}
	if session == "" {
		return find()
	}
	return remember(v.Cache.noise, strings.Join(slices.Concat([]string{session, work}, arms, keys), " "), find)
}

// tries counts the tries of a candidate against its parent, see triesOf.
func (v *View) tries(candidate, parent Arm, session, work string) int {
	find := func() int { return triesOf(v.records(), candidate.Name, candidate.Key, parent.Key, session, work) }
	if session == "" {
		return find()
	}
	return remember(v.Cache.tries, [...]string{candidate.Name, candidate.Key, parent.Key, session, work}, find)
}

// Cache keeps what decisions ask of the record before a session: it stays as it is, whatever comes later.
type Cache struct {
	noise map[string]map[string]verdict.Noise
	tries map[[5]string]int
	goals map[[2]string]launchGoals
}

func NewCache() Cache {
	return Cache{map[string]map[string]verdict.Noise{}, map[[5]string]int{}, map[[2]string]launchGoals{}}
}

// remember is what find found for a key, which it is asked once; each time where nothing is kept.
func remember[K comparable, V any](found map[K]V, key K, find func() V) V {
	v, ok := found[key]
	if found == nil {
		return find()
	} else if !ok {
		v = find()
		found[key] = v
	}
	return v
}
