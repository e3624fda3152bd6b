package report

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/decide"
)

// ConditionTable is what differs between a record and the one that it reproduces.
func ConditionTable(differs []decide.Condition) Table {
	t := Table{Head: []string{"differs", "what", "there", "here"}}
	for _, c := range differs {
		name := c.Name
		if c.Accepted {
			name += " (accepted)"
		}
		part := c.Part
		if part == "gpu" {
			part = "GPU"
		}
		t.Rows = append(t.Rows, []string{part, name, absent(c.Was), absent(c.Is)})
	}
	return t
}

// absent is a value on one side, its digests cut.
func absent(value string) string {
	if value == "" {
		return "–"
	}
	words := strings.Fields(value)
	for i, w := range words {
		if len(w) >= 40 && strings.Trim(w, "0123456789abcdef,") == "" {
			words[i] = w[:12]
		}
	}
	return strings.Join(words, " ")
}

// AgainTable is each decision of a first record beside what it came to here, with every effect that was
// tested.
func AgainTable(r *decide.Reproduction) Table {
	t := Table{Head: []string{"decision", "there", "here", "here compared with there"}}
	for _, a := range r.Decisions {
		name := strings.TrimPrefix(strings.Replace(a.Node, "phase.", "gate ", 1), "feature.")
		is := "–"
		if a.Is != "" {
			is = string(a.Is)
		}
		says := map[decide.Agreement]string{
			decide.Yes: "the same", decide.No: "another verdict", decide.Open: "open",
		}[a.Agrees]
		if a.Is == a.Was && a.Agrees != decide.Yes {
			says = "the same verdict"
		}
		t.Rows = append(t.Rows, []string{name, string(a.Was), is, says + verdict.Behind(": ", a.Why.String())})
		for _, e := range a.Effects {
			t.Rows = append(t.Rows, []string{"  " + e.Rule, estimate(e.Was), estimate(e.Is), apart(e)})
		}
	}
	return t
}

func estimate(e decide.Estimated) string {
	if e.Estimate == nil {
		return "–"
	}
	return verdict.Interval(*e.Estimate, e.Low, e.High, e.Unit)
}

// apart is how far two effects are from each other.
func apart(e decide.Effect) string {
	switch {
	case e.Apart == nil:
		return "not comparable"
	case e.Low == nil:
		return verdict.Percent(*e.Apart, 1) + ", no interval of so few launches"
	}
	word := map[decide.Agreement]string{decide.Yes: "compatible", decide.No: "not compatible"}[e.Compatible]
	return fmt.Sprintf("%s (%s to %s): %s", verdict.Percent(*e.Apart, 1), verdict.Percent(*e.Low, 1),
		verdict.Percent(*e.High, 1), word)
}

// ReproductionBlocks are what differs from the record that it reproduces, and both results; none if it
// reproduces none.
func (s *Summary) ReproductionBlocks() (blocks []Block) {
	r := s.Reproduction
	if r == nil {
		return nil
	}
	if len(r.Differs) > 0 {
		blocks = []Block{{Title: "What differs from the first record", Table: ConditionTable(r.Differs)}}
	}
	return append(blocks, Block{Title: "Reproduction", Table: AgainTable(r), Notes: []string{fmt.Sprintf(
		"%s The first record has tree hash %s after %s; its run was %s.", ReproductionSentence(r), r.Of.Root,
		verdict.Count(r.Of.Records, "record"), r.Of.Run)}})
}

// ReproductionSentence is what came of reproducing a record.
func ReproductionSentence(r *decide.Reproduction) string {
	agree, n := 0, len(r.Decisions)
	for _, a := range r.Decisions {
		if a.Agrees == decide.Yes {
			agree++
		}
	}
	counted, accepted := []string{}, 0
	for _, c := range r.Differs {
		switch {
		case c.Accepted:
			accepted++
		default:
			counted = append(counted, c.Name)
		}
	}
	out := fmt.Sprintf("%s: %d of %s came out the same", strings.ToUpper(string(r.Outcome)), agree,
		verdict.Count(n, "decision"))
	if len(counted) > 0 {
		const few = 6
		names := counted[:min(few, len(counted))]
		out += fmt.Sprintf(", but %s differs", strings.Join(names, ", "))
		if len(names) > 1 {
			out = strings.TrimSuffix(out, "differs") + "differ"
		}
		if more := len(counted) - len(names); more > 0 {
			out += fmt.Sprintf(" (and %d more)", more)
		}
	}
	if accepted > 0 {
		out += fmt.Sprintf("; %s accepted", verdict.Count(accepted, "difference"))
	}
	return out + "."
}
