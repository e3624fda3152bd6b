package ledger

import (
	"math"
	"reflect"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Changed is how a decision differs from an earlier one about its node, nil if there is
// none: in its evidence, in the rules, or only in the hypothesis. No fact if both say the
// same, however worded. Attempt, duration and earlier reasons are not compared.
func (d *Decision) Changed(p *Decision) verdict.Reason {
	if p == nil {
		return verdict.Say("first", "first")
	}
	a, b := *d, *p
	for _, x := range []*Decision{&a, &b} {
		x.Attempt, x.Because, x.Seconds, x.Supersedes = 0, verdict.Reason{}, 0, false
		x.DecisionKey = ""
	}
	if same(reflect.ValueOf(a), reflect.ValueOf(b)) {
		return verdict.Reason{}
	}
	a.Hypothesis, b.Hypothesis = nil, nil
	if same(reflect.ValueOf(a), reflect.ValueOf(b)) {
		return verdict.Say("hypothesis_changed", "hypothesis changed")
	}
	evidence := d.MeasureKey != p.MeasureKey || d.Session != p.Session || !slices.Equal(d.Launches, p.Launches)
	rules := !same(reflect.ValueOf(d.Statistics), reflect.ValueOf(p.Statistics)) ||
		!slices.EqualFunc(d.Rules, p.Rules, func(a, b verdict.Rule) bool {
			return a.Name == b.Name && a.Expr == b.Expr && a.Decides == b.Decides
		})
	switch {
	case evidence && rules:
		return verdict.Say("rules_and_evidence_changed", "rules and evidence changed")
	case evidence:
		return verdict.Say("evidence_changed", "evidence changed")
	}
	return verdict.Say("rules_changed", "rules changed")
}

var reason, launched = reflect.TypeFor[verdict.Reason](), reflect.TypeFor[gates.Launch]()

// same compares as records are compared that were written and read: an empty list is none,
// a launch is its ID, a reason its kind, subject, verdict and causes; durations, and where in
// its file a rule stands, are left out.
func same(a, b reflect.Value) bool {
	switch a.Type() {
	case reason:
		return a.Interface().(verdict.Reason).Key() == b.Interface().(verdict.Reason).Key()
	case launched:
		return a.Interface().(gates.Launch).ID == b.Interface().(gates.Launch).ID
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return a.Elem().Type() == b.Elem().Type() && same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() && f.Name != "Seconds" && f.Name != "Source" &&
				!same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, k := range a.MapKeys() {
			if v := b.MapIndex(k); !v.IsValid() || !same(a.MapIndex(k), v) {
				return false
			}
		}
		return true
	case reflect.Float64:
		return a.Float() == b.Float() || math.IsNaN(a.Float()) && math.IsNaN(b.Float())
	}
	return a.Equal(b)
}
