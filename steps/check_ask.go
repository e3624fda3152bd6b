package steps

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
	return i.Client.Stream(ctx, openai.Request{
		API: i.API, Prompt: prompt, MaxTokens: tokens, IgnoreEOS: ignoreEOS, ContinuousUsage: true,
		Timeouts: openai.Timeouts{Total: checkLimit, First: checkLimit, Stall: checkLimit},
	})
}

// answer shows what the engine says, and how it counts.
func (i *inspection) answer(ctx context.Context) error {
	s, err := i.ask(ctx, checkPrompt, 16, false)
	if err != nil {
		return err
	}
	i.check.Prompt, i.check.Answer = checkPrompt, i.Lab.Redact.Text(verdict.Short(s.Reasoning+s.Text))
	switch s.TokenSource {
	case measure.SourceContinuousUsage:
		i.found("usage", true, code.UsageEvery)
	case measure.SourceUsage:
		i.found("usage", true, code.UsageEnd)
	default:
		i.found("usage", false, code.UsageNone)
	}
	return nil
}

// tokenizer compares the engine's own count of a text with what it bills.
func (i *inspection) tokenizer(ctx context.Context) error {
	if i.kind.Tokenize.Path == "" {
		i.found("tokenizer", false, code.TokenizerNone)
		return ctx.Err()
	}
	count, _, err := i.Client.Tokenize(ctx, checkPrompt)
	if err != nil {
		if ctx.Err() == nil {
			i.found("tokenizer", false, code.TokenizerSilent, verdict.Text("path", i.kind.Tokenize.Path), verdict.Line(err))
		}
		return ctx.Err()
	}
	s, err := i.ask(ctx, checkPrompt, 1, false)
	if err != nil {
		return err
	}
	counted := []verdict.Arg{
		verdict.Text("path", i.kind.Tokenize.Path), verdict.Int("tokens", count), verdict.Text("text", checkPrompt), verdict.Int("usage", s.PromptTokens),
	}
	switch {
	case s.PromptTokens < 0:
		i.found("tokenizer", true, code.TokenizerAlone, counted[:3]...)
	case s.PromptTokens == count:
		i.found("tokenizer", true, code.TokenizerAgrees, counted...)
	case i.API == openai.Chat:
		i.found("tokenizer", true, code.TokenizerTemplate, counted...)
	default:
		i.found("tokenizer", false, code.TokenizerDiffers, counted...)
	}
	return nil
}

// length asks for more tokens than the answer would have by itself.
func (i *inspection) length(ctx context.Context) error {
	s, err := i.ask(ctx, checkPrompt, checkOutput, true)
	var status *openai.StatusError
	switch {
	case errors.As(err, &status):
		i.found("ignore_eos", false, code.LengthRefused, verdict.Int("status", status.Status))
		return nil
	case err != nil:
		return err
	case s.OutputTokens < checkOutput:
		i.found("ignore_eos", false, code.LengthShort, verdict.Int("tokens", s.OutputTokens), verdict.Int("of", checkOutput), verdict.Text("finish", s.Finish))
	default:
		i.found("ignore_eos", true, code.LengthHonoured, verdict.Int("tokens", s.OutputTokens), verdict.Int("of", checkOutput))
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
	if s.CachedTokens < 0 {
		i.found("cached_tokens", false, code.CachedUnreported, verdict.Text("flag", i.kind.Ask.CachedTokens))
	} else {
		i.found("cached_tokens", true, code.CachedReported, verdict.Int("tokens", s.CachedTokens), verdict.Int("of", s.PromptTokens))
	}
	return nil
}

// metrics looks for the names that the profile knows.
func (i *inspection) metrics(ctx context.Context) error {
	m := i.kind.Metrics
	if m.Path == "" {
		i.found("metrics", true, code.MetricsNone)
		return nil
	}
	var patterns []kinds.Pattern
	for _, name := range slices.Sorted(maps.Keys(m.Names)) {
		patterns = append(patterns, kinds.Pattern{Name: name, Type: kinds.TypeNumber, Metric: m.Names[name]})
	}
	has, lacks, why := 0, []string{}, ""
	for _, o := range observe.All(ctx, i.Inst, m.Path, patterns) {
		if o.Missing == "" || o.Ambiguous {
			has++
			continue
		}
		lacks, why = append(lacks, o.Name), o.Missing
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case has == 0 && len(lacks) > 0:
		i.found("metrics", false, code.MetricsMissing, verdict.Text("why", why), verdict.Text("flags", strings.Join(m.Needs, " ")))
	case len(lacks) > 0:
		i.found("metrics", true, code.MetricsSome, verdict.Text("path", m.Path), verdict.Int("names", has), verdict.Int("of", len(patterns)), verdict.List("lacking", lacks))
	default:
		i.found("metrics", true, code.MetricsAll, verdict.Text("path", m.Path), verdict.Int("names", has))
	}
	return nil
}

// log looks for the lines by which the kind shows that it broke.
func (i *inspection) log() {
	path := i.Inst.LogPath()
	if path == "" {
		i.found("log", false, code.NoLog)
		return
	}
	if d, broke := i.kind.Diagnose(path); broke {
		i.found("log", false, code.LogBroke, verdict.Int("line_no", d.LineNo), verdict.Text("line", verdict.Short(d.Line)), verdict.Text("means", d.Means))
		return
	}
	seen, lines, err := logscan.ScanFile(path, i.kind.Harmless)
	if err != nil {
		i.found("log", false, code.LogUnsearchable, verdict.Line(err))
		return
	}
	harmless := 0
	for _, m := range seen {
		harmless += m.Count
	}
	args := []verdict.Arg{verdict.Int("lines", lines)}
	if harmless > 0 {
		args = append(args, verdict.Int("harmless", harmless))
	}
	i.found("log", lines > 0, code.LogSound, args...)
}
