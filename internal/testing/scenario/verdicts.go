package scenario

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// VerdictsFile holds what every scenario, example and lie of a server came to when it was
// frozen: exit statuses, launches, and of each decision the verdict with the codes and
// values of its reasons, but no sentence. A redesign has to decide the same.
//
// A line is a key and words, of which name=* stands for any value and … for any rest: what
// differs between two runs of the same code. MXFLOW_TEST_VERDICTS=compare compares, as
// CI does, and a case of which nothing is frozen differs; =record adds what is not in the
// file yet, and frees what differs. What is to be frozen anew is deleted from the file first.
const VerdictsFile = "cmd/mxflow/testdata/verdicts.golden"

// verdictFacts are words by key: "apply_pass .mxflow/1 feature.gemm".
type verdictFacts map[string][]string

var frozen = struct {
	sync.Mutex
	read   sync.Once
	wanted verdictFacts
	err    error
}{}

// CheckVerdicts compares the ledgers below dir with what is frozen for this case, and
// returns one line for each difference.
func CheckVerdicts(name, dir string) ([]string, error) {
	mode := os.Getenv("MXFLOW_TEST_VERDICTS")
	switch mode {
	case "":
		return nil, nil
	case "compare", "record":
	default:
		return nil, fmt.Errorf("MXFLOW_TEST_VERDICTS is %q: set compare or record", mode)
	}
	got, err := readFacts(name, dir)
	if err != nil {
		return nil, err
	}
	frozen.Lock()
	defer frozen.Unlock()
	frozen.read.Do(func() { frozen.wanted, frozen.err = Verdicts() })
	if frozen.err != nil {
		return nil, frozen.err
	}
	if mode == "record" {
		for key, words := range got {
			if old, is := frozen.wanted[key]; is {
				words = merge(old, words)
			}
			frozen.wanted[key] = words
		}
		return nil, writeFrozen(frozen.wanted)
	}
	states := map[string]bool{}
	for key := range got {
		states[stateOf(key)] = true
	}
	shorter := os.Getenv("MXFLOW_TEST_LONG") == "" && hasLongPart(name)
	var differ []string
	known := false
	for key, want := range frozen.wanted {
		if CaseOf(key) != name {
			continue
		}
		known = true
		if shorter && !states[stateOf(key)] {
			continue // of the part that is left out
		}
		if !sameFacts(want, got[key]) {
			differ = append(differ,
				fmt.Sprintf("%s\n\twas %s\n\tis  %s", key, strings.Join(want, " "), strings.Join(got[key], " ")))
		}
	}
	if !known && len(got) > 0 {
		differ = append(differ, name+" decides something, and nothing of it is frozen: record it")
	}
	slices.Sort(differ)
	return differ, nil
}

// hasLongPart reports whether a scenario leaves a part out by default.
func hasLongPart(name string) bool {
	text, err := os.ReadFile(Path(name))
	return err == nil && strings.Contains(string(text), "[!long]")
}

// CaseOf is the scenario, example or cheat of a key.
func CaseOf(key string) string {
	name, _, _ := strings.Cut(key, " ")
	return name
}

// stateOf is the case and the state directory of a key.
func stateOf(key string) string {
	words := strings.Fields(key)
	return words[0] + " " + path.Dir(words[1])
}

// merge returns what two runs of one case have in common.
func merge(a, b []string) (common []string) {
	for i, word := range a {
		switch {
		case word == "…" || i >= len(b):
			return append(common, "…")
		case word == b[i]:
		case starred(word) == starred(b[i]):
			word = starred(word)
		default:
			return append(common, "…")
		}
		common = append(common, word)
	}
	if len(b) > len(a) {
		common = append(common, "…")
	}
	return common
}

// starred is a value's word for any value: "name=*".
func starred(word string) string {
	if name, _, named := strings.Cut(word, "="); named {
		return name + "=*"
	}
	return word
}

func sameFacts(want, got []string) bool {
	for i, word := range want {
		if word == "…" {
			return true
		}
		if i >= len(got) || word != got[i] && word != starred(got[i]) {
			return false
		}
	}
	return len(got) == len(want)
}

// readFacts reads the ledgers below dir, in the order in which they were begun: the folders
// of `mxflow ab` have digests as names. One that is damaged, as some scenarios want it, has
// no facts.
func readFacts(name, dir string) (verdictFacts, error) {
	type state struct {
		place string
		at    *ledger.Index
		begun time.Time
	}
	var states []state
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "ledger" || !d.Type().IsRegular() {
			if d != nil && d.Name() == ".tmp" {
				return fs.SkipDir // of workers, whose launches the ledger has
			}
			return nil // a folder that the scenario made unreadable
		}
		at, err := ledger.Read(file)
		if err != nil {
			return nil
		}
		place, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		for _, first := range at.Records {
			states = append(states,
				state{abFolder.ReplaceAllString(filepath.ToSlash(place), ".mxflow-ab/*/"), at, first.Time})
			break
		}
		return nil
	})
	slices.SortStableFunc(states, func(a, b state) int { return a.begun.Compare(b.begun) })
	found, seen := verdictFacts{}, map[string]int{}
	for _, s := range states {
		if seen[s.place]++; seen[s.place] > 1 {
			s.place += fmt.Sprintf("#%d", seen[s.place])
		}
		found.add(name+" "+s.place, s.at)
	}
	if measured(dir) { // and what was measured is another number each time
		for key, words := range found {
			for i, word := range words {
				if aNumber.MatchString(word) && !strings.HasPrefix(word, "wanted=") {
					words[i] = starred(word)
				}
			}
			notes := strings.HasSuffix(key, ".benchmark") && words[0] == string(verdict.Pass)
			if from := slices.Index(words, "("); from > 0 && (notes || strings.HasPrefix(name, "cheats/")) {
				found[key] = append(words[:from], "…") // TestCheats has the reasons that count
			}
		}
	}
	return found, err
}

// abFolder is where `mxflow ab` keeps one question: its name is a digest.
var abFolder = regexp.MustCompile(`\.mxflow-ab/[^/]*/`)

// aNumber is a value that is a number or a span of numbers, and how many launches there
// were, but for those that a plan's levels ask for.
var aNumber = regexp.MustCompile(`^(benchmark:[^=]*|[a-z0-9_]+)=-?[0-9][-+.e0-9]*$`)

// add adds what a ledger says by run, counted from 1. One that was killed or interrupted
// counts with the next that came to an end: how far it got is chance.
func (f verdictFacts) add(prefix string, at *ledger.Index) {
	runs, ended, broken, launches := map[string]int{}, 0, false, map[string]int{}
	for _, r := range at.Records {
		if runs[r.Run] == 0 { // a waiver belongs to the run that it is about
			runs[r.Run] = ended + 1
		}
		run := fmt.Sprintf("%s/%d ", prefix, runs[r.Run])
		switch {
		case r.Launch != nil:
			launches[oneWord(r.Launch.Purpose+":"+r.Launch.Variant)]++
		case r.Decision != nil:
			f[run+r.Decision.Node] = ofDecision(r.Decision)
		case r.End != nil && (r.End.Exit < 0 || r.End.Exit == verdict.ExitInterrupted):
			broken = true
		case r.End != nil:
			f[run+"exit"] = []string{strconv.Itoa(r.End.Exit)}
			for node, why := range r.End.Locked {
				f[run+node] = append([]string{"locked"}, ofReasons([]verdict.Reason{why})...)
			}
			for _, what := range slices.Sorted(maps.Keys(launches)) {
				if !broken {
					f[run+"launches"] = append(f[run+"launches"], fmt.Sprintf("%s=%d", what, launches[what]))
				}
			}
			ended, broken = ended+1, false
			clear(launches)
		}
	}
}

func ofDecision(d *ledger.Decision) (words []string) {
	words = append(words, string(d.Verdict))
	if d.Accepted {
		words = append(words, "accepted")
	}
	for _, l := range d.Levels {
		words = append(words, "level:"+oneWord(l.Name)+":"+string(l.Verdict))
	}
	for _, r := range d.Rules {
		words = append(words, r.Role+":"+oneWord(r.Name)+":"+string(r.Verdict))
	}
	if d.Hypothesis != nil {
		words = append(words, "hypothesis:"+cmp.Or(d.Hypothesis.Outcome, "none"))
	}
	return append(words, ofReasons(d.Why())...)
}

// ofReasons writes a tree of reasons as words: "( code on=subject is=verdict name=value ( … ) )".
// How soon a test was clear is the noise's, and in which words answers differ the engine's.
func ofReasons(reasons []verdict.Reason) (words []string) {
	for i, r := range reasons {
		kind, _, _ := strings.Cut(string(r.Kind), ".")
		if kind == "test" || kind == "range" || kind == "quality" {
			if i == 0 || !strings.HasPrefix(string(reasons[i-1].Kind), kind+".") {
				words = append(words, "(", kind, ")")
			}
			continue
		}
		words = append(words, "(", string(r.Kind))
		if r.Subject != "" {
			words = append(words, "on="+oneWord(r.Subject))
		}
		if r.Verdict != "" {
			words = append(words, "is="+string(r.Verdict))
		}
		for _, name := range slices.Sorted(maps.Keys(r.Values)) {
			v := r.Values[name]
			text := v.Text + strings.Join(v.List, ",")
			for _, x := range v.Numbers {
				text += fmt.Sprintf(",%g", x)
			}
			if v.Number != nil {
				text = strconv.FormatFloat(*v.Number, 'g', -1, 64)
			}
			if v.To != nil {
				text += ".." + strconv.FormatFloat(*v.To, 'g', -1, 64)
			}
			words = append(words, name+"="+oneWord(text))
		}
		words = append(append(words, ofReasons(r.Causes)...), ")")
	}
	return words
}

// anID is that of a session or of a launch by itself, which is a digest.
var anID = regexp.MustCompile(`\b([a-z])-[0-9a-f]{10}`)

// oneWord is a text without white space and IDs, or * for a sentence.
func oneWord(text string) string {
	words := strings.Fields(text)
	if len(words) > 4 {
		return "*"
	}
	return anID.ReplaceAllString(strings.Join(words, "_"), "$1-*")
}

// Verdicts are what is frozen, by key.
func Verdicts() (verdictFacts, error) {
	text, err := os.ReadFile(filepath.Join(root(), VerdictsFile))
	if err != nil {
		return nil, err
	}
	wanted := verdictFacts{}
	for line := range strings.Lines(string(text)) {
		key, words, is := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !is {
			return nil, fmt.Errorf("%s has a line without a tab: %q", VerdictsFile, line)
		}
		wanted[key] = strings.Fields(words)
	}
	return wanted, nil
}

func writeFrozen(f verdictFacts) error {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%s\t%s\n", key, strings.Join(f[key], " "))
	}
	return os.WriteFile(filepath.Join(root(), VerdictsFile), []byte(b.String()), 0o644)
}
