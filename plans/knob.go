package plans

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Knob is one independently switchable feature gate.
type Knob struct {
	Name    string
	Summary string
	Default string
	Values  []*KnobValue
	// Changes are the observations that its values are expected to change; in
	// all others arms have to agree.
	Changes []string `json:",omitempty"`
	Range   Range    `json:"-"`
}

// KnobValue is one setting of a knob: what it changes and how it is proved.
type KnobValue struct {
	Name string
	// Env and Settings override the engine's; a nil value unsets.
	Env      map[string]*string
	Settings map[string]any
	// Args are appended after the engine's.
	Args []string
	// Command replaces the command of the engine's process block; empty leaves it.
	Command []string `json:",omitempty"`
	// Image replaces the image of an engine that runs in a container; empty
	// leaves it.
	Image string `json:",omitempty"`
	// Parts are the blocks that the Registry declares, by keyword.
	Parts map[string][]*Block `json:",omitempty"`
	// MustSee and MustNotSee are kernel evidence.
	MustSee    Evidence
	MustNotSee Evidence
	Range      Range `json:"-"`
}

var knobDoc = &BlockDoc{
	Type: "knob", Times: AnyTimes,
	Labels: []Label{{Name: "name", Doc: "What `set` and rules call it."}},
	Doc:    "One independently switchable feature gate of the engine, with named values.",
	Attrs: []Attr{
		{Name: "summary", Type: String, Doc: "What it switches, in one sentence."},
		{Name: "default", Type: String, Required: true, Doc: "Name of the value that the baseline has."},
		{Name: "changes", Type: Strings, Doc: "Observations that its values are expected to change, such as `attention`. Arms that differ in any other make their comparison invalid. What a value's `must_see` observes belongs to them by itself."},
	},
	Blocks: []*BlockDoc{knobValueDoc},
	Example: `knob "moe_kernel" {
  default = "marlin"

  value "marlin" {
    env = { VLLM_MXFP4_MOE_KERNEL = "marlin" }
    must_see {
      log = ["*Marlin backend*"]
    }
  }
  value "gemm" {
    env = { VLLM_MXFP4_MOE_KERNEL = "gemm", OLD_SWITCH = null }
    must_see {
      log = ["*backend: CUTLASS*"]
    }
  }
}`,
}

var knobValueDoc = &BlockDoc{
	Type: "value", Times: AtLeast1,
	Labels: []Label{{Name: "name", Doc: "What `default` and `set` call it: letters, digits and `_ . : + -`."}},
	Doc:    "One setting of a knob: what it changes, and how the engine shows that it took effect.",
	Attrs: []Attr{
		{Name: "env", Type: Overrides, Doc: "Environment variables on top of the engine's. A null unsets what the engine block or an earlier knob set, and what would be inherited."},
		{Name: "settings", Type: Values, Doc: "Options in the engine kind's words, on top of the engine's. A null unsets."},
		{Name: "args", Type: Strings, Doc: "Appended after the engine's."},
		{Name: "command", Type: Strings, Doc: "The program and its arguments, in place of the `command` of the engine's `process` block; flags and args are appended to it."},
		{Name: "image", Type: String, Doc: "The container image, in place of the engine's."},
	},
	Blocks: []*BlockDoc{mustSeeDoc, mustNotSeeDoc},
	Example: `value "cutlass" {
  env = { VLLM_MXFP4_MOE_KERNEL = "cutlass" }
  must_see {
    log = ["*backend: CUTLASS*"]
  }
  must_not_see {
    log = ["*Marlin backend*"]
  }
}`,
}

var knobSchema = knobDoc.schema()

// knobValueName is freer than an identifier: values are written in quotes
// everywhere, and are called things like 64x128 or eagle3-short.
var knobValueName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,63}$`)

func (l *loader) decodeKnob(b *hcl.Block) {
	f := l.fields(b, knobSchema, fmt.Sprintf("knob %q", b.Labels[0]))
	k := &Knob{Name: b.Labels[0], Summary: f.text("summary", ""), Changes: l.changesOf(f), Range: rangeOf(b.DefRange)}
	lines := map[string]int{}
	var values []string
	for _, vb := range f.blocks {
		name := vb.Labels[0]
		v := l.decodeKnobValue(k, vb)
		if line, twice := lines[name]; twice {
			l.fail(vb.LabelRanges[0], "Duplicate value", "Knob %q has the value %q already on line %d. Rename or remove one.", k.Name, name, line)
			continue
		}
		lines[name] = vb.DefRange.Start.Line
		values = append(values, name)
		k.Values = append(k.Values, v)
	}
	if len(values) == 0 {
		l.fail(b.DefRange, "Knob without values", `A knob switches between named values. Add: value "on" { env = { … } }, and one for its default.`)
	}
	f.required("default", "the value that the baseline has.")
	k.Default = f.text("default", "")
	if _, ok := f.value("default"); ok && k.Default != "" && lines[k.Default] == 0 && len(values) > 0 {
		l.fail(f.at("default"), "Unknown knob value", "Knob %q has no value %q.%s", k.Name, k.Default, l.didYouMean(k.Default, values))
	}
	if l.first(b) {
		l.plan.Knobs = append(l.plan.Knobs, k)
		l.checks.knobs[k.Name] = k
	}
}

func (l *loader) decodeKnobValue(k *Knob, b *hcl.Block) *KnobValue {
	name := b.Labels[0]
	if !knobValueName.MatchString(name) {
		l.fail(b.LabelRanges[0], "Invalid value name", "The name of a value has up to 64 letters, digits and the characters _ . : + -, and begins with a letter or digit.")
	}
	f := l.fields(b, l.partSchema(knobValueDoc, l.reg.ValueParts), fmt.Sprintf("value %q", name))
	v := &KnobValue{Name: name, Args: f.texts("args"), Command: f.texts("command"), Image: f.text("image", ""), Range: rangeOf(b.DefRange)}
	v.Parts = l.decodeParts(f, l.reg.ValueParts)
	for _, p := range f.pairs("env") {
		var text *string
		if !p.v.IsNull() {
			s, ok := l.asText(p.v, p.at, p.key+" in env")
			if !ok {
				continue
			}
			text = &s
		}
		if v.Env == nil {
			v.Env = map[string]*string{}
		}
		v.Env[p.key] = text
	}
	known := l.knobSettings()
	v.Settings = l.decodeSettings(f.pairs("settings"), known.kind, known.attrs, true)
	v.MustSee = l.decodeEvidence(f.single("must_see"))
	v.MustNotSee = l.decodeEvidence(f.single("must_not_see"))
	for _, g := range v.MustSee.Log {
		for _, h := range v.MustNotSee.Log {
			if strings.EqualFold(g, h) {
				l.fail(b.DefRange, "Contradictory evidence", "%q is in both must_see and must_not_see of value %q, which nothing can satisfy. Remove one.", g, name)
			}
		}
	}
	return v
}

// knobSettings are the settings that some engine of the plan accepts, nil where
// one accepts any: a knob belongs to no engine in particular.
type knobSettings struct {
	kind  string
	attrs []Attr
}

func (l *loader) knobSettings() *knobSettings {
	if l.settings != nil {
		return l.settings
	}
	l.settings = &knobSettings{}
	found := knobSettings{}
	seen := map[string]bool{}
	for _, key := range l.symbols.of("engine").order {
		kind, _, _ := strings.Cut(key, ".")
		accepted := l.reg.Engines[kind].Settings
		if accepted == nil {
			return l.settings
		}
		found.kind = kind
		for _, a := range accepted {
			if !seen[a.Name] {
				seen[a.Name] = true
				found.attrs = append(found.attrs, a)
			}
		}
	}
	l.settings = &found
	return l.settings
}
