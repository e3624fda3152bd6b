package load

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/rules"
)

var knobDoc = &lang.BlockDoc{
	Type: "knob", Times: plans.AnyTimes,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in `set` and rules."}},
	Doc:    "One independently switchable feature gate of the engine, with named values.",
	Attrs: []plans.Attr{
		{Name: "summary", Type: plans.String, Doc: "What it switches, in one sentence."},
		{Name: "default", Type: plans.String, Required: true, Doc: "Name of the baseline's value."},
		{Name: "changes", Type: plans.Strings, Doc: "Observations that its values are expected to change, such as `attention`. Arms that differ in any other observation make their comparison invalid. Those in a value's `must_see` are included automatically."},
	},
	Blocks: []*lang.BlockDoc{knobValueDoc},
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

var knobValueDoc = &lang.BlockDoc{
	Type: "value", Times: plans.AtLeast1,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in `default` and `set`: letters, digits and `_ . : + -`."}},
	Doc:    "One setting of a knob: what it changes, and how the engine shows that it took effect.",
	Attrs: []plans.Attr{
		{Name: "env", Type: plans.Overrides, Program: true, Doc: "Environment variables on top of the engine's. A null unsets what the engine block or an earlier knob set, or what would be inherited."},
		{Name: "settings", Type: plans.Values, Program: true, Doc: "Options in the engine kind's words, on top of the engine's. A null unsets."},
		{Name: "args", Type: plans.Strings, Program: true, Doc: "Appended after the engine's."},
		{Name: "command", Type: plans.Strings, Program: true, Doc: "The program and its arguments, replacing the `command` of the engine's `process` block; flags and args are appended to it."},
		{Name: "image", Type: plans.String, Doc: "The container image, replacing the engine's."},
	},
	Blocks: []*lang.BlockDoc{mustSeeDoc, mustNotSeeDoc},
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

// knobValueName is freer than an identifier: values are written in quotes
// everywhere, and are called things like 64x128 or eagle3-short.
var knobValueName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,63}$`)

func (l *loader) decodeKnob(b *hcl.Block) {
	f := l.Fields(b, knobDoc)
	k := &plans.Knob{Name: b.Labels[0], Summary: f.Text("summary"), Changes: l.changesOf(f), Range: lang.RangeOf(b.DefRange)}
	lines := map[string]int{}
	for _, vb := range f.Blocks {
		if v := l.decodeKnobValue(vb); !l.Twice(lines, vb, 0) {
			k.Values = append(k.Values, v)
		}
	}
	if len(k.Values) == 0 {
		l.Fail(b.DefRange, "knob-without-values", "Knob without values", `A knob switches between named values. Add: value "on" { env = { … } }, and one for its default.`)
	}
	f.Required("default", "the baseline's value.")
	k.Default = f.Text("default")
	if k.Default != "" && len(k.Values) > 0 {
		knobValue(l.Scope, k, k.Default, f.At("default"))
	}
	if l.First(b) {
		l.plan.Knobs = append(l.plan.Knobs, k)
		l.byName[k.Name] = k
	}
}

func (l *loader) decodeKnobValue(b *hcl.Block) *plans.KnobValue {
	name := b.Labels[0]
	if !knobValueName.MatchString(name) {
		l.Fail(b.LabelRanges[0], "invalid-name", "Invalid value name", "The name of a value may have up to 64 letters, digits and the characters _ . : + -, and starts with a letter or digit.")
	}
	f := l.Fields(b, knobValueDoc.WithParts(l.reg.ValueParts))
	v := &plans.KnobValue{Name: name, Range: lang.RangeOf(b.DefRange), Args: f.Texts("args"), Command: f.Texts("command"), Image: f.Text("image")}
	v.Parts = l.decodeParts(f, l.reg.ValueParts)
	for _, p := range f.Pairs("env") {
		var text *string
		if !p.V.IsNull() {
			s, ok := l.AsText(p.V, p.At, p.Key+" in env")
			if !ok {
				continue
			}
			text = &s
		}
		if v.Env == nil {
			v.Env = map[string]*string{}
		}
		v.Env[p.Key] = text
		l.checkVariable(p)
	}
	known := l.knobSettings()
	v.Settings = l.decodeSettings(f.Pairs("settings"), known.kind, known.attrs, true)
	v.MustSee = l.decodeEvidence(f.Single("must_see"))
	v.MustNotSee = l.decodeEvidence(f.Single("must_not_see"))
	contradict := func(must []string, counted []plans.Lines, not []string) {
		for _, lines := range counted {
			must = slices.Concat(must, lines.AnyOf)
		}
		for _, g := range must {
			if slices.ContainsFunc(not, func(h string) bool { return strings.EqualFold(g, h) }) {
				l.Fail(b.DefRange, "contradictory-evidence", "Contradictory evidence", "%q is in both must_see and must_not_see of value %q, which nothing can satisfy. Remove one.", g, name)
			}
		}
	}
	contradict(v.MustSee.Log, v.MustSee.Lines, v.MustNotSee.Log)
	contradict(v.MustSee.Trace, v.MustSee.Kernels, v.MustNotSee.Trace)
	return v
}

// knobSettings are the settings that some engine of the plan accepts, nil if one accepts
// any: a knob belongs to no engine in particular.
type knobSettings struct {
	kind  string
	attrs []plans.Attr
}

func (l *loader) knobSettings() *knobSettings {
	if l.settings != nil {
		return l.settings
	}
	l.settings = &knobSettings{}
	found := knobSettings{}
	at := map[string]int{}
	for _, key := range l.Symbols.Of("engine").Order {
		kind, _, _ := strings.Cut(key, ".")
		accepted := l.reg.Engines[kind].Settings
		if accepted == nil {
			return l.settings
		}
		found.kind = kind
		for _, a := range accepted {
			i, seen := at[a.Name]
			if !seen {
				at[a.Name] = len(found.attrs)
				found.attrs = append(found.attrs, a)
				continue
			}
			// What one kind refuses may be meant for another; each variant is checked.
			if f := &found.attrs[i]; f.Min != a.Min || f.MinSet != a.MinSet || f.Max != a.Max {
				f.Min, f.MinSet, f.Max = 0, false, 0
			}
		}
	}
	l.settings = &found
	return l.settings
}

var mustSeeDoc = &lang.BlockDoc{
	Type: "must_see", Times: plans.AtMost1,
	Doc:    "What proves that the value took effect, in every launch: each glob must be found, and each observation must have its value. Lines from before the first request show only the configuration, and count only if the engine's kind knows them to show the engine's own choice. If a protocol has a kernels level, every value in use needs evidence, including the baseline's: unproven is not a pass.",
	Attrs:  append(slices.Clone(evidenceAttrs), plans.Attr{Name: "at_start", Type: plans.Bool, Doc: "Accept lines from before the first request, which repeat the configuration. A weaker proof, and shown as one: for an engine that logs nothing while it works."}),
	Blocks: []*lang.BlockDoc{linesDoc, kernelsDoc},
	Example: `must_see {
  log = ["*Marlin backend*"]
  lines {
    any_of   = ["*gemv_fp4_*", "*fallback_*"]
    at_least = 40
  }
}`,
}

var linesDoc = &lang.BlockDoc{
	Type: "lines", Times: plans.AnyTimes,
	Doc: "Lines of the engine's log to count, if any of several kernels can run, or if one line is not enough. The qualification launch must reach the count too, with its few requests.",
	Attrs: []plans.Attr{
		{Name: "any_of", Type: plans.Strings, Required: true, Doc: "Globs as in `log`. A line counts once, however many of them it matches."},
		{Name: "at_least", Type: plans.Int, Default: 1.0, Min: 1, MinSet: true, Unit: "lines", Doc: "How many lines every launch must have; those from before the first request count as in `log`."},
	},
	Example: `lines {
  any_of = ["*gemv_fp4_*", "*fallback_*"]
}`,
}

var kernelsDoc = &lang.BlockDoc{
	Type: "kernels", Times: plans.AnyTimes,
	Doc: "Kernels of a profile whose launches are counted, if any of several can run, or if one launch is not enough.",
	Attrs: []plans.Attr{
		{Name: "any_of", Type: plans.Strings, Required: true, Doc: "Families or globs as in `trace`. A launch counts once, however many of them it matches."},
		{Name: "at_least", Type: plans.Int, Default: 1.0, Min: 1, MinSet: true, Unit: "launches", Doc: "How many launches the profile must have, prefill and decoding together."},
	},
	Example: `kernels {
  any_of   = ["cutlass_grouped_gemm", "*GroupProblemShape*"]
  at_least = 24
}`,
}

var mustNotSeeDoc = &lang.BlockDoc{
	Type: "must_not_see", Times: plans.AtMost1,
	Doc:   "What proves that the value did not take effect, in any launch: no glob may be found anywhere in the log, and no observation may have its value. Give at least one of either.",
	Attrs: evidenceAttrs,
	Example: `must_not_see {
  log = ["*backend: CUTLASS*"]
}`,
}

var evidenceAttrs = []plans.Attr{
	{Name: "log", Type: plans.Strings, Doc: "Globs for lines of the engine's log: unanchored, case-insensitive, `*` matches anything."},
	{Name: "trace", Type: plans.Strings, Doc: "Kernels in the profile that the level `profile` takes: families of them, such as \"marlin\", or globs of their whole names. This shows what ran; a log shows what the engine meant to run."},
	{Name: "observed", Type: plans.Values, Doc: "Observations with their value, as in `{ moe_kernel = \"marlin\" }`. One that is not observed proves nothing."},
}

var evidenceDoc = &lang.BlockDoc{Blocks: []*lang.BlockDoc{linesDoc, kernelsDoc}, Attrs: append(slices.Clone(evidenceAttrs), plans.Attr{Name: "at_start", Type: plans.Bool})}

func (l *loader) decodeEvidence(b *hcl.Block) (e plans.Evidence) {
	if b == nil {
		return e
	}
	f := l.Fields(b, evidenceDoc)
	e.Observed = l.decodeObserved(f)
	if a := f.Attrs["at_start"]; a != nil && b.Type != mustSeeDoc.Type {
		l.Fail(a.NameRange, "evidence-proves-nothing", "at_start in must_not_see", "must_not_see holds at any time. Remove at_start.")
	}
	e.AtStart = f.Truth("at_start")
	for _, lb := range f.Blocks {
		if b.Type != mustSeeDoc.Type {
			l.Fail(lb.DefRange, "evidence-proves-nothing", "Count in must_not_see", "must_not_see allows none, so there is nothing to count. Put the globs into %s.", map[string]string{linesDoc.Type: "log", kernelsDoc.Type: "trace"}[lb.Type])
			continue
		}
		doc, into := linesDoc, &e.Lines
		if lb.Type == kernelsDoc.Type {
			doc, into = kernelsDoc, &e.Kernels
		}
		lf := l.Fields(lb, doc)
		lf.Required("any_of", `globs of lines to count, such as ["*gemv_fp4_*", "*fallback_*"].`)
		*into = append(*into, plans.Lines{AnyOf: l.globs(lf, "any_of"), AtLeast: lf.Whole("at_least")})
	}
	if len(f.Blocks) == 0 && f.Attrs["log"] == nil && f.Attrs["observed"] == nil && f.Attrs["trace"] == nil {
		l.Fail(b.DefRange, "empty-value", "Empty "+b.Type, `%s names nothing to look for. Add: log = ["*text of a log line*"], trace = ["family of kernels"], or observed = { … }.`, b.Type)
	}
	e.Log, e.Trace = l.globs(f, "log"), l.globs(f, "trace")
	return e
}

// expression matches texts that were meant as regular expressions; expressionParts
// matches the parts that * replaces in a glob.
var (
	expression      = regexp.MustCompile(`^\.\*|^\^|\$$|\.[+]|\\[dwsDWS][+*?]|\\\.|\[[^\]]*-[^\]]*\][+]`)
	expressionParts = regexp.MustCompile(`^\^|\$$|\.[*+?]|\\[dwsDWS][*+?]?|\[[^\]]*\][*+?]?|\\|\([^)]*\)`)
)

// globs reads globs for lines of the log.
func (l *loader) globs(f *eval.Body, name string) []string {
	v, ok := f.Value(name)
	if !ok {
		return nil
	}
	elems, isList := eval.Elements(f.Attrs[name].Expr, v)
	for _, g := range elems {
		s, isText := lang.Plain(g.V).(string)
		switch {
		case !isText:
		case strings.Trim(s, "* \r\n") == "":
			l.Fail(g.At, "evidence-proves-nothing", "Glob matches everything", "%q is found in every log, so it proves nothing. Name text that only this value makes the engine log.", s)
		case expression.MatchString(s):
			l.Fail(g.At, "evidence-proves-nothing", "Glob is a regular expression", "In a glob only * is special and matches any text, so %q is searched literally otherwise. Write %q.", s, "*"+strings.Trim(expressionParts.ReplaceAllString(s, "*"), "*")+"*")
		case strings.Contains(s, "\n"):
			l.Fail(g.At, "evidence-proves-nothing", "Glob of several lines", "%q has a line break, but globs match one line at a time. Give each line its own glob; lines { any_of = [ … ] } takes any of several.", s)
		}
	}
	if isList && len(elems) == 0 {
		l.Fail(f.At(name), "empty-value", "Empty "+name, `The list is empty. Add a glob, such as "*text of a log line*".`)
	}
	return f.Texts(name)
}

// observedName is a place where a knob names an observation.
type observedName struct {
	name string
	at   hcl.Range
	// value is the value that it should have; cty.NilVal if any will do.
	value   cty.Value
	valueAt hcl.Range
}

// checkObserved checks the observations that knobs name. A knob belongs to no engine in
// particular, so any engine of the plan may have them.
func (l *loader) checkObserved() {
	var all []plans.Observed
	for _, e := range l.plan.Engines {
		all = append(all, e.Observed...)
	}
	for _, n := range l.observed {
		o, names, ok := plans.FindObserved(all, n.name)
		if !ok {
			slices.Sort(names)
			l.Fail(n.at, "unknown-reference", "Unknown observation", "No engine of the plan has an observation %q.%s To observe it, add to the engine: observe %q { log = \"…\" }.", n.name, l.DidYouMean(n.name, slices.Compact(names)), n.name)
			continue
		}
		want := map[plans.InputType]cty.Type{plans.WordInput: cty.String, plans.BoolInput: cty.Bool, plans.NumberInput: cty.Number}[rules.InputType(o.Type)]
		if n.value != cty.NilVal && n.value.Type() != want {
			l.Fail(n.valueAt, "wrong-type", "Wrong type for observed", "%s must be a %s, not %s.", n.name, o.Type, lang.Describe(n.value))
		} else if want == cty.String && n.value != cty.NilVal && n.value.IsKnown() && strings.Contains(n.value.AsString(), "*") {
			l.Fail(n.valueAt, "evidence-proves-nothing", "Glob for an observation", "An observation is one value, compared as a whole, so %q is never seen. Write %q.", n.value.AsString(), strings.Trim(n.value.AsString(), "*"))
		}
	}
}

// decodeObserved reads the values that observations must or must not have.
func (l *loader) decodeObserved(f *eval.Body) map[string]any {
	var want map[string]any
	for _, p := range f.Pairs("observed") {
		if p.V.IsNull() {
			continue
		}
		if !p.V.Type().IsPrimitiveType() {
			l.Fail(p.At, "wrong-type", "Wrong type for observed", "%s takes one value, such as \"marlin\", true or 2, not %s.", p.Key, lang.Describe(p.V))
			continue
		}
		l.observed = append(l.observed, observedName{p.Key, p.KeyAt, p.V, p.At})
		if want == nil {
			want = map[string]any{}
		}
		want[p.Key] = lang.Plain(p.V)
	}
	return want
}

// changesOf reads the observations that a knob's values are expected to change.
func (l *loader) changesOf(f *eval.Body) []string {
	names := f.Texts("changes")
	for _, name := range names {
		l.observed = append(l.observed, observedName{name: name, at: f.At("changes")})
	}
	return names
}

// knobValue is the value that a plan names; nil, with a mistake reported, if the
// knob does not have it.
func knobValue(s *eval.Scope, k *plans.Knob, name string, at hcl.Range) *plans.KnobValue {
	v := k.Value(name)
	if v == nil {
		s.Fail(at, "unknown-knob-value", "Unknown knob value", "Knob %q has no value %q.%s", k.Name, name, s.DidYouMean(name, k.ValueNames()))
	}
	return v
}

// decodeSet reads knob = "value" pairs, and returns the place of each as well.
func (l *loader) decodeSet(f *eval.Body) (set map[string]string, at map[string]hcl.Range) {
	set, at = map[string]string{}, map[string]hcl.Range{}
	for _, p := range f.Pairs("set") {
		k := l.byName[p.Key]
		if k == nil {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown knob", "The plan declares no knob %q.%s", p.Key, l.DidYouMean(p.Key, l.Symbols.Of("knob").Order))
			continue
		}
		name, ok := l.AsText(p.V, p.At, "The value of knob "+lang.Quoted(p.Key))
		if !ok {
			continue
		}
		set[p.Key], at[p.Key] = name, p.At
		knobValue(l.Scope, k, name, p.At)
	}
	if len(set) == 0 {
		set = nil
	}
	return set, at
}
