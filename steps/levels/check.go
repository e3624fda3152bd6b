package levels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
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
	// Invalid is what would keep a measured launch from counting, Notes what it would note.
	Invalid []verdict.Reason `json:"invalid,omitempty"`
	Notes   []verdict.Reason `json:"notes,omitempty"`
	// Log is the path of its log, empty if there is none.
	Log string `json:"log,omitempty"`
}

const (
	// checkPrompt has an obvious answer.
	checkPrompt = "The capital of France is"
	// checkLimit bounds each request of a check except the launch's first.
	checkLimit = 2 * time.Minute
)

// CheckEngine launches one engine of the plan, with the given knobs over their defaults,
// and sends it what a measured launch is sent. Nothing is recorded. The error is a mistake
// in the request; an engine that breaks is a result. Ending ctx shuts the engine down
// gracefully, ending hard at once.
func CheckEngine(ctx, hard context.Context, l *launch.Lab, key string, set map[string]string) (*EngineCheck, error) {
	e := l.Variants.Plan.Engine(key)
	if e == nil {
		return nil, fmt.Errorf("there is no engine %q", key)
	}
	if e.IsCommand() {
		return nil,
			fmt.Errorf("engine %s is a command, not a server, so it answers no requests; mxflow apply runs it", key)
	}
	var knobs map[string]string // none for an engine as written
	if baseline := l.Variants.Plan.Baseline != nil && l.Variants.Plan.Baseline.Engine == e.Kind+"."+e.Name; baseline ||
		len(set) > 0 {
		knobs = map[string]string{}
		for _, k := range l.Variants.Plan.Knobs {
			knobs[k.Name] = k.Default
		}
		if baseline {
			maps.Copy(knobs, l.Variants.Plan.Baseline.Set)
		}
		maps.Copy(knobs, set)
	}
	s := &runtime.Scope{
		Plan: l.Variants.Plan, Node: &runtime.Node{ID: "engine check"}, Run: "check", Context: ctx,
		Memo: &sync.Map{}, Force: hard, Emit: func(runtime.Event) {},
	}
	v, err := l.Variants.Resolve(s, "check", key, knobs)
	if err != nil {
		return nil, err
	}
	r := &ledger.Launch{
		ID: "check-" + runtime.ShortID(time.Now(), key), Session: "check", Purpose: "check", Ordinal: 1,
		Order: 1, OK: true,
	}
	out := &EngineCheck{
		Engine: key, Kind: v.Spec.Kind, Launcher: string(v.Spec.How()), Knobs: knobs,
		Model: v.Spec.Model,
	}
	if err := l.Use(ctx, s, v, r, func(st *launch.Started) error { return out.send(ctx, st) }); err != nil {
		return nil, err
	}
	seconds := func(metric string) *float64 {
		if summary, ok := r.Metrics[metric]; ok {
			median := summary.Stats["median"]
			return &median
		}
		return nil
	}
	out.OK, out.Error, out.LogTail, out.Exit, out.Started = r.OK, r.Error, r.LogTail, r.Exit, r.Engine
	out.StartupS, out.FirstRequestS = seconds("engine.startup_s"), seconds("engine.first_request_s")
	out.Observed, out.Unobserved = r.Observed, r.Unobserved
	out.Invalid, out.Notes = append(out.Invalid, r.Invalid...), append(r.Notes, out.Notes...)
	log, err := os.Open(l.LogFile(r))
	if err != nil { // an endpoint has none
		return out, nil
	}
	defer log.Close()
	out.Log = log.Name()
	// Values without evidence are for validate.
	wanted := slices.DeleteFunc(variant.EvidenceFor(l.Variants.Plan, v.Knobs), func(e variant.Evidence) bool {
		return !e.InLogOrReport()
	})
	if baseline := l.Variants.Plan.Baseline; r.OK && v.Knobs != nil && len(wanted) > 0 && baseline != nil &&
		RequiresKernels(l.Variants.Plan.Protocol(baseline.Protocol)) {
		got, reasons, err := proof(log, wanted, v, r)
		if err != nil {
			return nil, err
		}
		if got != verdict.Pass {
			out.Invalid = append(out.Invalid, reasons...)
		}
	}
	return out, nil
}

// send asks a running engine one question, and sends it a small workload.
func (c *EngineCheck) send(ctx context.Context, st *launch.Started) error {
	for _, m := range st.Models {
		c.Models = append(c.Models, m.ID)
	}
	if len(st.Models) > 0 {
		c.Model, c.MaxModelLen = cmp.Or(c.Model, c.Models[0]), st.Models[0].MaxLen
	}
	stall := st.Lab.Variants.Plan.StallTimeout()
	answer, err := st.Client.Stream(ctx, openai.Request{
		API: st.API, Prompt: checkPrompt, MaxTokens: 16,
		Timeouts: openai.Timeouts{Total: checkLimit, First: checkLimit, Stall: stall},
	})
	if err != nil {
		return err
	}
	c.Prompt, c.Answer = checkPrompt, foreign.Short(st.Lab.Redact.Text(answer.Reasoning+answer.Text))
	wrong, err := unfit(ctx, st, answer, stall)
	if err != nil {
		return err
	}
	taken, err := record.Take(ctx, record.Subject{
		Client: st.Client, Kind: st.Kind, Machine: st.Machine(), Exact: true, Draw: st.Record.ID, Limit: st.Limit,
		Redact: func(all []measure.Sample) { record.Redact(all, st.Lab.Redact) },
	}, []*plans.Workload{{
		Name: "check", API: string(st.API), PromptTokens: []int{64}, OutputTokens: []int{64}, Requests: 3,
		Concurrency: []int{1}, Turns: 1,
		IgnoreEOS: true, Coherence: "off", MaxLag: time.Minute,
		RequestTimeout: checkLimit, FirstTimeout: checkLimit, StallTimeout: stall,
	}})
	c.Notes, c.Invalid = taken.Notes, wrong
	if !taken.Disturbed { // else it says nothing about the engine
		c.Invalid = append(c.Invalid, taken.Invalid...)
	}
	if st.API == openai.Chat {
		c.Notes = append(c.Notes, verdict.Say("check.chat_only",
			`it answers chats only: each workload takes api = "chat" (ab and bench: --api chat)`))
	}
	if _, refused := errors.AsType[*openai.StatusError](err); refused {
		return fmt.Errorf("%w; if it refuses ignore_eos, turn ignore_eos off in workloads", err)
	}
	return err
}

// unfit is why a server's answers cannot be measured or compared: they come in one piece, or
// its own text is not what it goes on with, at either of two places. A chat is not continued by
// every server.
func unfit(ctx context.Context, st *launch.Started, answer measure.Sample, stall time.Duration) (why []verdict.Reason,
	err error,
) {
	pieces := 0
	for _, e := range answer.Events {
		if e.HasText() {
			pieces++
		}
	}
	if pieces == 1 && answer.OutputTokens > 1 {
		why = append(why, verdict.Say("check.one_piece",
			"its answer of {tokens} tokens came in one event: a server that does not stream has no ttft and no tg",
			verdict.Int("tokens", answer.OutputTokens)))
	}
	words := strings.SplitAfter(answer.Text, " ")
	plan := st.Lab.Variants.Plan
	unchecked := plan.Baseline != nil && plan.Protocol(plan.Baseline.Protocol).Answers().Unchecked
	if st.API == openai.Chat || unchecked || len(words) < 6 {
		return why, nil
	}
	differs := 0
	for _, at := range []int{len(words) / 3, len(words) * 2 / 3} {
		before := strings.TrimRight(strings.Join(words[:at], ""), " ")
		next, err := st.Client.Stream(ctx, openai.Request{
			API: st.API, Prompt: checkPrompt + before, MaxTokens: 4,
			Timeouts: openai.Timeouts{Total: checkLimit, First: checkLimit, Stall: stall},
		})
		if err != nil {
			return why, err
		}
		rest := answer.Text[len(before):]
		if n := min(len(next.Text), len(rest)); n == 0 || next.Text[:n] != rest[:n] {
			differs++
		}
	}
	if differs == 2 {
		why = append(why, verdict.Say("check.not_continued",
			"asked to go on with its own answer, it says something else: its answers cannot be compared (a stub, "+
				"sampling, a template around completions), unless the plan says {remedy}",
			verdict.Text("remedy", `level "correctness" { answers = "unchecked" }`)))
	}
	return why, nil
}
