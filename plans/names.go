package plans

import (
	"regexp"
	"sort"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
)

// identifier is the form of a name: what a rule can read as one word.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxName is the longest name, in characters.
const maxName = 64

// maxComparing bounds the work of one suggestion: names times characters
// squared. It is 2000 names of a misspelling of 11 characters.
const maxComparing = 250_000

// nameUse says where rules use a name.
type nameUse int

const (
	// inRules: as a path element.
	inRules nameUse = 1 << iota
	// firstInRules: as the first path element.
	firstInRules
)

// ruleWords have a meaning of their own in rules or in HCL.
var ruleWords = wordSet("and contains else endsWith false for if in let matches nil not null or startsWith true")

// ruleRoots begin an address that belongs to something else than a workload.
var ruleRoots = wordSet("gpu host engine command quality kernels knob levels target feature base root n stats")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// checkName checks a block's label as a name.
func (l *report) checkName(b *hcl.Block, label int, use nameUse) {
	name, at := b.Labels[label], b.LabelRanges[label]
	switch {
	case name == "":
		l.fail(at, "Missing name", "A %s needs a name between the quotes.", b.Type)
	case len(name) > maxName:
		l.fail(at, "Name too long", "A name has up to %d characters.", maxName)
	case identifier.MatchString(name):
		switch {
		case use&inRules != 0 && ruleWords[name]:
			l.fail(at, "Reserved name", "%q is a word of the rule language. Choose another name for this %s.", name, b.Type)
		case use&firstInRules != 0 && ruleRoots[name]:
			l.fail(at, "Reserved name", "In a rule, %q at the start of an address means something else. Choose another name for this %s.", name, b.Type)
		}
	case strings.Contains(name, "-"):
		l.fail(at, "Name is not an identifier", "A rule would read %q as a subtraction. Write %q.", name, strings.ReplaceAll(name, "-", "_"))
	case name[0] >= '0' && name[0] <= '9':
		l.fail(at, "Name is not an identifier", "A name cannot begin with a digit, since rules and references use it as one word. Write %q.", "_"+name)
	default:
		l.fail(at, "Name is not an identifier", "Rules and references use %q as one word, so it has letters, digits and underscores only.", name)
	}
}

// didYouMean is a sentence with the name closest to what was written, to be put
// behind a full stop; empty where none is close.
func didYouMean(given string, candidates []string) string {
	if best := Nearest(given, candidates); best != "" {
		return " Did you mean " + quoted(best) + "?"
	}
	return ""
}

// didYouMean is the same, but lists what there is where no name is close, and
// stops after many: comparing every word with every name takes its time.
func (l *report) didYouMean(given string, candidates []string) string {
	if len(candidates) == 0 || l.suggestions <= 0 {
		return ""
	}
	l.suggestions--
	if hint := didYouMean(given, candidates); hint != "" {
		return hint
	}
	const most = 12
	list := append([]string(nil), candidates...)
	sort.Strings(list)
	more := ""
	if len(list) > most {
		list, more = list[:most], ", …"
	}
	for i, s := range list {
		list[i] = quoted(s)
	}
	return " There is: " + strings.Join(list, ", ") + more + "."
}

// Nearest is the candidate that somebody who wrote given most likely meant; empty
// where none is close.
func Nearest(given string, candidates []string) string {
	if given == "" || len(given) > maxName || len(candidates)*len(given)*len(given) > maxComparing {
		return ""
	}
	best, least := "", 1+max(1, min(3, (len(given)+1)/3))
	for _, c := range candidates {
		if len(c) > len(given)+least || len(given) > len(c)+least {
			continue
		}
		d := levenshtein.Distance(strings.ToLower(given), strings.ToLower(c), nil)
		if d < least || (d == least && best != "" && c < best) {
			best, least = c, d
		}
	}
	return best
}

func quoted(s string) string { return `"` + s + `"` }

// keysOf are the keys of m, sorted.
func keysOf[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
