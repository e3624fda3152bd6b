package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mxflow/mxflow/engine/openai"
)

// Spec is the requirements for the prompts of one cell.
type Spec struct {
	// Cell, Seed and Draw determine the texts, Seed alone their lengths. Draw is unique
	// to one launch, so no other was sent the same. Body, if set, replaces it for all but
	// the start of a text: launches that share it are sent the same, each after its own
	// start.
	Cell string
	Seed int64
	Draw string
	Body string
	API  openai.API
	// Tokens is the length of each prompt; Lengths, if set, draws one for each, and Data
	// has its own prompts.
	Tokens  int
	Lengths *Lengths
	Data    *Dataset
	// Outputs draws the length of each answer (Prompt.Output); nil leaves it to the
	// plan, or to Data.
	Outputs *Lengths
	// CountTemplate is set if the lengths of first messages include the chat template's
	// tokens. Otherwise the engine counts that many more. A token that starts every text
	// is the template's in a chat, and the prompt's elsewhere.
	CountTemplate bool
	// Depth is tokens of context before each prompt, SystemTokens the length of a system
	// prompt that all prompts of the cell share; 0 is none.
	Depth, SystemTokens int
	// Turns is how many messages the user sends in each conversation; 0 is 1. Each later
	// one has the requested number of tokens by itself, without a template. For Data it
	// limits the messages sent of a conversation.
	Turns int
	// Random sends token ids drawn from the vocabulary instead of text.
	Random bool
	// Learned is shared by all cells of one engine; nil learns again.
	Learned *Knowledge
	// Warmup and Requests are how many prompts to make.
	Warmup, Requests int
	// Timeouts limit the requests needed for that; they may be the first that the engine
	// gets.
	Timeouts openai.Timeouts
}

func (s *Spec) check() error {
	if s.API == "" {
		s.API = openai.Completions
	}
	s.Turns = max(s.Turns, 1)
	if s.Learned == nil {
		s.Learned = &Knowledge{}
	}
	for _, drawn := range []*Lengths{s.Lengths, s.Outputs} {
		if drawn != nil {
			if err := drawn.Check(); err != nil {
				return err
			}
		}
	}
	made := s.Data == nil && s.Lengths == nil
	switch {
	case s.Requests < 0 || s.Warmup < 0 || s.Depth < 0 || s.SystemTokens < 0 || made && s.Tokens < 1:
		return fmt.Errorf("invalid lengths or counts: %d prompt tokens, %d of context, %d of system prompt, %d prompts and %d for warm-up",
			s.Tokens, s.Depth, s.SystemTokens, s.Requests, s.Warmup)
	case s.Random && s.API == openai.Chat:
		return errors.New(`random token IDs cannot be sent as a chat, which only takes text: use api = "completions", or prompts = "text"`)
	case s.Random && (s.Turns > 1 || s.SystemTokens > 0):
		return errors.New(`random token IDs cannot form a conversation or a system prompt: use prompts = "text" with turns and system_tokens`)
	case s.Data == nil:
		return s.room()
	case s.Random || s.Lengths != nil || s.Depth > 0 || s.SystemTokens > 0:
		return errors.New("a dataset has its own prompts: remove prompts, prompt_lengths, depth and system_tokens")
	}
	if err := s.Data.enough(*s); err != nil {
		return err
	}
	return s.room()
}

// Distributions of Lengths.
const (
	Uniform   = "uniform"
	Normal    = "normal"
	Lognormal = "lognormal"
)

// maxLength is more tokens than any engine of this decade takes.
const maxLength = 100_000_000

// Lengths draws numbers of tokens.
type Lengths struct {
	// Distribution is Uniform (Min to Max equally likely), Normal or Lognormal (with Mean
	// and Std of the length itself, not of its logarithm). Values outside Min to Max are
	// moved to the nearer end; Max 0 is no limit for the latter two.
	Distribution string
	Min, Max     int
	Mean, Std    float64
}

// Check returns an error if lengths cannot be drawn.
func (l Lengths) Check() error {
	finite := func(v float64) bool { return !math.IsNaN(v) && v >= 0 && v <= maxLength }
	switch {
	case l.Distribution != Uniform && l.Distribution != Normal && l.Distribution != Lognormal:
		return fmt.Errorf("unknown distribution %q of lengths: use %q, %q or %q", l.Distribution, Uniform, Normal, Lognormal)
	case l.Min < 0 || l.Max < 0 || l.Max > maxLength || l.Max > 0 && l.Min > l.Max:
		return fmt.Errorf("lengths from %d to %d: required 1 ≤ min ≤ max ≤ %d", l.Min, l.Max, maxLength)
	case l.Distribution == Uniform && (l.Min < 1 || l.Max < 1):
		return fmt.Errorf("uniform lengths from %d to %d: both bounds are required, at least 1", l.Min, l.Max)
	case l.Distribution == Uniform:
		return nil
	case !finite(l.Mean) || !finite(l.Std) || l.Mean < 1:
		return fmt.Errorf("%s lengths of mean %v and standard deviation %v: the mean must be from 1 to %d and the deviation from 0", l.Distribution, l.Mean, l.Std, maxLength)
	}
	return nil
}

// at is the length with an index. It depends only on the arguments: not on the cell, so
// cells that differ in something else have the same lengths, and not on how many are
// drawn.
func (l Lengths) at(seed int64, what, series string, index, turn int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "mxflow length 1\n%d\n%s\n%s\n%d\n%d\n", seed, what, series, index, turn))
	r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	if l.Distribution == Uniform {
		return l.Min + r.IntN(l.Max-l.Min+1)
	}
	x := l.Mean + l.Std*r.NormFloat64()
	if l.Distribution == Lognormal {
		// The logarithm is normal with variance v and mean m, so that the mean of
		// the length is exp(m+v/2) and its variance (exp(v)-1)·exp(2m+v).
		v := math.Log1p(l.Std / l.Mean * (l.Std / l.Mean))
		x = math.Exp(math.Log(l.Mean) - v/2 + math.Sqrt(v)*r.NormFloat64())
	}
	most := l.Max
	if most == 0 {
		most = maxLength
	}
	return int(math.Round(min(max(x, float64(max(l.Min, 1))), float64(most))))
}

const (
	// mostInOne limits the tokens of one prompt with its context, mostInAll those of all
	// prompts of a cell, and mostMessages their number. All are made before the first is
	// sent, so making them takes no measured time, and a token takes about five bytes of
	// memory, several times that while its prompt is fitted.
	mostInOne    = 20_000_000
	mostInAll    = 400_000_000
	mostMessages = 4_000_000
)

// room checks that there is memory for a spec's prompts. Otherwise a cell would end the
// whole run, and the engine's, when memory is used up.
func (s Spec) room() error {
	all, messages := 0, 0
	for series, n := range map[string]int{"warmup": s.Warmup, "measured": s.Requests} {
		for index := range n {
			one := s.Depth + s.SystemTokens
			for turn := range max(s.Turns, 1) {
				messages++
				if s.Data == nil {
					one += s.length(series, index, turn)
				}
				if one > mostInOne {
					return fmt.Errorf("a prompt of %d tokens or more with its context exceeds the limit of %d: use shorter prompts", one, mostInOne)
				}
				if messages > mostMessages {
					return fmt.Errorf("more than %d messages: use fewer requests or turns", mostMessages)
				}
			}
			if all += one; all > mostInAll {
				return fmt.Errorf("the %d prompts and %d for warm-up exceed the limit of %d tokens in total: use fewer requests, or shorter prompts", s.Requests, s.Warmup, mostInAll)
			}
		}
	}
	return nil
}
