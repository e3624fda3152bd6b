// Package quality sends a running engine the prompts of a level "correctness", keeps its
// answers, and compares a candidate's answers with its parent's, and those of the
// parent's launches with each other. It knows prompts, answers and limits; it starts no
// engine (steps/levels, steps/session) and compares no distributions (engine/answers).
package quality

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
)

// Ask is what every variant is asked.
type Ask struct {
	Cells []Cell `json:"cells"`
	// OutputTokens is the maximum of each answer, Top how many tokens a position lists.
	OutputTokens int `json:"output_tokens"`
	Top          int `json:"top"`
}

// Cell is prompts of one length, asked n at a time.
type Cell struct {
	API          openai.API `json:"api"`
	PromptTokens int        `json:"prompt_tokens"`
	Concurrency  int        `json:"concurrency"`
	Prompts      int        `json:"prompts"`
}

const (
	// longest and widest limit what is derived from workloads, so the level takes
	// seconds: for longer prompts there is prompt_tokens.
	longest, widest = 512, 16
	// mostCells is the maximum number of combinations.
	mostCells = 4
	// usualPrompt is the length if no workload has one.
	usualPrompt = 128
	// textSentences is the number of sentences of the shipped text: a few hundred tokens.
	textSentences = 16
	answerLimit   = 5 * time.Minute
)

// AskOf is what a level asks: at its own lengths and concurrencies, or else at the
// minimum and maximum of the workloads'. Only in chats if a compared engine gives
// log-probabilities nowhere else.
func (s *Settings) AskOf(ws []*plans.Workload, chats bool) Ask {
	var cells []Cell
	add := func(c Cell) {
		if chats {
			c.API = openai.Chat
		}
		if !slices.Contains(cells, c) {
			cells = append(cells, c)
		}
	}
	for _, w := range ws {
		for _, c := range w.Cells() {
			tokens := c.Prompt
			if tokens == 0 {
				tokens = usualPrompt
			}
			add(Cell{
				API: openai.API(w.API), PromptTokens: min(tokens+c.Depth, longest),
				Concurrency: min(max(c.Concurrency, 1), widest),
			})
		}
	}
	if len(cells) == 0 {
		add(Cell{API: openai.Completions, PromptTokens: usualPrompt, Concurrency: 1})
	}
	if len(s.PromptTokens)+len(s.Concurrency) > 0 {
		given := cells
		cells = nil
		for _, c := range given {
			for _, tokens := range orOwn(s.PromptTokens, c.PromptTokens) {
				for _, at := range orOwn(s.Concurrency, c.Concurrency) {
					add(Cell{API: c.API, PromptTokens: tokens, Concurrency: at})
				}
			}
		}
	}
	slices.SortFunc(cells, func(a, b Cell) int {
		return a.PromptTokens*a.Concurrency - b.PromptTokens*b.Concurrency
	})
	if n := min(mostCells, s.Prompts); len(cells) > n {
		some := make([]Cell, n)
		for i := range some {
			some[i] = cells[i*(len(cells)-1)/max(n-1, 1)]
		}
		cells = some
	}
	for i := range cells {
		cells[i].Prompts = s.Prompts / len(cells)
		if i < s.Prompts%len(cells) {
			cells[i].Prompts++
		}
	}
	return Ask{Cells: cells, OutputTokens: s.OutputTokens, Top: s.Top}
}

func orOwn(given []int, own int) []int {
	if len(given) == 0 {
		return []int{own}
	}
	return given
}

// Recording is the answers of one launch. It is an artifact.
type Recording struct {
	store.Header
	// Model is the model name used in requests.
	Model string `json:"model"`
	Ask   Ask    `json:"ask"`
	// Prompts and Answers are by cell.
	Prompts [][]prompt.Prompt  `json:"prompts"`
	Answers [][]answers.Answer `json:"answers"`
	// Text is a text that ships with mxflow, with the log-probabilities that the engine
	// assigns its tokens; nil if it gives none.
	Text *answers.Answer `json:"text,omitempty"`
}

// Same reports whether another launch was asked the same.
func (r *Recording) Same(o *Recording) bool {
	return runtime.Digest(r.Ask, r.Prompts) == runtime.Digest(o.Ask, o.Prompts)
}

// Answers is where a launch keeps its recording, among its levels' artifacts.
const Answers = "correctness/answers.json"

// Recordings returns the recordings of launches, in order. A missing one is an error: without
// it something else would be decided.
func Recordings(from *store.Store, launches []*ledger.Launch) (all []*Recording, err error) {
	for _, l := range launches {
		r := &Recording{}
		if err = from.ReadArtifact(l, Answers, r); err == nil {
			err = r.whole()
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// whole returns an error if a prompt has no answer.
func (r *Recording) whole() error {
	if len(r.Ask.Cells) == 0 || len(r.Prompts) != len(r.Ask.Cells) || len(r.Answers) != len(r.Prompts) {
		return fmt.Errorf("launch %s has prompts of %d cells and answers of %d, but %d are needed", r.Of.Launch,
			len(r.Prompts), len(r.Answers), len(r.Ask.Cells))
	}
	for i := range r.Prompts {
		if len(r.Prompts[i]) == 0 || len(r.Prompts[i]) != len(r.Answers[i]) {
			return fmt.Errorf("launch %s has %d prompts of cell %d, and %d answers", r.Of.Launch, len(r.Prompts[i]),
				i+1, len(r.Answers[i]))
		}
	}
	return nil
}

// Record asks an engine, with the prompts of before if there are some: only answers to
// the same prompts compare. Otherwise they are drawn from draw, and no more are asked
// after the time limit.
func (a Ask) Record(ctx context.Context, st *launch.Started, draw string, before *Recording,
	within time.Duration,
) (*Recording, error) {
	out := &Recording{Ask: a}
	if before != nil && slices.Equal(before.Ask.Cells, a.Cells) {
		out.Prompts, within = before.Prompts, math.MaxInt64
	} else if err := out.make(ctx, st, draw); err != nil {
		return nil, err
	}
	out.Answers = make([][]answers.Answer, len(a.Cells))
	began := time.Now()
	for asked := true; asked; {
		asked = false
		for i, c := range a.Cells {
			from := len(out.Answers[i])
			to := min(from+c.Concurrency, len(out.Prompts[i]))
			if from == to || from > 0 && time.Since(began) > within {
				continue
			}
			got := make([]answers.Answer, to-from)
			if err := batch(len(got), func(j int) (err error) {
				r := openai.Request{
					API: c.API, MaxTokens: a.OutputTokens, LogProbs: min(a.Top, st.Kind.Ask.LogProbs.Top),
					Timeouts: openai.Timeouts{Total: answerLimit},
				}
				out.Prompts[i][from+j].Fill(&r)
				got[j], err = st.Client.Answer(ctx, r)
				return err
			}); err != nil {
				return nil, err
			}
			out.Answers[i], asked = append(out.Answers[i], got...), true
		}
	}
	for i := range out.Prompts {
		out.Prompts[i] = out.Prompts[i][:len(out.Answers[i])]
	}
	return out, nil
}

func (r *Recording) make(ctx context.Context, st *launch.Started, draw string) error {
	learned := &prompt.Knowledge{}
	for i, c := range r.Ask.Cells {
		made, err := prompt.Build(ctx, st.Client, prompt.Spec{
			Cell: fmt.Sprintf("correctness.%d", i), Seed: 1, Draw: draw, API: c.API, Tokens: c.PromptTokens,
			CountTemplate: true, Learned: learned, Requests: c.Prompts,
			Timeouts: openai.Timeouts{Total: answerLimit, First: answerLimit, Stall: answerLimit},
		})
		if err != nil {
			return err
		}
		r.Prompts = append(r.Prompts, made.Measured)
	}
	return nil
}

// ReadText adds a text that the engine reads; none if it gives no log-probabilities of prompts.
func (r *Recording) ReadText(ctx context.Context, st *launch.Started) error {
	if st.Kind.Ask.LogProbs.Prompt == "" || min(r.Ask.Top, st.Kind.Ask.LogProbs.Top) == 0 {
		return nil
	}
	out, err := st.Client.Answer(ctx, openai.Request{
		Prompt: strings.Join(prompt.Prose()[:textSentences], " "), MaxTokens: 1, LogProbs: 1, PromptLogProbs: true,
		Timeouts: openai.Timeouts{Total: answerLimit},
	})
	r.Text = &out
	return err
}

// batch asks an engine n things at once, and waits for all: what is computed in one batch is the
// same in every launch, as far as an engine allows.
func batch(n int, ask func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = ask(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}
