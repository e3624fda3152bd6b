package script

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// GivenThen reports which variables, and which environment values that the plan reads,
// differed when the plan was last applied, as far as its record shows.
func GivenThen(st *store.Store, loaded *load.Result) []string {
	if st == nil || len(st.Runs()) == 0 {
		return nil
	}
	runs := st.Runs()
	v, err := st.Run(runs[len(runs)-1].ID)
	if err != nil || v.Start == nil || v.Start.Inputs == nil {
		return nil
	}
	c := &givenChange{then: v.Start.Inputs, loaded: loaded, now: loaded.Inputs()}
	var notes []string
	if v.Start.PlanDigest != loaded.Plan.Digest() {
		notes = slices.Concat(
			noteOf(c.changed("var.", c.then.Variables), "It was applied with %s: give that again (--var, --var-file) to get the measured variant."),
			noteOf(c.changed("env.", c.then.Env), "It was applied with %s in the environment, which the plan reads: set that again to get the measured variant."),
			c.onlyNow())
	}
	return append(notes, c.sealed(st)...)
}

// givenChange compares a plan's inputs when it was applied with those given now.
type givenChange struct {
	then   *ledger.Inputs
	loaded *load.Result
	now    plans.Inputs
}

// comesTo is the present value of an input, "var.x" or "env.X", whether given or a
// default. The plan may no longer ask for it.
func (c *givenChange) comesTo(id string) (text string, asked bool) {
	if name, ok := strings.CutPrefix(id, "var."); ok {
		return c.loaded.VariableText(name)
	}
	name := strings.TrimPrefix(id, "env.")
	text, set := c.now.Env[name]
	return text, set || c.reads(name)
}

// changed are recorded inputs with another value now.
func (c *givenChange) changed(prefix string, then map[string]string) (changed []string) {
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if text, asked := c.comesTo(prefix + name); asked && text != then[name] {
			changed = append(changed, name+" = "+oneLine(then[name]))
		}
	}
	return changed
}

// onlyNow is what was not given then, so the plan's own values applied.
func (c *givenChange) onlyNow() []string {
	// Values that may be secret are named but not shown.
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
	return noteOf(only, "Given now, but not when it was applied: %s. Leave that out to get the measured variant.")
}

// sealed are the sensitive inputs that may have changed.
func (c *givenChange) sealed(st *store.Store) []string {
	key, err := store.KnownSecretKey(st.Dir())
	var others []string
	for _, id := range slices.Sorted(maps.Keys(c.then.Sealed)) {
		if text, asked := c.comesTo(id); asked && (err != nil || redact.Sealed(key, text) != c.then.Sealed[id]) {
			others = append(others, id)
		}
	}
	return noteOf(others, "Perhaps not what it was applied with: %s, which is never recorded because it may be secret. Give it again to get the measured variant.")
}

// reads reports whether the plan's text contains the name of an environment variable.
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

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
