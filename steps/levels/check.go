package levels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// EngineCheck is what one start of an engine showed, outside of any run.
type EngineCheck struct {
	Engine   string            `json:"engine"`
	Kind     string            `json:"kind"`
	Launcher string            `json:"launcher"`
	Knobs    map[string]string `json:"knobs,omitempty"`
	OK       bool              `json:"ok"`
	// Error, LogTail and Exit say how it broke.
	Error   verdict.Reason `json:"error,omitzero"`
	LogTail []string       `json:"log_tail,omitempty"`
	Exit    *int           `json:"exit,omitempty"`
	// StartupS and FirstRequestS are seconds, nil if there was none.
	StartupS      *float64 `json:"startup_s,omitempty"`
	FirstRequestS *float64 `json:"first_request_s,omitempty"`
	// Started is what was started, as a launch's record has it.
	Started map[string]string `json:"started"`
	// Model is the requested name, Models those that the engine lists, and MaxModelLen
	// the length that it reports for the first, 0 if it does not.
	Model       string   `json:"model,omitempty"`
	Models      []string `json:"models,omitempty"`
	MaxModelLen int      `json:"max_model_len,omitempty"`
	Prompt      string   `json:"prompt,omitempty"`
	Answer      string   `json:"answer,omitempty"`
	// Observed is what it reported about itself, Unobserved why the rest is unknown.
	Observed   map[string]ledger.Observed `json:"observed,omitempty"`
	Unobserved map[string]verdict.Reason  `json:"unobserved,omitempty"`
	// Findings are the further checks, in order.
	Findings []Finding        `json:"findings,omitempty"`
	Notes    []verdict.Reason `json:"notes,omitempty"`
	// Log is the path of its log, empty if there is none.
	Log string `json:"log,omitempty"`
}

// Finding is the result of one check.
type Finding struct {
	// Name is a word: "tokenizer", "ignore_eos".
	Name string `json:"name"`
	// Good is false if measurements would suffer from it.
	Good bool           `json:"good"`
	Says verdict.Reason `json:"says"`
}

// CheckEngine starts one engine of the plan, with the given knobs over their defaults,
// examines it and stops it. Nothing is recorded. The error is a mistake in the request;
// an engine that breaks is a result. Ending ctx shuts the engine down gracefully, ending
// hard at once.
func CheckEngine(ctx, hard context.Context, l *launch.Lab, key string, set map[string]string) (*EngineCheck, error) {
	e := l.Plan.Engine(key)
	if e == nil {
		return nil, fmt.Errorf("there is no engine %q", key)
	}
	if e.IsCommand() {
		return nil, fmt.Errorf("engine %s is a command, not a server, so it answers no requests; mxflow apply runs it", key)
	}
	knobs := knobsOf(l.Plan, e, set)
	s := &runtime.Scope{Plan: l.Plan, Node: &runtime.Node{ID: "engine check"}, Run: "check", Context: ctx, Known: &sync.Map{}, Hard: hard, Emit: func(runtime.Event) {}}
	v, err := l.Resolve(s, "check", key, knobs)
	if err != nil {
		return nil, err
	}
	record := &ledger.Launch{ID: "check-" + runtime.ShortID(time.Now(), key), Session: "check", Purpose: "check", Ordinal: 1, Order: 1, OK: true}
	out := &EngineCheck{Engine: key, Kind: v.Spec.Kind, Launcher: string(v.Spec.How()), Knobs: knobs}
	st, err := l.Launch(ctx, s, v, record)
	if st == nil {
		return nil, err
	}
	if err == nil {
		inspect(ctx, st, v, out)
		st.Stop(s)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out.fill(st, record)
	return out, nil
}

// knobsOf are the knobs of a check: those given over their defaults, nil for an engine as
// written.
func knobsOf(p *plans.Plan, e *plans.Engine, set map[string]string) map[string]string {
	baseline := p.Baseline != nil && p.Baseline.Engine == e.Kind+"."+e.Name
	if !baseline && len(set) == 0 {
		return nil
	}
	knobs := map[string]string{}
	for _, k := range p.Knobs {
		knobs[k.Name] = k.Default
	}
	if baseline {
		maps.Copy(knobs, p.Baseline.Set)
	}
	maps.Copy(knobs, set)
	return knobs
}

// fill copies what the record of the launch has.
func (c *EngineCheck) fill(st *launch.Started, r *ledger.Launch) {
	c.OK, c.Error, c.LogTail, c.Exit = r.OK, r.Error, r.LogTail, r.Exit
	c.Started, c.Notes = r.Engine, append(r.Notes, c.Notes...)
	c.StartupS, c.FirstRequestS = seconds(r, "engine.startup_s"), seconds(r, "engine.first_request_s")
	if st.Inst != nil {
		c.Log = st.Inst.LogPath()
	}
}

func seconds(r *ledger.Launch, metric string) *float64 {
	s, ok := r.Metrics[metric]
	if !ok {
		return nil
	}
	median := s.Stats["median"]
	return &median
}

// inspect sends a running engine every kind of request that measuring will.
func inspect(ctx context.Context, st *launch.Started, v *variant.Variant, c *EngineCheck) {
	if models, err := st.Client.Models(ctx); err == nil {
		c.MaxModelLen = models[0].MaxLen
		for _, m := range models {
			c.Models = append(c.Models, m.ID)
		}
	}
	if c.Model = v.Spec.Model; c.Model == "" && len(c.Models) > 0 {
		c.Model = c.Models[0]
	}
	if err := st.Unlisted(c.Models); err != nil {
		st.Broke(err)
		return
	}
	i := &inspection{Started: st, kind: variant.KindOf(v.Spec), check: c}
	for _, look := range []func(context.Context) error{i.answer, i.tokenizer, i.length, i.cache, i.metrics} {
		if err := look(ctx); err != nil {
			if ctx.Err() == nil {
				st.Broke(err)
			}
			return
		}
	}
	seen, not, err := st.Look(ctx, v)
	if err != nil {
		c.Notes = append(c.Notes, verdict.New(code.NothingObserved, verdict.Line(err)))
	}
	c.Observed, c.Unobserved = seen, not
	i.log()
}

// inspection is what the checks share.
type inspection struct {
	*launch.Started
	kind  kinds.Kind
	check *EngineCheck
}

func (i *inspection) found(name string, good bool, what code.Fact, args ...verdict.Arg) {
	i.check.Findings = append(i.check.Findings, Finding{name, good, verdict.New(what, args...).Map(i.Lab.Redact.Text)})
}

const (
	// checkPrompt has an obvious answer.
	checkPrompt = "The capital of France is"
	// checkLimit bounds each request of a check except the launch's first.
	checkLimit = 2 * time.Minute
	// checkOutput exceeds the length of an answer to checkPrompt.
	checkOutput = 64
)

func (i *inspection) ask(ctx context.Context, text string, tokens int, ignoreEOS bool) (measure.Sample, error) {
	return i.Client.Stream(ctx, openai.Request{
		API: i.API, Prompt: text, MaxTokens: tokens, IgnoreEOS: ignoreEOS, ContinuousUsage: true,
		Timeouts: openai.Timeouts{Total: checkLimit, First: checkLimit, Stall: checkLimit},
	})
}

// answer shows what the engine answers, and how it counts.
func (i *inspection) answer(ctx context.Context) error {
	s, err := i.ask(ctx, checkPrompt, 16, false)
	if err != nil {
		return err
	}
	i.check.Prompt, i.check.Answer = checkPrompt, logscan.Short(s.Reasoning+s.Text)
	switch s.TokenSource {
	case measure.SourceContinuousUsage:
		i.found("usage", true, code.Of("check.usage.every", "token counts in every event of a stream"))
	case measure.SourceUsage:
		i.found("usage", true, code.Of("check.usage.end",
			"token counts at the end of a stream only: the first event is counted as one token"))
	default:
		i.found("usage", false, code.Of("check.usage.none",
			"no token counts in streams: events are counted, and one may hold many tokens"))
	}
	return nil
}

// tokenizer makes a prompt as a measurement does: with the engine's tokenizer if it answers
// and usage agrees, else by what usage says.
func (i *inspection) tokenizer(ctx context.Context) error {
	limits := openai.Timeouts{Total: checkLimit, First: checkLimit, Stall: checkLimit}
	p, err := prompt.Build(ctx, i.Client, prompt.Spec{Cell: "check", API: i.API, Tokens: checkOutput, Requests: 1, Timeouts: limits})
	if err != nil {
		return err
	}
	path := verdict.Text("path", cmp.Or(i.kind.Tokenize.Path, "/tokenize"))
	switch {
	case p.Method == prompt.Tokenizer && p.Verified:
		i.found("tokenizer", true, code.Of("check.tokenizer.agrees",
			"POST {path} counts tokens as usage does: prompts have the requested length"),
			path)
	case p.Method == prompt.Tokenizer:
		i.found("tokenizer", true, code.Of("check.tokenizer.alone",
			"POST {path} counts tokens; usage reports no prompt tokens"),
			path)
	case p.Method == prompt.Pieces:
		i.found("tokenizer", true, code.Of("check.tokenizer.pieces",
			"none, or usage contradicts it: prompts are made of pieces that usage counted, and have the "+
				"requested length"),
			path)
	case p.Method == prompt.ByUsage:
		i.found("tokenizer", false, code.Of("check.tokenizer.usage",
			"none, or usage contradicts it: prompts get about the requested length, by usage"),
			path)
	default:
		i.found("tokenizer", false, code.Of("check.tokenizer.guess",
			"none, and usage reports no prompt tokens: four bytes are taken as a token"),
			path)
	}
	return nil
}

// length asks for more tokens than the answer would naturally have.
func (i *inspection) length(ctx context.Context) error {
	s, err := i.ask(ctx, checkPrompt, checkOutput, true)
	var status *openai.StatusError
	switch {
	case errors.As(err, &status):
		i.found("ignore_eos", false, code.Of("check.length.refused",
			"refused (HTTP status {status}): set ignore_eos = false in workloads; answers may then be shorter "+
				"than requested"),
			verdict.Int("status", status.Status))
		return nil
	case err != nil:
		return err
	case s.OutputTokens < checkOutput:
		i.found("ignore_eos", false, code.Of("check.length.short",
			"not honoured: {tokens} of {of} tokens ({finish}{finish!no reason given})"),
			verdict.Int("tokens", s.OutputTokens), verdict.Int("of", checkOutput), verdict.Text("finish", s.Finish))
	default:
		i.found("ignore_eos", true, code.Of("check.length.honoured", "honoured: {tokens} of {of} tokens"),
			verdict.Int("tokens", s.OutputTokens), verdict.Int("of", checkOutput))
	}
	return nil
}

// cache sends a long prompt twice.
func (i *inspection) cache(ctx context.Context) error {
	long := strings.Repeat("Answers from a cache would measure the cache. ", 16)
	var s measure.Sample
	for range 2 {
		var err error
		if s, err = i.ask(ctx, long, 1, false); err != nil {
			return err
		}
	}
	if s.CachedTokens < 0 {
		i.found("cached_tokens", false, code.Of("check.cached.unreported",
			"not reported: prompts answered from a cache go unnoticed{flag?; start it with {flag}}"),
			verdict.Text("flag", i.kind.Ask.CachedTokens))
	} else {
		i.found("cached_tokens", true, code.Of("check.cached.reported",
			"reported: {tokens} of {of} tokens of a repeated prompt"),
			verdict.Int("tokens", s.CachedTokens), verdict.Int("of", s.PromptTokens))
	}
	return nil
}

// metrics looks for the names that the kind's profile has.
func (i *inspection) metrics(ctx context.Context) error {
	m := i.kind.Metrics
	if m.Path == "" {
		i.found("metrics", true, code.Of("check.metrics.none", "engines of this kind have no metrics page"))
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
		i.found("metrics", false, code.Of("check.metrics.missing", "{why}{flags?; enable it with {flags}}"),
			verdict.Text("why", why), verdict.Text("flags", strings.Join(m.Needs, " ")))
	case len(lacks) > 0:
		i.found("metrics", true, code.Of("check.metrics.some",
			"GET {path} has {names} of {of} known names; missing: {lacking}"),
			verdict.Text("path", m.Path), verdict.Int("names", has), verdict.Int("of", len(patterns)), verdict.List("lacking", lacks))
	default:
		i.found("metrics", true, code.Of("check.metrics.all", "GET {path} has all {names} known names"),
			verdict.Text("path", m.Path), verdict.Int("names", has))
	}
	return nil
}

// log looks for the lines by which the kind shows that it broke.
func (i *inspection) log() {
	path := i.Inst.LogPath()
	if path == "" {
		i.found("log", false, code.Of("check.log.none", "none at an endpoint, so lines of it prove no kernel"))
		return
	}
	if d, broke := i.kind.Diagnose(path); broke {
		i.found("log", false, code.Of("check.log.broke", "line {line_no} looks like an error: {line} ({means})"),
			verdict.Int("line_no", d.LineNo), verdict.Text("line", logscan.Short(d.Line)), verdict.Text("means", d.Means))
		return
	}
	seen, lines, err := logscan.ScanFile(path, i.kind.Harmless)
	if err != nil {
		i.found("log", false, code.Of("check.log.unsearchable", "cannot be searched: {error}"), verdict.Line(err))
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
	i.found("log", lines > 0, code.Of("check.log.sound",
		"{lines} lines, no errors{harmless?; {harmless} look like errors but are harmless}"),
		args...)
}
