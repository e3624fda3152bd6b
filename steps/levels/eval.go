package levels

import (
	"cmp"
	"context"
	"fmt"

	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels/quality"
)

var evalKind = Kind{
	Schema: plans.Schema{
		Asks: true, Against: true,
		Doc: "The engine answers questions as rightly as its parent. They are asked at temperature 0. Each line " +
			"of the questions is `{\"question\": \"…\", \"answer\": \"42\"}`, or has a `pattern` (RE2) in place of " +
			"the answer; `max_tokens` is optional. Answers are compared question by question. A variant that fails " +
			"is measured all the same.",
		Example: plans.Example(examples, `level "eval" {`),
		Attrs:   plans.Attrs(eval{}),
		Check: plans.Checked(func(_ *plans.Block, e eval) []plans.AttrError {
			if _, err := quality.ParseEval("questions", e.Questions, e.MaxDrop); err != nil {
				return []plans.AttrError{{
					Attr: "questions", Code: "eval", Summary: "Unusable questions",
					Detail: err.Error() + ".",
				}}
			}
			return nil
		}),
		Finds: func(*plans.Block) []plans.LevelResult { return quality.EvalFinds },
	},
	make: func(b *plans.Block) (level, error) {
		e := &eval{}
		return e, b.Decode(e)
	},
}

type eval struct {
	Questions   string  `hcl:"questions" needs:"questions with answers, such as file(\"gsm8k.jsonl\")." doc:"One JSON object per line, mostly of a file."`
	MaxDrop     float64 `hcl:"max_drop,optional" default:"2" unit:"points" min:"0.1" max:"50" doc:"How many points of accuracy (of 100) may be lost. It passes if the drop is shown to be at most that."`
	MaxTokens   int     `hcl:"max_tokens,optional" default:"256" unit:"tokens" min:"1" doc:"Maximum length of each answer."`
	Concurrency int     `hcl:"concurrency,optional" default:"8" unit:"requests" min:"1" max:"1024" doc:"How many questions are sent at a time."`
	API         string  `hcl:"api,optional" oneof:"completions|chat" doc:"Endpoint to use. By default the one that the engine answers at."`
}

// recordEval asks a running engine the questions of a level, which are those of its plan.
func recordEval(ctx context.Context, st *launch.Started, b *plans.Block) (*quality.Eval, error) {
	e := &eval{}
	if err := b.Decode(e); err != nil {
		return nil, err
	}
	all, err := quality.ParseEval("questions", e.Questions, e.MaxDrop)
	if err != nil {
		return nil, err
	}
	own := &quality.Eval{Asked: asked(b), Questions: all}
	return own, own.Ask(ctx, st, openai.API(cmp.Or(e.API, string(st.API))), e.MaxTokens, e.Concurrency)
}

// asked identifies what a level asks.
func asked(b *plans.Block) string { return runtime.Digest(b.Attrs) }

func (e *eval) run(ctx context.Context, q *qualification) (*artifact, error) {
	own, err := recordEval(ctx, q.Started, q.level)
	q.answered, q.against = true, q.parent.Answered
	return &artifact{graded: own}, err
}

// judge grades the answers, and compares them with those of the parent's launches.
func (e *eval) judge(_ context.Context, of *evidence) (verdict.Verdict, []verdict.Reason, error) {
	own := of.graded
	if own == nil {
		var err error
		if own, err = quality.Graded(of.store, of.launch); err != nil {
			return "", nil, err
		}
	}
	var parents [][]bool
	for _, l := range of.against {
		a, err := quality.Graded(of.store, l)
		if err != nil {
			return "", nil, err
		}
		if a.Asked != own.Asked || len(a.Texts) != len(own.Texts) {
			return "", nil, fmt.Errorf("launch %s was asked other questions", l.ID)
		}
		parents = append(parents, a.Right())
	}
	right := own.Right()
	if of.itself() {
		parents = append(parents, right)
	}
	return of.judgeAccuracy(right, parents, e.MaxDrop)
}

// itself reports whether a launch is compared with launches of its own variant, or none.
func (e *evidence) itself() bool {
	return len(e.against) == 0 || e.against[0].VariantKey == e.launch.VariantKey
}

// judgeAccuracy judges graded answers beside those of the launches that they are compared with.
func (e *evidence) judgeAccuracy(right []bool, parents [][]bool, maxDrop float64) (verdict.Verdict,
	[]verdict.Reason, error,
) {
	name, itself := e.launch.Variant, e.itself()
	if !itself {
		name = e.against[0].Variant
	}
	v, reasons, values := quality.JudgeEval(right, parents, maxDrop, name)
	if itself && v != verdict.Invalid {
		v = verdict.Pass // an engine may be as noisy as it is
		reasons = verdict.Because(code.Of("eval.itself",
			"{is} of {n|question|questions} right; {flips} graded differently in another launch of its own"),
			verdict.Num("is", values["accuracy"], "share"), verdict.Int("n", len(right)),
			verdict.Int("flips", int(values["flips"])))
	}
	for name, value := range sorted.All(values) {
		e.Number(name, value)
	}
	return v, reasons, nil
}
