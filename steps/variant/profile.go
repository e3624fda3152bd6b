package variant

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/plans"
)

var profilePart = plans.Part{Schema: profileSchema, Times: plans.AtMost1, Extends: func(b *plans.Block) (x plans.Extension) {
	var p Profile
	if b.Decode(&p) != nil {
		return x
	}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		x.Settings = append(x.Settings, plans.Attr{Name: name, Type: plans.Anything, Doc: "Given with " + p.Settings[name] + "."})
	}
	return x
}, AddsSettings: true}

var profileSchema = plans.Schema{
	Doc:     "Extends or overrides the profile of the engine's kind, for a fork, a newer version or a server without its own kind. Everything else stays the kind's.",
	Example: plans.Example(examples, `profile {`),
	Attrs:   plans.Attrs(Profile{}),
	Check: plans.Checked(func(_ *plans.Block, p Profile) (errs []plans.AttrError) {
		add := func(attr, format string, args ...any) {
			errs = append(errs, plans.AttrError{Attr: attr, Code: "invalid-value", Summary: "Invalid " + attr, Detail: fmt.Sprintf(format, args...)})
		}
		for attr, path := range map[string]string{"ready_path": p.ReadyPath, "metrics_path": p.MetricsPath, "tokenize_path": p.TokenizePath} {
			if path != "" && !strings.HasPrefix(path, "/") {
				add(attr, "A page of the engine starts with a slash: write %[2]q instead of %[1]q.", path, "/"+path)
			}
		}
		if p.ReadyContains != "" && p.ReadyPath == "" {
			add("ready_contains", "It applies to the answer of ready_path, which is missing. Add ready_path.")
		}
		for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
			if !flagForm.MatchString(p.Settings[name]) {
				add("settings", `Setting %s needs a flag, such as "--name" or "--on|--off", not %q.`, name, p.Settings[name])
			}
		}
		for attr, globs := range map[string][]string{"crash": p.Crash, "harmless": p.Harmless} {
			for _, g := range globs {
				if _, err := logscan.ParseGlob(g); err != nil {
					add(attr, "%v. Add the text to look for.", err)
				}
			}
		}
		return errs
	}),
}

// Profile are the block's attributes by their names in the plan.
type Profile struct {
	ReadyPath     string            `hcl:"ready_path,optional" doc:"Page that answers 200 when the engine is ready, instead of all of the kind's checks."`
	ReadyContains string            `hcl:"ready_contains,optional" doc:"Text that the answer of 'ready_path' must have."`
	MetricsPath   string            `hcl:"metrics_path,optional" doc:"Page with Prometheus metrics."`
	Metrics       map[string]string `hcl:"metrics,optional" doc:"Additional metric names: mxflow's name to the engine's, such as '{ running = \"my:requests\" }'."`
	TokenizePath  string            `hcl:"tokenize_path,optional" doc:"Page that counts the tokens of a text: it gets '{\"prompt\": …}' and answers '{\"count\": …}'."`
	Settings      map[string]string `hcl:"settings,optional" doc:"Additional settings: name to flag. A bool gives just the flag when true; '\"--on|--off\"' names the flag for false as well."`
	Crash         []string          `hcl:"crash,optional" doc:"Globs of log lines that show that the engine broke, checked before the kind's own."`
	Harmless      []string          `hcl:"harmless,optional" doc:"Globs of log lines that look like errors but are harmless."`
	IgnoreEOS     *bool             `hcl:"ignore_eos,optional" doc:"Whether requests can ask to continue past the end of text."`
}

var flagForm = regexp.MustCompile(`^--?[A-Za-z0-9][^\s|]*(\|--?[A-Za-z0-9][^\s|]*)?$`)

// changedKind is the kind with the plan's changes to it, and whether there are any.
func changedKind(e *plans.Engine, k kinds.Kind) (kinds.Kind, bool, error) {
	blocks := e.Parts["profile"]
	if len(blocks) == 0 {
		return k, false, nil
	}
	var p Profile
	if err := blocks[0].Decode(&p); err != nil {
		return k, false, fmt.Errorf("the profile of engine %s.%s: %w", e.Kind, e.Name, err)
	}
	return p.Extend(k), true, nil
}

// EngineKind is the kind of an engine with the plan's changes to it.
func EngineKind(e *plans.Engine) kinds.Kind {
	k, ok := kinds.Lookup(e.Kind)
	if changed, _, err := changedKind(e, k); ok && err == nil {
		return changed
	}
	return k
}

// Extend is k with the plan's changes. k itself, shared by all engines of the kind, is not
// modified.
func (p Profile) Extend(k kinds.Kind) kinds.Kind {
	if p.ReadyPath != "" {
		k.Ready = []kinds.Probe{{Path: p.ReadyPath, Contains: p.ReadyContains}}
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
	var crashes []kinds.Signature
	for _, glob := range p.Crash {
		crashes = append(crashes, kinds.Signature{Glob: glob, Class: kinds.Crash, Means: "The plan's profile marks this line as an engine error."})
	}
	k.Crashes = append(crashes, k.Crashes...)
	k.Harmless = slices.Concat(p.Harmless, k.Harmless)
	if p.IgnoreEOS != nil {
		k.Ask.IgnoreEOS = *p.IgnoreEOS
	}
	return k
}

// settings are the kind's, replaced or extended by the plan's.
func (p Profile) settings(own []kinds.Setting) []kinds.Setting {
	var all []kinds.Setting
	for _, s := range own {
		if _, replaced := p.Settings[s.Name]; !replaced {
			all = append(all, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		on, off, _ := strings.Cut(p.Settings[name], "|")
		all = append(all, kinds.Setting{Name: name, Type: kinds.TypeAny, Doc: "Of the plan's profile.", Default: "the engine's", Flag: on, OffFlag: off})
	}
	return all
}
