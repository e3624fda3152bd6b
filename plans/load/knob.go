package load

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/rules"
)

var knobDoc = block(plans.Knob{}, lang.BlockDoc{
	Type: "knob", Times: plans.AnyTimes,
	Doc:    "One independently switchable feature gate of the engine, with named values.",
	Blocks: []*lang.BlockDoc{knobValueDoc},
})

var knobValueDoc = block(plans.KnobValue{}, lang.BlockDoc{
	Type: "value", Times: plans.AtLeast1,
	Doc:    "One value of a knob: its changes, and the evidence of them.",
	Blocks: []*lang.BlockDoc{mustSeeDoc, mustNotSeeDoc},
})

var mustSeeDoc = block(plans.Evidence{}, lang.BlockDoc{
	Type: "must_see", Times: plans.AtMost1,
	Doc: "Evidence in every launch that the value took effect. Each glob must be found, and each observation must " +
		"have its value. Lines from before the first request show only the configuration, and count only if the " +
		"engine's kind knows them to show the engine's own choice. If a protocol has a kernels level, every value in " +
		"use needs evidence, including the baseline's: unproven is not a pass.",
})

// mustNotSeeDoc has no at_start: it holds at any time.
var mustNotSeeDoc = func() *lang.BlockDoc {
	d := block(plans.Evidence{}, lang.BlockDoc{
		Type: "must_not_see", Times: plans.AtMost1,
		Doc: "Evidence in any launch that the value did not take effect. No glob may be found anywhere in the log, " +
			"and no observation may have its value. Give at least one of either.",
	})
	d.Attrs = slices.DeleteFunc(d.Attrs, func(a plans.Attr) bool { return a.Name == "at_start" })
	return d
}()

// knobValueName is freer than an identifier: values are written in quotes
// everywhere, and are called things like 64x128 or eagle3-short.
var knobValueName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,63}$`)

func (l *loader) decodeKnob(b *hcl.Block) {
	k := &plans.Knob{}
	f := l.Read(b, knobDoc, k)
	for _, name := range k.Changes {
		l.observed = append(l.observed, observedName{name: name, at: f.At("changes")})
	}
	lines := map[string]int{}
	for _, vb := range f.Blocks {
		if v := l.decodeKnobValue(vb); !l.Duplicate(lines, vb, 0) {
			k.Values = append(k.Values, v)
		}
	}
	if len(k.Values) == 0 {
		l.Fail(b.DefRange, "knob-without-values", "Knob without values",
			`A knob switches between named values. Add: ‹value "on" { env = { … } }›, and one for its default.`)
	}
	if k.Default != "" && len(k.Values) > 0 {
		knobValue(l.Scope, k, k.Default, f.At("default"))
	}
	k.Arms = filepath.Base(b.DefRange.Filename) == verdict.Question
	if l.First(b) {
		l.plan.Knobs = append(l.plan.Knobs, k)
		l.byName[k.Name] = k
	}
}

func (l *loader) decodeKnobValue(b *hcl.Block) *plans.KnobValue {
	v := &plans.KnobValue{}
	f := l.Read(b, knobValueDoc.WithParts(l.reg.ValueParts), v)
	if !knobValueName.MatchString(v.Name) {
		l.Fail(b.LabelRanges[0], "invalid-name", "Invalid value name",
			"The name of a value may have up to 64 letters, digits and the characters _ . : + -, and starts with a "+
				"letter or digit.")
	}
	v.Parts = l.decodeParts(f, l.reg.ValueParts)
	for _, p := range f.Pairs("env") {
		l.checkVariable(p)
	}
	v.Settings = l.decodeSettings(f.Pairs("settings"), l.settings.kind, l.settings.known, true)
	v.MustSee = l.decodeEvidence(f.Single("must_see"), mustSeeDoc)
	v.MustNotSee = l.decodeEvidence(f.Single("must_not_see"), mustNotSeeDoc)
	contradict := func(must, not []string) {
		for _, g := range must {
			if slices.ContainsFunc(not, func(h string) bool { return strings.EqualFold(g, h) }) {
				l.Fail(b.DefRange, "contradictory-evidence", "Contradictory evidence",
					"%q is in both must_see and must_not_see of value %q, which nothing can satisfy. Remove one.", g,
					v.Name)
			}
		}
	}
	contradict(v.MustSee.Log, v.MustNotSee.Log)
	contradict(v.MustSee.Trace, v.MustNotSee.Trace)
	return v
}

func (l *loader) decodeEvidence(b *hcl.Block, doc *lang.BlockDoc) (e plans.Evidence) {
	if b == nil {
		return e
	}
	f := l.Read(b, doc, &e)
	for _, name := range []string{"log", "trace"} {
		l.checkGlobs(f, name)
	}
	for _, p := range f.Pairs("observed") {
		switch {
		case p.V.IsNull():
		case !p.V.Type().IsPrimitiveType():
			l.Fail(p.At, "wrong-type", "Wrong type for observed",
				"%s takes one value, such as \"marlin\", true or 2, not %s.", p.Key, lang.Describe(p.V))
		default:
			l.observed = append(l.observed, observedName{p.Key, p.KeyAt, p.V, p.At})
			if e.Observed == nil {
				e.Observed = map[string]any{}
			}
			e.Observed[p.Key] = lang.Plain(p.V)
		}
	}
	if f.Attrs["log"] == nil && f.Attrs["observed"] == nil && f.Attrs["trace"] == nil {
		l.Fail(b.DefRange, "empty-value", "Empty "+b.Type,
			`%s names nothing to look for. Add: ‹log = ["*text of a log line*"]›, ‹trace = ["family of kernels"]›, or ‹observed = { … }›.`, b.Type)
	}
	return e
}

// expression matches texts that were meant as regular expressions; expressionParts
// matches the parts that * replaces in a glob.
var (
	expression      = regexp.MustCompile(`^\.\*|^\^|\$$|\.[+]|\\[dwsDWS][+*?]|\\\.|\[[^\]]*-[^\]]*\][+]`)
	expressionParts = regexp.MustCompile(`^\^|\$$|\.[*+?]|\\[dwsDWS][*+?]?|\[[^\]]*\][*+?]?|\\|\([^)]*\)`)
)

// checkGlobs refuses globs that prove nothing.
func (l *loader) checkGlobs(f *eval.Body, name string) {
	v, ok := f.Value(name)
	if !ok {
		return
	}
	elems, _ := eval.Elements(f.Attrs[name].Expr, v)
	for _, g := range elems {
		s, isText := lang.Plain(g.V).(string)
		switch {
		case !isText:
		case strings.Trim(s, "* \r\n") == "":
			l.Fail(g.At, "evidence-proves-nothing", "Glob matches everything",
				"%q is found in every log, so it proves nothing. Name text that only this value makes the engine log.",
				s)
		case expression.MatchString(s):
			l.Fail(g.At, "evidence-proves-nothing", "Glob is a regular expression",
				"In a glob only * is special and matches any text, so %q is searched literally otherwise. Write %q.", s,
				"*"+strings.Trim(expressionParts.ReplaceAllString(s, "*"), "*")+"*")
		case strings.Contains(s, "\n"):
			l.Fail(g.At, "evidence-proves-nothing", "Glob of several lines",
				"%q has a line break, but globs match one line at a time. Give each line its own glob.", s)
		}
	}
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
			l.Fail(n.at, "unknown-reference", "Unknown observation",
				"No engine of the plan has an observation %q.%s To observe it, add to the engine: ‹observe %q { log "+
					"= \"…\" }›.", n.name, l.DidYouMean(n.name, slices.Compact(names)), n.name)
			continue
		}
		want := map[plans.InputType]cty.Type{
			plans.WordInput: cty.String, plans.BoolInput: cty.Bool,
			plans.NumberInput: cty.Number,
		}[rules.InputType(o.Type)]
		if n.value != cty.NilVal && n.value.Type() != want {
			l.Fail(n.valueAt, "wrong-type", "Wrong type for observed", "%s must be a %s, not %s.", n.name, o.Type,
				lang.Describe(n.value))
		} else if want == cty.String && n.value != cty.NilVal && n.value.IsKnown() &&
			strings.Contains(n.value.AsString(), "*") {
			l.Fail(n.valueAt, "evidence-proves-nothing", "Glob for an observation",
				"An observation is one value, compared as a whole, so %q is never seen. Write %q.", n.value.AsString(),
				strings.Trim(n.value.AsString(), "*"))
		}
	}
}

// knobValue is the value that a plan names; nil, with a mistake reported, if the
// knob does not have it.
func knobValue(s *eval.Scope, k *plans.Knob, name string, at hcl.Range) *plans.KnobValue {
	v := k.Value(name)
	if v == nil {
		s.Fail(at, "unknown-knob-value", "Unknown knob value", "Knob %q has no value %q.%s", k.Name, name,
			s.DidYouMean(name, k.ValueNames()))
	}
	return v
}

// knob is the knob that the key of a map names; nil, with a mistake reported, if the plan
// does not have it.
func (l *loader) knob(p eval.Pair) *plans.Knob {
	k := l.byName[p.Key]
	if k == nil {
		l.Fail(p.KeyAt, "unknown-reference", "Unknown knob", "The plan declares no knob %q.%s", p.Key,
			l.DidYouMean(p.Key, l.Symbols.Of("knob").Order))
	}
	return k
}

// decodeSet reads knob = "value" pairs, and returns the place of each as well.
func (l *loader) decodeSet(f *eval.Body) (set map[string]string, at map[string]hcl.Range) {
	set, at = map[string]string{}, map[string]hcl.Range{}
	for _, p := range f.Pairs("set") {
		k := l.knob(p)
		if k == nil {
			continue
		}
		if name, ok := l.AsText(p.V, p.At, "The value of knob "+lang.Quoted(p.Key)); ok {
			set[p.Key], at[p.Key] = name, p.At
			knobValue(l.Scope, k, name, p.At)
		}
	}
	if len(set) == 0 {
		set = nil
	}
	return set, at
}
