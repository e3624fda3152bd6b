package tell

import (
	"errors"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var (
	broke  = verdict.New(code.Broken, verdict.Err(errors.New("the command's output is no JSON: invalid character 'N'")))
	fails  = verdict.New(code.Level).On("execution").Is(verdict.Error).From(broke)
	unread = verdict.New(code.Broken, verdict.Err(errors.New("the path was not seen in the log of the second launch")))
)

func level(name string, v verdict.Verdict, causes ...verdict.Reason) verdict.Reason {
	return verdict.New(code.LevelCame).On(name).Is(v).From(causes...)
}

func was(node string, v verdict.Verdict, causes ...verdict.Reason) verdict.Reason {
	return verdict.New(code.OutcomeWas).On(node).Is(v).From(causes...)
}

// TestOnce: a cause that everything above it repeats is told in full only once.
func TestOnce(t *testing.T) {
	execution := level("execution", verdict.Error, broke)
	page := &Page{}
	got := page.Once(execution, level("benchmark", verdict.Error, fails), execution, verdict.New(code.Missing).On("x").From(broke), verdict.New(code.NoRatio).On("x"))
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

// TestChain: the root, which is last, is told in full.
func TestChain(t *testing.T) {
	kernels := verdict.New(code.Level).On("kernels").Is(verdict.Fail).From(unread)
	page := &Page{}
	got := page.Chain([]verdict.Reason{was("f", verdict.Invalid, kernels), was("f.qualify", verdict.Fail, kernels)})
	want := []string{"f is invalid: level kernels failed, see below", "f.qualify failed: level kernels failed: the path was not seen in the log of the second launch"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := page.Chain([]verdict.Reason{was("f.qualify", verdict.Fail, kernels), was("g", verdict.Fail, kernels)}); !slices.Equal(got, []string{"g failed: level kernels failed, see above"}) {
		t.Errorf("again: %q", got)
	}
}

// TestOutcomesStay: a reason from which another follows, or which another node reported,
// keeps its head and its verdict.
func TestOutcomesStay(t *testing.T) {
	outcome := verdict.New(code.Feature).On("attention_backend_flashinfer").Is(verdict.Fail)
	decode := verdict.New(code.Rule).On("decode").Is(verdict.Pass).From(unread)
	page := &Page{}
	page.Each(verdict.New(code.Rule).On("phase").Is(verdict.Fail).From(outcome))
	page.Each(decode)
	got := page.Each(outcome, decode)
	want := []string{"feature attention_backend_flashinfer: fail", "decode: pass, see above"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := page.Once(outcome, outcome); len(got) != 0 {
		t.Errorf("Once: %q", got)
	}
}

// TestPartlyTold: a cause that was already told does not hide the others, and the number
// of further ones stays in brackets.
func TestPartlyTold(t *testing.T) {
	page := &Page{}
	page.Each(fails)
	got := page.Each(level("benchmark", verdict.Error, Few([]verdict.Reason{fails, unread, unread, unread}, 2)...))
	want := []string{"level benchmark: error: level execution ended in error, see above; the path was not seen in the log of the second launch (and 2 more)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "it broke": "It broke.", "ättika?": "Ättika?"} {
		if got := Capital(Stop(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := Brief(verdict.New(code.Broken, verdict.Text("error", "it broke\nhere"))); got != "it broke" {
		t.Errorf("%q", got)
	}
}
