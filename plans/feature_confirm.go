package plans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

var confirmDoc = &BlockDoc{
	Type: "confirm", Times: AnyTimes,
	Doc: "Repeats the decisive criteria on another engine before the feature is accepted: parent and candidate are qualified and measured there too, interleaved. It happens only where they passed on the baseline's engine, and the feature passes only where they pass here too.",
	Attrs: []Attr{
		{Name: "engine", Type: Reference, Ref: "engine", Required: true, Doc: "The engine to repeat on: another one than the baseline's. Knobs are laid over it as over the baseline's."},
		{Name: "criteria", Type: Strings, Doc: "Names of the criteria to repeat. Without it, those in accept."},
	},
	Example: `confirm {
  engine   = engine.vllm.production
  criteria = ["decode"]
}`,
}

var confirmSchema = confirmDoc.schema()

// confirmNote is where a confirmation is written.
type confirmNote struct {
	confirm *Feature
	at      hcl.Range
}

// decodeConfirm reads the confirmations of a feature.
func (l *loader) decodeConfirm(f *body, ft *Feature, notes *featureNotes) {
	names := map[string]int{}
	lines := map[string]int{}
	for _, b := range f.blocks.OfType("confirm") {
		cf := l.fields(b, confirmSchema, "confirm")
		cf.required("engine", "the engine to repeat the criteria on, such as engine.vllm.production.")
		accept := l.confirmedCriteria(cf, ft)
		r := cf.ref("engine", "engine")
		if r == nil {
			continue
		}
		if line := lines[r.key]; line > 0 {
			l.fail(r.at, "Duplicate confirmation", "Feature %q is confirmed on engine.%s already on line %d. Remove one.", ft.Name, r.key, line)
			continue
		}
		lines[r.key] = b.DefRange.Start.Line
		c := *ft
		c.Engine, c.Of, c.Range = r.key, ft.Name, rangeOf(b.DefRange)
		c.Accept, c.Criteria = accept, namedRules(ft.Criteria, accept)
		c.Choose, c.Alternatives, c.Confirm, c.Hypothesis = nil, nil, nil, nil
		_, engine, _ := strings.Cut(r.key, ".")
		names[engine]++
		c.Name = engine
		ft.Confirm = append(ft.Confirm, &c)
		notes.confirms = append(notes.confirms, confirmNote{&c, cf.at("engine")})
	}
	for _, c := range ft.Confirm {
		if names[c.Name] > 1 {
			c.Name = c.Engine // two engines of one name and of two kinds
		}
		c.Name = fmt.Sprintf("%s@%s", ft.Name, c.Name)
	}
}

// confirmedCriteria are the criteria to repeat; those in accept unless said.
func (l *loader) confirmedCriteria(cf *body, ft *Feature) []string {
	if cf.absent("criteria") {
		return ft.Accept
	}
	return l.decodeNames(cf, "criteria", ft.Criteria, ft.Accept)
}

// namedRules are the rules of some names, in their own order.
func namedRules(rules []*Rule, names []string) (list []*Rule) {
	for _, r := range rules {
		if slices.Contains(names, r.Name) {
			list = append(list, r)
		}
	}
	return list
}

// checkConfirmations refuses confirmations that could confirm nothing.
func (l *loader) checkConfirmations() {
	base := l.plan.Baseline
	if base == nil {
		return
	}
	for _, n := range l.checks.order {
		for _, note := range n.confirms {
			e, first := l.plan.Engine(note.confirm.Engine), l.plan.Engine(base.Engine)
			if e == nil || first == nil {
				continue // reported
			}
			switch {
			case e == first:
				l.fail(note.at, "Confirmation on the same engine", "engine.%s is the baseline's, on which the criteria are decided first, so this would confirm nothing. Name another engine, or remove the block.", note.confirm.Engine)
			case e.IsCommand() != first.IsCommand():
				l.fail(note.at, "Confirmation measures something else", "One of engine.%s and the baseline's engine.%s is a command and the other a server: no metric is the same on both. Name an engine of the same sort.", note.confirm.Engine, base.Engine)
			default:
				l.checkConfirmedMetrics(note, e)
				l.checkConfirmedKnobs(note, e)
			}
		}
	}
}

// checkConfirmedMetrics checks that another command has the metrics of the first.
func (l *loader) checkConfirmedMetrics(note confirmNote, e *Engine) {
	own := e.CommandMetrics()
	for _, m := range l.plan.commandEngine().CommandMetrics() {
		other, _, ok := metricOf(own, m.Name)
		if !ok || other.Unit != m.Unit || other.Better != m.Better {
			l.fail(note.at, "Confirmation measures something else", "engine.%s has to declare metric %q with the unit and better direction that engine.%s gives it (%s, %q), so that the criteria mean the same there.", note.confirm.Engine, m.Name, l.plan.Baseline.Engine, orElse(m.Unit, "no unit"), m.Better)
		}
	}
}

// checkConfirmedKnobs checks that the values of the knobs under test mean
// something to the other engine.
func (l *loader) checkConfirmedKnobs(note confirmNote, e *Engine) {
	accepted := l.extended(l.reg.Engines[e.Kind], e).Settings
	if accepted == nil {
		return
	}
	known := wordSet("")
	for _, a := range accepted {
		known[a.Name] = true
	}
	of := l.checks.features[note.confirm.Of].feature
	for _, knob := range l.plan.Knobs {
		values := []string{knob.Default, l.plan.Baseline.Set[knob.Name], of.Set[knob.Name]}
		if of.Choose != nil && of.Choose.Knob == knob.Name {
			values = append(values, of.Choose.Values...)
		}
		for _, name := range values {
			v := knob.Value(name)
			if v == nil {
				continue
			}
			for _, setting := range keysOf(v.Settings) {
				if v.Settings[setting] != nil && !known[setting] {
					l.fail(note.at, "Knob cannot reach the confirming engine", "Value %q of knob %q sets %q, which engine.%s of kind %q does not have, so it could not be started with it. Confirm on an engine that has it, or let the value say it in another way, such as env.", v.Name, knob.Name, setting, note.confirm.Engine, e.Kind)
					return
				}
			}
		}
	}
}
