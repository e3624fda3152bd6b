package kinds

import "slices"

// Type is the type of a setting or of what is observed.
type Type string

// TypeCount is of a Pattern alone: how many lines of the log matched; zero is a
// value. TypeList, TypeObject and TypeAny, any of them, are of a Setting alone.
const (
	TypeString Type = "string"
	TypeNumber Type = "number"
	TypeBool   Type = "bool"
	TypeCount  Type = "count"
	TypeList   Type = "list"
	TypeObject Type = "object"
	TypeAny    Type = "any"
)

// Pattern takes one observation out of what an engine says of itself. It names
// one source: a log line, a page of its API, or a metric. Several patterns may
// have one name: the first that sees something counts.
type Pattern struct {
	// Name is what rules call it: engine.observed.<name>.
	Name string
	// Type of the value.
	Type Type
	Unit string
	Doc  string
	// Log are RE2 expressions, tried in order on each line of the log without
	// its terminal escapes. The group called "value", else the first group, is
	// the value; without a group the value is true. The last line that matches
	// counts.
	Log []string
	// Path is a page of the API, JQ the jq expression that takes the value out of
	// its JSON.
	Path string
	JQ   string
	// File is a file that the engine writes, where the engine lives, for JQ.
	File string
	// Metric are names of one Prometheus metric, newest first; the first that
	// the engine has counts. Labels pick one of several series.
	Metric []string
	Labels map[string]string
	// Scale multiplies a number; 0 means 1.
	Scale float64
	// Words maps what the engine says to the word that rules compare with.
	Words map[string]string
	// Varies says that two starts of the same thing may differ in it, such as a
	// time or what a memory profile left over, so that arms are not held against
	// each other by it.
	Varies bool
}

// Signature is a log line that tells how an engine broke.
type Signature struct {
	// Glob is found in the line, see Glob.
	Glob string
	// Class is a word for reports: "oom", "crash", "config", "driver".
	Class string
	// Means is one sentence: what happened and what to do.
	Means string
}

// Metrics is how a kind publishes Prometheus metrics.
type Metrics struct {
	// Path of the page, empty where the kind has none.
	Path string
	// Needs are flags without which the page is not there.
	Needs []string
	// Names maps mxflow's name of a metric ("running", "kv_cache_usage") to the
	// engine's names over its versions, newest first.
	Names map[string][]string
}

// Tokenize is how a kind counts the tokens of a text.
type Tokenize struct {
	Path string
	// Field is where the text goes in the request ("prompt", "content"), Count
	// the jq expression for the number of tokens in the answer.
	Field, Count string
}

// Ask is how a kind is asked for what engines ask differently for.
type Ask struct {
	// IgnoreEOS and MinTokens say whether the request fields of these names work.
	// Workloads fix the length of answers by the first; the second is for people
	// (`mxflow engine kinds`), as are Logprobs to ContinuousUsage and CacheReset.
	IgnoreEOS, MinTokens bool
	// Logprobs says how log-probabilities are asked for: "completions"
	// (logprobs: N), "n_probs", "chat", or empty where they cannot be.
	Logprobs string
	// PromptLogprobs says how those of the prompt are: "prompt_logprobs", "echo",
	// "generate", or empty.
	PromptLogprobs string
	// Usage says whether streams can end with token counts, ContinuousUsage
	// whether every event can carry them.
	Usage, ContinuousUsage bool
	// NoCache is merged into a request so that no prompt is answered from a
	// cache; CacheReset is the page that empties it when it is posted to. Nobody
	// here does: launches are fresh starts, and their prompts are unique.
	NoCache    map[string]any
	CacheReset string
	// Rename maps members of a request to what the engine calls them, where it
	// calls them otherwise.
	Rename map[string]string
	// CachedTokens is a flag that makes the engine report cached tokens.
	CachedTokens string
	// ClosesStreams says that the engine closes the connection behind each stream,
	// whatever its headers promise. A request on a connection that was kept would
	// race that, so none is kept.
	ClosesStreams bool
}

// Patterns are all that is observed of an engine of this kind: its version, what
// the kind knows, and what the plan adds. One of the plan takes the place of all
// of its name.
func (k Kind) Patterns(plan []Pattern) []Pattern {
	var all []Pattern
	own := slices.Clone(k.Observe)
	if v := k.Version; v.Path != "" || len(v.Log) > 0 {
		v.Name, v.Type = "version", TypeString
		own = append([]Pattern{v}, own...)
	}
	for _, p := range own {
		if !slices.ContainsFunc(plan, func(q Pattern) bool { return q.Name == p.Name }) {
			all = append(all, p)
		}
	}
	return append(all, plan...)
}
