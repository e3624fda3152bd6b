package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
)

// changedKind is the kind with the plan's changes to it, and whether there are any.
func changedKind(e *plans.Engine, k kinds.Kind) (kinds.Kind, bool, error) {
	blocks := e.Parts["profile"]
	if len(blocks) == 0 {
		return k, false, nil
	}
	var p profileAttrs
	if err := blocks[0].Decode(&p); err != nil {
		return k, false, fmt.Errorf("the profile of engine %s.%s: %w", e.Kind, e.Name, err)
	}
	return p.over(k), true, nil
}

// profiledKind is the kind of an engine with the plan's changes to it.
func profiledKind(e *plans.Engine) (kinds.Kind, bool) {
	k, ok := kinds.Lookup(e.Kind)
	if changed, _, err := changedKind(e, k); ok && err == nil {
		return changed, true
	}
	return k, ok
}

// over is k with the plan's changes. Nothing of k itself is written to: it is
// shared by all engines of the kind.
func (p profileAttrs) over(k kinds.Kind) kinds.Kind {
	if p.ReadyPath != "" {
		k.Ready = []kinds.Probe{{Path: p.ReadyPath, Contains: p.ReadyContains}}
	}
	if p.VersionPath != "" {
		k.Version = kinds.Pattern{Path: p.VersionPath, JQ: ".version"}
	}
	if p.VersionJQ != "" {
		k.Version.JQ = p.VersionJQ
	}
	if p.MetricsPath != "" {
		k.Metrics.Path = p.MetricsPath
	}
	if p.TokenizePath != "" {
		k.Tokenize = kinds.Tokenize{Path: p.TokenizePath, Field: "prompt", Count: ".count"}
	}
	names := maps.Clone(k.Metrics.Names)
	for name, theirs := range p.Metrics {
		if names == nil {
			names = map[string][]string{}
		}
		names[name] = append([]string{theirs}, names[name]...)
	}
	k.Metrics.Names = names
	k.Settings = p.settings(k.Settings)
	env := maps.Clone(k.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, p.Env)
	k.Env = env
	if p.Port != 0 {
		k.Port = p.Port
	}
	if p.Image != "" {
		k.Image = p.Image
	}
	k.Observe = p.observe(k.Observe)
	var crashes []kinds.Signature
	for _, glob := range p.Crash {
		crashes = append(crashes, kinds.Signature{Glob: glob, Class: "crash", Means: "The plan's profile says that this line means that the engine broke."})
	}
	k.Crashes = append(crashes, k.Crashes...)
	k.Harmless = slices.Concat(p.Harmless, k.Harmless)
	if p.IgnoreEOS != nil {
		k.Ask.IgnoreEOS = *p.IgnoreEOS
	}
	if p.MinTokens != nil {
		k.Ask.MinTokens = *p.MinTokens
	}
	return k
}

// settings are the kind's, with the plan's in their place or after them.
func (p profileAttrs) settings(own []kinds.Setting) []kinds.Setting {
	var all []kinds.Setting
	for _, s := range own {
		if _, replaced := p.Settings[s.Name]; !replaced {
			all = append(all, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		on, off, _ := strings.Cut(p.Settings[name], "|")
		all = append(all, kinds.Setting{Name: name, Type: "any", Doc: "Of the plan's profile.", Default: "the engine's", Flag: on, OffFlag: off})
	}
	return all
}

// observe are the kind's patterns, with the plan's in their place or after them.
func (p profileAttrs) observe(own []kinds.Pattern) []kinds.Pattern {
	var all []kinds.Pattern
	types := map[string]kinds.Pattern{}
	for _, o := range own {
		if _, replaced := p.Log[o.Name]; !replaced {
			all = append(all, o)
		} else if _, first := types[o.Name]; !first {
			types[o.Name] = o
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Log)) {
		o := kinds.Pattern{Name: name, Type: kinds.TypeString, Doc: "Of the plan's profile."}
		if known, ok := types[name]; ok {
			// Rules that compare it go on to see the type that they know.
			o.Type, o.Unit, o.Doc, o.Varies = known.Type, known.Unit, known.Doc, known.Varies
		}
		o.Log = []string{p.Log[name]}
		all = append(all, o)
	}
	return all
}
