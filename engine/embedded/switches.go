package embedded

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Environment variables that switch code paths.
const (
	envKVCache     = "MXFLOW_EMBEDDED_KV_CACHE"
	envMoE         = "MXFLOW_EMBEDDED_MOE"
	envLMHead      = "MXFLOW_EMBEDDED_LM_HEAD"
	envSinks       = "MXFLOW_EMBEDDED_SINKS"
	envThreads     = "MXFLOW_EMBEDDED_THREADS"
	envPrefixCache = "MXFLOW_EMBEDDED_PREFIX_CACHE"
	envSpeculation = "MXFLOW_EMBEDDED_SPECULATION"
	envReasoning   = "MXFLOW_EMBEDDED_REASONING"
	envFault       = "MXFLOW_EMBEDDED_FAULT"
)

// Values of Config.MoE and Config.LMHead.
const (
	MoERouted   = "routed"
	MoEAll      = "all"
	LMHeadF32   = "f32"
	LMHeadMXFP4 = "mxfp4"
)

// Switch is an environment variable that selects a code path.
type Switch struct {
	Env     string
	Values  []string // what it accepts; a form such as "N" or "crash_after:N" stands for numbers
	Default string   // "" means off
	Doc     string   // one sentence or two, for help and manual
}

// Switches lists every environment variable that the engine reads.
func Switches() []Switch {
	return []Switch{
		{envKVCache, []string{"on", "off"}, "on", "Keep keys and values of past tokens (kernel " + kernelDecodeCached + "), or compute the whole prefix again for every token (kernel " + kernelRecompute + ")."},
		{envMoE, []string{MoERouted, MoEAll}, MoERouted, "Compute only the experts that the router chose (kernel " + kernelMoERouted + "), or all of them and weight the others by zero (kernel " + kernelMoEAll + "). Both give the same text."},
		{envLMHead, []string{LMHeadF32, LMHeadMXFP4}, LMHeadF32, "Format of the output projection: float32 (kernel " + kernelHeadF32 + ") or MXFP4, smaller and in pure Go slower (kernel " + kernelHeadMXFP4 + ")."},
		{envSinks, []string{"on", "off"}, "on", "Attention sinks in the softmax (kernel " + kernelSoftmaxSinks + ") or a plain softmax (kernel " + kernelSoftmaxNoSinks + "). The weights were built with sinks: without them the first two positions of a prompt see noise."},
		{envThreads, []string{"N"}, "1", "Threads that share the tokens of a prefill or a recomputed prefix, 1 to 64; decoding with the KV cache uses one. --threads wins over it. Output does not depend on it."},
		{envPrefixCache, []string{"on", "off"}, "off", "Keep keys and values of past requests, in blocks of " + strconv.Itoa(blockTokens) + " tokens, and compute only the rest of a prompt that begins like one of them (kernel " + kernelPrefixLookup + " looks, " + kernelPrefixReuse + " when something was found). The last token is always computed. The text is the same; usage counts cached_tokens."},
		{envSpeculation, []string{speculationOff, promptLookupPrefix + "N"}, speculationOff, "Draft up to N tokens a step, 1 to " + strconv.Itoa(maxDraft) + ": what followed when the last tokens, " + strconv.Itoa(longestGram) + " down to " + strconv.Itoa(shortestGram) + " of them, stood before in prompt or output (kernel " + kernelPromptLookup + "), verified in one pass (kernel " + kernelVerify + "). The text is the same at any temperature; tokens of one step come in one event."},
		{envReasoning, []string{"N"}, "0", "The first N tokens of a chat answer go out as reasoning_content, so that clients of reasoning models can be tried."},
		{envFault, faultForms(), "", "Faults to inject, separated by commas, for tests of what watches the engine. retry_after:20 refuses the first 20 requests for more than one token with 429 and Retry-After: 0, and retry_after:20:1 with Retry-After: 1."},
	}
}

// Setting is a command line flag of the engine. Name is in snake_case as in
// plans; the flag is the same with dashes.
type Setting struct {
	Name, Type, Default, Doc string
}

// Settings lists the command line flags.
func Settings() []Setting {
	return []Setting{
		{"host", "string", "127.0.0.1", "Address to listen on."},
		{"port", "int", "8000", "Port to listen on; 0 takes a free one and logs it."},
		{"seed", "int", "0", "Seed of the weights, and of sampling where a request brings none."},
		{"layers", "int", "4", "Decoder layers, 1 to 64. Fewer layers hold less of the shipped text."},
		{"threads", "int", "1", "Threads that share the tokens of a prefill or a recomputed prefix, 1 to 64."},
		{"max_model_len", "int", "8192", "Longest sequence, prompt and output together, in tokens."},
		{"max_num_seqs", "int", "4", "Requests that take turns at the model; others wait."},
		{"served_model_name", "string", "mxflow-embedded", "Name that /v1/models lists and requests must use."},
		{"prefix_cache_tokens", "int", "16384", "Tokens that the prefix cache keeps, where it is on. The least recently used go first."},
	}
}

// The spellings of speculation.
const (
	speculationOff     = "off"
	promptLookupPrefix = "prompt_lookup:"
)

// readSpeculation returns how many tokens to draft, 0 for off.
func readSpeculation(value string) (int, error) {
	if value == "" || value == speculationOff {
		return 0, nil
	}
	number, found := strings.CutPrefix(value, promptLookupPrefix)
	n, err := strconv.Atoi(number)
	if !found || err != nil || n < 1 || n > maxDraft {
		return 0, fmt.Errorf("%s=%q is not a way to speculate: use %s, or %sN with 1 to %d drafted tokens", envSpeculation, value, speculationOff, promptLookupPrefix, maxDraft)
	}
	return n, nil
}

// choice reads a switch with a fixed set of values.
func choice(env func(string) string, name string) (string, error) {
	for _, s := range Switches() {
		if s.Env != name {
			continue
		}
		value := env(name)
		if value == "" {
			return s.Default, nil
		}
		if !slices.Contains(s.Values, value) {
			return "", fmt.Errorf("%s=%q is not a choice: use %s (default %s)", name, value, strings.Join(s.Values, " or "), s.Default)
		}
		return value, nil
	}
	return "", fmt.Errorf("no switch is named %s", name)
}
