package variant

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
)

var observePart = plans.Part{
	Label: "Its name in rules: `engine.observed.<name>`. One of the kind's names replaces that observation.",
	Times: plans.AnyTimes,
	Schema: plans.Schema{
		Doc: "One thing that the engine reports about itself. It is read at every launch after the engine has " +
			"answered. It has one source: `log`, `path` or `file` with `jq`, or `metric`.",
		Example: `observe "tactic" {
  log  = "autotuner chose tactic (?P<value>\\S+)"
  type = "string"
}
observe "fallbacks" {
  log  = "falling back to the slow path"
  type = "count"
}`,
		Attrs: plans.Attrs(observeConfig{}),
		Check: plans.Checked(func(_ *plans.Block, c observeConfig) (errs []plans.AttrError) {
			wrong := func(attr, code, summary, format string, args ...any) {
				errs = append(errs,
					plans.AttrError{Attr: attr, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)})
			}
			if c.JQ != "" {
				if _, err := observe.CompileJQ(c.JQ); err != nil {
					wrong("jq", "invalid-jq", "Invalid jq expression", "%v.", err)
				}
			}
			if c.Path != "" && !strings.HasPrefix(c.Path, "/") {
				wrong("path", "invalid-value", "Invalid path",
					"%q must start with a slash: it is a page of the engine, such as \"/v1/models\".", c.Path)
			}
			if c.Log != "" {
				switch re, err := regexp.Compile(c.Log); {
				case err != nil:
					wrong("log", "invalid-value", "Invalid regular expression", "%s. The syntax is RE2.",
						verdict.Capital(foreign.NotPattern(err).Error()))
				case re.NumSubexp() == 0 && (c.Type == kinds.TypeString || c.Type == kinds.TypeNumber):
					wrong("log", "unusable-observation", "Expression without a group",
						"A %s is what a group matches: put the "+
							"value into parentheses, as in \"Using (\\\\w+) backend\". Without a group it can be a "+
							"bool "+
							"or a count.", c.Type)
				case re.MatchString("") && c.Type == kinds.TypeCount:
					wrong("log", "unusable-observation", "Expression matches everything",
						"It matches even an empty line, so it counts all lines. Name text that must be there.")
				}
			}
			if c.Scale != nil && *c.Scale == 0 {
				wrong("scale", "invalid-value", "Invalid scale",
					"A scale of 0 makes every value 0. Remove scale, or set the factor from the engine's number to "+
						"the unit.")
			}
			return errs
		}),
	},
	Observes: func(b *plans.Block) []plans.Observed {
		p, err := patternOf(b)
		if err != nil {
			return nil
		}
		return []plans.Observed{{Name: p.Name, Type: string(p.Type), Unit: p.Unit}}
	},
}

type observeConfig struct {
	Log    string            `hcl:"log,optional" excludes:"path|file|metric" unless:"path|file|metric" needs:"where it is read." doc:"RE2 expression for lines of the log. Terminal escapes are removed first. The group named 'value', else the first group, is the value; the last matching line counts, or the first if the kind's observation of that name is about the served model and a drafter logs it too."`
	Path   string            `hcl:"path,optional" excludes:"file|metric|type=count" requires:"jq" doc:"JSON page of the engine's API, such as '/v1/models'."`
	File   string            `hcl:"file,optional" excludes:"metric|type=count" requires:"jq" doc:"JSON file, relative to the engine's working directory. It is on the engine's machine or in its container."`
	JQ     string            `hcl:"jq,optional" requires:"path|file" doc:"jq expression for the value. It reads the page or file; its first result counts."`
	Metric string            `hcl:"metric,optional" requires:"type=number" doc:"Exact name of a Prometheus metric of the engine. Different series are not summed: choose one with labels."`
	Labels map[string]string `hcl:"labels,optional" requires:"metric" doc:"Labels that the metric's series must have."`
	Type   kinds.Type        `hcl:"type" type:"string" oneof:"string|number|bool|count" doc:"The type; 'count' is the number of matching log lines. No line is 0."`
	Unit   string            `hcl:"unit,optional" requires:"type=number|type=count" doc:"Unit of a number, such as 'tokens', 'GB' or 's'."`
	Scale  *float64          `hcl:"scale,optional" requires:"type=number|type=count" doc:"Factor that converts the number to its unit."`
	Words  map[string]string `hcl:"words,optional" doc:"Maps the engine's words to those that rules compare with."`
	Is     string            `hcl:"is,optional" oneof:"setting|consequence" doc:"Whether arms must agree on it ('setting') or may differ. A 'consequence' follows from the settings, like the memory of the weights: arms may differ in it. Without it, numbers are consequences; words, true and false are settings."`
}

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

// KindOf is the kind of a variant's engine, as the plan extends it.
func KindOf(spec engine.Spec) kinds.Kind {
	if spec.Profile != nil {
		return *spec.Profile
	}
	kind, _ := kinds.Lookup(spec.Kind)
	return kind
}

func (l *Resolver) Patterns(v *Variant) ([]kinds.Pattern, error) {
	var own []kinds.Pattern
	if e := l.Plan.Engine(v.Engine); e != nil {
		for _, b := range e.Parts["observe"] {
			p, err := patternOf(b)
			if err != nil {
				return nil, err
			}
			own = append(own, p)
		}
	}
	return KindOf(v.Spec).Patterns(own), nil
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
