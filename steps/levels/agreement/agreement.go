// Package agreement tests whether a candidate's measured answers come from its parent's
// model: the parent continues random positions of these answers and of its own, and must
// be shown to agree with both equally often, within a margin. The positions are drawn
// after the answers were given. It knows answers on record and a running parent;
// steps/session starts and measures.
package agreement

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/record"
)

// Part is where in an answer a position is.
type Part string

// First is the first token that is the answer's own: after what a good share of a cell's
// answers open with. The others are thirds of an answer.
const (
	First     Part = "first"
	Beginning Part = "beginning"
	Middle    Part = "middle"
	End       Part = "end"
	// Hidden counts answers that cannot be asked about (Answer.Starts), and Opening the tokens
	// before First, which are not asked about.
	Hidden, Opening Part = "hidden", "opening"
)

var parts = []Part{First, Beginning, Middle, End}

type Answer struct {
	Launch  string `json:"launch"`
	Cell    string `json:"cell"`
	Request int    `json:"request"`
	Turn    int    `json:"turn,omitempty"`
	// Prompt is what was sent, with the conversation before it.
	Prompt prompt.Prompt `json:"prompt"`
	Text   string        `json:"text"`
	// Starts are the offsets at which its tokens or words start; none if that is unknown.
	Starts []int `json:"starts"`
	// lead is white space that the parent's answers begin with and this one does not, as a
	// detokenizer may drop it: it precedes what the parent continues.
	lead string
	// Whole is set if no engine can be asked to continue it, Chat if only some can.
	Whole bool `json:"whole,omitempty"`
	Chat  bool `json:"chat,omitempty"`
	// Took is ms per token, from the send to the end.
	Took         float64 `json:"took"`
	PromptTokens int     `json:"prompt_tokens"`
	// Limit is the limit of its tokens that was sent.
	Limit        int `json:"limit"`
	OutputTokens int `json:"output_tokens"`
	// Counted is set if a tokenizer can count prompt and answer as the engine did: without
	// a template around them, or markers that are not shown.
	CountedPrompt bool `json:"counted_prompt,omitempty"`
	CountedAnswer bool `json:"counted_answer,omitempty"`
}

// Of are the answers of a launch whose prompts it kept.
func Of(from *store.Store, p *plans.Plan, l *ledger.Launch) (all []Answer, err error) {
	if l.Left[record.SentFile] == "" {
		return nil, nil // it was sent nothing that may be asked about
	}
	var sent record.SentPrompts
	if err := from.ReadArtifact(l, record.SentFile, &sent); err != nil {
		return nil, err
	}
	samples, err := from.ReadSamples(l)
	if err != nil {
		return nil, fmt.Errorf("the answers of launch %s: %w", l.ID, err)
	}
	type talk struct {
		cell  string
		index int
	}
	talks := map[talk][]measure.Sample{}
	for s := range measure.Answered(samples) {
		of := talk{s.Workload, s.Index}
		if s.Turn == len(talks[of]) {
			talks[of] = append(talks[of], s)
		}
	}
	for _, w := range p.Workloads {
		for _, cell := range w.Cells() {
			for _, s := range sent.Of(cell) {
				answers := talks[talk{s.Cell, s.Index}]
				for turn, a := range answers {
					r, ok := record.LoadPlan(w, cell).Turn(&s.Prompt, answers[:turn])
					one := Answer{
						Launch: l.ID, Cell: cell.Address, Request: s.Number, Turn: a.Turn,
						Text:         arrived(a, r.API == openai.Chat),
						Prompt:       prompt.Prompt{Text: r.Prompt, Before: r.Before, Extra: r.Extra},
						PromptTokens: a.PromptTokens, OutputTokens: a.OutputTokens, Limit: r.MaxTokens,
						Whole: r.API == openai.Chat && a.Reasoning != "" || a.Tools != "", Chat: r.API == openai.Chat,
						CountedPrompt: r.API != openai.Chat && a.Turn == 0,
						CountedAnswer: a.Reasoning+a.Tools == "" && a.TokenSource != measure.SourceEvents,
					}
					for _, e := range a.Events {
						if e.HasText() {
							one.Took = e.At.Seconds() * 1e3 / float64(max(a.OutputTokens, 1))
						}
					}
					if one.Starts = starts(one.Text, a); ok && one.Text != "" {
						all = append(all, one)
					}
				}
			}
		}
	}
	return all, nil
}

// arrived is the text of an answer in the order in which it came. A completion has no
// reasoning: a server that calls part of it that has it continued all the same.
func arrived(s measure.Sample, chat bool) string {
	if chat || s.Reasoning == "" {
		return s.Reasoning + s.Text + s.Tools
	}
	rest := map[bool]string{true: s.Reasoning, false: s.Text}
	var text strings.Builder
	for _, e := range s.Events {
		if e.Kind == measure.KindText || e.Kind == measure.KindReasoning || e.Kind == measure.KindBlank {
			of := e.Kind == measure.KindReasoning
			n := min(e.Bytes, len(rest[of]))
			text.WriteString(rest[of][:n])
			rest[of] = rest[of][n:]
		}
	}
	return text.String() + rest[true] + rest[false] + s.Tools
}

// starts are the offsets at which an engine can be asked to continue an answer: those of its
// events and of its words, so that what lies between two of them is short. What precedes white
// space is asked about it, too: a text that ends in white space is divided otherwise when it
// is sent back. None if it is not the text that came.
func starts(text string, s measure.Sample) (all []int) {
	at := 0
	cut := map[int]bool{}
	for _, e := range s.Events {
		if e.HasText() || e.Kind == measure.KindBlank {
			cut[at] = true
			at += e.Bytes
		}
	}
	if at != len(text) {
		return nil
	}
	last := 'x'
	for i, r := range text {
		if i == 0 || !unicode.IsSpace(last) && (cut[i] || unicode.IsSpace(r)) {
			all = append(all, i)
		}
		last = r
	}
	return all
}

// span is the text of a token: up to the start of the next.
func (a *Answer) span(token int) string {
	end := len(a.Text)
	if token+1 < len(a.Starts) {
		end = a.Starts[token+1]
	}
	return a.Text[a.Starts[token]:end]
}

const (
	// opening is the share of a cell's answers that make a common start their opening, and
	// fewOpen the least number of them; it has at most longOpening tokens.
	opening, fewOpen, longOpening = 0.25, 3, 32
	// recited is how much of a text around a position must stand elsewhere for what
	// follows to be known without computing: recitedBefore is how much of it precedes.
	recited, recitedBefore = 32, 24
)

// Position is a token of an answer: the one at Starts[Token].
type Position struct {
	Answer *Answer
	Token  int
	draw   *cellDraw
	// checked is set if the parent is asked whatever it scored, decoy if that stands in the
	// place of the token before.
	checked bool
	decoy   string
}

// positions lists the positions of one arm's answers to a cell, by part.
func positions(answers []*Answer) map[Part][]Position {
	open := map[string]int{}
	for _, a := range answers {
		for _, at := range a.Starts[:min(len(a.Starts), longOpening)] {
			open[a.Text[:at]]++
		}
	}
	all := map[Part][]Position{}
	for _, a := range answers {
		own := 0
		for i, at := range a.Starts[:min(len(a.Starts), longOpening)] {
			if n := open[a.Text[:at]]; n >= fewOpen && float64(n) >= opening*float64(len(answers)) {
				own = i
			}
		}
		for i := own; i < len(a.Starts); i++ {
			part := parts[1+3*i/len(a.Starts)]
			if i == own {
				part = First
			}
			all[part] = append(all[part], Position{Answer: a, Token: i})
		}
	}
	return all
}

// recitedIn reports whether the words around a position also occur in the prompt, earlier
// in the answer or in another one: then continuing them shows nothing.
func (p Position) recitedIn(answers []*Answer) bool {
	at := p.Answer.Starts[p.Token]
	text := p.Answer.Text
	from := max(0, min(at-recitedBefore, len(text)-recited))
	window := text[from:min(len(text), from+recited)]
	if len(window) < recited {
		return false
	}
	if strings.Contains(text[:from+recited-1], window) {
		return true
	}
	said := p.Answer.Prompt.Text
	for _, m := range p.Answer.Prompt.Before {
		said += "\n" + m.Content
	}
	if strings.Contains(said, window) {
		return true
	}
	for _, a := range answers {
		if a != p.Answer && strings.Contains(a.Text, window) {
			return true
		}
	}
	return false
}

// Probe is a position at which the parent was asked.
type Probe struct {
	Launch  string `json:"launch"`
	Cell    string `json:"cell"`
	Request int    `json:"request"`
	Turn    int    `json:"turn,omitempty"`
	Part    Part   `json:"part"`
	// At is the offset in the answer, Was the text that follows there, of which Span bytes are
	// compared, Is the parent's continuation. Both are without the white space that opens an
	// answer.
	At   int    `json:"at"`
	Span int    `json:"span"`
	Was  string `json:"was"`
	Is   string `json:"is"`
	// Unreached is set if the parent's answer differs from this one before it.
	Unreached bool `json:"unreached,omitempty"`
	// Recited is set if Was follows from text that occurs elsewhere, or if the parent
	// also says it when asked to continue only the few words before it.
	Recited bool `json:"recited,omitempty"`
	// Untold is set if the parent was not asked that.
	Untold bool `json:"untold,omitempty"`
	// Took is ms per token of the answer, Prompt the tokens of its prompt.
	Took   float64 `json:"took"`
	Prompt int     `json:"prompt"`
	scored bool
}

// Agrees reports whether the parent says the same, up to the next position.
func (l Probe) Agrees() bool {
	return l.Is != "" && len(l.Is) >= l.Span && strings.HasPrefix(l.Was, l.Is)
}

// Recount are the tokens of a request, as billed and as the parent's tokenizer counts
// them; 0 if unknown.
type Recount struct {
	Launch string         `json:"launch"`
	Cell   string         `json:"cell"`
	Prompt ledger.Recount `json:"prompt,omitzero"`
	Answer ledger.Recount `json:"answer,omitzero"`
}

// Probes is what a parent was asked about the launches of a session. It is an artifact of
// the launch that answered.
type Probes struct {
	store.Header
	// Launches lists the launches that it was asked about.
	Launches []string `json:"launches"`
	// All is how many positions there were to ask, by launch, cell and part.
	All   map[string]map[string]map[Part]int `json:"all"`
	Looks []Probe                            `json:"looks"`
	// Decoys are positions of candidates with another word before them.
	Decoys []Probe `json:"decoys,omitempty"`
	// Sampled are the cells whose answers were drawn at a temperature: the parent says what
	// is likeliest, so it need not often agree with itself.
	Sampled  []string  `json:"sampled,omitempty"`
	Recounts []Recount `json:"recounts,omitempty"`
}

// RecountsOf are the requests of some launches that were counted again; none of nil.
func (a *Probes) RecountsOf(launches []string) (some []Recount) {
	if a == nil {
		return nil
	}
	for _, c := range a.Recounts {
		if slices.Contains(launches, c.Launch) {
			some = append(some, c)
		}
	}
	return some
}

// File is where a launch keeps it, among its levels' artifacts.
const File = "agreement/asked.json"

// valid is the start of a text, cut where no character is.
func valid(text string, most int) string {
	for most < len(text) && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:min(most, len(text))]
}
