package answers

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
)

// Request tells the requests of a cell apart.
type Request struct{ Index, Turn int }

// Finding is a finding in the answers to a cell's prompts. Request, Sign and Excerpt, the
// start of the answer, belong to the answer concerned or to an example.
type Finding struct {
	Code               Code
	Cell               string
	Request            Request
	Sign               Sign
	Excerpt            string
	Count, Of, Reverse int
}

// Incoherent is Coherent for all measured answers: for each that does not read as text,
// its request, the sign and its start. It is for answers that end by themselves; Signs is
// for those forced on.
func Incoherent(samples []measure.Sample) (found []Finding) {
	for s := range measure.Answered(samples) {
		text := generatedText(s)
		if ok, why := Coherent(text); !ok {
			found = append(found, Finding{
				Code: Garbage, Cell: s.Workload, Request: Request{s.Index, s.Turn}, Sign: why,
				Excerpt: firstRunes(strings.TrimSpace(text), 40),
			})
		}
	}
	return found
}

// generatedText is everything that an engine generated for a request.
func generatedText(s measure.Sample) string { return s.Reasoning + s.Text + s.Tools }

// firstRunes is the start of a text as valid UTF-8, so it survives being written and read
// again.
func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), n)])
}

// Coherence is how a candidate's answers to prompts of one cell compare with the
// parent's to others of the same kind. All numbers are of answers.
type Coherence struct {
	Cell string
	// Of answers the candidate gave, Parents the parent.
	Of, Parents int
	// Garbage is the number of the candidate's answers that are garbage beyond the
	// parent's: one makes its speed worthless. Doubtful are those that are worse in a way
	// that so few cannot show to be more than chance.
	Garbage, Doubtful int
	// Why are the findings, with examples: the first five.
	Why []Finding
}

const (
	// sure is the chance below which a more frequent sign counts, doubted that below
	// which it is noted.
	sure, doubted = 1.0 / 64, 0.1
	// minShare is the share of answers by which soft signs must be more frequent to be
	// called garbage: a change of numerics affects how often a model loops by less.
	minShare = 0.25
	// longRun is how many bytes of one repeated character are more than a number or a
	// drawn line.
	longRun = 48
)

// Signs compares the answers of a candidate with its parent's to prompts of the same kind,
// cell by cell. Answers may be forced past their end, and what a sound engine says there
// is the model's affair. So nothing is held against the candidate that the parent does as
// well, as often. There are two kinds of evidence:
//
//   - hard signs, each of which counts for itself where no answer of the parent's has one,
//     and otherwise, or where some answers repeat themselves from the beginning, when they
//     are more frequent by more than chance (Fisher's exact test);
//   - soft signs (one word or character again and again, empty texts) of the other
//     answers, which count when they are more frequent than the parent's by more than
//     chance and by a quarter of all.
func Signs(parent, candidate []measure.Sample) (all []Coherence) {
	type arms struct{ parent, candidate []reply }
	cells, order := map[string]*arms{}, []string{}
	collect := func(samples []measure.Sample, into func(*arms) *[]reply) {
		seen := map[string]bool{}
		for s := range measure.Answered(samples) {
			if cells[s.Workload] == nil {
				cells[s.Workload], order = &arms{}, append(order, s.Workload)
			}
			// If a prompt is repeated, as those of a file are in every launch, the same
			// answer is no further evidence: greedy decoding repeats itself.
			text := generatedText(s)
			key := fmt.Sprintf("%q %q %d %s", s.Workload, cmp.Or(s.PromptSum, fmt.Sprint(s.Index)), s.Turn, text)
			if list := into(cells[s.Workload]); !seen[key] {
				seen[key] = true
				*list = append(*list, reply{Request{s.Index, s.Turn}, text, hard(text), soft(text)})
			}
		}
	}
	collect(parent, func(a *arms) *[]reply { return &a.parent })
	collect(candidate, func(a *arms) *[]reply { return &a.candidate })
	for _, cell := range order {
		all = append(all, compareSigns(cell, cells[cell].parent, cells[cell].candidate))
	}
	return all
}

// reply is one text with the signs that it shows.
type reply struct {
	to         Request
	text       string
	hard, soft Sign
}

// compareSigns compares the signs in the answers to a cell's prompts.
func compareSigns(cell string, parent, candidate []reply) Coherence {
	c := Coherence{Cell: cell, Of: len(candidate), Parents: len(parent)}
	if c.Of == 0 || c.Parents == 0 {
		return c
	}
	add := func(code Code, r reply, why Sign, f Finding) {
		if f.Code, f.Cell, f.Request, f.Sign = code, cell, r.to, why; len(c.Why) < 5 {
			f.Excerpt = firstRunes(strings.TrimSpace(r.text), 40)
			c.Why = append(c.Why, f)
		}
	}
	tally := func(all []reply) (bad, stuck int, circling []reply) {
		for _, r := range all {
			switch {
			case r.hard.Code != "":
				bad++
				if r.hard.Code == Repeated && len(r.text) >= longRun {
					stuck++
				}
			case r.soft.Code != "":
				circling = append(circling, r)
			}
		}
		return bad, stuck, circling
	}
	bad, stuck, circling := tally(candidate)
	theirBad, _, theirCircling := tally(parent)
	chance := stats.MoreOften(bad, c.Of, theirBad, c.Parents)
	for _, r := range candidate {
		// A small model that is forced on occasionally repeats one word or character: among
		// many answers, one is not a sign of broken numerics, nor are more if they are short.
		// NaNs come out as one token, for long and repeatedly.
		repeats := r.hard.Code == OneWord || r.hard.Code == Repeated
		switch {
		case r.hard.Code == "":
			continue
		case theirBad == 0 && (!repeats || stuck > 1 || bad == c.Of), chance <= sure:
			c.Garbage++
		case chance <= doubted:
			c.Doubtful++
		default:
			continue
		}
		add(Garbage, r, r.hard, Finding{})
	}
	k, of, theirs, ofTheirs := len(circling), c.Of-bad, len(theirCircling), c.Parents-theirBad
	if k == 0 || ofTheirs == 0 {
		return c
	}
	chance = stats.MoreOften(k, of, theirs, ofTheirs)
	surplus := float64(k)/float64(of) - float64(theirs)/float64(ofTheirs)
	n := int(math.Ceil(surplus * float64(of)))
	switch {
	case surplus >= minShare && chance <= sure, of >= 3 && surplus == 1:
		c.Garbage += n
	case surplus > 0 && (chance <= doubted || k == of):
		c.Doubtful += n
	default:
		return c
	}
	add(Circles, circling[0], circling[0].soft, Finding{Count: k, Of: of, Reverse: theirs})
	return c
}
