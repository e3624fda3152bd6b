package answers

import (
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
)

// WorkCode names how the work of two arms differs.
type WorkCode string

const (
	// PromptText is bytes of prompt per token that the engine counted, differing from the
	// parent's; AnswerText is visible characters of answers.
	PromptText WorkCode = "prompt-text"
	AnswerText WorkCode = "answer-text"
	// PromptCount and AnswerCount are tokens billed by the engine per token that its
	// parent's tokenizer counts in the same text, differing from the parent's.
	PromptCount WorkCode = "prompt-count"
	AnswerCount WorkCode = "answer-count"
)

// WorkDifference is how the candidate's answers to a cell differ from the parent's.
type WorkDifference struct {
	Code WorkCode
	Cell string
	// Parent and Candidate are means: bytes, characters or tokens per token.
	Parent, Candidate float64
}

const (
	// chance is how likely such a difference may be if there is none, for each of a few
	// comparisons: 4 standard errors of many answers.
	chance = 1.0 / 16_000
	// minText is the share by which the text per token must differ. Answers of one model
	// on the same kind of prompts agree within 1% over a few dozen; a tenth of an answer
	// claimed but never sent is a difference of 10%.
	minText = 0.05
	// minShared is the same for prompts behind a system prompt: all of a launch share its text, so a few
	// launches differ by it, and where lengths were not verified it has not the tokens asked for.
	minShared = 0.15
	// minCount is the same for answers counted by one tokenizer, which allows for text
	// that it would split differently.
	minCount = 0.02
	// minVisible is the same for visible text beside such a count, which also counts white
	// space: half of the tokens, but not text of another kind.
	minVisible = 0.3
	// Fewest is how many answers of an arm are needed.
	Fewest = 4
)

type Arm struct {
	// Samples are those of all its launches.
	Samples []measure.Sample
	// Counted are some of them, counted again.
	Counted []Counted
}

// Counted is the tokens of a request in a cell, counted again by the parent's tokenizer.
type Counted struct {
	Cell           string
	Prompt, Answer Count
}

// Count is the tokens of one text: as billed by the engine that received or generated it,
// and as counted by the parent's tokenizer, which is 0 if unknown.
type Count struct {
	Billed, Counted int
}

// CompareWork compares the work that two arms did with the work that they report, cell by
// cell; few are the cells with too few answers to compare. Prompts may share a system prompt. Its
// evidence is the text sent and received, which the engine under test does not count.
func CompareWork(parent, candidate Arm, system bool) (found []WorkDifference, few []string) {
	least := minText
	if system {
		least = minShared
	}
	theirs, ours := byWorkload(parent.Samples), byWorkload(candidate.Samples)
	for _, cell := range slices.Sorted(maps.Keys(ours)) {
		if len(theirs[cell]) < Fewest || len(ours[cell]) < Fewest {
			few = append(few, cell)
			continue
		}
		// compare compares means of ratios, if they are known of enough answers.
		compare := func(code WorkCode, least float64, a, b []float64) (known bool) {
			if len(a) < Fewest || len(b) < Fewest {
				return false
			}
			base, baseErr := stats.ArithmeticMean(a)
			own, ownErr := stats.ArithmeticMean(b)
			if baseErr != nil || ownErr != nil {
				return false
			}
			d := WorkDifference{Code: code, Cell: cell, Parent: base, Candidate: own}
			if far := math.Abs(d.Parent - d.Candidate); far > 0 && far >= least*max(d.Parent, d.Candidate) &&
				differ(a, b) {
				found = append(found, d)
			}
			return true
		}
		again := func(arm Arm, count func(Counted) Count) (ratios []float64) {
			for _, c := range arm.Counted {
				if n := count(c); c.Cell == cell && n.Billed > 0 && n.Counted > 0 {
					ratios = append(ratios, float64(n.Billed)/float64(n.Counted))
				}
			}
			return ratios
		}
		ratios := func(samples []measure.Sample, each func(measure.Sample) (part, tokens int)) (all []float64) {
			for _, s := range samples {
				if part, tokens := each(s); tokens > 0 {
					all = append(all, float64(part)/float64(tokens))
				}
			}
			return all
		}
		// A tokenizer's count is more certain than how much text a token covers, and does
		// not depend on the kind of text. Prompts of all launches are drawn from one
		// distribution, so an engine that counts differently counts tokens that do not exist.
		prompt := func(c Counted) Count { return c.Prompt }
		if !compare(PromptCount, minText, again(parent, prompt), again(candidate, prompt)) {
			bytes := func(s measure.Sample) (int, int) {
				if s.PromptBytes == 0 || s.Turn > 0 {
					return 0, 0
				}
				return s.PromptBytes, s.PromptTokens
			}
			compare(PromptText, least, ratios(theirs[cell], bytes), ratios(ours[cell], bytes))
		}
		// White space can be sent without computing anything, and code and tables have as
		// much of it in both arms. Counts are only those of the engine that gives the answer,
		// and text only what arrived: tokens claimed but not sent, or sent in pieces, show.
		answer, visibly := func(c Counted) Count { return c.Answer }, minText
		if compare(AnswerCount, minCount, again(parent, answer), again(candidate, answer)) {
			visibly = minVisible
		}
		// A detokenizer may write an accent as a character of its own.
		visible := func(s measure.Sample) (int, int) {
			if s.TokenSource == measure.SourceEvents {
				return 0, 0
			}
			return utf8.RuneCountInString(measure.Visible(norm.NFC.String(generatedText(s)))), s.OutputTokens
		}
		compare(AnswerText, visibly, ratios(theirs[cell], visible), ratios(ours[cell], visible))
	}
	return found, few
}

// differ reports whether means differ by more than chance. Values that do not vary at all
// differ if their means do.
func differ(a, b []float64) bool {
	d, err := stats.Differ(a, b, false, false)
	if err != nil {
		return true // a ratio that is no number
	}
	return !d.Bounded && d.Estimate != 0 || d.Bounded && d.P() < chance
}

func byWorkload(samples []measure.Sample) map[string][]measure.Sample {
	cells := map[string][]measure.Sample{}
	for s := range measure.Answered(samples) {
		cells[s.Workload] = append(cells[s.Workload], s)
	}
	return cells
}
