package gates

import (
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Lacks is why a statistic is missing from a summary, or no fact if it is not missing.
func Lacks(s measure.Summary, stat string) verdict.Reason {
	if _, there := s.Stats[stat]; there {
		return verdict.Reason{}
	}
	switch least := measure.LeastValues(stat); {
	case !measure.IsStat(stat):
		return verdict.Say("absent.no_such_stat", "no statistic is called {subject:q}").On(stat)
	case s.N < least:
		return verdict.Say("absent.few_samples", "not enough samples ({samples} of at least {least})",
			verdict.Int("samples", s.N), verdict.Int("least", least))
	case stat == "cv":
		return verdict.Say("absent.not_defined", "not defined: the mean is not above zero")
	}
	return verdict.Say("absent.stat_unknown", "not known")
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
	return verdict.Say("absent.evidence", "it needs {evidence}", verdict.Text("evidence", m.Evidence)).On(address)
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
		return verdict.Say("absent.cell", "nothing of {subject} was measured in it").On(cell)
	}
	m, ok := measure.LookupIn(name, measure.PerRequest)
	if !ok {
		return verdict.Reason{}
	}
	_, responded := of["ttfr"]
	_, wrote := of["ttft"]
	switch failed := of["errors"].Stats["max"]; {
	case !responded && failed > 0:
		return verdict.Say("absent.failed", "all {requests} requests failed",
			verdict.Num("requests", failed, "count"))
	case responded && !wrote && m.OfText:
		return verdict.Say("absent.text", "no answer had any text")
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
		return verdict.Say("absent.count", "the server does not report how many tokens prompts have")
	}
	if again := of["retries"]; again.Stats["min"] >= 1 {
		return verdict.Say("absent.retried",
			"each of its {requests} requests was sent again, so it is unknown when its prefill began",
			verdict.Int("requests", again.N))
	}
	if cached, said := of["cached_tokens"]; said && cached.N == prompts.N && cached.Stats["min"] >= prompts.Stats["max"] {
		return verdict.Say("absent.cached", "every prompt was cached in full")
	}
	return verdict.Reason{}
}

func absentDecode(of map[string]measure.Summary) verdict.Reason {
	if tokens, counted := of["output_tokens"]; counted && tokens.Stats["max"] <= 1 {
		return verdict.Say("absent.one_token", "no answer has more than one token")
	}
	// No request ended before its first token, so equal means are equal times.
	if first, last := of["ttft"], of["e2e"]; first.N > 0 && first.N == last.N && first.Stats["mean"] == last.Stats["mean"] {
		return verdict.Say("absent.one_piece",
			"each answer came in one piece, with no time between tokens: ask for more tokens")
	}
	return verdict.Reason{}
}
