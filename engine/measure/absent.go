package measure

import (
	"fmt"
	"regexp"
	"strings"
)

// WhyAbsent says why a launch has no metric at an address, by what else it measured:
// where that does not tell, what the metric takes. It is empty for what is in no
// catalogue.
func WhyAbsent(metrics map[string]Summary, address string) string {
	cell, name := SplitAddress(address)
	scopes := []Scope{PerRequest, PerCell}
	switch cell {
	case "engine":
		scopes = []Scope{PerLaunch}
	case string(PerGPU), string(PerHost):
		scopes = []Scope{Scope(cell)}
	default:
		if why := absentIn(cellMetricsOf(metrics, cell), cell, name); why != "" {
			return why
		}
	}
	m, ok := LookupIn(name, scopes...)
	if !ok {
		return ""
	}
	return "it takes " + asOther.ReplaceAllString(m.Evidence, "the evidence of $1")
}

// asOther is how one metric's evidence refers to another's.
var asOther = regexp.MustCompile(`^as ([a-z_]+(?: and [a-z_]+)?)`)

// cellMetricsOf are what was measured of one cell, by name.
func cellMetricsOf(metrics map[string]Summary, cell string) map[string]Summary {
	of := map[string]Summary{}
	for address, s := range metrics {
		if c, name := SplitAddress(address); c == cell {
			of[name] = s
		}
	}
	return of
}

// absentIn is the cause that requests of a cell show; empty where they show none.
func absentIn(of map[string]Summary, cell, name string) string {
	m, ok := LookupIn(name, PerRequest)
	if len(of) == 0 {
		return fmt.Sprintf("nothing of %s was measured in it", cell)
	}
	if !ok {
		return ""
	}
	_, responded := of["ttfr"]
	_, wrote := of["ttft"]
	switch failed := of["errors"].Stats["max"]; {
	case !responded && failed > 0:
		return fmt.Sprintf("all %.0f requests failed", failed)
	case responded && !wrote && strings.Contains(m.Evidence, "text event"):
		return "no answer had any text"
	}
	switch name {
	case "pp", "pp_corrected":
		return absentPrefill(of)
	case "tg", "tpot", "itl":
		return absentDecode(of)
	}
	return ""
}

func absentPrefill(of map[string]Summary) string {
	prompts, counted := of["prompt_tokens"]
	if !counted {
		return "the server does not say how many tokens prompts have"
	}
	if again := of["retries"]; again.Stats["min"] >= 1 {
		return fmt.Sprintf("each of its %d requests was sent again, so that nobody knows when its prefill began", again.N)
	}
	if cached, said := of["cached_tokens"]; said && cached.N == prompts.N && cached.Stats["min"] >= prompts.Stats["max"] {
		return "every prompt was cached whole"
	}
	return ""
}

func absentDecode(of map[string]Summary) string {
	if tokens, counted := of["output_tokens"]; counted && tokens.Stats["max"] <= 1 {
		return "no answer has more than one token"
	}
	// No request ended before its first token, so equal means are equal times.
	if first, last := of["ttft"], of["e2e"]; first.N > 0 && first.N == last.N && first.Stats["mean"] == last.Stats["mean"] {
		return "each answer came in one piece, in which no time passes between tokens: ask for more tokens"
	}
	return ""
}
