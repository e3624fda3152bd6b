package traffic

import (
	"errors"
	"fmt"
	"time"
)

// Select is which part of a trace is sent, and how.
type Select struct {
	// From and Duration are in the trace's own time; a Duration of 0 is all that follows.
	From, Duration time.Duration
	// Speed is how many times faster than recorded it is; 0 is 1.
	Speed float64
	// MaxPrompt is the length to which prompts are cut; 0 cuts none.
	MaxPrompt int
}

// Part is what is sent of a trace.
type Part struct {
	// Conversations have one request each, or the turns of a session, in order of arrival. Times are those of sending,
	// since the first.
	Conversations [][]Request
	Block         int
	// Requests is how many they have, Length the time from the first arrival to the last.
	Requests int
	Length   time.Duration
	// Prompt is how many tokens their prompts have, Output their answers, Shared those with which an earlier one
	// began; Longest is the longest prompt with its answer, and with the turns before it. Texts are not counted.
	Prompt, Output, Shared, Longest int
	// Cut is how many prompts were cut, and CutTokens what they lost.
	Cut, CutTokens int
	// Texts is how many prompts are sent as recorded, Chats how many only a chat can send, and Unanswered the line of
	// the first that does not say how long its answer is, 0 for none.
	Texts, Chats, Unanswered int
}

// Part selects what is sent.
func (t *Trace) Part(s Select) (*Part, error) {
	if s.Speed == 0 {
		s.Speed = 1
	}
	scaled := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) / s.Speed).Round(time.Microsecond)
	}
	p := &Part{Block: t.Block}
	sessions, seen := map[string]int{}, make(prefixes, t.blocks/2)
	first := time.Duration(-1)
	for _, one := range t.Requests {
		at, again := sessions[one.Session]
		again = again && one.Session != ""
		inside := one.At >= s.From && (s.Duration == 0 || one.At < s.From+s.Duration)
		if !again && !inside || again && s.Duration > 0 && one.At >= s.From+s.Duration {
			continue // of a session that began before, nothing is sent
		}
		if first < 0 {
			first = one.At
		}
		one.At, one.After = scaled(one.At-first), scaled(one.After)
		switch {
		case one.Prompt == 0:
			p.Texts++
			if one.System != "" || len(one.Before) > 0 {
				p.Chats++
			}
		case s.MaxPrompt > 0 && one.Prompt > s.MaxPrompt:
			p.Cut, p.CutTokens = p.Cut+1, p.CutTokens+one.Prompt-s.MaxPrompt
			one.Prompt = s.MaxPrompt
			if t.Block > 0 {
				one.Blocks = one.Blocks[:min(len(one.Blocks), (one.Prompt+t.Block-1)/t.Block)]
			}
		}
		if one.Output == 0 && p.Unanswered == 0 {
			p.Unanswered = one.Line
		}
		one.Shared = seen.add(one, t.Block)
		p.Requests++
		p.Length = max(p.Length, one.At)
		p.Prompt, p.Output, p.Shared = p.Prompt+one.Prompt, p.Output+one.Output, p.Shared+one.Shared
		length := one.Prompt + one.Output
		if again {
			if len(one.Blocks) == 0 {
				for _, before := range p.Conversations[at] {
					length += before.Prompt + before.Output
				}
			}
			p.Conversations[at] = append(p.Conversations[at], one)
		}
		if p.Longest = max(p.Longest, length); again {
			continue
		}
		sessions[one.Session] = len(p.Conversations)
		p.Conversations = append(p.Conversations, []Request{one})
	}
	switch {
	case p.Requests == 0:
		return nil, fmt.Errorf("none of its %d requests, which arrived within %s, is in this part: change from or "+
			"duration", len(t.Requests), t.Requests[len(t.Requests)-1].At)
	case p.Texts > 0 && s.MaxPrompt > 0:
		return nil, errors.New("prompts that are recorded as text cannot be cut: remove max_prompt_tokens")
	}
	return p, nil
}

// prefixes are the beginnings of prompts: how many tokens of a block the longest had, by all blocks up to it.
type prefixes map[uint64]int32

// add notes a prompt, and returns how many of its tokens an earlier one began with.
func (seen prefixes) add(one Request, block int) (shared int) {
	left, path, alike := one.Prompt, uint64(0), true
	for _, id := range one.Blocks {
		n := min(block, left)
		left -= n
		path = mix(path ^ mix(uint64(id)))
		had := int(seen[path])
		if alike {
			shared += min(n, had)
		}
		alike = alike && had >= n && n == block
		if n > had {
			seen[path] = int32(n)
		}
	}
	return shared
}

// mix is a bijection whose results look random (the finalizer of SplitMix64): two of a million paths are hardly ever
// taken for one.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
