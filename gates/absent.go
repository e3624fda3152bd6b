package gates

import (
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Lacks is why a statistic is missing from a summary, or no fact if it is not missing.
func Lacks(s measure.Summary, stat string) verdict.Reason {
	if _, there := s.Stats[stat]; there {
		return verdict.Reason{}
	}
	switch least := measure.LeastValues(stat); {
	case !measure.IsStat(stat):
		return verdict.New(code.NoSuchStat).On(stat)
	case s.N < least:
		return verdict.New(code.FewSamples, verdict.Int("samples", s.N), verdict.Int("least", least))
	case stat == "cv":
		return verdict.New(code.NotDefined)
	}
	return verdict.New(code.StatUnknown)
}

// Absent is why a launch has no metric at an address: what it measured instead or, if
// that does not tell, what the metric needs. It is no fact for a metric in no catalogue.
func Absent(metrics map[string]measure.Summary, address string) verdict.Reason {
	m, known := measure.LookupAddress(address)
	cell, name := measure.SplitAddress(address)
	switch cell {
	case "engine", string(measure.PerGPU), string(measure.PerHost):
	default:
		if why := absentIn(metrics, cell, name); !why.IsZero() {
			return why
		}
	}
	if !known || m.Evidence == "" {
		return verdict.Reason{}
	}
	return verdict.New(code.AbsentEvidence).On(address)
}

// absentIn is the cause that a cell's requests show, or no fact if they show none.
func absentIn(metrics map[string]measure.Summary, cell, name string) verdict.Reason {
	of := map[string]measure.Summary{}
	for address, s := range metrics {
		if c, name := measure.SplitAddress(address); c == cell {
			of[name] = s
		}
	}
	if len(of) == 0 {
		return verdict.New(code.AbsentCell).On(cell)
	}
	m, ok := measure.LookupIn(name, measure.PerRequest)
	if !ok {
		return verdict.Reason{}
	}
	_, responded := of["ttfr"]
	_, wrote := of["ttft"]
	switch failed := of["errors"].Stats["max"]; {
	case !responded && failed > 0:
		return verdict.New(code.AbsentFailed, verdict.Num("requests", failed, "count"))
	case responded && !wrote && m.OfText:
		return verdict.New(code.AbsentText)
	}
	switch name {
	case "pp", "pp_corrected":
		return absentPrefill(of)
	case "tg", "tpot", "itl":
		return absentDecode(of)
	}
	return verdict.Reason{}
}

func absentPrefill(of map[string]measure.Summary) verdict.Reason {
	prompts, counted := of["prompt_tokens"]
	if !counted {
		return verdict.New(code.AbsentCount)
	}
	if again := of["retries"]; again.Stats["min"] >= 1 {
		return verdict.New(code.AbsentRetried, verdict.Int("requests", again.N))
	}
	if cached, said := of["cached_tokens"]; said && cached.N == prompts.N && cached.Stats["min"] >= prompts.Stats["max"] {
		return verdict.New(code.AbsentCached)
	}
	return verdict.Reason{}
}

func absentDecode(of map[string]measure.Summary) verdict.Reason {
	if tokens, counted := of["output_tokens"]; counted && tokens.Stats["max"] <= 1 {
		return verdict.New(code.AbsentOneToken)
	}
	// No request ended before its first token, so equal means are equal times.
	if first, last := of["ttft"], of["e2e"]; first.N > 0 && first.N == last.N && first.Stats["mean"] == last.Stats["mean"] {
		return verdict.New(code.AbsentOnePiece)
	}
	return verdict.Reason{}
}
