package levels

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/record"
)

var smokeKind = Kind{
	Schema: plans.Schema{
		Asks:    true,
		Doc:     "The engine starts, answers one request, and the answer is as expected.",
		Example: plans.Example(examples, `level "smoke" {`),
		Attrs:   plans.Attrs(smoke{}),
		Check: func(b *plans.Block) []plans.AttrError {
			var errs []plans.AttrError
			pattern, _ := b.Attrs["pattern"].(string)
			if _, err := regexp.Compile(pattern); err != nil {
				errs = append(errs,
					plans.AttrError{
						Attr: "pattern", Code: "invalid-value", Summary: "Invalid regular expression",
						Detail: fmt.Sprintf("%s. The syntax is RE2.",
							verdict.Capital(foreign.NotPattern(err).Error())),
					})
			}
			return errs
		},
	},
	make: func(b *plans.Block) (level, error) {
		s := &smoke{}
		if err := b.Decode(s); err != nil {
			return nil, err
		}
		if s.Pattern != "" {
			re, err := regexp.Compile(s.Pattern)
			if err != nil {
				return nil, err
			}
			s.re = re
		}
		return s, nil
	},
}

type smoke struct {
	Prompt    string    `hcl:"prompt,optional" default:"The capital of France is" doc:"The prompt."`
	Expect    string    `hcl:"expect,optional" unless:"pattern" needs:"a right answer: an engine that answers garbage must not pass." doc:"Text that the answer must contain, ignoring case."`
	Pattern   string    `hcl:"pattern,optional" doc:"RE2 regular expression that the answer must match."`
	MaxTokens int       `hcl:"max_tokens,optional" default:"16" unit:"tokens" min:"1" doc:"Length of the answer."`
	API       string    `hcl:"api,optional" oneof:"completions|chat" default:"completions" doc:"Endpoint to use."`
	Timeout   plans.Dur `hcl:"timeout,optional" default:"5m" doc:"Time limit of the request. After the first token, a pause longer than the 'stall_timeout' of the plan's workloads ends it too."`

	re *regexp.Regexp
}

func (s *smoke) run(ctx context.Context, q *qualification) (*artifact, error) {
	limit := time.Duration(s.Timeout)
	answer, err := q.Client.Stream(ctx, openai.Request{
		API: openai.API(s.API), Prompt: s.Prompt, MaxTokens: s.MaxTokens,
		Timeouts: openai.Timeouts{Total: limit, First: limit, Stall: min(limit, q.Lab.Variants.Plan.StallTimeout())},
	})
	if err != nil {
		return nil, err
	}
	q.answered = true
	return &artifact{Answer: q.Lab.Redact.Text(answer.Text + answer.Reasoning)}, nil
}

// judge looks at the answer, from which secrets are removed.
func (s *smoke) judge(_ context.Context, e *evidence) (verdict.Verdict, []verdict.Reason, error) {
	text, expect := e.Answer, e.redact.Text(s.Expect)
	if strings.TrimSpace(text) == "" {
		return verdict.Fail, verdict.Because(code.Of("smoke.empty", "the answer to {prompt:q} is empty"),
			verdict.Text("prompt", s.Prompt)), nil
	}
	if !strings.Contains(strings.ToLower(text), strings.ToLower(expect)) {
		return verdict.Fail, verdict.Because(code.Of("smoke.lacks",
			"the answer to {prompt:q} should contain {expect:q} but was {answer:q}"),
			verdict.Text("prompt", s.Prompt), verdict.Text("expect", s.Expect),
			verdict.Text("answer", foreign.Short(text))), nil
	}
	if s.re != nil && !s.re.MatchString(text) {
		return verdict.Fail, verdict.Because(code.Of("smoke.unlike",
			"the answer to {prompt:q} should match {pattern:q} but was {answer:q}"),
			verdict.Text("prompt", s.Prompt), verdict.Text("pattern", s.Pattern),
			verdict.Text("answer", foreign.Short(text))), nil
	}
	if ok, why := answers.Coherent(text); !ok {
		return verdict.Fail, []verdict.Reason{verdict.Say("smoke.garbage",
			"the answer to {prompt:q} is not readable text",
			verdict.Text("prompt", s.Prompt)).From(record.SignOf(why))}, nil
	}
	return verdict.Pass, verdict.Because(code.Of("smoke.answered", "answered {answer:q}"),
		verdict.Text("answer", foreign.Short(text))), nil
}
