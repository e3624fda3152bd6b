package verdict

import (
	"errors"
	"slices"
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
