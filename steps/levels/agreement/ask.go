package agreement

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"

	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
)

const (
	// atOnce is how many positions are asked at a time where the benchmark sends fewer, and
	// mostAtOnce the most: an engine with fewer slots keeps no prompt for the next position.
	atOnce, mostAtOnce = 4, 8
	// compared is how much is kept of what follows a position.
	compared = 64
	// counted is how many requests of an arm are counted again in each cell.
	counted = 24
	// decoys is of how many of a candidate's positions in each cell a decoy is made.
	decoys = 8
	// checkedScores is at how many positions of each part a candidate's scores are checked, and
	// wrongScores how many of all of these may be wrong: near-ties are.
	checkedScores, wrongScores = 4, 2
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
	a := &Probes{All: map[string]map[string]map[Part]int{}}
	arms := []*drawnPositions{q.draw(a, "", q.Own, seed)}
	for _, name := range slices.Sorted(maps.Keys(q.Others)) {
		arms = append(arms, q.draw(a, name, q.Others[name], seed))
	}
	for i := range q.Answers {
		cell := q.Answers[i].Cell
		name, _, _ := strings.Cut(cell, ".")
		if st.Lab.Variants.Plan.Workload(name).Temperature > 0 && !slices.Contains(a.Sampled, cell) {
			a.Sampled = append(a.Sampled, cell)
		}
	}
	open := arms
	for _, n := range targets {
		if err := a.ask(ctx, st, open, n); err != nil {
			return nil, err
		}
		// The parent's own go on as long as any candidate's do, and what another has shown
		// beside fewer of them may be open again.
		open = arms[:1:1]
		for _, arm := range arms[1:] {
			c := Claim{Own: q.Own, Other: q.Others[arm.name]}
			if least, declared := q.Least[arm.name]; declared {
				c.Least = &least
			}
			if got := c.Judge(a); !got.Holds() && !got.Refuted() && !got.LookedUp() {
				open = append(open, arm)
			}
		}
		if len(open) == 1 {
			return a, nil
		}
	}
	// One may not have been asked as often.
	return a, a.ask(ctx, st, open, targets[len(targets)-1])
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
	// decoyed is set once decoys were asked; wrong is at how many positions the parent, asked,
	// does not say what it scored highest.
	decoyed bool
	wrong   atomic.Int32

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
	for cell, answers := range sorted.All(cells) {
		var own []Answer
		for _, one := range q.Answers {
			if one.Cell == cell && slices.Contains(q.Own, one.Launch) {
				own = append(own, one)
			}
		}
		if name != "" {
			spellAs(own, answers)
		}
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		c := &cellDraw{
			answers: cells[cell], positions: positions(cells[cell]), asked: map[Part]int{},
			part: map[*Answer]map[int]Part{},
			said: map[*Answer]func() (string, error){}, scores: map[*Answer]func() map[int]string{},
			counted: map[*Answer]bool{},
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
			random := rand.New(
				rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, seed, "\n", name, "\n", cell, "\n", part))))
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		for _, one := range c.answers {
			a.All[one.Launch][cell][Opening] += len(one.Starts) - len(c.part[one])
		}
		arm.cells = append(arm.cells, c)
	}
	return arm
}

// spellAs has a candidate's answers written as its parent's detokenizer writes: in its Unicode form
// and, if the candidate's drops the white space before every answer, with that before words. A mark
// may open an answer without any.
func spellAs(own []Answer, answers []*Answer) {
	lead := ""
	for _, one := range own {
		lead = cmp.Or(lead, one.Text[:len(one.Text)-len(trimLeft(one.Text))])
	}
	drops := !slices.ContainsFunc(answers, func(a *Answer) bool { return trimLeft(a.Text) != a.Text })
	forms := slices.DeleteFunc([]norm.Form{norm.NFC, norm.NFD}, func(form norm.Form) bool {
		return slices.ContainsFunc(own, func(one Answer) bool { return !form.IsNormalString(one.Text) })
	})
	for _, a := range answers {
		if first, _ := utf8.DecodeRuneInString(a.Text); drops && (unicode.IsLetter(first) || unicode.IsNumber(first)) {
			a.lead = lead
		}
		if len(forms) == 0 || forms[0].IsNormalString(a.Text) {
			continue
		}
		text, starts := forms[0].String(a.Text), a.Starts[:0]
		for _, at := range a.Starts {
			// What was two characters, in two events, is one.
			if at = len(forms[0].String(a.Text[:at])); at < len(text) && utf8.RuneStart(text[at]) {
				starts = append(starts, at)
			}
		}
		a.Text, a.Starts = text, starts
	}
}

// ask asks n positions of each part of each cell of some candidates, and half as many of the
// parent's own, with those asked before. They come in one order, whosever they are.
func (a *Probes) ask(ctx context.Context, st *launch.Started, arms []*drawnPositions, n int) error {
	var some []Position
	for _, arm := range arms {
		most := n
		if arm.name == "" {
			most = n / 2
		}
		for _, c := range arm.cells {
			first := len(some)
			for _, part := range parts {
				from := c.asked[part]
				c.asked[part] = min(max(most, from), len(c.positions[part]))
				for i, p := range c.positions[part][from:c.asked[part]] {
					p.draw, p.checked = c, arm.name != "" && from+i < checkedScores
					some = append(some, p)
				}
			}
			if arm.name != "" && !c.decoyed {
				c.decoyed = true
				some = append(some, c.decoys(st, some[first:])...)
			}
		}
	}
	slices.SortFunc(some, func(a, b Position) int {
		x, y := a.Answer, b.Answer
		return cmp.Or(cmp.Compare(x.Prompt.Text, y.Prompt.Text), cmp.Compare(x.Launch, y.Launch), x.Request-y.Request,
			x.Turn-y.Turn, a.Token-b.Token)
	})
	concurrency := 0
	for _, w := range st.Lab.Variants.Plan.Workloads {
		for _, n := range w.Concurrency {
			concurrency = max(concurrency, n)
		}
	}
	// What was computed of an answer may be used again.
	client := st.Client.Bare()
	looks := make([]Probe, len(some))
	for again := range 2 {
		var asking errgroup.Group
		asking.SetLimit(min(max(atOnce, concurrency), mostAtOnce))
		for i, p := range some {
			if again > 0 && (!looks[i].scored || p.draw.scored(st)) {
				continue
			}
			asking.Go(func() (err error) {
				looks[i], err = p.probe(ctx, st, client)
				return err
			})
			if c := p.draw; len(c.counted) < counted && !c.counted[p.Answer] {
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
	}
	for i, p := range some {
		if p.decoy != "" {
			a.Decoys = append(a.Decoys, looks[i])
		} else {
			a.Looks = append(a.Looks, looks[i])
		}
	}
	return ctx.Err()
}

// decoys are some of a candidate's positions with another word before them, after which a model
// seldom says what the candidate said. A parent that looks that up by its prompt does.
func (c *cellDraw) decoys(st *launch.Started, some []Position) (all []Position) {
	for _, p := range some {
		at := p.Token - 1
		if len(all) == decoys || at < 1 || !p.Answer.continued(st) || c.part[p.Answer][p.Token] == First ||
			p.recitedIn(c.answers) {
			continue
		}
		p.decoy, p.checked = p.Answer.span((at+len(p.Answer.Starts)/2)%len(p.Answer.Starts)), false
		if strings.TrimSpace(p.decoy) != strings.TrimSpace(p.Answer.span(at)) {
			all = append(all, p)
		}
	}
	return all
}

// scored reports whether the parent's scores are taken for its word.
func (c *cellDraw) scored(st *launch.Started) bool {
	return st.Kind.Ask.LogProbs.Prompt != "" && c.wrong.Load() <= wrongScores
}

// probe asks what the parent says at a position, as the benchmark asks: with its limits and
// parameters, and no longer than until that is known.
func (p Position) probe(ctx context.Context, st *launch.Started, client *openai.Client) (Probe, error) {
	a, c := p.Answer, p.draw
	l := Probe{
		Launch: a.Launch, Cell: a.Cell, Request: a.Request, Turn: a.Turn, Part: c.part[a][p.Token],
		At: a.Starts[p.Token], Took: a.Took, Prompt: a.PromptTokens,
	}
	name, _, _ := strings.Cut(a.Cell, ".")
	w := st.Lab.Variants.Plan.Workload(name)
	r := record.LoadPlan(w, w.Cells()[0]).Request
	r.MaxTokens, r.Temperature, r.ContinuousUsage = max(a.Limit, 1), 0, true
	r.IgnoreEOS = r.IgnoreEOS && st.Kind.Ask.IgnoreEOS
	r.Timeouts.First = w.FirstTimeout
	a.Prompt.Fill(&r)
	span, before := a.span(p.Token), a.Text[:l.At]
	if p.decoy != "" {
		before = a.Text[:a.Starts[p.Token-1]] + p.decoy
	}
	shown := func(text string) string { return strings.TrimRight(st.Lab.Redact.Text(text), "\uFFFD") }
	ask := func(r openai.Request, until func(said string) bool) (string, error) {
		r.Heard = func(text string) bool { return until(shown(text)) }
		s, err := client.Stream(ctx, r)
		return shown(s.Reasoning + s.Text + s.Tools), err
	}
	if p.decoy == "" && c.scored(st) {
		likeliest := askOnce(c, c.scores, a, func() func() map[int]string {
			return sync.OnceValue(func() map[int]string { return a.score(ctx, st, r) })
		})()
		for next, scored := likeliest[l.At]; scored &&
			strings.HasPrefix(a.Text[l.At+len(l.Is):], next); next, scored = likeliest[l.At+len(l.Is)] {
			if l.Is += next; next == "" || len(l.Is) >= len(span) {
				break
			}
		}
	}
	// What is likelier may be an end that was forbidden: then it is asked.
	scored, likely := len(l.Is) >= len(span), l.Is
	l.scored = scored && !p.checked
	continued := a.continued(st)
	if !l.scored && continued {
		r := r
		switch {
		case !a.Chat:
			if l.At > 0 {
				r.Prompt += a.lead + before
			}
		case l.At > 0:
			r.Before = append(slices.Clone(r.Before), openai.Message{Role: "user", Content: r.Prompt},
				openai.Message{Role: "assistant", Content: before})
			r.Prompt, r.Extra = "", maps.Clone(st.Kind.Ask.Continue)
			maps.Copy(r.Extra, a.Prompt.Extra)
		}
		repeated := func(said string) string { // in chats, some repeat what they continue
			if a.Chat {
				said = strings.TrimPrefix(said, before)
			}
			return said
		}
		known := func(said string) bool {
			of, said := span, repeated(said)
			if l.At == 0 {
				said, of = trimLeft(said), trimLeft(of)
			}
			return said != "" && (len(said) >= len(of) || !strings.HasPrefix(of, said))
		}
		var refused error
		for _, r.MaxTokens = range []int{r.MaxTokens, len(span), 1} { // less near the end of a context
			said, err := ask(r, known)
			if _, status := errors.AsType[*openai.StatusError](err); status {
				refused = err
				continue
			}
			if err != nil {
				return l, err
			}
			l.Is, refused = repeated(said), nil
			break
		}
		if continued = refused == nil || !a.Chat || l.At == 0; refused != nil && continued {
			return l, refused
		}
	}
	if !l.scored && !continued && p.decoy == "" {
		said, err := askOnce(c, c.said, a, func() func() (string, error) {
			return sync.OnceValues(func() (string, error) { return ask(r, func(string) bool { return false }) })
		})()
		if err != nil {
			return l, err
		}
		p = p.completeProbe(&l, said)
		span = a.span(p.Token)
	}
	// Of several tokens that come in one event, those of the span.
	if end := strings.IndexFunc(l.Is[min(len(span), len(l.Is)):], unicode.IsSpace); end >= 0 {
		l.Is = l.Is[:len(span)+end]
	}
	l.Is = valid(l.Is, len(a.Text)-l.At)
	l.Was = valid(a.Text[l.At:], max(compared, len(l.Is), len(span)))
	if l.At == 0 { // detokenizers drop it or not
		l.Was, l.Is, span = trimLeft(l.Was), trimLeft(l.Is), trimLeft(span)
	}
	if l.Span = len(span); scored && p.checked && !l.Agrees() && c.wrong.Add(1) <= wrongScores {
		if l.Is, l.scored = likely, true; l.At == 0 { // a near-tie, until there are more
			l.Is = trimLeft(l.Is)
		}
	}
	l.Recited = p.recitedIn(c.answers)
	// A list of numbers, or a passage that models know by heart, occurs nowhere else.
	// It costs as much as the position itself, so where there are many, every second one tells.
	if continued && p.decoy == "" && !l.Recited && l.Agrees() && l.At >= recitedBefore {
		if l.Untold = p.Token%2 > 0 && len(c.positions[l.Part]) > targets[0]; l.Untold {
			return l, nil
		}
		from := l.At - recitedBefore
		for !utf8.RuneStart(a.Text[from]) {
			from--
		}
		r.API, r.Prompt, r.Before, r.Extra = "", a.Text[from:l.At], nil, nil
		known, err := ask(r, func(said string) bool { return said != "" })
		if err != nil {
			return l, err
		}
		l.Recited = known != "" && strings.HasPrefix(l.Was, known)
	}
	return l, nil
}

// continued reports whether the parent can be asked to continue an answer; some chats refuse.
func (a *Answer) continued(st *launch.Started) bool {
	return !a.Whole && (!a.Chat || st.Kind.Ask.Continue != nil)
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
	// nearTie is a gap of log-probabilities that rounding closes: a step of bfloat16 between 16
	// and 32, where logits mostly are, is 0.125.
	nearTie = 0.13
)

// score has the parent score an answer as part of the prompt: its likeliest token at the
// offset of each of its own. None if it does not score prompts, or not this one.
func (a *Answer) score(ctx context.Context, st *launch.Started, r openai.Request) map[int]string {
	if r.API == openai.Chat || a.PromptTokens < 0 || a.PromptTokens+a.OutputTokens > mostScored {
		return nil
	}
	// The second is what follows where the likeliest is an end that was forbidden.
	r.Prompt, r.MaxTokens, r.LogProbs, r.PromptLogProbs = r.Prompt+a.lead+a.Text, 1, 2, true
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
			if p, given := other.LogProb.Finite(); given && p > most && (other.Text != "" || !r.IgnoreEOS) {
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
