package measure

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A quarter of a cell's answers, and fewestSharing, must open alike for that to be an
// opening which can be sent uncomputed: fewer do so by chance, and do not move a median.
const (
	sharing       = 4
	fewestSharing = 3
)

// addOwn adds to each answer when its first token came that is its own: behind what it
// shares with a quarter of the others, in order of arrival and by visible text.
func addOwn(answers []answer) {
	type told struct {
		answer
		seen  string // all of it that is visible
		opens int    // bytes of that which are shared
	}
	var all []*told
	for _, a := range answers {
		if a.values != nil && tokensOf(*a.Sample).textEvents > 1 {
			raw, _ := a.arrived()
			all = append(all, &told{answer: a, seen: Visible(raw)})
		}
	}
	slices.SortFunc(all, func(a, b *told) int { return cmp.Compare(a.seen, b.seen) })
	least := max(fewestSharing, (len(all)+sharing-1)/sharing)
	var share func(group []*told)
	share = func(group []*told) {
		if len(group) < least {
			return
		}
		first, last, n := group[0].seen, group[len(group)-1].seen, 0
		for n < min(len(first), len(last)) && first[n] == last[n] {
			n++
		}
		next := func(t *told) string { return t.seen[n:min(n+1, len(t.seen))] }
		for _, t := range group {
			t.opens = n
		}
		for len(group) > 0 && first != last { // those that go on alike are together
			same := 1
			for same < len(group) && next(group[same]) == next(group[0]) {
				same++
			}
			share(group[:same])
			group = group[same:]
		}
	}
	share(all)
	for _, t := range all {
		t.values.add("ttft_own", ms(t.waited()+t.ownAt(t.opens)))
	}
}

// arrived is the text of an answer in order of arrival, and how much of it there was after
// each event.
func (s Sample) arrived() (text string, upTo []int) {
	rest := map[Kind]string{KindText: s.Text, KindReasoning: s.Reasoning, KindTool: s.Tools}
	for kind, text := range rest {
		for _, e := range s.Events {
			if e.Kind == kind {
				text = text[:max(0, len(text)-e.Bytes)]
			}
		}
		rest[kind] = rest[kind][len(text):] // what is left came in blank events
	}
	var b strings.Builder
	for _, e := range s.Events {
		if e.HasText() {
			n := min(e.Bytes, len(rest[e.Kind]))
			b.WriteString(rest[e.Kind][:n])
			rest[e.Kind] = rest[e.Kind][n:]
		}
		upTo = append(upTo, b.Len())
	}
	return b.String(), upTo
}

// ownAt is when the token came that has the first visible character behind so many bytes,
// the second token at the earliest; the last one if there is no such character.
func (s Sample) ownAt(opens int) time.Duration {
	steps := tokensOf(s).steps
	text, upTo := s.arrived()
	if opens == 0 {
		return steps[1].at // also if the text was not kept
	}
	for at, r := range text {
		if opens -= len(Visible(string(r))); opens >= 0 {
			continue
		}
		for i, e := range s.Events {
			if upTo[i] >= at+utf8.RuneLen(r) {
				return max(e.At, steps[1].at)
			}
		}
	}
	return steps[len(steps)-1].at
}
