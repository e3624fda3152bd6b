package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	goruntime "runtime"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// compare finds where a decision by rules and its replay differ: in verdicts and every number, bit for bit.
// Words are not compared, as a later version may choose better ones.
func (r *Replay) compare(out *Replayed, d ledger.Decided, is *ledger.Decision) {
	was, tolerance := d.Decision, r.tolerance(out, r.runs[d.Run].Environment["arch"])
	differ := func(what string, was, is any) {
		if !reflect.DeepEqual(was, is) {
			out.differ("decision", what, jsonText(was), jsonText(is))
		}
	}
	differ("verdict", string(was.Verdict), string(is.Verdict))
	if was.Statistics.Version == decide.Version { // another version takes and says other things
		compareJSON(out, "decision", "statistics", was.Statistics, is.Statistics, 0)
		differ("launches", sorted(was.Launches), sorted(is.Launches))
		r.compareEvidence(out, was.Evidence, is.Evidence, tolerance)
		differ("findings", keysInOrder(was.Findings), keysInOrder(is.Findings))
		differ("notes", keysInOrder(was.Notes), keysInOrder(is.Notes))
		differ("reasons", keysInOrder(was.Reasons), keysInOrder(is.Reasons))
	}
	differ("levels", levelVerdicts(was), levelVerdicts(is))
	compareJSON(out, "decision", "accepted", was.Accepted, is.Accepted, 0)
	compareJSON(out, "decision", "variant", was.Variant, is.Variant, 0)
	compareRules(out, was.Rules, is.Rules, tolerance)
	for i, alt := range is.Alternatives {
		if i >= len(was.Alternatives) {
			break
		}
		before := was.Alternatives[i]
		differ("alternative "+fmt.Sprint(i+1), before.Name, alt.Name)
		if before.Verdict != alt.Verdict {
			out.differ(alt.Name, "verdict", string(before.Verdict), string(alt.Verdict))
		}
		if before.Chosen != alt.Chosen {
			out.differ(alt.Name, "chosen", yesNo(before.Chosen), yesNo(alt.Chosen))
		}
		compareRules(out, before.Rules, alt.Rules, tolerance)
	}
	differ("alternatives", len(was.Alternatives), len(is.Alternatives))
	differ("confirmations", confirmed(was), confirmed(is))
	if x, y := was.Hypothesis, is.Hypothesis; x != nil && y != nil {
		if x.Outcome != y.Outcome {
			out.differ("hypothesis", "outcome", x.Outcome, y.Outcome)
		}
		if x.Test != nil && y.Test != nil {
			compareRules(out, []verdict.Rule{*x.Test}, []verdict.Rule{*y.Test}, tolerance)
		}
	} else if out.Rules == RulesOfPlan {
		differ("hypothesis", x != nil, y != nil)
	}
}

// compareEvidence finds what else a decision rested on then.
func (r *Replay) compareEvidence(out *Replayed, was, is []gates.Feature, tolerance float64) {
	name := func(ev gates.Feature) string { return ev.Name + " " + ev.Candidate.Name }
	for _, y := range is {
		i := slices.IndexFunc(was, func(ev gates.Feature) bool { return name(ev) == name(y) })
		if i < 0 {
			out.differ("evidence", name(y), "absent", "there")
			continue
		}
		x := was[i]
		for _, address := range slices.Sorted(maps.Keys(both(x.Noise, y.Noise))) {
			was, is := x.Noise[address], y.Noise[address]
			out.Numbers += 3
			if was.SD != is.SD || was.DF != is.DF || was.Gap != is.Gap {
				out.differ("noise", fmt.Sprintf("%s before session %s", address, y.Session),
					noiseText(was), noiseText(is))
			}
		}
		if out.Numbers++; x.Try != y.Try {
			out.differ("decision", "try of "+y.Name, fmt.Sprint(max(1, x.Try)), fmt.Sprint(max(1, y.Try)))
		}
		compareJSON(out, "levels of "+y.Candidate.Name, "", x.Levels, y.Levels, 0)
		for _, ev := range []*gates.Feature{&x, &y} { // what is compared, and words
			ev.Noise, ev.Try, ev.Levels, ev.Cause, ev.Root.Lost = nil, 0, nil, verdict.Reason{}, verdict.Reason{}
		}
		compareJSON(out, "evidence on "+y.Name, "", x, y, tolerance)
	}
	if len(was) != len(is) {
		out.differ("decision", "evidence", fmt.Sprint(len(was)), fmt.Sprint(len(is)))
	}
}

func both[V any](a, b map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

func noiseText(n verdict.Noise) string {
	if n.DF == 0 {
		return "none"
	}
	return fmt.Sprintf("%v with %v degrees of freedom, and starts within %v", n.SD, n.DF, n.Gap)
}

// confirmed are the engines of a decision's confirmations with their verdicts.
func confirmed(d *ledger.Decision) (all []string) {
	for _, c := range d.Confirmations {
		all = append(all, c.Engine+" "+string(c.Verdict))
	}
	return all
}

// levelVerdicts are a decision's levels with their verdicts.
func levelVerdicts(d *ledger.Decision) (all []string) {
	for _, l := range d.Levels {
		all = append(all, l.Name+" "+string(l.Verdict))
	}
	return all
}

// keysInOrder are reasons without their words.
func keysInOrder(all []verdict.Reason) (keys []string) {
	for _, r := range all {
		keys = append(keys, r.Key())
	}
	return keys
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func compareRules(out *Replayed, recorded, replayed []verdict.Rule, tolerance float64) {
	for i, rule := range recorded {
		if i >= len(replayed) {
			out.differ(rule.Name, "rule", string(rule.Verdict), "absent")
			continue
		}
		compareJSON(out, rule.Name, "", withoutTexts(rule), withoutTexts(replayed[i]), tolerance)
	}
	for _, rule := range replayed[min(len(recorded), len(replayed)):] {
		out.differ(rule.Name, "rule", "absent", string(rule.Verdict))
	}
}

// tolerance is how far numbers recorded on a processor may be off.
func (r *Replay) tolerance(out *Replayed, arch string) float64 {
	if arch == "" || arch == goruntime.GOARCH {
		return 0
	}
	out.note(verdict.Say("replay.decided_elsewhere",
		"Decided on {arch}: numbers had to agree within {tolerance} only.",
		verdict.Text("arch", arch), verdict.Num("tolerance", elsewhereTolerance, "")))
	return elsewhereTolerance
}

// compareJSON finds where two values differ in recorded form.
func compareJSON(out *Replayed, rule, what string, recorded, replayed any, tolerance float64) {
	x, errX := json.Marshal(recorded)
	if errX == nil && reflect.DeepEqual(recorded, replayed) {
		out.Numbers += numbersIn(x)
		return
	}
	y, errY := json.Marshal(replayed)
	if errX != nil || errY != nil {
		out.differ(rule, what, fmt.Sprint(errX), fmt.Sprint(errY))
		return
	}
	out.Numbers += numbersIn(x)
	if bytes.Equal(x, y) {
		return
	}
	var a, b any
	if json.Unmarshal(x, &a) != nil || json.Unmarshal(y, &b) != nil {
		out.differ(rule, what, string(x), string(y))
		return
	}
	d := treeDiff{out: out, rule: rule, tolerance: tolerance}
	d.walk(what, a, b)
}

// withoutTexts is a rule without what only goes into words.
func withoutTexts(r verdict.Rule) verdict.Rule {
	r.Reasons, r.Source, r.Role = nil, "", ""
	r.Comparisons = slices.Clone(r.Comparisons)
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.Left, c.Right = verdict.Value{}, verdict.Value{}
		if c.Test != nil {
			t := *c.Test
			t.Share, t.Note, t.Remarks = nil, verdict.Reason{}, nil // implied by the rest
			c.Test = &t
		}
	}
	r.Inputs = slices.Clone(r.Inputs)
	for i := range r.Inputs {
		if !r.Inputs[i].Missing.IsZero() {
			r.Inputs[i].Missing = verdict.New(code.Missing)
		}
	}
	return r
}

// numbersIn counts the numbers of a JSON text, roughly as a person would: each run of
// digits after a colon, a comma or a bracket.
func numbersIn(text []byte) (n int) {
	before := byte(0)
	for _, c := range text {
		if (c >= '0' && c <= '9' || c == '-') && (before == ':' || before == ',' || before == '[') {
			n++
		}
		before = c
	}
	return n
}

// treeDiff finds where two JSON values differ.
type treeDiff struct {
	out       *Replayed
	rule      string
	tolerance float64
}

func (d treeDiff) walk(path string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			keys := slices.Concat(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y)))
			slices.Sort(keys)
			for _, k := range slices.Compact(keys) {
				d.walk(join(path, k), x[k], y[k])
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				d.walk(fmt.Sprintf("%s[%d]", path, i+1), x[i], y[i])
			}
			return
		}
	case float64:
		if y, ok := b.(float64); ok && (x == y || math.Abs(x-y) <= d.tolerance*max(math.Abs(x), math.Abs(y))) {
			return
		}
	default:
		if a == b {
			return
		}
	}
	d.out.differ(d.rule, path, jsonText(a), jsonText(b))
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func jsonText(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	text, _ := json.Marshal(v)
	const most = 120
	if len(text) > most {
		return fmt.Sprintf("%s… (%d bytes)", redact.ProcessSecrets().Cut(string(text), most), len(text))
	}
	return string(text)
}
