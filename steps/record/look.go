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
	// lookedAt is how many answers of a launch its parent gives again, of each cell.
	lookedAt = 16
	// lookTokens is how long those are at most, enough for what is compared
	// (work.BeginBytes), and lookAtOnce how many are asked for at a time.
	lookTokens, lookAtOnce = 12, 4
)

// asked is a request that was measured and may be asked again, of the parent: what
// follows the prompt and the first so many bytes of the answer, at.
type asked struct {
	launch string
	w      *plans.Workload
	cell   plans.Cell
	index  int
	prompt prompt.Prompt
	at     int
	text   string // from there on
	// sent and said are the whole of both, where a tokenizer can count them as the engine
	// did: no template stands around them, and no markers that are not shown.
	sent, said string
	billed     measure.Sample
}

// again is what is asked for again of a request. A completion goes on from any text, so
// that it is from some word in the second half of the answer on, at random: who computes
// the beginning alone is found out. A chat's answer is not to be continued.
func again(launch string, c sentCell, s measure.Sample) asked {
	a := asked{launch: launch, w: c.w, cell: c.cell, index: s.Index, prompt: c.prompts.Measured[s.Index], text: s.Reasoning + s.Text, billed: s}
	if s.Reasoning == "" && s.Tools == "" && s.TokenSource != measure.SourceEvents {
		a.said = s.Text
	}
	if p := a.prompt; openai.API(c.w.API) == openai.Completions && len(p.IDs)+len(p.ContextIDs)+len(p.Before) == 0 && p.System == "" && p.Context == "" {
		a.sent = p.Text
	}
	a.prompt.Next, a.prompt.Output = nil, min(max(s.RequestedOutput, 1), lookTokens)
	if openai.API(c.w.API) == openai.Chat || len(a.prompt.IDs) > 0 || s.Reasoning != "" || s.OutputTokens < 1 {
		return a
	}
	var words []int
	for i := max(len(a.text)/2, 1); i+work.BeginBytes < len(a.text); i++ {
		if a.text[i] == ' ' && a.text[i-1] != ' ' {
			words = append(words, i)
		}
	}
	if len(words) > 0 {
		a.at = words[rand.IntN(len(words))]
	}
	// No more than the answer had there, or it might not fit into the engine.
	rest := s.OutputTokens * (len(a.text) - a.at) / max(len(a.text), 1)
	a.prompt.Text, a.prompt.Output, a.text = a.prompt.Text+a.text[:a.at], min(max(rest, 1), lookTokens), a.text[a.at:]
	return a
}

// remember chooses some of what a launch was asked, after it was: neither the engine
// nor anybody else could know which.
func (r *recording) remember(id string) (some []asked) {
	for _, c := range r.sent {
		if c.w.Temperature != 0 || c.w.Coherence == "off" {
			continue // the same engine would not say the same
		}
		var fit []asked
		for _, s := range c.samples {
			if s.Measured() && s.Err == "" && s.Turn == 0 && s.Index < len(c.prompts.Measured) {
				fit = append(fit, again(id, c, s))
			}
		}
		rand.Shuffle(len(fit), func(i, j int) { fit[i], fit[j] = fit[j], fit[i] })
		some = append(some, fit[:min(len(fit), lookedAt)]...)
	}
	return some
}

// Look asks a running parent some of what the launches before it in its session were
// asked when they were measured, its own among them. What it answers is kept beside
// what they did: an engine of other weights, or one that answers what it has not
// computed, does not say the same. It comes after everything that is measured.
func (l *Sender) Look(ctx context.Context, st *launch.Started, before []*ledger.Launch) error {
	l.mu.Lock()
	var ask []asked
	for _, launch := range before {
		ask = append(ask, l.remembered[launch.ID]...)
		delete(l.remembered, launch.ID)
	}
	l.mu.Unlock()
	for len(ask) > 0 {
		one, rest := ask[:1], []asked(nil)
		for _, a := range ask[1:] {
			if a.cell.Address == one[0].cell.Address {
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

// ask asks for answers to prompts of one cell.
func (l *Sender) ask(ctx context.Context, st *launch.Started, ask []asked) (looks []ledger.Look, err error) {
	var prompts prompt.Prompts
	for _, a := range ask {
		prompts.Measured = append(prompts.Measured, a.prompt)
	}
	w, cell := ask[0].w, ask[0].cell
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
		look := ledger.Look{Launch: a.launch, Cell: cell.Address, Request: a.index, At: a.at, Was: work.Begins(st.Lab.Redact.Text(a.text)), Is: work.Begins(st.Lab.Redact.Text(s.Reasoning + s.Text))}
		look.Prompt, look.Answer = count(ctx, st, a.sent, a.billed.PromptTokens), count(ctx, st, a.said, a.billed.OutputTokens)
		looks = append(looks, look)
	}
	return looks, ctx.Err()
}

// count has the engine's tokenizer count a text whose tokens were billed. Zero where
// either is not known: the text is then held to how much of it a token stands for.
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
