package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mxflow/mxflow/engine/load/traffic"
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
	// Trace has the lengths of all prompts and answers, and what prompts share.
	Trace *traffic.Part
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
	for _, l := range []*Lengths{s.Lengths, s.Outputs} {
		if l == nil {
			continue
		}
		known := slices.Contains([]string{Uniform, Normal, Lognormal}, l.Distribution)
		if !known || l.Min < 1 || l.Max < l.Min || !(l.Mean >= 0 && l.Std >= 0) {
			return fmt.Errorf("lengths cannot be drawn: %+v", *l)
		}
	}
	if s.Requests < 0 || s.Warmup < 0 || s.Depth < 0 || s.SystemTokens < 0 ||
		s.Data == nil && s.longest() < 1 && s.Trace == nil {
		return fmt.Errorf("invalid lengths or counts: %d prompt tokens, %d of context, %d of system prompt, %d "+
			"prompts and %d for warm-up",
			s.Tokens, s.Depth, s.SystemTokens, s.Requests, s.Warmup)
	}
	if s.Data != nil {
		return s.Data.enough(*s)
	}
	if s.Trace != nil && s.Trace.Prompt > mostTokens {
		return fmt.Errorf("its %d prompts have %d tokens, more than the limit of %d: send a shorter part, or cut "+
			"prompts with max_prompt_tokens", s.Trace.Requests, s.Trace.Prompt, mostTokens)
	}
	// All are made before the first is sent, so making them takes no measured time.
	n, each := s.Warmup+s.Requests, float64(s.Tokens)
	if s.Lengths != nil {
		each = max(s.Lengths.Mean, float64(s.Lengths.Min))
		if s.Lengths.Distribution == Uniform {
			each = float64(s.Lengths.Min+s.Lengths.Max) / 2
		}
	}
	if one := float64(s.Depth+s.SystemTokens) + float64(s.Turns)*max(each, minSize); float64(n)*one > mostTokens {
		return fmt.Errorf("%d prompts and warm-ups of about %.0f tokens exceed the limit of %d in total: "+
			"use fewer requests, or shorter prompts", n, one, mostTokens)
	}
	return nil
}

const (
	// mostTokens limits those of all prompts of a cell, for which a token takes about five
	// bytes of memory, and as many as minSize tokens whatever a message's length: a cell
	// that used up memory would end the whole run, and the engine's.
	mostTokens = 400_000_000
	minSize    = 100
	// longestDecoy is how long a text is on which words are seen to add up, of a trace with longer ones.
	longestDecoy = 4096
)

const (
	Uniform   = "uniform"
	Normal    = "normal"
	Lognormal = "lognormal"
)

// Lengths draws numbers of tokens, from 1 ≤ Min to Max.
type Lengths struct {
	// Distribution is Uniform (Min to Max equally likely), Normal or Lognormal (with Mean
	// and Std of the length itself, not of its logarithm). Values outside Min to Max are
	// moved to the nearer end.
	Distribution string
	Min, Max     int
	Mean, Std    float64
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
		// The logarithm is normal with variance v and mean m, so the mean of
		// the length is exp(m+v/2) and its variance (exp(v)-1)·exp(2m+v).
		v := math.Log1p(l.Std / l.Mean * (l.Std / l.Mean))
		x = math.Exp(math.Log(l.Mean) - v/2 + math.Sqrt(v)*r.NormFloat64())
	}
	return int(math.Round(min(max(x, float64(l.Min)), float64(l.Max))))
}

// length is the number of tokens of a prompt.
func (s Spec) length(series string, index, turn int) int {
	if s.Lengths == nil {
		return s.Tokens
	}
	return s.Lengths.at(s.Seed, "prompt", series, index, turn)
}

// longest is the maximum of tokens per prompt.
func (s Spec) longest() int {
	if s.Trace != nil {
		return min(s.Trace.Longest, longestDecoy)
	}
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
