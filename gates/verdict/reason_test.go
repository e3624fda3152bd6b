package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestReasonsSurviveJSON: what was written is read back, and looks as people expect.
func TestReasonsSurviveJSON(t *testing.T) {
	r := New(code.Level, Text("text", "a <b>"), Int("count", 3), Num("num", 1.5, "GB"), Num("nan", math.NaN(), "GB"), Span("span", 0, 2, "count"),
		Dur("dur", 1500*time.Millisecond), List("list", []string{"a", "b"}), List("none", []string{}), Arg{"numbers", Value{Numbers: []float64{1, 2}, Unit: "ms"}}, Text("empty", ""),
	).On("smoke").Is(Fail).From(Say("broken", ""))
	data := must.Get(json.Marshal(r))(t)
	for _, want := range []string{
		`"count":3`, `"num":{"value":1.5,"unit":"GB"}`, `"nan":"NaN"`, `"span":{"value":0,"to":2,"unit":"count"}`, `"dur":{"value":1.5,"unit":"duration"}`,
		`"list":["a","b"]`, `"none":[]`, `"numbers":{"values":[1,2],"unit":"ms"}`, `"empty":""`, `"subject":"smoke"`, `"verdict":"fail"`, `"causes":[{"kind":"broken"}]`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
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

// TestKey: the basis of digests changes with codes, subjects, verdicts and causes, but
// with no value.
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
	for _, other := range []Reason{base().On("quick"), base().Is(Pass), base().From(), cause, New(code.Step).On("smoke").Is(Fail).From(base().Causes...)} {
		if other.Key() == base().Key() {
			t.Errorf("%+v has the same key", other)
		}
	}
}

// TestMapAndHolds: both reach down to the roots, and Map leaves its input unchanged.
func TestMapAndHolds(t *testing.T) {
	r := New(code.Level, Text("a", "secret"), List("b", []string{"secret"}), Int("n", 1)).On("secret").From(New(code.Missing).From(Say("broken",
		"{error}",
		Text("error", "secret"))))
	got := r.Map(func(s string) string { return strings.ReplaceAll(s, "secret", "***") })
	if data, _ := json.Marshal(got); strings.Contains(string(data), "secret") || strings.Count(string(data), "***") != 6 {
		t.Errorf("%s", data)
	}
	var words Reason // without a template, as another program may send it
	if err := json.Unmarshal([]byte(`{"kind":"broken","text":"secret"}`), &words); err != nil || words.Map(func(string) string { return "" }).String() != "" {
		t.Error("a text that was read keeps its secret", err)
	}
	if data, _ := json.Marshal(r); strings.Count(string(data), "secret") != 6 {
		t.Errorf("changed in place: %s", data)
	}
	if !Holds([]Reason{r}, "broken") || !Holds([]Reason{r}, code.Level.Kind) || Holds([]Reason{r}, code.Step.Kind) || Holds(nil, code.Level.Kind) {
		t.Error("Holds")
	}
	if (Reason{}).IsZero() != true || r.IsZero() {
		t.Error("IsZero")
	}
}

// TestOfError: a fact comes out of an error as it went in, however it was wrapped, and
// any other error is kept in its own words.
func TestOfError(t *testing.T) {
	fact := Say("undecided", "{subject} is undecided").On("feature.x").From(Say("broken", "{error}", Text("error", "no")))
	for _, err := range []error{&Fault{fact}, fmt.Errorf("on the way: %w", &Fault{fact}), errors.Join(&Fault{fact}, errors.New("gone"))} {
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
	if r := Say("undecided", "{subject} is undecided").From(Reason{}, Say("first", "first"), Reason{}); len(r.Causes) != 1 || r.From(Reason{}).Causes != nil {
		t.Errorf("%+v", r)
	}
}
