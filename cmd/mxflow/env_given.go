package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// givenThen says which variables, and which values of the environment that the plan
// reads, were others when the plan was applied last, as far as its record tells.
func givenThen(st *store.Store, loaded *load.Result) []string {
	if st == nil || len(st.Runs()) == 0 {
		return nil
	}
	runs := st.Runs()
	v, err := st.Run(runs[len(runs)-1].ID)
	if err != nil || v.Start == nil || v.Start.Inputs == nil {
		return nil
	}
	c := &givenChange{then: v.Start.Inputs, loaded: loaded, now: loaded.Inputs()}
	notes := c.sealed(st)
	if v.Start.PlanDigest != loaded.Plan.Digest() {
		notes = slices.Concat(c.variables(), c.env(), c.onlyNow(), notes)
	}
	return notes
}

// givenChange is what a plan was given when it was applied, and what it is given now.
type givenChange struct {
	then   *ledger.Inputs
	loaded *load.Result
	now    plans.Inputs
}

// variables are those of the record that come to something else now, be it given or
// the default of now. What the plan does not declare any more cannot be given.
func (c *givenChange) variables() []string {
	var then []string
	for _, name := range slices.Sorted(maps.Keys(c.then.Variables)) {
		if text, declared := c.loaded.VariableText(name); declared && text != c.then.Variables[name] {
			then = append(then, name+" = "+oneLine(c.then.Variables[name]))
		}
	}
	return noteOf(then, "It was applied with %s: give that again (--var, --var-file) for what was measured.")
}

// env is what env() found then and does not find now.
func (c *givenChange) env() []string {
	var then []string
	for _, name := range slices.Sorted(maps.Keys(c.then.Env)) {
		if text, set := c.now.Env[name]; text != c.then.Env[name] && (set || c.reads(name)) {
			then = append(then, name+" = "+oneLine(c.then.Env[name]))
		}
	}
	return noteOf(then, "It was applied with %s in the environment, which the plan reads: set that again for what was measured.")
}

// onlyNow is what was not given then, so that the plan's own values counted.
func (c *givenChange) onlyNow() []string {
	// What may be secret is named and not shown.
	shown, err := steps.InputsOf(c.loaded, func(string) (string, error) { return "", nil })
	if err != nil {
		return nil
	}
	var only []string
	add := func(prefix string, now, then, shown map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			_, was := then[name]
			_, sealed := c.then.Sealed[prefix+name]
			text, plain := shown[name]
			switch {
			case was || sealed:
			case plain:
				only = append(only, name+" = "+oneLine(text))
			default:
				only = append(only, name)
			}
		}
	}
	add("var.", c.now.Variables, c.then.Variables, shown.Variables)
	add("env.", c.now.Env, c.then.Env, shown.Env)
	return noteOf(only, "Given now, and not when it was applied: %s. Leave that out for what was measured.")
}

// sealed are the sensitive inputs that are not known to be what they were.
func (c *givenChange) sealed(st *store.Store) []string {
	key, keyErr := knownKey(st.Dir())
	var others []string
	for _, id := range slices.Sorted(maps.Keys(c.then.Sealed)) {
		name, isVariable := strings.CutPrefix(id, "var.")
		text, there := c.loaded.VariableText(name)
		if !isVariable {
			name = strings.TrimPrefix(id, "env.")
			if text, there = c.now.Env[name]; !there && c.reads(name) {
				others = append(others, id)
				continue
			}
		}
		if there && (keyErr != nil || sealWith(key, text) != c.then.Sealed[id]) {
			others = append(others, id)
		}
	}
	return noteOf(others, "Not known to be what it was applied with: %s, which no record has, since it may be secret. Give it again for what was measured.")
}

// reads reports whether the text of the plan has the name of an environment variable.
func (c *givenChange) reads(name string) bool {
	for _, text := range c.loaded.Sources {
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return bytes.Contains(c.loaded.Source, []byte(name))
}

func noteOf(list []string, format string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(format, strings.Join(list, ", "))}
}
