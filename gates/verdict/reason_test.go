package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestReasonsSurviveJSON: what was written is read back, and looks as people expect.
func TestReasonsSurviveJSON(t *testing.T) {
	r := New(code.Level, Text("text", "a <b>"), Int("count", 3), Num("num", 1.5, "GB"), Num("nan", math.NaN(), "GB"),
		Span("span", 0, 2, "count"),
		Dur("dur", 1500*time.Millisecond), List("list", []string{"a", "b"}), List("none", []string{}),
		Arg{"numbers", Value{Numbers: []float64{1, 2}, Unit: "ms"}}, Text("empty", ""),
	).On("smoke").Is(Fail).From(Say("broken", ""))
	data := must.Get(json.Marshal(r))(t)
	must.Contain(t, data, string(data),
		`"count":3`, `"num":{"value":1.5,"unit":"GB"}`, `"nan":"NaN"`, `"span":{"value":0,"to":2,"unit":"count"}`,
		`"dur":{"value":1.5,"unit":"duration"}`,
		`"list":["a","b"]`, `"none":[]`, `"numbers":{"values":[1,2],"unit":"ms"}`, `"empty":""`, `"subject":"smoke"`,
		`"verdict":"fail"`, `"causes":[{"kind":"broken"}]`,
	)
	var back Reason
	if err := json.Unmarshal(data, &back); err != nil || !back.Equal(r) {
		t.Errorf("%+v, %v", back, err)
	}
	for _, bad := range []string{`null`, `{}`, `{"unit":"GB"}`, `true`, `[1]`, `{"value":"x"}`} {
		var v Value
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was read as %+v", bad, v)
		}
	}
}

// TestKey: the basis of digests changes with codes, subjects, verdicts and causes, but with no value.
func TestKey(t *testing.T) {
	base := func() Reason {
		return New(code.Level, Text("why", "a")).On("smoke").Is(Fail).From(Say("broken", "{error}",
			Text("error", "x")).On("n"))
	}
	same := base()
	same.Values["why"] = Value{Text: "b"}
	same.Causes[0].Values["error"] = Value{Text: "y"}
	if same.Key() != base().Key() || same.Equal(base()) {
		t.Error("a value is part of the key", same.Key())
	}
	cause := base()
	cause.Causes[0].Subject = "m"
	for _, other := range []Reason{
		base().On("quick"), base().Is(Pass), base().From(), cause,
		New(code.Step).On("smoke").Is(Fail).From(base().Causes...),
	} {
		if other.Key() == base().Key() {
			t.Errorf("%+v has the same key", other)
		}
	}
}

// TestMapAndHolds: both reach down to the roots, and Map leaves its input unchanged.
func TestMapAndHolds(t *testing.T) {
	r := New(code.Level, Text("a", "secret"), List("b", []string{"secret"}), Int("n", 1)).On("secret").
		From(New(code.Missing).From(Say("broken",
			"{error}",
			Text("error", "secret"))))
	got := r.Map(func(s string) string { return strings.ReplaceAll(s, "secret", "***") })
	if data, _ := json.Marshal(got); strings.Contains(string(data), "secret") ||
		strings.Count(string(data), "***") != 6 {
		t.Errorf("%s", data)
	}
	var words Reason // without a template, as another program may send it
	if err := json.Unmarshal([]byte(`{"kind":"broken","text":"secret"}`), &words); err != nil ||
		words.Map(func(string) string { return "" }).String() != "" {
		t.Error("a text that was read keeps its secret", err)
	}
	if data, _ := json.Marshal(r); strings.Count(string(data), "secret") != 6 {
		t.Errorf("changed in place: %s", data)
	}
	if !Holds([]Reason{r}, "broken") || !Holds([]Reason{r}, code.Level.Kind) || Holds([]Reason{r}, code.Step.Kind) ||
		Holds(nil, code.Level.Kind) {
		t.Error("Holds")
	}
	if (Reason{}).IsZero() != true || r.IsZero() {
		t.Error("IsZero")
	}
}

// TestOfError: a fact comes out of an error as it went in, however it was wrapped, and
// any other error is kept in its own words.
func TestOfError(t *testing.T) {
	fact := Say("undecided", "{subject} is undecided").On("feature.x").
		From(Say("broken", "{error}", Text("error", "no")))
	for _, err := range []error{
		&Fault{fact}, fmt.Errorf("on the way: %w", &Fault{fact}),
		errors.Join(&Fault{fact}, errors.New("gone")),
	} {
		if got := OfError(err); !got.Equal(fact) {
			t.Errorf("%v: %+v", err, got)
		}
	}
	if got := OfError(errors.New("no space left")); !got.Equal(Say("broken", "{error}",
		Text("error", "no space left"))) {
		t.Errorf("%+v", got)
	}
}

// TestFromNothing: an empty reason is not a cause.
func TestFromNothing(t *testing.T) {
	if r := Say("undecided", "{subject} is undecided").From(Reason{}, Say("first", "first"), Reason{}); len(r.Causes) !=
		1 || r.From(Reason{}).Causes != nil {
		t.Errorf("%+v", r)
	}
}

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
	got := page.Unprinted(execution, level("benchmark", Error, fails), execution, New(code.Missing).On("x").From(broke),
		Say("no_ratio", "no ratio: it needs values above zero and a metric with a better direction").On("x"))
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
	must.Equal(t, "the root", Root(New(code.Missing).On("x").From(kernels.From(unread, broke))), Brief(unread))
	must.Equal(t, "the root", Root(New(code.Missing).On("x").From(outcome.From(unread, broke))), Brief(outcome))
}

// TestOutcomesStay: a reason from which another follows, or which another node reported, keeps its head and its
func TestOutcomesStay(t *testing.T) {
	outcome := New(code.Feature).On("attention_backend_flashinfer").Is(Fail)
	decode := New(code.Rule).On("decode").Is(Pass).From(unread)
	page := &Page{}
	page.Each(New(code.Rule).On("phase").Is(Fail).From(outcome))
	page.Each(decode)
	got := page.Each(outcome, decode)
	want := []string{"feature attention_backend_flashinfer failed", "decode: pass, see above"}
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
	want := []string{"level benchmark: error: level execution ended in error, see above; the path was not seen in " +
		"the log of the second launch (and 2 more)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "it broke": "It broke.", "ättika?": "Ättika?"} {
		must.Equal(t, text, Capital(FullStop(text)), want)
	}
	must.Equal(t, "the first line", Brief(Say("broken", "{error}", Text("error", "it broke\nhere"))), "it broke")
}

// A line has the number that decided, never a bound better than the one on record.
func TestBrief(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	gain := func(v Verdict, is, low, high, wanted float64) Rule {
		test := &Test{
			Form: Ratio, Relation: "gain", More: true, Threshold: wanted, Estimate: f(is),
			Low: f(low), High: f(high),
		}
		return Rule{Name: "decode", Verdict: v, Comparisons: []Comparison{{Verdict: v, Test: test}}}
	}
	delta := gain(Pass, -0.0001178, -0.0016, 0.0012861, 0.25)
	delta.Comparisons[0].Test.Form, delta.Comparisons[0].Test.Unit = Range, "GB"
	delta.Comparisons[0].Test.Relation, delta.Comparisons[0].Test.More = "delta", false
	level := gain(Pass, 57.853, 56.789, 58.9, 50)
	level.Comparisons[0].Test.Form, level.Comparisons[0].Test.Unit, level.Comparisons[0].Test.Relation = Level, "tok/s",
		""
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
		"same 100% (≥ 90%)": {
			Name: "same", Verdict: Pass,
			Reasons: []Reason{exact(code.AsWanted, ">=", Num("is", 1, "share"), Num("wanted", 0.9, "share"))},
		},
		"launches 2 (≥ 2)": {
			Name: "launches", Verdict: Pass,
			Reasons: []Reason{exact(code.AsWanted, ">=", Num("is", 2, "launches"), Num("wanted", 2, "launches"))},
		},
		"kernels fail (pass)": {
			Name: "kernels", Verdict: Fail,
			Reasons: []Reason{exact(code.NotAsWanted, "==", Text("is", "fail"), Text("wanted", "pass"))},
		},
		"kernels": {
			Name: "kernels", Verdict: Pass,
			Reasons: []Reason{exact(code.AsWanted, "==", Text("is", "pass"), Text("wanted", "pass"))},
		},
		"decode: no launch was measured": {
			Name: "decode", Verdict: Invalid,
			Reasons: []Reason{Say("none", "no launch was measured")},
		},
		"decode": {Name: "decode", Verdict: Invalid},
	} {
		if got := r.Brief(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// What a reason follows from has no colon where its causes, of which there are several, are left out.
	died := New(code.CrashedAgain, List("launches", []string{"a", "b"}), Text("other", "base"),
		Int("other_launches", 1)).On("new").
		From(Say("a", "a died"), Say("b", "b died"))
	if got := Root(Say("level", "a level").From(died)); !strings.HasSuffix(got, "in 1 launch") {
		t.Errorf("%q", got)
	}
	must.Equal(t, "NaN", gain(Error, math.NaN(), 0, 0, 1).Brief(), "decode")
}

// strange is a word that is not a verdict, as a newer version might write.
const strange = Verdict("great")

func TestWhatVerdictsMean(t *testing.T) {
	for _, c := range []struct {
		v                       Verdict
		known, unlocks, decided bool
		exit                    int
	}{
		{Pass, true, true, true, 0},
		{Waived, true, true, true, 0},
		{Fail, true, false, true, 2},
		{Inconclusive, true, false, true, 3},
		{Invalid, true, false, false, 2},
		{Error, true, false, false, 4},
		{"", false, false, false, 4},
		{strange, false, false, false, 4},
	} {
		if c.v.Known() != c.known || c.v.Unlocks() != c.unlocks || c.v.Decided() != c.decided ||
			c.v.Reusable() != c.decided || c.v.ExitCode() != c.exit {
			t.Errorf("%q: %v %v %v %v %d", c.v, c.v.Known(), c.v.Unlocks(), c.v.Decided(),
				c.v.Reusable(), c.v.ExitCode())
		}
	}
}

func TestWords(t *testing.T) {
	words := Words()
	if len(words) != len(severity) {
		t.Errorf("%v", words)
	}
	for i, w := range words {
		if severity[Verdict(w)] != i {
			t.Errorf("%s is not at its place in %v", w, words)
		}
	}
}

func TestJoin(t *testing.T) {
	// Best to worst, as the design orders them.
	order := []Verdict{Pass, Waived, Inconclusive, Fail, Invalid, Error}
	for i, a := range order {
		must.Equal(t, "Join(", Join(a), a)
		for j, b := range order {
			must.Equal(t, fmt.Sprint(a, " ", b, " ", a), Join(a, b, a), order[max(i, j)])
		}
		for _, odd := range []Verdict{strange, ""} {
			if Join(a, odd) != Error || Join(odd, a) != Error {
				t.Errorf("%q beside %s is not an error", odd, a)
			}
		}
	}
	must.Equal(t, "nothing joins to", Join(), Inconclusive)
}

func TestAnd(t *testing.T) {
	for _, want := range []string{"", "a", "a and b", "a, b and c"} {
		names := strings.FieldsFunc(strings.ReplaceAll(want, " and ", ", "), func(r rune) bool {
			return r == ',' || r == ' '
		})
		must.Equal(t, names, And(names), want)
	}
}
