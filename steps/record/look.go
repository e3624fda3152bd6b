package record

import (
	"context"
	"math/rand/v2"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/load/work"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
)

const (
	// lookedAt is how many answers of a launch its parent repeats, per cell, and begunAt
	// how many more from their start, if the others are continued.
	lookedAt, begunAt = 16, 8
	// lookTokens is the maximum length of those, enough for the comparison
	// (work.BeginBytes), and lookAtOnce how many are requested at a time.
	lookTokens, lookAtOnce = 12, 4
)

// Asked is a measured request that the parent may be asked again: what follows the prompt
// and the first At bytes of the answer.
type Asked struct {
	Launch string        `json:"launch"`
	Cell   plans.Cell    `json:"cell"`
	Index  int           `json:"index"`
	Prompt prompt.Prompt `json:"prompt"`
	At     int           `json:"at"`
	Text   string        `json:"text"` // from there on
	// Took is how long the whole answer took per token, ms.
	Took float64 `json:"took_ms"`
	// Sent and Said are prompt and answer in full, if a tokenizer can count them as the
	// engine did: without a template around them, or markers that are not shown.
	Sent string `json:"sent,omitempty"`
	Said string `json:"said,omitempty"`
	// PromptTokens and OutputTokens were billed for them.
	PromptTokens int `json:"prompt_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// again is what to ask again of a request. A completion continues from any text, so it is
// asked from a random word in the second half of the answer: an engine that computes only
// the beginning is caught. A chat's answer cannot be continued. Whole ones are asked from
// their start: an engine that makes up the first words to be early is caught too.
func again(launch string, c sentCell, s measure.Sample, whole bool) Asked {
	a := Asked{Launch: launch, Cell: c.cell, Index: s.Index, Prompt: c.prompts.Measured[s.Index], Text: s.Reasoning + s.Text, PromptTokens: s.PromptTokens, OutputTokens: s.OutputTokens}
	for _, e := range s.Events {
		if e.HasText() {
			a.Took = ms(e.At) / float64(max(s.OutputTokens, 1))
		}
	}
	if s.Reasoning == "" && s.Tools == "" && s.TokenSource != measure.SourceEvents {
		a.Said = s.Text
	}
	if p := a.Prompt; openai.API(c.w.API) == openai.Completions && len(p.IDs)+len(p.ContextIDs)+len(p.Before) == 0 && p.System == "" && p.Context == "" {
		a.Sent = p.Text
	}
	a.Prompt.Next, a.Prompt.Output = nil, min(max(s.RequestedOutput, 1), lookTokens)
	if whole {
		a.Sent, a.Said = "", "" // the others' tokens are counted
		return a
	}
	if openai.API(c.w.API) == openai.Chat || len(a.Prompt.IDs) > 0 || s.Reasoning != "" || s.OutputTokens < 1 {
		return a
	}
	var words []int
	for i := max(len(a.Text)/2, 1); i+work.BeginBytes < len(a.Text); i++ {
		if a.Text[i] == ' ' && a.Text[i-1] != ' ' {
			words = append(words, i)
		}
	}
	if len(words) > 0 {
		a.At = words[rand.IntN(len(words))]
	}
	// No more than the rest of the answer, or it might not fit into the engine.
	rest := s.OutputTokens * (len(a.Text) - a.At) / max(len(a.Text), 1)
	a.Prompt.Text, a.Prompt.Output, a.Text = a.Prompt.Text+a.Text[:a.At], min(max(rest, 1), lookTokens), a.Text[a.At:]
	return a
}

// remember chooses some of a launch's requests after they were made: neither the engine
// nor anybody else could know which.
func (r *recording) remember(id string) (some []Asked) {
	for _, c := range r.sent {
		if c.w.Temperature != 0 || c.w.Coherence == "off" {
			continue // the same engine would not repeat it
		}
		var fit []measure.Sample
		for _, s := range c.samples {
			if s.Measured() && s.Err == "" && s.Turn == 0 && s.Index < len(c.prompts.Measured) {
				fit = append(fit, s)
			}
		}
		rand.Shuffle(len(fit), func(i, j int) { fit[i], fit[j] = fit[j], fit[i] })
		for _, s := range fit[:min(len(fit), lookedAt)] {
			some = append(some, again(id, c, s, false))
		}
		if openai.API(c.w.API) == openai.Completions {
			for _, s := range fit[max(0, len(fit)-begunAt):] {
				some = append(some, again(id, c, s, true))
			}
		}
	}
	return some
}

// Forget removes and returns what may be asked again of some launches: each is asked
// once.
func (l *Sender) Forget(launches []*ledger.Launch) (ask []Asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, launch := range launches {
		ask = append(ask, l.remembered[launch.ID]...)
		delete(l.remembered, launch.ID)
	}
	return ask
}

// Remember keeps requests that may be asked again.
func (l *Sender) Remember(ask []Asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.remembered == nil {
		l.remembered = map[string][]Asked{}
	}
	for _, a := range ask {
		l.remembered[a.Launch] = append(l.remembered[a.Launch], a)
	}
}

// Look asks a running parent some of the requests that the earlier launches of its
// session were measured with, its own included. Its answers are kept beside theirs: an
// engine with other weights, or one that did not compute its answers, does not give the
// same. It comes after everything that is measured.
func (l *Sender) Look(ctx context.Context, st *launch.Started, ask []Asked) error {
	for len(ask) > 0 {
		one, rest := ask[:1], []Asked(nil)
		for _, a := range ask[1:] {
			if a.Cell.Address == one[0].Cell.Address {
				one = append(one[:len(one):len(one)], a)
			} else {
				rest = append(rest, a)
			}
		}
		looks, err := l.ask(ctx, st, one)
		if err != nil {
			return err
		}
		st.Record.Looks, ask = append(st.Record.Looks, looks...), rest
	}
	return nil
}

// ask requests answers to prompts of one cell.
func (l *Sender) ask(ctx context.Context, st *launch.Started, ask []Asked) (looks []ledger.Look, err error) {
	var prompts prompt.Prompts
	for _, a := range ask {
		prompts.Measured = append(prompts.Measured, a.Prompt)
	}
	cell := ask[0].Cell
	w := st.Lab.Plan.Workload(cell.Workload)
	plan := loadPlan(w, cell, prompts)
	plan.Requests, plan.Warmup, plan.CacheContext = len(ask), 0, false
	plan.OutputTokens = lookTokens
	plan.IgnoreEOS = plan.IgnoreEOS && st.Kind.Ask.IgnoreEOS
	plan.Pace = load.Pace{Concurrency: min(lookAtOnce, max(cell.Concurrency, 1))}
	result, err := load.Run(ctx, st.Client, plan)
	if err != nil {
		return nil, err
	}
	for _, s := range result.Samples {
		a := ask[s.Index]
		look := ledger.Look{Launch: a.Launch, Cell: cell.Address, Request: a.Index, At: a.At, Was: work.Begins(st.Lab.Redact.Text(a.Text)), Is: work.Begins(st.Lab.Redact.Text(s.Reasoning + s.Text)), Took: a.Took}
		look.Prompt, look.Answer = count(ctx, st, a.Sent, a.PromptTokens), count(ctx, st, a.Said, a.OutputTokens)
		looks = append(looks, look)
	}
	return looks, ctx.Err()
}

// count has the engine's tokenizer count a text whose tokens were billed. Zero if either
// is unknown: then the text is checked by how much of it a token covers.
func count(ctx context.Context, st *launch.Started, text string, billed int) ledger.Recount {
	if text == "" || billed < 1 || st.Kind.Tokenize.Path == "" {
		return ledger.Recount{}
	}
	n, _, err := st.Client.Tokenize(ctx, text)
	if err != nil || n < 1 {
		return ledger.Recount{}
	}
	return ledger.Recount{Billed: billed, Counted: n}
}
