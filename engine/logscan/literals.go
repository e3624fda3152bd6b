package logscan

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxStates bounds the automaton's memory: 64 k states of up to 64 classes take 16 MiB.
// Patterns whose literals do not fit are tried on every line.
const maxStates = 1 << 16

// automaton finds which of many literals occur in a line, in one pass and ignoring ASCII
// case: the deterministic form of Aho and Corasick's trie (Efficient string matching,
// CACM 18(6), 1975), over classes of bytes. States are numbered so that those with
// something to report come last: a line without a hit costs only one comparison per byte.
type automaton struct {
	// class of each byte; 0 for all bytes that no literal contains.
	class [256]uint8
	shift uint
	// next state by state<<shift | class, itself shifted.
	next []uint32
	// hit is the first state that reports; reports[s>>shift - hit>>shift] are
	// the patterns.
	hit     uint32
	reports [][]int
	// foreign is the state after a byte outside ASCII: it reports nothing and
	// continues like the root.
	foreign uint32
}

// trie is the automaton while literals are being added.
type trie struct {
	class   [256]uint8
	classes int
	// children by class; state 0 is the root.
	children []map[uint8]int
	reports  [][]int
}

func newTrie() *trie {
	return &trie{classes: 2, children: []map[uint8]int{{}}, reports: [][]int{nil}}
}

// foreignClass is the class of all bytes outside ASCII.
const foreignClass = 1

// add makes literal, in lower-case ASCII, report pattern; false if it is empty or there
// is no room.
func (t *trie) add(literal string, pattern int) bool {
	if literal == "" || len(t.children)+len(literal) >= maxStates {
		return false
	}
	state := 0
	for i := range len(literal) {
		c := literal[i]
		if t.class[c] == 0 {
			t.class[c] = uint8(t.classes)
			t.classes++
		}
		to, ok := t.children[state][t.class[c]]
		if !ok {
			to = len(t.children)
			t.children = append(t.children, map[uint8]int{})
			t.reports = append(t.reports, nil)
			t.children[state][t.class[c]] = to
		}
		state = to
	}
	t.reports[state] = append(t.reports[state], pattern)
	return true
}

// compile builds the automaton. States are visited by depth, and each takes over the
// moves and reports of the longest proper suffix of its text.
func (t *trie) compile() *automaton {
	a := &automaton{class: t.class}
	for c := range 26 {
		a.class['A'+c] = a.class['a'+c]
	}
	for c := utf8.RuneSelf; c < 256; c++ {
		a.class[c] = foreignClass
	}
	for 1<<a.shift < t.classes {
		a.shift++
	}
	n := len(t.children)
	moves := make([][]int, n)
	suffix := make([]int, n)
	queue := []int{0}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		moves[s] = make([]int, t.classes)
		if s != 0 {
			copy(moves[s], moves[suffix[s]])
			t.reports[s] = append(t.reports[s], t.reports[suffix[s]]...)
		}
		for class, to := range t.children[s] {
			suffix[to] = moves[s][class] // where the suffix leads, or the root
			moves[s][class] = to
			queue = append(queue, to)
		}
	}
	return t.number(a, moves)
}

// number lays the states out: silent ones, the foreign one, those that report.
func (t *trie) number(a *automaton, moves [][]int) *automaton {
	place := make([]uint32, len(moves))
	count := uint32(0)
	for s := range moves {
		if len(t.reports[s]) == 0 {
			place[s] = count << a.shift
			count++
		}
	}
	a.foreign, a.hit = count<<a.shift, (count+1)<<a.shift
	count++
	for s := range moves {
		if len(t.reports[s]) > 0 {
			place[s] = count << a.shift
			a.reports = append(a.reports, t.reports[s])
			count++
		}
	}
	a.next = make([]uint32, int(count)<<a.shift)
	fill := func(at uint32, row []int) {
		for class, to := range row {
			a.next[at|uint32(class)] = place[to]
		}
		a.next[at|foreignClass] = a.foreign
	}
	for s, row := range moves {
		fill(place[s], row)
	}
	fill(a.foreign, moves[0])
	return a
}

// find calls report for each pattern with a literal in text, possibly more than once, and
// returns whether there are bytes outside ASCII.
func (a *automaton) find(text []byte, report func(pattern int)) (foreign bool) {
	next, s := a.next, uint32(0)
	for _, c := range text {
		s = next[s|uint32(a.class[c])]
		if s < a.foreign {
			continue
		}
		if s == a.foreign {
			foreign = true
			continue
		}
		for _, p := range a.reports[(s-a.hit)>>a.shift] {
			report(p)
		}
	}
	return foreign
}

const (
	// maxLiteral is how much of a literal is looked for: its beginning, since a text
	// without that lacks the whole.
	maxLiteral = 24
	// maxAlternatives bounds the literals of one expression.
	maxAlternatives = 64
)

// literalsOf are texts in lower-case ASCII, one of which is in the folded form of every
// line that the expression matches; nil if none can be derived, as for ^\d+$. Caseless
// means that the expression ignores case, so that a letter may also match one outside
// ASCII (s matches U+017F), which folding does not undo.
func literalsOf(expr string) (literals []string, caseless bool, err error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, false, err
	}
	re = re.Simplify()
	return required(re), ignoresCase(re), nil
}

// required is the rarest choice of literals, judged by the length of its shortest.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if run := asciiRun(string(re.Rune)); run != "" {
			return []string{run}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if l := required(sub); shortest(l) > shortest(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			l := required(sub)
			if l == nil || len(all)+len(l) > maxAlternatives {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest literal, 0 if there is none.
func shortest(literals []string) int {
	least := 0
	for i, l := range literals {
		if i == 0 || len(l) < least {
			least = len(l)
		}
	}
	return least
}

// asciiRun is the longest part of s without characters outside ASCII, in lower case: the
// rest would have to be folded like a line, which is not worth it.
func asciiRun(s string) string {
	best := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(run) > len(best) {
			best = run
		}
	}
	return strings.ToLower(best[:min(len(best), maxLiteral)])
}

func ignoresCase(re *syntax.Regexp) bool {
	if re.Flags&syntax.FoldCase != 0 {
		return true
	}
	return slices.ContainsFunc(re.Sub, ignoresCase)
}
