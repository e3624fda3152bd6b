package prompt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/openai"
)

const (
	// shortProbe and longProbe are the lengths, in tokens, of the probes that compare the
	// engine's usage with what was counted.
	shortProbe, longProbe = 24, 96
	// fewestOnes is how many words of one token are needed to draw prompts from them.
	fewestOnes = 32
	// nonceRoom is how many tokens a context must have for its nonce to serve the prompt
	// after it too.
	nonceRoom = 48
)

// fitter makes texts of a given number of tokens.
type fitter struct {
	spec   Spec
	method Method
	// tokens counts; nil if lengths are guessed from bytes, the average length of a
	// token.
	tokens *counter
	bytes  float64
	// system is the cell's system prompt, systemTokens its length.
	system       string
	systemTokens int
	// added is what the engine counts beyond the texts' own tokens: the chat template and
	// what starts every text. verified is set if two requests of different lengths had it
	// in their usage.
	added    int
	verified bool
}

// asked is what the engine must count for a first message of so many tokens, and own how
// many its text must have by itself.
func (f *fitter) asked(tokens int) (asked, own int, err error) {
	if f.spec.API == openai.Chat && !f.spec.CountTemplate {
		return tokens + f.added, tokens, nil
	}
	if tokens <= f.added {
		return 0, 0, fmt.Errorf("%d tokens are too few: the template alone has %d. Raise prompt_tokens, or set count_template = false", tokens, f.added)
	}
	return tokens, tokens - f.added, nil
}

// first is the first message of a conversation with what precedes it.
func (f *fitter) first(ctx context.Context, series string, index, tokens, depth int) (Prompt, error) {
	asked, own, err := f.asked(tokens)
	if err != nil {
		return Prompt{}, err
	}
	p := Prompt{System: f.system, Asked: asked, ContextTokens: f.systemTokens + depth}
	var before string
	have := 0
	if f.spec.API != openai.Chat {
		before, have = f.system, f.systemTokens
	}
	nonce := true
	if depth > 0 {
		got := 0
		s := f.source(series+" context", index)
		if p.Context, got, err = f.text(ctx, s, before, have, depth, true); err != nil {
			return Prompt{}, err
		}
		p.ContextTokens += got - depth
		before, have, nonce = before+p.Context, have+got, depth < nonceRoom
	}
	p.Text, p.Tokens, err = f.text(ctx, f.source(series, index), before, have, own, nonce)
	p.Tokens += asked - own
	return p, err
}

// later is a later message of a conversation. If all is one growing text, it follows an
// answer that is still unknown, so it is counted after the anchor.
func (f *fitter) later(ctx context.Context, series string, index, turn, tokens int) (Prompt, error) {
	before, have := "", 0
	if f.spec.API != openai.Chat {
		before = anchor
		if f.tokens != nil {
			n, err := f.tokens.whole(ctx, anchor)
			if err != nil {
				return Prompt{}, err
			}
			have = n - f.tokens.overhead
		}
	}
	text, got, err := f.text(ctx, f.source(fmt.Sprintf("%s turn %d", series, turn), index), before, have, tokens, true)
	return Prompt{Text: text, Tokens: got, Asked: tokens}, err
}

func (f *fitter) source(series string, index int) func() *source {
	return func() *source { return f.spec.source(series, index) }
}

// text makes a text that adds n tokens to those of the text before it, which has so many,
// and returns how many it does add. What starts a text by itself is not counted.
func (f *fitter) text(ctx context.Context, from func() *source, before string, have, n int, nonce bool) (string, int, error) {
	switch f.method {
	case Tokenizer:
		return f.counted(ctx, from, before, have, n, nonce)
	case Pieces:
		return f.assembled(ctx, from(), before, n, nonce)
	}
	text := from().first(max(1, int(math.Round(float64(n)*f.bytes))))
	if before != "" {
		text = " " + strings.TrimSuffix(text, " ")
	}
	return text, n, nil
}

// counted makes a text with the engine's tokenizer.
func (f *fitter) counted(ctx context.Context, from func() *source, before string, have, n int, nonce bool) (string, int, error) {
	total := have + n + f.tokens.overhead
	s := from()
	lead := ""
	if nonce {
		lead = s.nonce + "."
	}
	if before != "" && lead != "" {
		lead = " " + lead
	}
	text, ok, err := f.tokens.exactly(ctx, s, before, have+f.tokens.overhead, lead, total)
	if ok || err != nil {
		return text, n, err
	}
	glue := ""
	if before != "" {
		glue = " "
	}
	text, got, err := f.search(ctx, from(), before+glue, total)
	return glue + text, got - have - f.tokens.overhead, err
}

// assembled makes a text of pieces whose token counts are known.
func (f *fitter) assembled(ctx context.Context, s *source, before string, n int, nonce bool) (string, int, error) {
	var b strings.Builder
	left := n
	if nonce {
		start, rest := s.words(openers, f.tokens.ones)
		cost := 1
		if before == "" {
			whole, err := f.tokens.whole(ctx, start)
			if err != nil {
				return "", 0, err
			}
			cost = whole - f.tokens.overhead
		} else {
			start, rest = rest[0], rest[1:]
		}
		if cost > n {
			return "", 0, fmt.Errorf("found no text of %d tokens: %q alone has %d", n, start, cost)
		}
		rest = rest[:min(len(rest), n-cost)]
		b.WriteString(start + strings.Join(rest, ""))
		left -= cost + len(rest)
	}
	text, left, err := f.tokens.compose(ctx, s, left)
	return b.String() + text, n - left, err
}

// errNoUsage is the error of an engine that does not count prompt tokens.
var errNoUsage = errors.New("the engine does not report the number of tokens of a prompt")

// newFitter determines how lengths can be measured with the engine. What it learns
// depends only on the engine and the spec, never on prompts built before, so each prompt
// is the same however many there are.
func newFitter(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	for _, try := range []func(context.Context, Engine, Spec) (*fitter, error){byTokenizer, byPieces} {
		if f, err := try(ctx, engine, spec); err != nil || f != nil {
			return f, err
		}
	}
	return byLength(ctx, engine, spec)
}

// byTokenizer is a fitter that counts with the engine's tokenizer, nil if the engine has
// none or one that its answers contradict.
func byTokenizer(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	f := &fitter{spec: spec, method: Tokenizer}
	f.tokens = &counter{kit: spec.Learned.kit(Tokenizer, ""), ask: func(ctx context.Context, text string) (int, error) {
		n, _, err := engine.Tokenize(ctx, text)
		return n, err
	}}
	if _, err := f.tokens.whole(ctx, anchor); err != nil {
		if noTokenizer(err) {
			err = nil
		}
		return nil, err
	}
	err := f.tokens.learn(ctx)
	if err == nil {
		err = f.writeSystem(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.added = f.tokens.overhead // until the engine's usage says more
	n, err := f.probe(ctx, engine, shortProbe)
	if errors.Is(err, errNoUsage) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	again, err := f.probe(ctx, engine, longProbe)
	if err != nil || again != n {
		return nil, err
	}
	f.added, f.verified = n, true
	longest := spec.longest()
	if longest == 0 {
		longest = 8 * longProbe
	}
	return f, f.tokens.addUp(ctx, func(i int) *source { return f.source("decoy", i)() }, longest+spec.Depth)
}

// byPieces is a fitter that adds up the engine's usage for pieces, nil if there is no
// usage or pieces do not add up.
func byPieces(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	f := &fitter{spec: spec, method: Pieces}
	f.tokens = &counter{kit: spec.Learned.kit(Pieces, spec.API), ask: func(ctx context.Context, text string) (int, error) {
		return usage(ctx, engine, spec, Prompt{Text: text})
	}}
	err := f.tokens.learn(ctx)
	if errors.Is(err, errNoUsage) || err == nil && len(f.tokens.ones) == 0 {
		return nil, nil
	}
	if err == nil {
		err = f.writeSystem(ctx)
	}
	if err != nil {
		return nil, err
	}
	n, err := f.probe(ctx, engine, shortProbe)
	if err != nil {
		return nil, err
	}
	again, err := f.probe(ctx, engine, min(max(spec.longest(), longProbe), 8*longProbe))
	if err != nil || again != n {
		return nil, err
	}
	f.added, f.verified = n, true
	return f, nil
}

// byLength is a fitter that uses the average number of bytes per token, by the engine's
// usage for two texts or as a guess.
func byLength(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	// In bytes: no more than the tokens that prompts have, so they fit where prompts do.
	long := 2048
	if longest := spec.longest(); longest > 0 {
		long = min(long, max(longest, 64))
	}
	short := long / 4
	f := &fitter{spec: spec, method: Guess, bytes: guessedBytes}
	a, err := usage(ctx, engine, spec, Prompt{Text: spec.source("probe", 1).first(short)})
	if err != nil {
		return nil, err
	}
	b, err := usage(ctx, engine, spec, Prompt{Text: spec.source("probe", 0).first(long)})
	if err != nil {
		return nil, err
	}
	if a >= 0 && b > a {
		f.method, f.bytes = ByUsage, float64(long-short)/float64(b-a)
		f.added = max(0, int(math.Round(float64(b)-float64(long)/f.bytes)))
	}
	return f, f.writeSystem(ctx)
}

// writeSystem writes the system prompt of the cell. It starts with its own nonce, so no
// other cell has its start in the cache.
func (f *fitter) writeSystem(ctx context.Context) (err error) {
	if f.spec.SystemTokens > 0 {
		f.system, f.systemTokens, err = f.text(ctx, f.source("system", 0), "", 0, f.spec.SystemTokens, true)
	}
	return err
}

// probe sends a text of about so many tokens, with the system prompt, and returns how
// many more tokens the engine counts than the texts have.
func (f *fitter) probe(ctx context.Context, engine Engine, n int) (added int, err error) {
	if longest := f.spec.longest(); longest > 0 {
		n = min(n, max(longest, shortProbe))
	}
	p := Prompt{System: f.system}
	before, have := "", 0
	if f.spec.API != openai.Chat {
		before, have = f.system, f.systemTokens
	}
	own := 0
	if p.Text, own, err = f.text(ctx, f.source("probe", n), before, have, n, true); err != nil {
		return 0, err
	}
	seen, err := usage(ctx, engine, f.spec, p)
	if err != nil {
		return 0, err
	}
	if seen < 0 {
		return 0, errNoUsage
	}
	return seen - f.systemTokens - own, nil
}

// usage is the engine's count of the tokens of a prompt, -1 if it has none.
func usage(ctx context.Context, engine Engine, spec Spec, p Prompt) (int, error) {
	r := openai.Request{API: spec.API, MaxTokens: 1, Timeouts: spec.Timeouts}
	p.Fill(&r)
	s, err := engine.Stream(ctx, r)
	return s.PromptTokens, err
}

const (
	// guessedBytes is the usual length of a token of English text in vocabularies of
	// 100,000 and more.
	guessedBytes = 4
	// maxCounts limits the tokenizer calls for one prompt.
	maxCounts = 64
)

// search is for vocabularies whose pieces do not add up, and for texts shorter than the
// nonce. It looks for a length in bytes at which the text, appended to before, has the
// wanted tokens, and returns the text alone with the count of both. One more byte adds a
// token, or none, or rarely removes one; so the count nearly always passes through every
// number, and stepping by the average token length within the bounds found so far gets
// there in a handful of counts.
func (f *fitter) search(ctx context.Context, from *source, before string, want int) (string, int, error) {
	bytes := float64(guessedBytes)
	length := max(1, int(math.Round(float64(want)*bytes))-len(before))
	below, above := 0, math.MaxInt // lengths with too few and too many tokens
	for range maxCounts {
		text := from.first(length)
		n, err := f.tokens.ask(ctx, before+text)
		if err != nil {
			return "", 0, err
		}
		if n == want {
			return text, n, nil
		}
		if n > 0 {
			bytes = max(0.5, float64(len(before)+length)/float64(n))
		}
		if n < want {
			below = max(below, length)
		} else {
			above = min(above, length)
		}
		if above-below <= 1 {
			break
		}
		step := int(math.Round(float64(want-n) * bytes))
		if step == 0 {
			step = 1
			if n > want {
				step = -1
			}
		}
		if length += step; length <= below || length >= above {
			length = below + max(1, min(above-below, 1<<20)/2)
		}
	}
	return f.pad(ctx, from, before, below, want)
}

// pads are short texts that are one or two tokens in most vocabularies.
var pads = []string{"", ".", " a", " I", ",", " .", " the", " 1", "!", " and", " . a", "? a b"}

// pad is for a vocabulary in which one more byte adds two tokens at once: it ends a
// somewhat shorter text with something else. If that fails too, the text is shorter than
// wanted, as its count shows.
func (f *fitter) pad(ctx context.Context, from *source, before string, below, want int) (string, int, error) {
	best, bestN := "", -1
	for back := 0; back < 8 && below-back > 0; back++ {
		base := from.first(below - back)
		for _, pad := range pads {
			n, err := f.tokens.ask(ctx, before+base+pad)
			if err != nil {
				return "", 0, err
			}
			if n == want {
				return base + pad, n, nil
			}
			if n < want && n > bestN {
				best, bestN = base+pad, n
			}
		}
	}
	if bestN < 1 {
		return "", 0, fmt.Errorf("found no text of %d tokens", want)
	}
	return best, bestN, nil
}

// conversation makes a prompt of generated text, with the messages that follow it.
func (f *fitter) conversation(ctx context.Context, series string, index int) (Prompt, error) {
	p, err := f.first(ctx, series, index, f.spec.length(series, index, 0), f.spec.Depth)
	if err != nil {
		return p, err
	}
	p.Output = f.spec.output(series, index, 0)
	last := &p
	for turn := 1; turn < f.spec.Turns; turn++ {
		next, err := f.later(ctx, series, index, turn, f.spec.length(series, index, turn))
		if err != nil {
			return p, fmt.Errorf("turn %d: %w", turn, err)
		}
		next.Output = f.spec.output(series, index, turn)
		last.Next = &next
		last = last.Next
	}
	return p, nil
}

// length is the number of tokens of a prompt.
func (s Spec) length(series string, index, turn int) int {
	if s.Lengths == nil {
		return s.Tokens
	}
	return s.Lengths.at(s.Seed, "prompt", series, index, turn)
}

// longest is the maximum of tokens per prompt, 0 if unknown.
func (s Spec) longest() int {
	if s.Lengths == nil {
		return s.Tokens
	}
	return s.Lengths.Max
}

// output is the number of tokens of an answer, 0 if it is the plan's.
func (s Spec) output(series string, index, turn int) int {
	if s.Outputs == nil {
		return 0
	}
	return s.Outputs.at(s.Seed, "output", series, index, turn)
}

// same is the error text for two equal prompts.
func (s Spec) same(one, other string) string {
	if s.Data != nil {
		return fmt.Sprintf("%s and %s of %s are the same, so the second would be answered from a cache: remove one of the rows", one, other, s.Data.Name)
	}
	return fmt.Sprintf("prompts of %s are too short to be unique: use longer or fewer prompts", s.lengths())
}

func (s Spec) lengths() string {
	if s.Lengths != nil {
		return fmt.Sprintf("%d tokens and more", s.Lengths.Min)
	}
	return fmt.Sprintf("%d tokens", s.Tokens)
}
