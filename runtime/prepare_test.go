package runtime

import (
	"context"
	"errors"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// preparedStep is a step that prepares.
type preparedStep struct {
	fakeStep
	prepare func(ctx context.Context) error
}

func (p preparedStep) Prepare(ctx context.Context, _ *Scope) error { return p.prepare(ctx) }

func TestPrepare(t *testing.T) {
	journal, ran := newMemory(), 0
	var prepare func(context.Context) error
	r := &Runner{
		Graph: graphOf(t, &Node{ID: "a", Kind: KindQualify}), Journal: journal,
		Step: func(*Node) (Step, error) {
			return preparedStep{fakeStep{"m", func(context.Context, *Scope) (*ledger.Decision, error) {
				ran++
				return &ledger.Decision{Verdict: verdict.Pass}, nil
			}}, func(ctx context.Context) error { return prepare(ctx) }}, nil
		},
	}
	execute := func(ctx context.Context) *executed {
		t.Helper()
		res, err := r.Execute(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return byNode(res)
	}
	prepare = func(context.Context) error { return nil }
	if res := execute(t.Context()); res.Outcomes["a"].Verdict != verdict.Pass || ran != 1 {
		t.Fatalf("prepared: %+v, ran %d times", res.Outcomes["a"], ran)
	}
	// What was decided is not kept where it is unknown whether it still holds.
	prepare = func(context.Context) error { return errors.New("no image") }
	res := execute(t.Context())
	if d := res.Outcomes["a"]; d.Verdict != verdict.Error || !d.Reasons[0].Equal(verdict.Say("broken", "{error}",
		verdict.Text("error", "no image"))) || d.Attempt != 2 || d.Because.Kind != "not_prepared" || ran != 1 {
		t.Errorf("not prepared: %+v, ran %d times", d, ran)
	}
	// Whoever only looks prepares nothing.
	if _, err := r.Reconcile(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	prepare = func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	}
	if res := execute(ctx); !res.Interrupted || res.Outcomes["a"] != nil || ran != 1 || journal.Latest("a").Attempt != 2 {
		t.Errorf("cancelled: %+v, ran %d times", res, ran)
	}
	prepare = func(context.Context) error { return nil }
	if res := execute(t.Context()); res.Outcomes["a"].Verdict != verdict.Pass || !res.Outcomes["a"].Because.Equal(verdict.New(code.RetryAfter).Is(verdict.Error)) || ran != 2 {
		t.Errorf("mended: %+v, ran %d times", res.Outcomes["a"], ran)
	}
}
