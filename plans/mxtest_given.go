package plans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/gates/verdict"
)

// decodeOwn reads what a case says without a given block.
func (l *caseLoader) decodeOwn(f *body, c *Case, own *Feature, visible []*Feature) {
	first := ""
	for _, a := range givenAttrs {
		if first == "" && !f.absent(a.Name) {
			first = a.Name
		}
	}
	switch {
	case first == "":
	case own == nil:
		l.fail(f.at(first), "Whose value?", "This case is decided from %s. Say whose %s it is, on lines of its own: given %q { %s = … }.", orNothing(namesOf(visible)), first, nameOrNone(visible), first)
	default:
		c.Given[own.Name] = l.decodeGiven(f, own, c.Feature != "")
	}
}

// decodeNamed reads a given block.
func (l *caseLoader) decodeNamed(b *hcl.Block, c *Case, visible []*Feature) {
	name := b.Labels[0]
	ft := find(visible, func(f *Feature) bool { return f.Name == name })
	switch {
	case ft == nil && l.ns.features[name] != nil:
		l.fail(b.LabelRanges[0], "Feature is not read here", "Nothing that this case decides is read of feature %q. There is: %s.", name, orNothing(namesOf(visible)))
		return
	case ft == nil:
		l.fail(b.LabelRanges[0], "Unknown feature", "There is no feature %q that this case could be decided from.%s", name, l.didYouMean(name, namesOf(visible)))
		return
	case c.Given[name] != nil:
		l.fail(b.DefRange, "Duplicate given", "It is said already what was measured of %s. Write it in one place.", name)
		return
	}
	c.Given[name] = l.decodeGiven(l.fields(b, givenSchema, fmt.Sprintf("given %q", name)), ft, c.Feature != "")
}

func namesOf(list []*Feature) (names []string) {
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names
}

func nameOrNone(list []*Feature) string {
	if len(list) == 0 {
		return "name"
	}
	return list[0].Name
}

// decodeGiven reads what is given of one feature. Where the feature is what is
// decided, its own outcome cannot be given.
func (l *caseLoader) decodeGiven(f *body, ft *Feature, decided bool) *GivenFeature {
	g := &GivenFeature{Feature: ft.Name, Knobs: map[string]string{}, Observed: map[string]any{}}
	g.Launches = l.decodeLaunches(f, ft)
	g.Levels = l.decodeLevels(f, ft)
	l.decodeKnobs(f, g)
	l.decodeSaid(f, g)
	l.decodeNoise(f, g, ft)
	for _, name := range []string{"verdict", "accepted"} {
		if decided && !f.absent(name) {
			l.fail(f.at(name), "Outcome of what is decided", "%s is what comes out here, and %s is what the case is about. Remove it; expect says what should come out.", name, ft.Name)
			return g
		}
	}
	g.Verdict = verdict.Verdict(l.verdictWord(f, "verdict"))
	g.Accepted = f.truth("accepted", g.Verdict == verdict.Pass)
	if !f.absent("accepted") && g.Accepted && g.Verdict != verdict.Pass {
		l.fail(f.at("accepted"), "Accepted without a pass", `A feature enters the stack when it passes. Add verdict = "pass".`)
	}
	return g
}

// decodeLevels reads the verdicts of levels.
func (l *caseLoader) decodeLevels(f *body, ft *Feature) map[string]verdict.Verdict {
	out := map[string]verdict.Verdict{}
	var order []string
	if p := l.plan.Protocol(ft.Protocol); p != nil {
		for _, level := range p.Levels {
			order = append(order, level.Kind)
		}
	}
	unknown := func(at hcl.Range, name string) bool {
		if slices.Contains(order, name) {
			return false
		}
		l.fail(at, "Level not in the protocol", "Protocol %q of feature %q has no level %q.%s", ft.Protocol, ft.Name, name, l.didYouMean(name, order))
		return true
	}
	if name := f.text("broken", ""); name != "" && !unknown(f.at("broken"), name) {
		v := verdict.Pass
		for _, level := range order {
			if level == name {
				v = verdict.Fail
			}
			if out[level] = v; v == verdict.Fail {
				v = verdict.Invalid
			}
		}
	} else if !f.absent("broken") && name == "" {
		if _, ok := f.value("broken"); ok {
			l.fail(f.at("broken"), "Empty broken", "broken names the level that failed: %s.", orNothing(order))
		}
	}
	for _, p := range f.pairs("levels") {
		if unknown(p.keyAt, p.key) {
			continue
		}
		word, ok := l.asVerdict(p.v, p.at, "The verdict of a level")
		if was := out[p.key]; ok && was != "" && was != word {
			l.fail(p.at, "Level given twice", "By broken, level %s is %s. Remove one of the two.", p.key, was)
			continue
		}
		if ok {
			out[p.key] = word
		}
	}
	return out
}

// verdictWord reads an attribute that is a verdict; empty where it is absent.
func (l *caseLoader) verdictWord(f *body, name string) string {
	v, ok := f.value(name)
	if !ok {
		return ""
	}
	word, _ := l.asVerdict(v, f.at(name), name)
	return string(word)
}

func (l *caseLoader) asVerdict(v cty.Value, at hcl.Range, what string) (verdict.Verdict, bool) {
	word, ok := l.asText(v, at, what)
	switch {
	case !ok:
		return "", false
	case slices.Contains(caseVerdicts, word):
		return verdict.Verdict(word), true
	case word == string(verdict.Waived):
		l.fail(at, "Unknown verdict", "Nobody waives a case: a waiver is of what was recorded. Write one of %s.", orList(caseVerdicts))
	case strings.EqualFold(word, "failed"), strings.EqualFold(word, "passed"):
		l.fail(at, "Unknown verdict", "A verdict is one of %s; this is %q. Did you mean %q?", orList(caseVerdicts), word, strings.ToLower(word[:4]))
	default:
		l.fail(at, "Unknown verdict", "A verdict is one of %s; this is %q.%s", orList(caseVerdicts), word, l.didYouMean(word, caseVerdicts))
	}
	return "", false
}
