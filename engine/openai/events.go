package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/foreign"
)

// chunk is what is read of an event's data, in the forms that engines use. Members of
// another type than these count as absent.
type chunk struct {
	Choices []struct {
		Index  int     `json:"index"`
		Text   string  `json:"text"`
		Finish *string `json:"finish_reason"`
		Delta  struct {
			Content          string `json:"content"`
			Reasoning        string `json:"reasoning"`
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				Function function `json:"function"`
			} `json:"tool_calls"`
			FunctionCall function `json:"function_call"` // the predecessor of tool_calls
		} `json:"delta"`
	} `json:"choices"`
	Usage *struct {
		Completion *int `json:"completion_tokens"`
		Prompt     *int `json:"prompt_tokens"`
		Details    struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Timings struct { // llama-server's own counts
		Completion *int `json:"predicted_n"`
		Cached     *int `json:"cache_n"`
	} `json:"timings"`
	failure
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// failure is an error that a server reports in place of an answer.
type failure struct {
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	Message string          `json:"message"`
}

// text is the server's message: error.message, error itself, or message if the whole is an
// object of type error.
func (f failure) text() (said string, failed bool) {
	switch {
	case len(f.Error) > 0 && string(f.Error) != "null":
		var inner failure
		if _ = unmarshal(f.Error, &inner); inner.Message != "" {
			return inner.Message, true
		}
		if json.Unmarshal(f.Error, &said) == nil {
			return said, true
		}
		return string(f.Error), true
	case f.Object == "error" && f.Message != "":
		return f.Message, true
	}
	return f.Object, f.Object == "error"
}

// failureIn is the error that a JSON text reports, if any.
func failureIn(text []byte) (said string, failed bool) {
	var f failure
	if unmarshal(text, &f) != nil {
		return "", false
	}
	return f.text()
}

// unmarshal is json.Unmarshal that leaves out members of another type.
func unmarshal(text []byte, to any) error {
	err := json.Unmarshal(text, to)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return nil
	}
	return err
}

// count is the first that is a token count; -1 if none is.
func count(from ...*int) int {
	for _, n := range from {
		if n != nil && *n >= 0 {
			return *n
		}
	}
	return -1
}

// add decodes an event.
func (a *answer) add(data []byte, f frame) *StreamError {
	ev := measure.Event{At: f.at, Kind: measure.KindDone, Tokens: -1}
	if string(data) == "[DONE]" {
		a.s.Events = append(a.s.Events, ev)
		return nil
	}
	var c chunk
	wrong := data[0] != '{' || unmarshal(data, &c) != nil
	switch said, failed := c.failure.text(); {
	case failed && !wrong:
		return &StreamError{Kind: Reported, Detail: foreign.Quote(said)}
	case f.reported:
		return &StreamError{Kind: Reported, Detail: foreign.Quote(data)}
	case wrong:
		return &StreamError{Kind: Malformed, Detail: foreign.Quote(data)}
	}

	output, prompt, cached := count(c.Timings.Completion), -1, count(c.Timings.Cached)
	usage := c.Usage != nil || output >= 0
	if u := c.Usage; u != nil {
		output, prompt, cached = count(u.Completion, c.Timings.Completion), count(u.Prompt),
			count(u.Details.Cached, c.Timings.Cached)
	}
	var text, reasoning, tools string
	a.choices = a.choices || len(c.Choices) > 1
	if len(c.Choices) > 0 {
		choice := c.Choices[0]
		if choice.Index > 0 { // another answer, which was not requested: its text ends no wait
			a.choices = true
		} else {
			// Completions use text, chats delta.content. Some servers send the same reasoning
			// under its old and its new name: one of them counts.
			text = cmp.Or(choice.Text, choice.Delta.Content)
			reasoning = cmp.Or(choice.Delta.ReasoningContent, choice.Delta.Reasoning)
			for _, call := range choice.Delta.ToolCalls {
				tools += call.Function.Name + call.Function.Arguments
			}
			tools += choice.Delta.FunctionCall.Name + choice.Delta.FunctionCall.Arguments
			if choice.Finish != nil && *choice.Finish != "" {
				a.s.Finish, a.began = *choice.Finish, true
			}
		}
	}

	ev.Tokens, ev.Bytes = output, len(text)+len(reasoning)+len(tools)
	switch {
	case text != "":
		ev.Kind = measure.KindText
	case reasoning != "":
		ev.Kind = measure.KindReasoning
	case tools != "":
		ev.Kind = measure.KindTool
	case usage && len(c.Choices) == 0:
		ev.Kind = measure.KindUsage
	default:
		ev.Kind = measure.KindOther
	}
	if ev.Bytes > 0 && !a.visible {
		if a.visible = measure.Visible(text+reasoning+tools) != ""; !a.visible {
			ev.Kind = measure.KindBlank
		}
	}
	a.s.Events = append(a.s.Events, ev)
	a.text.WriteString(text)
	a.reasoning.WriteString(reasoning)
	a.tools.WriteString(tools)
	if ev.Bytes > 0 {
		a.textEvents++
		if output < 1 {
			a.uncounted++
		}
		if ev.Kind != measure.KindTool {
			a.spoken++
		}
		if a.request.Heard != nil && !a.enough {
			a.enough = a.request.Heard(a.reasoning.String() + a.text.String() + a.tools.String())
		}
	}
	a.began = a.began || ev.Bytes > 0 || output > 0
	a.compare(output, prompt, len(c.Choices) > 0)

	// Counts are running totals: the latest is the best.
	if output >= 0 {
		a.s.OutputTokens = output
	}
	if prompt >= 0 {
		a.s.PromptTokens = prompt
	}
	if cached >= 0 {
		a.s.CachedTokens = cached
	}
	return nil
}

// compare notes counts of the last event that contradict those before.
func (a *answer) compare(output, prompt int, choice bool) {
	n := len(a.s.Events)
	if output >= 0 && output < a.most && a.fell == "" {
		a.fell = fmt.Sprintf("the count of output tokens falls from %d to %d at event %d", a.most, output, n)
	}
	a.most = max(a.most, output)
	switch counting := a.textEvents > 0 && a.uncounted == 0; {
	case choice && output > 0:
		a.counted = output
	case !choice && counting && a.counted > 0 && output > a.counted:
		a.final = fmt.Sprintf("%d output tokens at the end, but %d at the last event before", output, a.counted)
	}
	if before := a.s.PromptTokens; prompt > 0 && before > 0 && prompt != before && a.moved == "" {
		a.moved = fmt.Sprintf("the count of prompt tokens changes from %d to %d at event %d", before, prompt, n)
	}
}

// size is the length of the text so far.
func (a *answer) size() int { return a.text.Len() + a.reasoning.Len() + a.tools.Len() }

// end completes the sample.
func (a *answer) end(err error) measure.Sample {
	s := a.s
	s.Text, s.Reasoning, s.Tools = a.text.String(), a.reasoning.String(), a.tools.String()
	s.Doubts = a.contradictions()
	switch {
	case s.OutputTokens < 0: // fallback for a server that counts no tokens
		s.OutputTokens, s.TokenSource = a.textEvents, measure.SourceEvents
	case a.textEvents > 0 && a.uncounted == 0:
		s.TokenSource = measure.SourceContinuousUsage
	default:
		s.TokenSource = measure.SourceUsage
	}
	if err != nil {
		s.Err = err.Error()
		if status, ok := errors.AsType[*StatusError](err); ok {
			s.Status = status.Status
		}
	}
	return s
}

// contradictions are contradictions in an answer that can be read nevertheless, in words. They stop
// nothing here, since their meaning for a measurement is not the client's to judge, but
// they are never silent: the sample carries them.
func (a *answer) contradictions() string {
	var all []string
	add := func(doubtful bool, format string, values ...any) {
		if doubtful {
			all = append(all, fmt.Sprintf(format, values...))
		}
	}
	s := a.s
	add(a.fell != "", "%s", a.fell)
	add(a.final != "", "%s", a.final)
	add(a.moved != "", "%s", a.moved)
	add(s.OutputTokens >= 0 && s.OutputTokens < a.spoken,
		"%d output tokens, but text in %d events", s.OutputTokens, a.spoken)
	add(s.RequestedOutput > 0 && s.OutputTokens > s.RequestedOutput,
		"%d output tokens, but at most %d were requested", s.OutputTokens, s.RequestedOutput)
	add(s.PromptTokens >= 0 && s.CachedTokens > s.PromptTokens,
		"%d cached tokens in a prompt of %d", s.CachedTokens, s.PromptTokens)
	add(a.choices, "more than one choice; only the text of the first is kept")
	add(s.Retries > 0, "the request was resent because the server closed the connection before answering")
	add(a.late, "events came after [DONE] and were not measured")
	return strings.Join(all, "; ")
}
