package record

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/load/work"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// mark keeps of each prompt what its answer is held against later: how much text it
// is, how it is told from others, and how much of it came back. The prompts
// themselves are drawn again from their seed.
func mark(samples []measure.Sample, sent prompt.Prompts) {
	for i := range samples {
		s := &samples[i]
		all := sent.Measured
		if s.Warmup {
			all = sent.Warmup
		}
		if s.Index >= len(all) || s.Turn > 0 || s.Context {
			continue
		}
		p := all[s.Index]
		digest := sha256.New()
		texts := []string{p.System, p.Context}
		for _, m := range p.Before {
			texts = append(texts, m.Content)
		}
		for _, text := range append(texts, p.Text) {
			s.PromptBytes += len(text)
			_, _ = io.WriteString(digest, text) // a hash takes everything
		}
		if len(p.IDs) > 0 || len(p.ContextIDs) > 0 {
			continue
		}
		s.PromptSum = hex.EncodeToString(digest.Sum(nil)[:8])
		if p.System != "" {
			s.PromptBytes = 0 // one text in all prompts of a launch: another has another
		}
		s.EchoedBytes = work.Echo(p.Text, s.Reasoning+s.Text)
	}
}

// fastShare of the answers may come faster than a stream can be: a client that was
// not read to for a moment finds several events at once.
const fastShare = 0.1

// worked looks for answers that were not computed.
func (r *recording) worked(c sentCell) {
	most := r.Kind.MostEvents()
	if f := work.TooFast(c.samples, most); float64(f.Requests) > fastShare*float64(f.Of) {
		r.invalid(c.fact(code.TooFast, verdict.Int("requests", f.Requests), verdict.Int("of", f.Of),
			verdict.Num("highest", f.Highest, "events/s"), verdict.Num("most", most, "events/s")))
	}
}

var workFound = map[work.Code]code.Code{
	work.PromptText: code.PromptText, work.AnswerText: code.AnswerText, work.PromptCount: code.PromptCount, work.AnswerCount: code.AnswerCount, work.Same: code.SameAnswer, work.Echoed: code.Echoed,
}

// WorkOf is what two arms differ in that were to do the same work.
func WorkOf(f work.Finding, one, other string) verdict.Reason {
	unit := "bytes"
	switch f.Code {
	case work.Same, work.Echoed:
		unit = "share"
	case work.PromptCount, work.AnswerCount:
		unit = "count"
	}
	return verdict.New(workFound[f.Code], verdict.Text("one", one), verdict.Num("value", f.Candidate, unit),
		verdict.Text("other", other), verdict.Num("other_value", f.Parent, unit)).On(f.Cell)
}
