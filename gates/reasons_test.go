package gates

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// record writes testdata/facts.jsonl again.
var record = flag.Bool("record", false, "write the facts of this version")

// factsFile holds what rules come to, a rule a line. gates/tell has a sentence for each.
const factsFile = "testdata/facts.jsonl"

// TestFacts: what is found, against what was wanted, and what decided it.
func TestFacts(t *testing.T) {
	var got []facts
	for _, c := range []struct {
		rule    string
		verdict verdict.Verdict
	}{
		{"chat.tg.gain >= 0.10", "pass"},
		{"chat.tg.gain >= 1.0", "fail"},
		{"1 <= chat.tg.gain", "fail"},
		{"chat.tg.gain > 0.2154", "inconclusive"},
		{"chat.ttft.gain >= 0.10", "pass"},
		{"chat.ttft.change <= 0.05", "pass"},
		{"chat.tg.delta > 5", "pass"},
		{"chat.tg.root.change > 0.5", "pass"},
		{"chat.tg >= 38", "pass"},
		{"chat.tg.base < 30", "fail"},
		{"chat.tg.root.max < 50", "pass"},
		{"chat.tg.cv <= 0.05", "fail"},
		{"chat.tg.n >= 3", "pass"},
		{"chat.tg.n_requests > 100", "inconclusive"},
		{"chat.tg.n_requests < 40", "fail"},
		{"chat.tg > target.other.chat.tg", "fail"},
		{"chat.tg >= 0.5 * target.other.chat.tg", "pass"},
		{"chat.tg / target.other.chat.tg > 0.5", "pass"},
		{"chat.tg > chat.tg.base", "pass"},
		{"engine.crashes == 0", "pass"},
		{"engine.crashes in [1, 2]", "fail"},
		{"engine.memory_gb.delta <= 2", "pass"},
		{"chat.output_tokens.min == 8", "pass"},
		{"levels.kernels == 'pass'", "pass"},
		{"'fail' == levels.kernels", "fail"},
		{"levels.kernels != 'fail'", "pass"},
		{"not (levels.kernels != 'pass')", "pass"},
		{"levels.kernels in ['pass', 'inconclusive']", "pass"},
		{"levels.kernels not in ['pass']", "fail"},
		{"not (chat.tg >= 30)", "fail"},
		{`feature["f"].verdict == 'pass'`, "pass"},
		{`feature["f"].accepted`, "pass"},
		{`not feature["f"].accepted`, "fail"},
		{`feature["f"].accepted == true and feature["f"].decided`, "pass"},
		{"knob.moe == 'routed' and chat.tg < 1", "fail"},
	} {
		rule := decided(compiled(t, c.rule), full())
		if rule.Verdict != c.verdict {
			t.Errorf("%s: %s: %q", c.rule, rule.Verdict, tell.Lines(rule.Reasons))
		}
		got = append(got, facts{c.rule, rule.Reasons})
	}
	if *record {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for _, f := range got {
			if err := enc.Encode(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(factsFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(factsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []facts
	for dec := json.NewDecoder(bytes.NewReader(data)); dec.More(); {
		var f facts
		if err := dec.Decode(&f); err != nil {
			t.Fatal(err)
		}
		want = append(want, f)
	}
	if len(got) != len(want) {
		t.Fatalf("%d facts, and %d are recorded", len(got), len(want))
	}
	for i, f := range got {
		if f.Rule != want[i].Rule || !reflect.DeepEqual(rounded(f.Reasons), rounded(want[i].Reasons)) {
			t.Errorf("%s:\ngot  %s\nwant %s", f.Rule, marshalled(t, f), marshalled(t, want[i]))
		}
	}
}

// facts are what a rule comes to.
type facts struct {
	Rule    string           `json:"rule"`
	Reasons []verdict.Reason `json:"reasons"`
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rounded are reasons whose numbers are the same on every kind of processor.
func rounded(reasons []verdict.Reason) []verdict.Reason {
	out := slices.Clone(reasons)
	digits := func(x *float64) *float64 {
		if x == nil {
			return nil
		}
		y, _ := strconv.ParseFloat(strconv.FormatFloat(*x, 'g', 9, 64), 64)
		return &y
	}
	for i, r := range out {
		args := maps.Clone(r.Args)
		for name, v := range r.Args {
			v.Number, v.To = digits(v.Number), digits(v.To)
			args[name] = v
		}
		out[i].Args, out[i].Causes = args, rounded(r.Causes)
	}
	return out
}

func TestComparisons(t *testing.T) {
	got := decided(compiled(t, "chat.tg.gain >= 0.1 and levels.smoke in ['fail']"), full())
	gain := *got.Inputs[0].Value
	want := []verdict.Comparison{
		{Text: "chat.tg.gain >= 0.1", Left: verdict.Num("", gain, "ratio").Value, Op: ">=", Right: verdict.Num("", 0.1, "ratio").Value, Holds: true, Verdict: verdict.Pass},
		{Text: "levels.smoke in ['fail']", Left: verdict.Text("", "pass").Value, Op: "in", Right: verdict.List("", []string{"fail"}).Value, Holds: false, Verdict: verdict.Fail},
	}
	if len(got.Comparisons) != len(want) {
		t.Fatalf("%+v", got.Comparisons)
	}
	for i, c := range got.Comparisons {
		if c.Test == nil {
			t.Errorf("%s does not say how it was decided", c.Text)
		}
		if c.Test = nil; !reflect.DeepEqual(c, want[i]) {
			t.Errorf("%+v, want %+v", c, want[i])
		}
	}
	if got.Name != "r" || got.Expr != "chat.tg.gain >= 0.1 and levels.smoke in ['fail']" || got.Source != "plan.hcl:40:14" || !got.Decides {
		t.Errorf("%+v", got)
	}
}

// TestMeasured: what a hypothesis claims is read like the input of a rule, and
// nothing is said where nothing can be read.
func TestMeasured(t *testing.T) {
	if got := Measured(nil, &Evidence{}); !got.IsZero() {
		t.Errorf("without a probe: %+v", got)
	}
	rule := compiled(t, "chat.tg.change > 0")
	if got := Measured(rule, &Evidence{}); !got.IsZero() {
		t.Errorf("without evidence: %+v", got)
	}
	if got := Measured(rule, full()); got.Code != code.ValueSeen || got.Args["value"].Unit != "ratio" || *got.Args["n"].Number != 4 || *got.Args["base_n"].Number != 4 || got.Args["interval"].To == nil {
		t.Errorf("measured: %+v", got)
	}
}

// TestCrashBound: each crash that a launch counts was a start besides the launches
// that count, and a bound is written as a number.
func TestCrashBound(t *testing.T) {
	for _, c := range []struct {
		crashes []float64
		rule    string
		want    string
	}{
		{[]float64{0, 0, 0, 0}, "engine.crashes == 0", "less than 53 % "},
		{[]float64{0, 0}, "engine.crashes <= 2", "less than 78 % "},
		{[]float64{3, 0, 0, 0}, "engine.crashes <= 3", "less than 77 % "},
		{[]float64{1, 1}, "engine.crashes <= 2", "less than 90 % "},
		{[]float64{200, 0}, "engine.crashes <= 200", "less than 100 % "},
	} {
		ev := with(func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[:len(c.crashes)]
			for i, n := range c.crashes {
				set(&f.Candidate, i, "engine.crashes", "median", n)
			}
		})
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != verdict.Pass || !strings.Contains(tell.Line(got.Reasons[0]), c.want) {
			t.Errorf("%v: %s %q, wanted %q", c.crashes, got.Verdict, tell.Lines(got.Reasons), c.want)
		}
	}
}
