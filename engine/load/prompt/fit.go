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
	// shortProbe is the length, in tokens, of the shorter probe that compares the engine's
	// usage with what was counted, longProbe and maxProbe that of the longer one.
	shortProbe, longProbe, maxProbe = 24, 96, 768
	// decoys is how many texts that are never sent are counted as a whole.
	decoys = 4
	// nonceRoom is how many tokens a context must have for its nonce to serve the prompt
	// after it too.
	nonceRoom = 48
	// guessedBytes is the usual length of a token of English text in vocabularies of
	// 100,000 and more.
	guessedBytes = 4
	// maxCounts limits the tokenizer calls for one text.
	maxCounts = 64
)

// fitter makes texts of a given number of tokens.
type fitter struct {
	spec   Spec
	method Method
	// counter counts words, whose tokens were seen to add up to those of a text. Where
	// bytes is set they do not: it is the average length of a token.
	*counter
	bytes float64
	// search is set where words do not add up, and a tokenizer counts whole texts.
	search bool
	// system is the cell's system prompt, systemTokens its length.
	system       string
	systemTokens int
	// added is what the engine counts beyond the texts' own tokens: the chat template and
	// what starts every text. verified is set if two requests of different lengths had it
	// in their usage.
	added    int
	verified bool
}

// newFitter determines how lengths can be measured with the engine. What it learns
// depends only on the engine and the spec, never on prompts built before, so each prompt
// is the same however many there are.
func newFitter(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	tokenize := func(ctx context.Context, text string) (int, error) {
		n, _, err := engine.Tokenize(ctx, text)
		return n, err
	}
	send := func(ctx context.Context, text string) (int, error) {
		return usage(ctx, engine, spec, Prompt{Text: text})
	}
	for _, f := range []*fitter{
		{spec: spec, method: Tokenizer, counter: &counter{learned: spec.Learned, way: "tokenizer\n", ask: tokenize}},
		{
			spec: spec, method: ByUsage,
			counter: &counter{learned: spec.Learned, way: string(spec.API) + "\n", ask: send},
		},
	} {
		_, err := f.count(ctx, anchor)
		if f.method == Tokenizer && err != nil && noTokenizer(err) || errors.Is(err, errNoUsage) {
			continue
		}
		if err == nil {
			err = f.learn(ctx)
		}
		if err != nil {
			return nil, err
		}
		agrees := len(f.ones) > 0
		if agrees && f.method == Tokenizer {
			agrees, err = f.addUp(ctx)
		}
		if f.method == Tokenizer && !agrees {
			f.search, agrees = true, true
		}
		if agrees && err == nil {
			agrees, err = f.verify(ctx, engine)
		}
		if agrees || err != nil {
			return f, err
		}
	}
	return byLength(ctx, engine, spec)
}

// addUp reports whether the tokens of texts are the sum of their words', on texts that are
// never sent.
func (f *fitter) addUp(ctx context.Context) (bool, error) {
	n := f.spec.Depth + max(f.spec.longest(), longProbe)
	for i := range decoys {
		text, err := f.compose(ctx, f.spec.source("decoy", i), n, true, true)
		if err != nil {
			return false, err
		}
		if got, err := f.ask(ctx, text); err != nil || got != n+f.overhead {
			return false, err
		}
	}
	return true, nil
}

// verify compares the usage for two requests of different lengths with the counts of their
// texts. It reports false if they contradict each other.
func (f *fitter) verify(ctx context.Context, engine Engine) (agrees bool, err error) {
	if err = f.writeSystem(ctx); err != nil {
		return false, err
	}
	f.added = f.overhead // until the engine's usage says more
	var added [2]int
	long := longProbe
	if f.method == ByUsage { // nothing else showed that words add up
		long = maxProbe
	}
	for i, n := range []int{shortProbe, min(long, max(f.spec.longest(), shortProbe))} {
		p := Prompt{System: f.system}
		before := ""
		if f.spec.API != openai.Chat {
			before = f.system
		}
		if p.Text, err = f.text(ctx, f.spec.source("probe", i), before, n, true); err != nil {
			return false, err
		}
		seen, err := usage(ctx, engine, f.spec, p)
		if err != nil {
			return false, err
		}
		if seen < 0 {
			return true, nil
		}
		added[i] = seen - f.systemTokens - n
	}
	f.added, f.verified = added[0], added[0] == added[1]
	return f.verified, nil
}

// byLength is a fitter that uses the average number of bytes per token, by the engine's
// usage for two texts or as a guess.
func byLength(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	// In bytes: no more than the tokens that prompts have, so they fit where prompts do.
	long := min(2048, max(spec.longest(), 64))
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

// usage is the engine's count of the tokens of a prompt, -1 if it has none.
func usage(ctx context.Context, engine Engine, spec Spec, p Prompt) (int, error) {
	r := openai.Request{API: spec.API, MaxTokens: 1, Timeouts: spec.Timeouts}
	p.Fill(&r)
	s, err := engine.Stream(ctx, r)
	return s.PromptTokens, err
}

// writeSystem writes the system prompt of the cell. It starts with its own nonce, so no
// other cell has its start in the cache.
func (f *fitter) writeSystem(ctx context.Context) (err error) {
	if f.spec.SystemTokens > 0 {
		f.systemTokens = f.spec.SystemTokens
		f.system, err = f.text(ctx, f.spec.source("system", 0), "", f.systemTokens, true)
	}
	return err
}

// text makes a text that adds n tokens to those of the text before it. What starts a text
// by itself is not counted.
func (f *fitter) text(ctx context.Context, s *source, before string, n int, nonce bool) (text string, err error) {
	switch {
	case f.search:
		have := f.overhead
		if before != "" {
			if have, err = f.count(ctx, before); err != nil {
				return "", err
			}
		}
		return f.searched(ctx, s, before, have+n)
	case f.bytes == 0:
		return f.compose(ctx, s, n, before == "", nonce)
	}
	text = s.first(max(1, int(math.Round(float64(n)*f.bytes))))
	if before != "" {
		text = " " + strings.TrimSuffix(text, " ")
	}
	return text, nil
}

// lengths are what the engine must count for a first message of n tokens, and how many its text must have by itself.
func (f *fitter) lengths(n int) (asked, own int) {
	if f.spec.API == openai.Chat && !f.spec.CountTemplate {
		return n + f.added, n
	}
	return n, n - f.added
}

// conversation makes a prompt of generated text, with the messages that follow it.
func (f *fitter) conversation(ctx context.Context, series string, index int) (Prompt, error) {
	spec := f.spec
	asked, own := f.lengths(spec.length(series, index, 0))
	if own < 1 {
		return Prompt{}, fmt.Errorf("%d tokens are too few: the template alone has %d. "+
			"Raise prompt_tokens, or turn count_template off", asked, f.added)
	}
	p := Prompt{
		System: f.system, Tokens: asked, ContextTokens: f.systemTokens + spec.Depth,
		Output: spec.output(series, index, 0),
	}
	before, between := "", "" // what precedes the first message, and each later one
	if spec.API != openai.Chat {
		// All is one growing text, and a later message follows an answer that is not known yet.
		before, between = f.system, anchor
	}
	var err error
	if spec.Depth > 0 {
		if p.Context, err = f.text(ctx, spec.source(series+" context", index), before, spec.Depth, true); err != nil {
			return Prompt{}, err
		}
		before += p.Context
	}
	if p.Text, err = f.text(ctx, spec.source(series, index), before, own, spec.Depth < nonceRoom); err != nil {
		return Prompt{}, err
	}
	last := &p
	for turn := 1; turn < spec.Turns; turn++ {
		next := &Prompt{Tokens: spec.length(series, index, turn), Output: spec.output(series, index, turn)}
		s := spec.source(fmt.Sprintf("%s turn %d", series, turn), index)
		if next.Text, err = f.text(ctx, s, between, next.Tokens, true); err != nil {
			return p, fmt.Errorf("turn %d: %w", turn, err)
		}
		last.Next, last = next, next
	}
	return p, nil
}

// searched is for vocabularies whose words do not add up. It looks for a length in bytes at
// which the text, appended to before, has the wanted tokens in all. One more byte adds a
// token, or none, or rarely removes one; so the count nearly always passes through every
// number, and stepping by the average token length within the bounds found so far gets
// there in a handful of counts.
func (f *fitter) searched(ctx context.Context, from *source, before string, want int) (string, error) {
	bytes := float64(guessedBytes)
	length := max(1, int(math.Round(float64(want)*bytes))-len(before))
	below, above := 0, math.MaxInt // lengths with too few and too many tokens
	for range maxCounts {
		text := from.first(length)
		n, err := f.ask(ctx, before+text)
		if err != nil {
			return "", err
		}
		if n == want {
			return text, nil
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
	// In a vocabulary in which one more byte adds two tokens at once the text is shorter than
	// wanted, which the engine's count of the request shows.
	if below == 0 {
		return "", fmt.Errorf("found no text of %d tokens", want)
	}
	return from.first(below), nil
}
