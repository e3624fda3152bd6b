package lang

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// identifier is the form of a name: what a rule can read as one word.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxName is the longest name, in characters.
const maxName = 64

type NameUse int

const (
	// InRules: as a path element.
	InRules NameUse = 1 << iota
	// FirstInRules: as the first path element.
	FirstInRules
)

// ruleWords have a meaning of their own in rules or in HCL.
var ruleWords = WordSet("and contains else endsWith false for if in let matches nil not null or startsWith true")

// ruleRoots begin an address that belongs to something other than a workload.
var ruleRoots = WordSet("gpu host engine command quality kernels knob levels target feature base root n stats")

func WordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// CheckName checks a block's label as a name.
func (l *Report) CheckName(b *hcl.Block, label int, use NameUse) {
	name, at := b.Labels[label], b.LabelRanges[label]
	switch {
	case name == "":
		l.Fail(at, "invalid-name", "Missing name", "A %s needs a name in the quotes.", b.Type)
	case len(name) > maxName:
		l.Fail(at, "invalid-name", "Name too long", "A name may have up to %d characters.", maxName)
	case identifier.MatchString(name):
		switch {
		case use&InRules != 0 && ruleWords[name]:
			l.Fail(at, "invalid-name", "Reserved name",
				"%q is a word of the rule language. Choose another name for this %s.", name, b.Type)
		case use&FirstInRules != 0 && ruleRoots[name]:
			l.Fail(at, "invalid-name", "Reserved name",
				"%q has a meaning of its own at the start of a rule's address. Choose another name for this %s.", name,
				b.Type)
		}
	case strings.Contains(name, "-"):
		l.Fail(at, "invalid-name", "Name is not an identifier", "A rule would read %q as a subtraction. Write %q.",
			name, strings.ReplaceAll(name, "-", "_"))
	case name[0] >= '0' && name[0] <= '9':
		l.Fail(at, "invalid-name", "Name is not an identifier",
			"A name cannot start with a digit, because rules and references use it as an identifier. Write %q.",
			"_"+name)
	default:
		l.Fail(at, "invalid-name", "Name is not an identifier",
			"Rules and references use %q as an identifier, so it may only have letters, digits and underscores.", name)
	}
}

// Duplicate reports a block whose name another block of its type already has here, and
// whether it does; lines holds the blocks so far.
func (l *Report) Duplicate(lines map[string]int, b *hcl.Block, label int) bool {
	name := b.Labels[label]
	if line := lines[name]; line > 0 {
		l.Fail(b.LabelRanges[label], "duplicate-name", "Duplicate "+b.Type,
			"The %s %q is already declared on line %d. Rename or remove one.", b.Type, name, line)
		return true
	}
	lines[name] = b.DefRange.Start.Line
	return false
}

// DidYouMean is a sentence with the name closest to the given one, to follow a full stop;
// empty if none is close.
func DidYouMean(given string, candidates []string) string {
	if best := Nearest(given, candidates); best != "" {
		return " Did you mean " + Quoted(best) + "?"
	}
	return ""
}

// Suggest is DidYouMean that lists the candidates if no name is close.
func Suggest(given string, candidates []string) string {
	if hint := DidYouMean(given, candidates); hint != "" || len(candidates) == 0 {
		return hint
	}
	const most = 12
	var list []string
	for _, name := range slices.Sorted(slices.Values(candidates)) {
		list = append(list, Quoted(name))
	}
	more := ""
	if len(list) > most {
		list, more = list[:most], ", …"
	}
	return " Available: " + strings.Join(list, ", ") + more + "."
}

func (l *Report) DidYouMean(given string, candidates []string) string {
	return Suggest(given, candidates)
}

// Nearest is the candidate that was most likely meant by given; empty if none is close.
func Nearest(given string, candidates []string) string {
	if given == "" {
		return ""
	}
	best, least := "", 1+max(1, min(3, (len(given)+1)/3))
	for _, c := range candidates {
		if len(c) > len(given)+least || len(given) > len(c)+least {
			continue
		}
		d := distance(strings.ToLower(given), strings.ToLower(c))
		if d < least || (d == least && best != "" && c < best) {
			best, least = c, d
		}
	}
	return best
}

// distance counts the letters that were left out, added, mistaken or swapped with their neighbour.
func distance(given, meant string) int {
	a, b := []rune(given), []rune(meant)
	var before, above []int // the rows of one and two letters of given less
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			mistaken := above[j]
			if a[i] != b[j] {
				mistaken++
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, mistaken)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

func Quoted(s string) string { return `"` + s + `"` }

func KeysOf[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

func OrDefault(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func OrNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
