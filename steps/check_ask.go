package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
)

const (
	// checkPrompt has an answer that a model with any sense gives.
	checkPrompt = "The capital of France is"
	// checkLimit bounds each request of a check but the first of the launch.
	checkLimit = 2 * time.Minute
	// checkOutput is long enough that an answer to checkPrompt ends before it.
	checkOutput = 64
)

func (i *inspection) ask(ctx context.Context, prompt string, tokens int, ignoreEOS bool) (measure.Sample, error) {
	return i.client.Stream(ctx, openai.Request{
		API: i.api, Prompt: prompt, MaxTokens: tokens, IgnoreEOS: ignoreEOS, ContinuousUsage: true,
		Timeouts: openai.Timeouts{Total: checkLimit, First: checkLimit, Stall: checkLimit},
	})
}

// answer shows what the engine says, and how it counts.
func (i *inspection) answer(ctx context.Context) error {
	s, err := i.ask(ctx, checkPrompt, 16, false)
	if err != nil {
		return err
	}
	i.check.Prompt, i.check.Answer = checkPrompt, i.lab.Redact.Text(cut(s.Reasoning+s.Text))
	switch s.TokenSource {
	case measure.SourceContinuousUsage:
		i.found("usage", true, "token counts in every event of a stream")
	case measure.SourceUsage:
		i.found("usage", true, "token counts at the end of a stream, so that the first event is taken for one token")
	default:
		i.found("usage", false, "no token counts in streams: events are counted instead, and one may hold many tokens")
	}
	return nil
}

// tokenizer compares the engine's own count of a text with what it bills.
func (i *inspection) tokenizer(ctx context.Context) error {
	if i.kind.Tokenize.Path == "" {
		i.found("tokenizer", false, "engines of this kind count no tokens of a text: prompts are cut to length by what usage says")
		return ctx.Err()
	}
	count, _, err := i.client.Tokenize(ctx, checkPrompt)
	if err != nil {
		if ctx.Err() == nil {
			i.found("tokenizer", false, "POST %s does not answer: %s", i.kind.Tokenize.Path, firstLine(err))
		}
		return ctx.Err()
	}
	s, err := i.ask(ctx, checkPrompt, 1, false)
	if err != nil {
		return err
	}
	switch {
	case s.PromptTokens < 0:
		i.found("tokenizer", true, "POST %s counts %d tokens in %q; usage says nothing of prompts", i.kind.Tokenize.Path, count, checkPrompt)
	case s.PromptTokens == count:
		i.found("tokenizer", true, "POST %s counts %d tokens in %q, as usage does", i.kind.Tokenize.Path, count, checkPrompt)
	case i.api == openai.Chat:
		i.found("tokenizer", true, "POST %s counts %d tokens in %q, and the chat template makes %d of them", i.kind.Tokenize.Path, count, checkPrompt, s.PromptTokens)
	default:
		i.found("tokenizer", false, "POST %s counts %d tokens in %q and usage says %d: prompts will be of another length than asked for", i.kind.Tokenize.Path, count, checkPrompt, s.PromptTokens)
	}
	return nil
}

// length asks for more tokens than the answer would have by itself.
func (i *inspection) length(ctx context.Context) error {
	s, err := i.ask(ctx, checkPrompt, checkOutput, true)
	var status *openai.StatusError
	switch {
	case errors.As(err, &status):
		i.found("ignore_eos", false, "refused (HTTP status %d): set ignore_eos = false in workloads, and mind that answers fall short", status.Status)
		return nil
	case err != nil:
		return err
	case s.OutputTokens < checkOutput:
		i.found("ignore_eos", false, "not honoured: %d of %d tokens came (%s)", s.OutputTokens, checkOutput, orWord(s.Finish, "no reason given"))
	default:
		i.found("ignore_eos", true, "honoured: %d of %d tokens came", s.OutputTokens, checkOutput)
	}
	return nil
}

// cache sends a long prompt twice.
func (i *inspection) cache(ctx context.Context) error {
	long := strings.Repeat("A measurement that was answered from a cache has measured the cache. ", 16)
	var s measure.Sample
	for range 2 {
		var err error
		if s, err = i.ask(ctx, long, 1, false); err != nil {
			return err
		}
	}
	switch hint := ""; {
	case s.CachedTokens < 0:
		if i.kind.Ask.CachedTokens != "" {
			hint = ": start it with " + i.kind.Ask.CachedTokens
		}
		i.found("cached_tokens", false, "not reported, so that prompts answered from a cache are not noticed%s", hint)
	default:
		i.found("cached_tokens", true, "reported: %d of %d tokens of a prompt that was sent twice", s.CachedTokens, s.PromptTokens)
	}
	return nil
}

// metrics looks for the names that the profile knows.
func (i *inspection) metrics(ctx context.Context) error {
	m := i.kind.Metrics
	if m.Path == "" {
		i.found("metrics", true, "engines of this kind have no page of metrics")
		return nil
	}
	var patterns []kinds.Pattern
	for _, name := range slices.Sorted(maps.Keys(m.Names)) {
		patterns = append(patterns, kinds.Pattern{Name: name, Type: kinds.TypeNumber, Metric: m.Names[name]})
	}
	has, lacks, why := 0, []string{}, ""
	for _, o := range observe.All(ctx, i.inst, m.Path, patterns) {
		if o.Missing == "" || strings.Contains(o.Missing, "series that differ") {
			has++
			continue
		}
		lacks, why = append(lacks, o.Name), o.Missing
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case has == 0 && len(lacks) > 0:
		hint := ""
		if len(m.Needs) > 0 {
			hint = "; it is there with " + strings.Join(m.Needs, " ")
		}
		i.found("metrics", false, "%s%s", why, hint)
	case len(lacks) > 0:
		i.found("metrics", true, "GET %s has %d of %d known names; not %s", m.Path, has, len(patterns), strings.Join(lacks, ", "))
	default:
		i.found("metrics", true, "GET %s has all %d known names", m.Path, has)
	}
	return nil
}

// log looks for the lines by which the kind shows that it broke.
func (i *inspection) log() {
	path := i.inst.LogPath()
	if path == "" {
		i.found("log", false, "there is none: nothing of kernels can be proved; name it with log_file in the endpoint block")
		return
	}
	if d, broke := i.kind.Diagnose(path); broke {
		i.found("log", false, "line %d looks like a break: %s (%s)", d.LineNo, cut(d.Line), d.Means)
		return
	}
	seen, lines, err := logscan.ScanFile(path, i.kind.Harmless)
	if err != nil {
		i.found("log", false, "it cannot be searched: %s", firstLine(err))
		return
	}
	harmless := 0
	for _, m := range seen {
		harmless += m.Count
	}
	text := fmt.Sprintf("%d lines, none of which shows a break", lines)
	if harmless > 0 {
		text += fmt.Sprintf("; %d look like it and are harmless", harmless)
	}
	i.found("log", lines > 0, "%s", text)
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}
