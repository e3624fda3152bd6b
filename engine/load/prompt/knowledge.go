package prompt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/engine/openai"
)

const (
	// anchor and tail are what pieces are counted between, since a vocabulary may treat
	// the start of a text specially, and a template may append characters that would
	// merge with a full stop.
	anchor, tail = "Yes.", " so"
	// maxSingles limits how often tokens are counted to find words of one token, and
	// singleGroup is how many words are counted at once.
	maxSingles, singleGroup = 256, 16
)

// Knowledge is what was learned about one engine's tokenizer. Cells that share it do not
// ask the engine the same again. It holds for the engine's model and its chat template;
// what is learned does not depend on which prompts are built, so these do not depend on
// it. The zero value knows nothing.
type Knowledge struct {
	mu   sync.Mutex
	kits map[kitKey]*kit
	safe []int
}

type kitKey struct {
	method Method
	api    openai.API
}

// kit returns what is known for a way of counting.
func (l *Knowledge) kit(method Method, api openai.API) *kit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if method == Tokenizer {
		api = "" // it counts texts, whatever they are sent as
	}
	key := kitKey{method, api}
	if l.kits[key] == nil {
		if l.kits == nil {
			l.kits = map[kitKey]*kit{}
		}
		l.kits[key] = &kit{counts: map[string]int{}}
	}
	return l.kits[key]
}

// safeIDs are the distinct ids of a long and varied text, in order, without those that
// start or end every text.
func (l *Knowledge) safeIDs(ctx context.Context, engine Engine) ([]int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.safe != nil {
		return l.safe, nil
	}
	ids := func(text string) ([]int, error) {
		_, ids, err := engine.Tokenize(ctx, text)
		if err != nil && !noTokenizer(err) || len(ids) > 0 {
			return ids, err
		}
		return nil, errors.New(`cannot tell which token IDs are safe to send: the engine has no tokenizer endpoint that lists IDs. Use prompts = "text"`)
	}
	one, err := ids("a river")
	if err != nil {
		return nil, err
	}
	other, err := ids("The sea.")
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, text := range varied() {
		some, err := ids(text)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			seen[id] = true
		}
	}
	for i := 0; i < min(len(one), len(other)) && one[i] == other[i]; i++ {
		delete(seen, one[i])
	}
	for i := 1; i <= min(len(one), len(other)) && one[len(one)-i] == other[len(other)-i]; i++ {
		delete(seen, one[len(one)-i])
	}
	safe := make([]int, 0, len(seen))
	for id := range seen {
		if id >= 0 {
			safe = append(safe, id)
		}
	}
	if len(safe) < fewestSafe {
		return nil, fmt.Errorf(`the engine's tokenizer gave %d different IDs for a long text, required ≥ %d: use prompts = "text"`, len(safe), fewestSafe)
	}
	slices.Sort(safe)
	l.safe = safe
	return safe, nil
}

// kit is the token counts of pieces of text. Pieces start with a space and a letter,
// where vocabularies split words, so the tokens of a text are the sum of its pieces'
// tokens. That is verified on texts that are thrown away.
type kit struct {
	mu     sync.Mutex
	counts map[string]int // of whole texts
	// singles are the words of one token each, found is set once they were looked for.
	singles []string
	found   bool
}

// counter is a kit with a way to count what it does not know yet.
type counter struct {
	*kit
	ask func(ctx context.Context, text string) (int, error)
	// ones are the kit's words, none if they are too few, and words the same by class.
	ones  []string
	words words
	// sums is set if the tokens of texts were seen to be the sum of their parts', so no
	// text has to be counted as a whole.
	sums bool
	// overhead is what ask counts beyond the text's own tokens: a token that starts every
	// text, and a chat template's if ask sends chats.
	overhead int
}

// whole counts a text and caches the result. One text is counted at a time, so none is
// counted twice.
func (c *counter) whole(ctx context.Context, text string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, known := c.counts[text]; known {
		return n, nil
	}
	n, err := c.ask(ctx, text)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, errNoUsage
	}
	c.counts[text] = n
	return n, nil
}

// cost is the number of tokens that a piece adds after another text.
func (c *counter) cost(ctx context.Context, piece string) (int, error) {
	base, err := c.whole(ctx, anchor+tail)
	if err != nil {
		return 0, err
	}
	n, err := c.whole(ctx, anchor+piece+tail)
	if err == nil && n < base {
		return 0, fmt.Errorf("the engine counts %d tokens in %q and %d in %q", base, anchor+tail, n, anchor+piece+tail)
	}
	return n - base, err
}

// learn finds the overhead and the words of one token.
func (c *counter) learn(ctx context.Context) error {
	for i, first := range shortest {
		n, err := c.whole(ctx, first)
		if err != nil {
			return err
		}
		// Each has at least one token, and in any vocabulary one of them has no more.
		if i == 0 || n-1 < c.overhead {
			c.overhead = max(n-1, 0)
		}
	}
	c.mu.Lock()
	ones, found := c.singles, c.found
	c.mu.Unlock()
	if !found {
		asked := 0
		for group := range slices.Chunk(allWords.singles(), singleGroup) {
			some, err := c.ofOne(ctx, group, &asked)
			if err != nil {
				return err
			}
			ones = append(ones, some...)
		}
		c.mu.Lock()
		c.singles, c.found = ones, true
		c.mu.Unlock()
	}
	if len(ones) >= fewestOnes {
		c.ones, c.words = ones, allWords.only(ones)
	}
	return nil
}

// ofOne returns the words that are one token each. A word has at least one token, so as
// many tokens as words prove it for all of them at once; otherwise the halves are
// counted.
func (c *counter) ofOne(ctx context.Context, words []string, asked *int) ([]string, error) {
	if *asked++; *asked > maxSingles {
		return nil, nil
	}
	n, err := c.cost(ctx, strings.Join(words, ""))
	switch {
	case err != nil:
		return nil, err
	case n == len(words):
		return words, nil
	case n < len(words) || len(words) == 1:
		return nil, nil
	}
	left, err := c.ofOne(ctx, words[:len(words)/2], asked)
	if err != nil {
		return nil, err
	}
	right, err := c.ofOne(ctx, words[len(words)/2:], asked)
	return append(left[:len(left):len(left)], right...), err
}

// corrections limits how often a text is fixed whose parts did not add up.
const corrections = 4

// compose writes sentences of words of one token each until n tokens are reached, and one
// more word where the end of a sentence has no room. It starts with a space, to follow
// other text, and ends with a letter. left is what could not be filled: all of it in
// vocabularies without enough such words.
func (c *counter) compose(ctx context.Context, s *source, n int) (text string, left int, err error) {
	if len(c.ones) == 0 {
		return "", n, nil
	}
	var b strings.Builder
	for n > 1 {
		word, cost := s.next(c.words), 1
		if strings.HasSuffix(word, ".") {
			if cost, err = c.cost(ctx, word); err != nil {
				return "", 0, err
			}
			if cost < 1 || cost >= n {
				break
			}
		}
		b.WriteString(word)
		n -= cost
	}
	return b.String() + c.fill(s, n), 0, nil
}

// fill is n words of one token each.
func (c *counter) fill(s *source, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(c.ones[s.r.IntN(len(c.ones))])
	}
	return b.String()
}

// exactly makes a text that, appended to before, has total tokens by the tokenizer's
// count of both together; have is that count for before alone. The text starts with lead.
// ok is false if no such text was found.
func (c *counter) exactly(ctx context.Context, s *source, before string, have int, lead string, total int) (text string, ok bool, err error) {
	text, left, ok, err := c.parts(ctx, s, before, have, lead, total)
	if err != nil || !ok {
		return "", false, err
	}
	if c.sums && left == 0 {
		return lead + text, true, nil
	}
	for range corrections {
		n, err := c.ask(ctx, before+lead+text)
		switch {
		case err != nil:
			return "", false, err
		case n == total:
			return lead + text, true, nil
		case n < total && left == 0:
			text += c.fill(s, total-n)
		case n > total && strings.Contains(text, " "):
			text = text[:strings.LastIndexByte(text, ' ')]
		default:
			return "", false, nil
		}
	}
	return "", false, nil
}

// parts is a text that, with what precedes it, has total tokens if those of its parts add
// up. ok is false if lead alone has more.
func (c *counter) parts(ctx context.Context, s *source, before string, have int, lead string, total int) (text string, left int, ok bool, err error) {
	if lead != "" {
		if have, err = c.behind(ctx, before, have, lead); err != nil {
			return "", 0, false, err
		}
	}
	if have > total {
		return "", 0, false, nil
	}
	text, left, err = c.compose(ctx, s, total-have)
	return text, left, err == nil, err
}

// decoys is how many texts that are never sent are counted as a whole.
const decoys = 4

// addUp determines whether the tokens of texts are the sum of their parts'. If so, no
// prompt is counted as a whole before it is sent: an engine could compute it while
// nothing is timed.
func (c *counter) addUp(ctx context.Context, decoy func(i int) *source, n int) error {
	for i := range decoys {
		s := decoy(i)
		lead, total := s.nonce+".", n+c.overhead
		text, left, ok, err := c.parts(ctx, s, "", c.overhead, lead, total)
		if err != nil || !ok || left > 0 {
			return err
		}
		if got, err := c.ask(ctx, lead+text); err != nil || got != total {
			return err
		}
	}
	c.sums = true
	return nil
}

// behind is the number of tokens of before and lead together. before may be long, so what
// lead adds is counted after the anchor.
func (c *counter) behind(ctx context.Context, before string, have int, lead string) (int, error) {
	if before == "" {
		n, err := c.ask(ctx, lead+tail)
		return n - 1, err // common words have one token; if not, it is corrected
	}
	base, err := c.whole(ctx, anchor+tail)
	if err != nil {
		return 0, err
	}
	n, err := c.ask(ctx, anchor+lead+tail)
	return have + n - base, err
}
