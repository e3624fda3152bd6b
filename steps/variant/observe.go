package variant

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/plans"
)

var observePart = plans.Part{
	Label: "Its name in rules: `engine.observed.<name>`. One of the kind's names replaces that observation.",
	Times: plans.AnyTimes,
	Schema: plans.Schema{
		Doc: "One thing that the engine reports about itself, read at every launch after it has answered. It has one source: `log`, `path` or `file` with `jq`, or `metric`.",
		Example: `observe "tactic" {
  log  = "autotuner chose tactic (?P<value>\\S+)"
  type = "string"
}
observe "fallbacks" {
  log  = "falling back to the slow path"
  type = "count"
}`,
		Attrs: []plans.Attr{
			{Name: "log", Type: plans.String, Doc: "RE2 expression, searched in every line of the log without its terminal escapes. The group named `value`, else the first group, is the value; the last matching line counts, or the first if the kind's observation of that name is about the served model and a drafter logs it too."},
			{Name: "path", Type: plans.String, Doc: "Page of the engine's API that answers with JSON, such as `/v1/models`."},
			{Name: "file", Type: plans.String, Doc: "JSON file on the engine's machine or container, relative to its working directory."},
			{Name: "jq", Type: plans.String, Doc: "jq expression for the value in the page or file; its first result counts."},
			{Name: "metric", Type: plans.String, Doc: "Exact name of a Prometheus metric of the engine. Different series are not summed: choose one with labels."},
			{Name: "labels", Type: plans.Map, Doc: "Labels that the metric's series must have."},
			{Name: "type", Type: plans.String, Required: true, OneOf: []string{string(kinds.TypeString), string(kinds.TypeNumber), string(kinds.TypeBool), string(kinds.TypeCount)}, Doc: "`string`, `number`, `bool`, or `count`: how many lines of the log match (none is 0)."},
			{Name: "unit", Type: plans.String, Doc: "Unit of a number, such as `tokens`, `GB` or `s`."},
			{Name: "scale", Type: plans.Number, Doc: "Factor that converts the number to its unit."},
			{Name: "words", Type: plans.Map, Doc: "Maps what the engine reports to the words that rules compare with."},
			{Name: "is", Type: plans.String, OneOf: []string{settingWord, consequenceWord}, Doc: "`setting`: the arms of a comparison must agree on it. `consequence`: it follows from the settings, like the memory of the weights, and arms that differ in it are shown side by side. Without it, numbers are consequences; words, true and false are settings."},
		},
		Check: plans.Checked(checkObserve),
	},
	Extends: func(b *plans.Block) (x plans.Extension) {
		if p, err := patternOf(b); err == nil {
			x.Observed = []plans.Observed{{Name: p.Name, Type: string(p.Type), Unit: p.Unit}}
		}
		return x
	},
}

// observeConfig is an observe block.
type observeConfig struct {
	Log    string            `json:"log"`
	Path   string            `json:"path"`
	File   string            `json:"file"`
	JQ     string            `json:"jq"`
	Metric string            `json:"metric"`
	Labels map[string]string `json:"labels"`
	Type   kinds.Type        `json:"type"`
	Unit   string            `json:"unit"`
	Scale  *float64          `json:"scale"`
	Words  map[string]string `json:"words"`
	Is     string            `json:"is"`
}

// The types of observations.
const settingWord, consequenceWord = "setting", "consequence"

// patternOf is an observe block in the form that the engine package uses.
func patternOf(b *plans.Block) (kinds.Pattern, error) {
	var c observeConfig
	if err := b.Decode(&c); err != nil {
		return kinds.Pattern{}, err
	}
	p := kinds.Pattern{
		Name: b.Name, Type: c.Type, Unit: c.Unit, Path: c.Path, JQ: c.JQ, File: c.File,
		Labels: c.Labels, Words: c.Words,
		Consequence: c.Is == consequenceWord || c.Is == "" && numeric(c.Type),
	}
	if c.Log != "" {
		p.Log = []string{c.Log}
	}
	if c.Metric != "" {
		p.Metric = []string{c.Metric}
	}
	if c.Scale != nil {
		p.Scale = *c.Scale
	}
	return p, nil
}

func numeric(ty kinds.Type) bool { return ty == kinds.TypeNumber || ty == kinds.TypeCount }

func checkObserve(_ *plans.Block, c observeConfig) (errs []plans.AttrError) {
	wrong := func(attr, code, summary, format string, args ...any) {
		errs = append(errs, plans.AttrError{Attr: attr, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	var sources []string
	for _, s := range []struct{ name, value string }{{"log", c.Log}, {"path", c.Path}, {"file", c.File}, {"metric", c.Metric}} {
		if strings.TrimSpace(s.value) != "" {
			sources = append(sources, s.name)
		}
	}
	switch {
	case len(sources) == 0:
		wrong("", "unusable-observation", "Nothing to observe", "Name its source: log = \"expression\", path = \"/page\" or file = \"name\" with jq, or metric = \"name\".")
		return errs
	case len(sources) > 1:
		wrong(sources[1], "unusable-observation", "Two sources of one observation", "It has both %s and %s as source. Remove one of them, or make two observations.", sources[0], sources[1])
		return errs
	}
	switch json := c.Path != "" || c.File != ""; {
	case json && c.JQ == "":
		wrong(sources[0], "missing-attribute", "Missing jq", "A page or file holds many values: select one with jq, such as jq = \".version\".")
	case !json && c.JQ != "":
		wrong("jq", "unusable-observation", "Argument does not apply", "jq extracts a value from JSON, so it needs path or file.")
	case json:
		if _, err := observe.CompileJQ(c.JQ); err != nil {
			wrong("jq", "invalid-jq", "Invalid jq expression", "%v.", err)
		}
	}
	if c.Path != "" && !strings.HasPrefix(c.Path, "/") {
		wrong("path", "invalid-value", "Invalid path", "%q must start with a slash: it is a page of the engine, such as \"/v1/models\".", c.Path)
	}
	switch {
	case c.Log != "":
		errs = append(errs, checkLogExpression(c)...)
	case c.Type == kinds.TypeCount:
		wrong("type", "unusable-observation", "Count without a log", "count is how many lines of the log match. What %s gives is a number.", sources[0])
	case c.Metric != "" && c.Type != kinds.TypeNumber:
		wrong("type", "unusable-observation", "Metric is a number", "A Prometheus metric is a number: write type = \"number\".")
	}
	if len(c.Labels) > 0 && c.Metric == "" {
		wrong("labels", "unusable-observation", "Argument does not apply", "labels choose a series of a Prometheus metric.")
	}
	if !numeric(c.Type) {
		for attr, set := range map[string]bool{"unit": c.Unit != "", "scale": c.Scale != nil} {
			if set {
				wrong(attr, "unusable-observation", "Argument does not apply", "%s only applies to a number, not to a %s.", attr, c.Type)
			}
		}
	}
	if c.Scale != nil && *c.Scale == 0 {
		wrong("scale", "invalid-value", "Invalid scale", "A scale of 0 makes every value 0. Remove scale, or set the factor from the engine's number to the unit.")
	}
	return errs
}

func checkLogExpression(c observeConfig) []plans.AttrError {
	re, err := regexp.Compile(c.Log)
	switch {
	case err != nil:
		return []plans.AttrError{{Attr: "log", Code: "invalid-value", Summary: "Invalid regular expression", Detail: fmt.Sprintf("%v. The syntax is RE2.", err)}}
	case re.NumSubexp() == 0 && (c.Type == kinds.TypeString || c.Type == kinds.TypeNumber):
		return []plans.AttrError{{Attr: "log", Code: "unusable-observation", Summary: "Expression without a group", Detail: fmt.Sprintf("A %s is what a group matches: put the value into parentheses, as in \"Using (\\\\w+) backend\". Without a group it can be a bool or a count.", c.Type)}}
	case re.MatchString("") && c.Type == kinds.TypeCount:
		return []plans.AttrError{{Attr: "log", Code: "unusable-observation", Summary: "Expression matches everything", Detail: "It matches even an empty line, so it counts all lines. Name text that must be there."}}
	}
	return nil
}

// KindOf is the kind of a variant's engine, as the plan extends it.
func KindOf(spec engine.Spec) kinds.Kind {
	if spec.Profile != nil {
		return *spec.Profile
	}
	kind, _ := kinds.Lookup(spec.Kind)
	return kind
}

// ownPatterns are the observe blocks of an engine.
func ownPatterns(e *plans.Engine) (own []kinds.Pattern, err error) {
	if e == nil {
		return nil, nil
	}
	for _, b := range e.Parts["observe"] {
		p, err := patternOf(b)
		if err != nil {
			return nil, err
		}
		own = append(own, p)
	}
	return own, nil
}

// observedKey is what an engine's observe blocks look for.
func observedKey(blocks []*plans.Block) (parts []any) {
	for _, b := range blocks {
		parts = append(parts, b.Name, b.Attrs)
	}
	return parts
}

// Patterns are all observations of a variant.
func (l *Resolver) Patterns(v *Variant) ([]kinds.Pattern, error) {
	own, err := ownPatterns(l.Plan.Engine(v.Engine))
	return KindOf(v.Spec).Patterns(own), err
}

// LogEvidence is what will be searched in the log of a variant: it is kept if the log
// must be cut.
func (l *Resolver) LogEvidence(v *Variant) (e logscan.Evidence) {
	for _, proof := range EvidenceFor(l.Plan, v.Knobs) {
		e.Globs = append(e.Globs, proof.Globs()...)
	}
	for _, c := range KindOf(v.Spec).Signatures() {
		e.Globs = append(e.Globs, c.Glob)
	}
	patterns, _ := l.Patterns(v) // a mistake in them is reported when they are used
	for _, p := range patterns {
		e.Expressions = append(e.Expressions, p.Log...)
		if p.Anew != "" {
			e.Expressions = append(e.Expressions, p.Anew)
		}
	}
	return e
}
