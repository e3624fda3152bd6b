package verdict

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

var (
	broke  = Say("broken", "{error}", Err(errors.New("the command's output is no JSON: invalid character 'N'")))
	fails  = New(code.Level).On("execution").Is(Error).From(broke)
	unread = Say("broken", "{error}", Err(errors.New("the path was not seen in the log of the second launch")))
)

func level(name string, v Verdict, causes ...Reason) Reason {
	return Say("level.came", "level {subject}: {verdict}").On(name).Is(v).From(causes...)
}

// TestOnce: a cause that everything above it repeats is told in full only once.
func TestOnce(t *testing.T) {
	execution := level("execution", Error, broke)
	page := &Page{}
	got := page.Unprinted(execution, level("benchmark", Error, fails), execution, New(code.Missing).On("x").From(broke), Say("no_ratio", "no ratio: it needs values above zero and a metric with a better direction").On("x"))
	want := []string{
		"level execution: error: the command's output is no JSON: invalid character 'N'",
		"level benchmark: error: level execution ended in error, see above",
		"x, see above",
		"no ratio: it needs values above zero and a metric with a better direction",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestRoot: what a rule without a number follows from, without the examples.
func TestRoot(t *testing.T) {
	kernels, outcome := New(code.Level).On("kernels").Is(Fail), New(code.Feature).On("f").Is(Fail)
	if got := Root(New(code.Missing).On("x").From(kernels.From(unread, broke))); got != Brief(unread) {
		t.Errorf("%q", got)
	}
	if got := Root(New(code.Missing).On("x").From(outcome.From(unread, broke))); got != Brief(outcome) {
		t.Errorf("%q", got)
	}
}

// TestOutcomesStay: a reason from which another follows, or which another node reported,
// keeps its head and its
func TestOutcomesStay(t *testing.T) {
	outcome := New(code.Feature).On("attention_backend_flashinfer").Is(Fail)
	decode := New(code.Rule).On("decode").Is(Pass).From(unread)
	page := &Page{}
	page.Each(New(code.Rule).On("phase").Is(Fail).From(outcome))
	page.Each(decode)
	got := page.Each(outcome, decode)
	want := []string{"feature attention_backend_flashinfer: fail", "decode: pass, see above"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := page.Unprinted(outcome, outcome); len(got) != 0 {
		t.Errorf("Once: %q", got)
	}
}

// TestPartlyTold: a cause that was already told does not hide the others, and the number
// of further ones stays in brackets.
func TestPartlyTold(t *testing.T) {
	page := &Page{}
	page.Each(fails)
	got := page.Each(level("benchmark", Error, Few([]Reason{fails, unread, unread, unread}, 2)...))
	want := []string{"level benchmark: error: level execution ended in error, see above; the path was not seen in the log of the second launch (and 2 more)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "it broke": "It broke.", "ättika?": "Ättika?"} {
		if got := Capital(FullStop(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := Brief(Say("broken", "{error}", Text("error", "it broke\nhere"))); got != "it broke" {
		t.Errorf("%q", got)
	}
}

// A line has the number that decided, never a bound better than the one on record.
func TestBrief(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	gain := func(v Verdict, is, low, high, wanted float64) Rule {
		test := &Test{Form: Ratio, Relation: "gain", More: true, Threshold: wanted, Estimate: f(is), Low: f(low), High: f(high)}
		return Rule{Name: "decode", Verdict: v, Comparisons: []Comparison{{Verdict: v, Test: test}}}
	}
	delta := gain(Pass, -0.0001178, -0.0016, 0.0012861, 0.25)
	delta.Comparisons[0].Test.Form, delta.Comparisons[0].Test.Unit = Range, "GB"
	delta.Comparisons[0].Test.Relation, delta.Comparisons[0].Test.More = "delta", false
	level := gain(Pass, 57.853, 56.789, 58.9, 50)
	level.Comparisons[0].Test.Form, level.Comparisons[0].Test.Unit, level.Comparisons[0].Test.Relation = Level, "tok/s", ""
	fast := gain(Pass, 1342.1, 1200, 1500, 50)
	*fast.Comparisons[0].Test = *level.Comparisons[0].Test
	fast.Comparisons[0].Test.Estimate, fast.Comparisons[0].Test.Low = f(1342.1), f(1200)
	exact := func(f code.Fact, op string, values ...Arg) Reason { return New(f, append(values, Text("op", op))...) }
	for want, r := range map[string]Rule{
		"decode +34% (≥ +10%, at least +31%)":                   gain(Pass, 0.3421, 0.3199, 0.37, 0.10),
		"decode 13× (≥ +100%, at least 11×)":                    gain(Pass, 11.786, 10.979, 12.4, 1),
		"decode 4.9× (≥ +100%, at least 4.1×)":                  gain(Pass, 3.86, 3.199, 4.4, 1),
		"decode 28× (≥ 1,001×, at most 56×)":                    gain(Fail, 27, 10, 55, 1000),
		"decode -2.6% (≥ +10%, at most -1.1%)":                  gain(Fail, -0.026, -0.04, -0.0119, 0.10),
		"decode +9.97% (≥ +10%, at most +9.99%)":                gain(Fail, 0.0997, 0.09, 0.09985, 0.10),
		"decode +9.0% (≥ +10%, between +5.1% and +14%)":         gain(Inconclusive, 0.09, 0.0519, 0.131, 0.10),
		"decode -0.1 MB (≤ 0.25 GB, at most 1.3 MB)":            delta,
		"decode 57.9 tok/s (≥ 50 tok/s, at least 56.7 tok/s)":   level,
		"decode 1,342 tok/s (≥ 50 tok/s, at least 1,200 tok/s)": fast,
		"same 100% (≥ 90%)":                                     {Name: "same", Verdict: Pass, Reasons: []Reason{exact(code.AsWanted, ">=", Num("is", 1, "share"), Num("wanted", 0.9, "share"))}},
		"launches 2 (≥ 2)":                                      {Name: "launches", Verdict: Pass, Reasons: []Reason{exact(code.AsWanted, ">=", Num("is", 2, "launches"), Num("wanted", 2, "launches"))}},
		"kernels fail (pass)":                                   {Name: "kernels", Verdict: Fail, Reasons: []Reason{exact(code.NotAsWanted, "==", Text("is", "fail"), Text("wanted", "pass"))}},
		"kernels":                                               {Name: "kernels", Verdict: Pass, Reasons: []Reason{exact(code.AsWanted, "==", Text("is", "pass"), Text("wanted", "pass"))}},
		"decode: no launch was measured":                        {Name: "decode", Verdict: Invalid, Reasons: []Reason{Say("none", "no launch was measured")}},
		"decode":                                                {Name: "decode", Verdict: Invalid},
	} {
		if got := r.Brief(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// What a reason follows from has no colon where its causes, of which there are several, are left out.
	died := New(code.CrashedAgain, List("launches", []string{"a", "b"}), Text("other", "base"), Int("other_launches", 1)).On("new").
		From(Say("a", "a died"), Say("b", "b died"))
	if got := Root(Say("level", "a level").From(died)); !strings.HasSuffix(got, "in 1 launch") {
		t.Errorf("%q", got)
	}
	if got := gain(Error, math.NaN(), 0, 0, 1).Brief(); got != "decode" {
		t.Errorf("NaN: %q", got)
	}
}
