package steps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	goruntime "runtime"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// compareRules holds decided rules against the recorded ones: the verdicts of
// rules and comparisons, and every number, bit for bit. Words are not compared,
// which a later version may choose better.
func (r *Replay) compareRules(out *Replayed, recorded, again []verdict.Rule, run string) {
	tolerance := 0.0
	if start := r.runs[run]; start != nil {
		if arch := start.Environment["arch"]; arch != "" && arch != goruntime.GOARCH {
			tolerance = ElsewhereTolerance
			out.note(verdict.New(code.DecidedElsewhere, verdict.Text("arch", arch), verdict.Num("tolerance", ElsewhereTolerance, "")))
		}
	}
	for i := range recorded {
		if i >= len(again) {
			out.differ(recorded[i].Name, "rule", string(recorded[i].Verdict), "absent")
			continue
		}
		compareRule(out, recorded[i], again[i], tolerance)
	}
}

func compareRule(out *Replayed, recorded, again verdict.Rule, tolerance float64) {
	x, errX := json.Marshal(wordless(recorded))
	y, errY := json.Marshal(wordless(again))
	if errX != nil || errY != nil {
		out.differ(recorded.Name, "rule", fmt.Sprint(recorded.Verdict), fmt.Sprintf("%s, which cannot be written: %v %v", again.Verdict, errX, errY))
		return
	}
	out.Numbers += numbersIn(x)
	if bytes.Equal(x, y) {
		return
	}
	var a, b any
	if json.Unmarshal(x, &a) != nil || json.Unmarshal(y, &b) != nil {
		out.differ(recorded.Name, "rule", string(x), string(y))
		return
	}
	d := treeDiff{out: out, rule: recorded.Name, tolerance: tolerance}
	d.walk("", a, b)
}

// wordless is a rule without what is only said in words.
func wordless(r verdict.Rule) verdict.Rule {
	r.Reasons, r.Source, r.Role = nil, "", ""
	r.Comparisons = slices.Clone(r.Comparisons)
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.Left, c.Right = verdict.Value{}, verdict.Value{}
		if c.Test != nil {
			t := *c.Test
			t.Share, t.Note = nil, verdict.Reason{} // which the rule's text says
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

// numbersIn counts the numbers of a JSON text, roughly as a person would: each run
// of digits behind a colon, a comma or a bracket.
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

// jsonText writes a value as a difference shows it.
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
		return fmt.Sprintf("%s… (%d bytes)", text[:most], len(text))
	}
	return string(text)
}
