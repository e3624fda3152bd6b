package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// The arms of a pilot: the baseline alone, the baseline beside neighbours, and the
// baseline as a neighbour.
const (
	PilotAlone     = "alone"
	PilotBeside    = "beside"
	PilotNeighbour = "neighbour"
)

// FewRounds is how many rounds a pilot runs before harm can end it. Ending early saves
// launches, and never lets neighbours pass.
const FewRounds = 6

// Piloted is the result of a pilot's launches.
type Piloted struct {
	// Done is set if no more of them are needed.
	Done bool
	// Slots is how many launches may run side by side, if the verdict is pass.
	Slots   int
	Verdict verdict.Verdict
	Reasons []verdict.Reason
}

// PilotKeys are what a pilot compares: the speeds and times that the plan's rules read
// from launches, as NoiseKeys has them; none if rules read none.
func PilotKeys(p *plans.Plan) (keys []string) {
	var rules []*plans.Rule
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			rules = append(rules, f.Criteria...)
		}
		if ph.Gate != nil {
			rules = append(rules, ph.Gate.Rules...)
		}
	}
	for _, in := range inputs(rules) {
		timed := slices.Contains([]string{"tok/s", "req/s", "ms", "s"}, in.Of) && in.Better != string(measure.Neither)
		if m, ok := measure.LookupAddress(in.LaunchAddress()); ok && m.MayBeZero {
			timed = false
		}
		if key := gates.NoiseKey(in); in.Kind == plans.InputMetric && in.Stat != "n" && (timed || measure.OfCommand(in.Cell)) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// PilotCosts reports what a pilot costs and what it can show.
func PilotCosts(p *plans.Plan, pilot plans.Pilot) verdict.Reason {
	rounds := p.PilotRounds(pilot)
	return verdict.New(code.PilotCosts, verdict.Int("rounds", rounds), verdict.Int("at_once", p.Executor.Slots), verdict.Num("within", pilot.Within, "spread"),
		verdict.Num("differ", stats.NeighboursResolve(rounds, pilot.Within), "spread"))
}

// Pilot decides from a pilot's launches so far how many may run side by side: as many as
// the executor has slots if they are shown not to affect each other, else 1.
func Pilot(p *plans.Plan, pilot plans.Pilot, launches []*ledger.Launch) Piloted {
	one := func(why ...verdict.Reason) Piloted {
		return Piloted{Done: true, Slots: 1, Verdict: verdict.Pass, Reasons: []verdict.Reason{verdict.New(code.PilotSlots, verdict.Int("slots", 1)).From(why...)}}
	}
	rounds, slots := p.PilotRounds(pilot), p.Executor.Slots
	pairs := map[string][]*ledger.Launch{}
	made := 0
	for r := 1; r <= rounds; r++ {
		var of [2]*ledger.Launch
		for i, arm := range []string{PilotAlone, PilotBeside} {
			l, lost := pilotSlot(launches, arm, r)
			switch {
			case lost && !l.OK && arm == PilotAlone:
				v, why := NotCounted(l)
				return Piloted{Done: true, Verdict: v, Reasons: []verdict.Reason{verdict.New(code.PilotLost, verdict.Text("arm", arm)).On(l.ID).From(why...)}}
			case lost:
				return one(verdict.New(code.PilotLost, verdict.Text("arm", arm), verdict.Int("at_once", slots)).On(l.ID).From(WhyNot(l)...))
			}
			of[i] = l
		}
		if of[0] == nil || of[1] == nil {
			break
		}
		made = r
		pairs[PilotAlone], pairs[PilotBeside] = append(pairs[PilotAlone], of[0]), append(pairs[PilotBeside], of[1])
	}
	for _, l := range launches {
		if l.Variant == PilotNeighbour && !l.OK {
			return one(verdict.New(code.PilotLost, verdict.Text("arm", PilotNeighbour), verdict.Int("at_once", slots)).On(l.ID).From(l.Error))
		}
	}
	if made < min(FewRounds, rounds) {
		return Piloted{}
	}
	found := pilotChanges(p, pilot, slots, pairs[PilotAlone], pairs[PilotBeside])
	harmful := slices.ContainsFunc(found, func(r verdict.Reason) bool { return r.Verdict == verdict.Fail })
	switch {
	case made < rounds && !harmful:
		return Piloted{}
	case slices.ContainsFunc(found, func(r verdict.Reason) bool { return r.Verdict != verdict.Pass }) || len(found) == 0:
		return one(found...)
	}
	return Piloted{Done: true, Slots: slots, Verdict: verdict.Pass, Reasons: []verdict.Reason{verdict.New(code.PilotSlots, verdict.Int("slots", slots)).From(found...)}}
}

// pilotSlot is the launch of an arm in a round that counts, nil if there is none yet; or
// the last one if none will.
func pilotSlot(launches []*ledger.Launch, arm string, round int) (l *ledger.Launch, lost bool) {
	var tries []*ledger.Launch
	for _, l := range launches {
		if l.Variant == arm && l.Ordinal == round {
			if Sound(l) {
				return l, false
			}
			tries = append(tries, l)
		}
	}
	if len(tries) == 0 {
		return nil, false
	}
	last := tries[len(tries)-1]
	if last.OK && last.Disturbed && len(tries) <= MaxReplaced {
		return nil, false
	}
	return last, true
}

// pilotChanges is what neighbours do to each metric, the harmed ones first.
func pilotChanges(p *plans.Plan, pilot plans.Pilot, slots int, alone, beside []*ledger.Launch) (found []verdict.Reason) {
	keys := PilotKeys(p)
	if len(keys) == 0 {
		keys = shownKeys(slices.Concat(alone, beside))
	}
	for _, key := range keys {
		found = append(found, pilotChange(key, pilot, slots, alone, beside))
	}
	order := []verdict.Verdict{verdict.Fail, verdict.Inconclusive, verdict.Pass}
	slices.SortStableFunc(found, func(a, b verdict.Reason) int {
		return cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, b.Verdict))
	})
	return found
}

// shownKeys are the speeds to compare if no rule reads any: the time to the first token,
// and the rate of the others; all that a command prints.
func shownKeys(launches []*ledger.Launch) (keys []string) {
	for _, l := range launches {
		for address, s := range l.Metrics {
			cell, metric := measure.SplitAddress(address)
			command := measure.OfCommand(cell) && s.Better != measure.Neither
			if (command || metric == "tg" || metric == "ttft") && !slices.Contains(keys, address) {
				keys = append(keys, address)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// pilotChange is what neighbours do to one metric.
func pilotChange(key string, pilot plans.Pilot, slots int, alone, beside []*ledger.Launch) verdict.Reason {
	address, stat := key, "median"
	if i := strings.LastIndexByte(key, '.'); i >= 0 && measure.IsStat(key[i+1:]) {
		address, stat = key[:i], key[i+1:]
	}
	var values [2][]float64
	var on []int
	places := map[string]int{}
	for i, of := range [][]*ledger.Launch{alone, beside} {
		for _, l := range of {
			v, ok := l.Metrics[address].Stats[stat]
			if !ok {
				return verdict.New(code.PilotUnread, verdict.Err(fmt.Errorf("launch %s lacks it", l.ID))).On(key).Is(verdict.Inconclusive)
			}
			values[i] = append(values[i], v)
		}
	}
	for i, l := range alone {
		if beside[i].On() != l.On() {
			return verdict.New(code.PilotUnread, verdict.Err(fmt.Errorf("round %d ran on %s and %s", l.Ordinal, l.On(), beside[i].On()))).On(key).Is(verdict.Inconclusive)
		}
		if _, ok := places[l.On()]; !ok {
			places[l.On()] = len(places)
		}
		on = append(on, places[l.On()])
	}
	n, err := stats.AmongNeighbours(values[0], values[1], on, pilot.Within)
	if err != nil {
		return verdict.New(code.PilotUnread, verdict.Err(err)).On(key).Is(verdict.Inconclusive)
	}
	args := []verdict.Arg{
		verdict.Int("at_once", slots), verdict.Int("rounds", len(alone)), verdict.Num("change", n.Change, "ratio"), verdict.Num("low", n.Low, "ratio"), verdict.Num("high", n.High, "ratio"),
		verdict.Num("within", pilot.Within, "spread"), verdict.Num("spread", n.Spread, "times"), verdict.Num("spread_high", n.SpreadHigh, "times"), verdict.Num("spread_within", stats.MostSpread, "times"),
	}
	v := verdict.Inconclusive
	switch {
	case n.Harmless():
		v = verdict.Pass
	case n.Harmful():
		v = verdict.Fail
	}
	return verdict.New(code.PilotChange, args...).On(key).Is(v)
}
