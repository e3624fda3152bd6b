package agreement

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
)

const (
	// atOnce is how many positions are asked at a time.
	atOnce = 8
	// compared is how much is kept of what follows a position.
	compared = 64
	// counted is how many requests of an arm are counted again in each cell.
	counted = 24
)

// targets are how many positions of a part the parent is asked by each look at the result,
// and half as many of its own.
var targets = []int{32, 64, 128, 256}

// Question is what a parent is asked: about whose answers, and with which limit.
type Question struct {
	// Own are the launches of the parent, Others those of each candidate by its name.
	Own    []string            `json:"own"`
	Others map[string][]string `json:"others"`
	// Cells are the measured cells, whether or not their answers can be asked about.
	Cells   []string `json:"cells"`
	Answers []Answer `json:"answers"`
	// Least are the candidates' limits, as in Claim.
	Least map[string]float64 `json:"least,omitempty"`
}

// Ask asks a running parent until every candidate's agreement is shown or refuted, or
// everything was asked that is worth it. The seed draws the positions: it must not have
// been known before the last answer was given.
func (q *Question) Ask(ctx context.Context, st *launch.Started, seed string) (*Probes, error) {
	a := &Probes{Of: st.Origin(), All: map[string]map[string]map[Part]int{}}
	arms := []*drawnPositions{q.draw(a, "", q.Own, seed)}
	for _, name := range slices.Sorted(maps.Keys(q.Others)) {
		arms = append(arms, q.draw(a, name, q.Others[name], seed))
	}
	for i := range q.Answers {
		cell := q.Answers[i].Cell
		name, _, _ := strings.Cut(cell, ".")
		if st.Lab.Plan.Workload(name).Temperature > 0 && !slices.Contains(a.Sampled, cell) {
			a.Sampled = append(a.Sampled, cell)
		}
	}
	open := arms
	for _, n := range targets {
		if err := arms[0].ask(ctx, st, a, n/2); err != nil {
			return nil, err
		}
		for _, arm := range open[1:] {
			if err := arm.ask(ctx, st, a, n); err != nil {
				return nil, err
			}
		}
		// The parent's own go on as long as any candidate's do, and what another has shown
		// beside fewer of them may be open again.
		open = arms[:1:1]
		for _, arm := range arms[1:] {
			c := Claim{Own: q.Own, Other: q.Others[arm.name]}
			if least, declared := q.Least[arm.name]; declared {
				c.Least = &least
			}
			if got := c.Judge(a); !got.Holds() && !got.Refuted() {
				open = append(open, arm)
			}
		}
		if len(open) == 1 {
			break
		}
	}
	for _, arm := range open[1:] { // one that was not asked as often
		if err := arm.ask(ctx, st, a, targets[len(targets)-1]); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// drawnPositions are the positions of one arm in the order in which they are asked.
type drawnPositions struct {
	name  string
	cells []*cellDraw
}

type cellDraw struct {
	answers   []*Answer
	positions map[Part][]Position
	asked     map[Part]int
	// part maps each token of an answer to its part, none of its opening.
	part map[*Answer]map[int]Part

	mu      sync.Mutex
	said    map[*Answer]func() (string, error)
	scores  map[*Answer]func() map[int]string
	counted map[*Answer]bool
}

func (q *Question) draw(a *Probes, name string, launches []string, seed string) *drawnPositions {
	arm := &drawnPositions{name: name}
	cells := map[string][]*Answer{}
	for _, id := range launches {
		a.Launches = append(a.Launches, id)
		a.All[id] = map[string]map[Part]int{}
		for _, cell := range q.Cells {
			a.All[id][cell] = map[Part]int{}
		}
		for i := range q.Answers {
			if one := &q.Answers[i]; one.Launch == id {
				cells[one.Cell] = append(cells[one.Cell], one)
				if len(one.Starts) == 0 {
					a.All[id][one.Cell][Hidden]++
				}
			}
		}
	}
	for _, one := range q.Answers {
		if text := trimLeft(one.Text); slices.Contains(q.Own, one.Launch) && text != "" {
			for _, other := range cells[one.Cell] {
				if other.lead == "" && trimLeft(other.Text) == other.Text {
					other.lead = one.Text[:len(one.Text)-len(text)]
				}
			}
		}
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		c := &cellDraw{
			answers: cells[cell], positions: positions(cells[cell]), asked: map[Part]int{}, part: map[*Answer]map[int]Part{},
			said: map[*Answer]func() (string, error){}, scores: map[*Answer]func() map[int]string{}, counted: map[*Answer]bool{},
		}
		for _, part := range parts {
			all := c.positions[part]
			for _, p := range all {
				if c.part[p.Answer] == nil {
					c.part[p.Answer] = map[int]Part{}
				}
				c.part[p.Answer][p.Token] = part
				a.All[p.Answer.Launch][cell][part]++
			}
			random := rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, seed, "\n", name, "\n", cell, "\n", part))))
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		for _, one := range c.answers {
			a.All[one.Launch][cell][Opening] += len(one.Starts) - len(c.part[one])
		}
		arm.cells = append(arm.cells, c)
	}
	return arm
}

// ask asks n positions of each part of each cell, with those asked before.
func (d *drawnPositions) ask(ctx context.Context, st *launch.Started, a *Probes, most int) error {
	// What was computed of an answer may be used again.
	client := st.Client.Bare()
	for _, c := range d.cells {
		var some []Position
		for _, part := range parts {
			from := c.asked[part]
			c.asked[part] = min(max(most, from), len(c.positions[part]))
			some = append(some, c.positions[part][from:c.asked[part]]...)
		}
		slices.SortFunc(some, func(a, b Position) int {
			return cmp.Or(cmp.Compare(a.Answer.Launch, b.Answer.Launch), a.Answer.Request-b.Answer.Request, a.Answer.Turn-b.Answer.Turn, a.Token-b.Token)
		})
		looks := make([]Probe, len(some))
		var asking errgroup.Group
		asking.SetLimit(atOnce)
		for i, p := range some {
			asking.Go(func() (err error) {
				looks[i], err = p.probe(ctx, st, client, c)
				return err
			})
			if len(c.counted) < counted && !c.counted[p.Answer] {
				c.counted[p.Answer] = true
				again := Recount{Launch: p.Answer.Launch, Cell: p.Answer.Cell}
				if p.Answer.CountedPrompt {
					again.Prompt = count(ctx, st, p.Answer.Prompt.Text, p.Answer.PromptTokens)
				}
				if p.Answer.CountedAnswer {
					again.Answer = count(ctx, st, p.Answer.Text, p.Answer.OutputTokens)
				}
				if again.Prompt.Billed+again.Answer.Billed > 0 {
					a.Recounts = append(a.Recounts, again)
				}
			}
		}
		if err := asking.Wait(); err != nil {
			return err
		}
		a.Looks = append(a.Looks, looks...)
	}
	return ctx.Err()
}

// probe asks what the parent says at a position.
func (p Position) probe(ctx context.Context, st *launch.Started, client *openai.Client, c *cellDraw) (Probe, error) {
	a := p.Answer
	l := Probe{Launch: a.Launch, Cell: a.Cell, Request: a.Request, Turn: a.Turn, Part: c.part[a][p.Token], At: a.Starts[p.Token], Took: a.Took, Prompt: a.PromptTokens}
	name, _, _ := strings.Cut(a.Cell, ".")
	w := st.Lab.Plan.Workload(name)
	r := openai.Request{API: openai.API(w.API), MaxTokens: 1, IgnoreEOS: w.IgnoreEOS && st.Kind.Ask.IgnoreEOS, ContinuousUsage: true}
	r.Timeouts.Total = w.FirstTimeout
	a.Prompt.Fill(&r)
	ask := func(r openai.Request) (string, error) {
		s, err := client.Stream(ctx, r)
		return strings.TrimRight(st.Lab.Redact.Text(s.Reasoning+s.Text+s.Tools), "\uFFFD"), err
	}
	span := a.span(p.Token)
	likeliest := askOnce(c, c.scores, a, func() func() map[int]string {
		return sync.OnceValue(func() map[int]string { return a.score(ctx, st, r) })
	})()
	for next, scored := likeliest[l.At]; scored && strings.HasPrefix(a.Text[l.At+len(l.Is):], next); next, scored = likeliest[l.At+len(l.Is)] {
		if l.Is += next; next == "" || len(l.Is) >= len(span) {
			break
		}
	}
	// What is likelier may be an end that was forbidden: then it is asked.
	scored := len(l.Is) >= len(span)
	continued := !a.Whole && (!a.Chat || st.Kind.Ask.Continue != nil)
	switch {
	case scored:
	case continued:
		r := r
		switch {
		case !a.Chat:
			if l.At > 0 {
				r.Prompt += a.lead + a.Text[:l.At]
			}
		case l.At > 0:
			r.Before = append(slices.Clone(r.Before), openai.Message{Role: "user", Content: r.Prompt}, openai.Message{Role: "assistant", Content: a.Text[:l.At]})
			r.Prompt, r.Extra = "", maps.Clone(st.Kind.Ask.Continue)
			maps.Copy(r.Extra, a.Prompt.Extra)
		}
		for _, r.MaxTokens = range []int{1, 4, 16, 64} { // a span has a token, mostly
			said, err := ask(r)
			if _, refused := errors.AsType[*openai.StatusError](err); refused && a.Chat && l.At > 0 {
				continued = false
				break
			}
			if err != nil {
				return l, err
			}
			if a.Chat { // some repeat what they continue
				said = strings.TrimPrefix(said, a.Text[:l.At])
			}
			if l.Is = valid(said, len(a.Text)-l.At); r.MaxTokens > 1 {
				l.Is = valid(l.Is, len(span))
			}
			// Part of a character comes with its rest.
			if l.Is != "" && (len(l.Is) >= len(span) || !strings.HasPrefix(span, l.Is)) {
				break
			}
		}
	}
	if !scored && !continued {
		r.MaxTokens = max(a.OutputTokens, 1)
		said, err := askOnce(c, c.said, a, func() func() (string, error) {
			return sync.OnceValues(func() (string, error) { return ask(r) })
		})()
		if err != nil {
			return l, err
		}
		p = p.completeProbe(&l, said)
		span = a.span(p.Token)
	}
	l.Was = valid(a.Text[l.At:], max(compared, len(l.Is), len(span)))
	if l.At == 0 { // detokenizers drop it or not
		l.Was, l.Is, span = trimLeft(l.Was), trimLeft(l.Is), trimLeft(span)
	}
	l.Span = len(span)
	l.Recited = p.recitedIn(c.answers)
	// A list of numbers, or a passage that models know by heart, occurs nowhere else.
	if continued && !l.Recited && l.Agrees() && l.At >= before {
		from := l.At - before
		for !utf8.RuneStart(a.Text[from]) {
			from--
		}
		known, err := ask(openai.Request{Prompt: a.Text[from:l.At], MaxTokens: 1, IgnoreEOS: r.IgnoreEOS, Timeouts: r.Timeouts})
		if err != nil {
			return l, err
		}
		l.Recited = known != "" && strings.HasPrefix(l.Was, known)
	}
	return l, nil
}

// completeProbe completes a probe by the parent's answer as a whole: behind the first
// difference, nothing is known. Counting the difference at every later position would
// accuse a port whose near ties fall the other way once per answer. It returns the
// position that was compared.
func (p Position) completeProbe(l *Probe, said string) Position {
	a, same := p.Answer, 0
	said = a.Text[:len(a.Text)-len(trimLeft(a.Text))] + trimLeft(said)
	for same < min(len(said), len(a.Text)) && said[same] == a.Text[same] {
		same++
	}
	for a.Starts[p.Token] > same {
		p.Token--
		l.Unreached = true
	}
	l.At = a.Starts[p.Token]
	next := l.At + len(a.span(p.Token))
	if l.Is = said[l.At:min(next, len(said))]; next <= same {
		l.Is = a.Text[l.At:next]
	}
	return p
}

// trimLeft is a text without the white space that opens it.
func trimLeft(text string) string { return strings.TrimLeftFunc(text, unicode.IsSpace) }

// askOnce asks a question about an answer as a whole and caches the result for all its
// positions.
func askOnce[F any](c *cellDraw, of map[*Answer]F, a *Answer, ask func() F) F {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, known := of[a]
	if !known {
		asked = ask()
		of[a] = asked
	}
	return asked
}

const (
	// mostScored is how many tokens a parent scores at once: each takes the size of the
	// vocabulary in memory.
	mostScored = 1024
	// nearTie is a gap of log-probabilities that rounding closes.
	nearTie = 0.1
)

// score has the parent score an answer as part of the prompt: its likeliest token at the
// offset of each of its own. None if it does not score prompts, or not this one.
func (a *Answer) score(ctx context.Context, st *launch.Started, r openai.Request) map[int]string {
	if st.Kind.Ask.LogProbs.Prompt == "" || r.API == openai.Chat || a.PromptTokens < 0 || a.PromptTokens+a.OutputTokens > mostScored {
		return nil
	}
	r.Prompt, r.MaxTokens, r.LogProbs, r.PromptLogProbs = r.Prompt+a.lead+a.Text, 1, 1, true
	scored, err := st.Client.Answer(ctx, r)
	if err != nil {
		return nil
	}
	likeliest, at := map[int]string{}, len(a.Text)
	for _, t := range slices.Backward(scored.Prompt) {
		if t.Text == "" || !strings.HasSuffix(a.Text[:at], t.Text) {
			break // where the answer starts, or in another spelling
		}
		at -= len(t.Text)
		best, most := t.Text, -math.MaxFloat64
		if own, given := t.LogProb.Finite(); given {
			most = own + nearTie
		}
		for _, other := range t.Top {
			if p, given := other.LogProb.Finite(); given && p > most {
				best, most = other.Text, p
			}
		}
		likeliest[at] = best
	}
	return likeliest
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

// Keep stores what was asked as an artifact of the launch that answered.
func (a *Probes) Keep(st *launch.Started) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return st.Leave(File, data)
}
