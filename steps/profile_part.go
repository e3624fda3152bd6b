package steps

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/plans"
)

// profilePart extends or overrides what the engine's kind knows.
var profilePart = plans.Part{Schema: profileSchema, Times: plans.AtMost1, Extends: profileExtends, AddsSettings: true}

var profileSchema = plans.Schema{
	Doc: "Extends or overrides the profile of the engine's kind, for a fork, a newer version or a server that has no kind of its own. What is not said here stays the kind's.",
	Example: `profile {
  ready_path = "/healthz"
  settings   = { mxfp4_layers = "--mxfp4-layers", fused = "--fused|--no-fused" }
  log        = { mxfp4_layers = "quantized layers: (?P<value>\\S+)" }
  crash      = ["*tactic failed*"]
}`,
	Attrs: []plans.Attr{
		{Name: "ready_path", Type: plans.String, Doc: "Page that answers 200 when the engine is ready, in place of all of the kind's questions."},
		{Name: "ready_contains", Type: plans.String, Doc: "Text that the answer of `ready_path` must have."},
		{Name: "version_path", Type: plans.String, Doc: "Page that says which version runs."},
		{Name: "version_jq", Type: plans.String, Doc: "jq expression that takes the version out of it. Without it, `.version`."},
		{Name: "metrics_path", Type: plans.String, Doc: "Page with Prometheus metrics."},
		{Name: "metrics", Type: plans.Map, Doc: "Further names of metrics: mxflow's name to the engine's, such as `{ running = \"my:requests\" }`."},
		{Name: "tokenize_path", Type: plans.String, Doc: "Page that counts the tokens of a text: it is sent `{\"prompt\": …}` and answers `{\"count\": …}`."},
		{Name: "settings", Type: plans.Map, Doc: "Further settings: name to flag. A bool gives the flag alone when true; `\"--on|--off\"` names the flag for false as well."},
		{Name: "env", Type: plans.Map, Doc: "Environment variables that are set where neither the engine nor a knob sets them."},
		{Name: "port", Type: plans.Int, Min: 1, MinSet: true, Max: 65535, Doc: "Port that it listens on in its container."},
		{Name: "image", Type: plans.String, Doc: "Container image where the launcher names none."},
		{Name: "log", Type: plans.Map, Doc: "Further observations: name to an RE2 expression over lines of the log. The group `value`, or the first, is the value."},
		{Name: "crash", Type: plans.Strings, Doc: "Globs of log lines that say that the engine broke, before the kind's own."},
		{Name: "harmless", Type: plans.Strings, Doc: "Globs of log lines that look like it and are not."},
		{Name: "ignore_eos", Type: plans.Bool, Doc: "Whether requests can ask to go on past the end of text."},
		{Name: "min_tokens", Type: plans.Bool, Doc: "Whether requests can ask for a least number of tokens."},
	},
	Check: checkProfile,
}

// profileAttrs are the block's attributes under their names in the plan.
type profileAttrs struct {
	ReadyPath     string            `json:"ready_path"`
	ReadyContains string            `json:"ready_contains"`
	VersionPath   string            `json:"version_path"`
	VersionJQ     string            `json:"version_jq"`
	MetricsPath   string            `json:"metrics_path"`
	Metrics       map[string]string `json:"metrics"`
	TokenizePath  string            `json:"tokenize_path"`
	Settings      map[string]string `json:"settings"`
	Env           map[string]string `json:"env"`
	Port          int               `json:"port"`
	Image         string            `json:"image"`
	Log           map[string]string `json:"log"`
	Crash         []string          `json:"crash"`
	Harmless      []string          `json:"harmless"`
	IgnoreEOS     *bool             `json:"ignore_eos"`
	MinTokens     *bool             `json:"min_tokens"`
}

var flagForm = regexp.MustCompile(`^--?[A-Za-z0-9][^\s|]*(\|--?[A-Za-z0-9][^\s|]*)?$`)

func checkProfile(b *plans.Block) (errs []plans.AttrError) {
	var p profileAttrs
	if err := b.Decode(&p); err != nil {
		return []plans.AttrError{{Code: "invalid-value", Summary: "Invalid profile", Detail: err.Error()}}
	}
	add := func(attr, format string, args ...any) {
		errs = append(errs, plans.AttrError{Attr: attr, Code: "invalid-value", Summary: "Invalid " + attr, Detail: fmt.Sprintf(format, args...)})
	}
	for attr, path := range map[string]string{"ready_path": p.ReadyPath, "version_path": p.VersionPath, "metrics_path": p.MetricsPath, "tokenize_path": p.TokenizePath} {
		if path != "" && !strings.HasPrefix(path, "/") {
			add(attr, "A page of the engine begins with a slash; this is %q. Write %q.", path, "/"+path)
		}
	}
	if p.ReadyContains != "" && p.ReadyPath == "" {
		add("ready_contains", "It is looked for in the answer of ready_path, which is missing. Add ready_path.")
	}
	if p.VersionJQ != "" {
		if _, err := observe.CompileJQ(p.VersionJQ); err != nil {
			add("version_jq", "%v. Correct the expression.", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		if !flagForm.MatchString(p.Settings[name]) {
			add("settings", `Setting %s needs a flag, such as "--name" or "--on|--off"; this is %q.`, name, p.Settings[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Log)) {
		if _, err := regexp.Compile(p.Log[name]); err != nil {
			add("log", "The expression for %s cannot be read: %v.", name, err)
		} else if !ruleName.MatchString(name) {
			add("log", "Rules must be able to name %q: letters, digits and _, beginning with a letter.", name)
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
}

var ruleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// profileExtends are the settings and observations that the block adds to those
// of the kind.
func profileExtends(b *plans.Block) (x plans.Extension) {
	var p profileAttrs
	if b.Decode(&p) != nil {
		return x
	}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		x.Settings = append(x.Settings, plans.Attr{Name: name, Type: plans.Anything, Doc: "Given with " + p.Settings[name] + "."})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Log)) {
		x.Observed = append(x.Observed, plans.Observed{Name: name})
	}
	return x
}
