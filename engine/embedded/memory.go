package embedded

import "slices"

// contextSlots is how many tokens of context the residual stream carries: the
// current one and two before it.
const contextSlots = 3

// noToken stands where there is none.
const noToken = token(-1)

// cell is one thing to remember: after context (oldest token first) comes
// next. Cells of shorter contexts fire as well, so a cell also cancels what
// they would have said: its neuron writes code(next) - code(cancel).
type cell struct {
	context      []token
	next, cancel token
}

// last is the token whose expert holds the cell.
func (c cell) last() token { return c.context[len(c.context)-1] }

// planMemory lists the cells that make streams predictable from up to three
// tokens of context: for every context the most frequent successor, the
// earliest on a tie, unless a shorter context already says the same. Short
// contexts come first, so that whatever a truncated memory drops leaves a
// working fallback behind.
func planMemory(streams [][]token) []cell {
	var cells []cell
	said := map[[contextSlots]token]token{}
	for length := 1; length <= contextSlots; length++ {
		contexts, successors := tally(streams, length)
		for _, key := range contexts {
			next := mostFrequent(successors[key])
			cancel := predict(said, key[contextSlots-length+1:])
			if next == cancel {
				continue
			}
			said[key] = next
			context := slices.Clone(key[contextSlots-length:])
			cells = append(cells, cell{context: context, next: next, cancel: cancel})
		}
	}
	return cells
}

// contextKey right-aligns up to three tokens, padding with noToken.
func contextKey(context []token) [contextSlots]token {
	key := [contextSlots]token{noToken, noToken, noToken}
	n := min(len(context), contextSlots)
	copy(key[contextSlots-n:], context[len(context)-n:])
	return key
}

// predict is what the longest remembered suffix of context says.
func predict(said map[[contextSlots]token]token, context []token) token {
	for n := len(context); n > 0; n-- {
		if next, ok := said[contextKey(context[len(context)-n:])]; ok {
			return next
		}
	}
	return noToken
}

// tally collects what follows each context of a length, contexts in order of
// first appearance.
func tally(streams [][]token, length int) (contexts [][contextSlots]token, successors map[[contextSlots]token][]token) {
	successors = map[[contextSlots]token][]token{}
	for _, stream := range streams {
		for end := length; end < len(stream); end++ {
			key := contextKey(stream[end-length : end])
			if _, seen := successors[key]; !seen {
				contexts = append(contexts, key)
			}
			successors[key] = append(successors[key], stream[end])
		}
	}
	return contexts, successors
}

func mostFrequent(tokens []token) token {
	best, bestCount := noToken, 0
	counts := map[token]int{}
	for _, t := range tokens {
		counts[t]++
	}
	for _, t := range tokens { // in order, so that the earliest wins a tie
		if counts[t] > bestCount {
			best, bestCount = t, counts[t]
		}
	}
	return best
}

// placeExperts gives each token a home expert, so that every expert holds
// about the same number of cells: tokens with many cells first, each to the
// expert with the fewest so far.
func placeExperts(cells []cell, vocabulary, experts int) []int {
	need := make([]int, vocabulary)
	for _, c := range cells {
		need[c.last()]++
	}
	order := make([]token, vocabulary)
	for t := range order {
		order[t] = token(t)
	}
	slices.SortStableFunc(order, func(a, b token) int { return need[b] - need[a] })
	home, load := make([]int, vocabulary), make([]int, experts)
	for _, t := range order {
		lightest := 0
		for e := range load {
			if load[e] < load[lightest] {
				lightest = e
			}
		}
		home[t] = lightest
		load[lightest] += max(need[t], 1)
	}
	return home
}
