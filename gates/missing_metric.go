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
	switch least := measure.StatOf(stat).Least; {
	case measure.StatOf(stat).Of != "":
		return verdict.Say("absent.evidence", "it needs {evidence}",
			verdict.Text("evidence",
				"the engine's counts of accepted tokens at this position and of drafts at both edges of the window")).
			On(stat)
	case measure.StatOf(stat).Name == "":
		return verdict.Say("absent.no_such_stat", "no statistic is called {subject:q}").On(stat)
	case s.N < least:
		return verdict.Say("absent.few_samples", "not enough samples ({samples} of at least {least})",
			verdict.Int("samples", s.N), verdict.Int("least", least))
	case stat == "cv":
		return verdict.Say("absent.not_defined", "not defined: the mean is not above zero")
	}
	return verdict.Say("absent.stat_unknown", "not known")
}

// Absent is the reason that a launch has no metric at an address: the requests it
// measured instead or, if these do not explain it, the evidence that the metric needs. It
// is no fact for a metric in no catalogue.
func Absent(metrics map[string]measure.Summary, address string) verdict.Reason {
	m, known := measure.LookupAddress(address)
	cell, name := measure.SplitAddress(address)
	if !ofMachine(address) {
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
	m, known := measure.LookupIn(name, measure.PerRequest)
	_, responded := of["ttfr"]
	_, wrote := of["ttft"]
	prefill, decode := name == "pp", name == "tg" || name == "tpot" || name == "itl"
	prompts, counted := of["prompt_tokens"]
	cached, said := of["cached_tokens"]
	tokens, written := of["output_tokens"]
	first, last := of["ttft"], of["e2e"]
	switch failed := of["errors"].Stats["max"]; {
	case len(of) == 0:
		return verdict.Say("absent.cell", "nothing of {subject} was measured in it").On(cell)
	case !known:
	case !responded && failed > 0:
		return verdict.Say("absent.failed", "all {requests} requests failed",
			verdict.Num("requests", failed, "count"))
	case responded && !wrote && m.OfText:
		return verdict.Say("absent.text", "no answer had any text")
	case prefill && !counted:
		return verdict.Say("absent.count", "the server does not report how many tokens prompts have")
	case prefill && of["retries"].Stats["min"] >= 1:
		return verdict.Say("absent.retried",
			"each of its {requests} requests was resent, so the start of its prefill is unknown",
			verdict.Int("requests", of["retries"].N))
	case prefill && said && cached.N == prompts.N && cached.Stats["min"] >= prompts.Stats["max"]:
		return verdict.Say("absent.cached", "every prompt was cached in full")
	case decode && written && tokens.Stats["max"] <= 1:
		return verdict.Say("absent.one_token", "no answer has more than one token")
	case decode && first.N > 0 && first.N == last.N && first.Stats["mean"] == last.Stats["mean"]:
		// No request ended before its first token, so equal means are equal times.
		return verdict.Say("absent.one_piece",
			"each answer came in one piece, with no time between tokens: its server does not stream, or held them back")
	}
	return verdict.Reason{}
}
