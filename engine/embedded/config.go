// Package embedded is the built-in inference engine: a small decoder in pure Go, shaped
// like gpt-oss, served over an OpenAI-like HTTP API.
//
// It exists so the whole tool can be used and tested on any laptop. It constructs its
// weights from a seed, runs them through kernels selected by environment switches, and
// serves the result the way the real engines do, including the ways in which they fail.
//
// The architecture computes for real: RMSNorm, rotary positions, grouped-query attention
// with sinks and alternating sliding windows, and a mixture of experts in OCP MXFP4. The
// weights are constructed, not trained: weights.go explains how the layers memorize a
// small text.
//
// It does not know plans, knobs, measurements or verdicts, and it is not an inference
// product: nothing here is meant to be good at language.
package embedded

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Version is the answer of /version and stands for this engine in a measurement key. The
// key is this version and not the hash of the binary, because the engine is part of
// mxflow itself: a change to the command line must not invalidate measurements, a change
// to a kernel must. Raise it with every change that can affect a speed, a logit or a log
// line.
const Version = "0.2.0"

// Config is everything that a launch of the engine depends on.
type Config struct {
	Host            string
	Port            int
	Seed            uint64
	Layers          int
	Threads         int
	MaxModelLen     int // tokens, prompt and output together
	MaxNumSeqs      int // requests that take turns
	ServedModelName string

	KVCache  bool   // keep keys and values between steps
	KVFormat string // KVF32 or KVInt8
	MoE      string // MoERouted or MoEAll
	LMHead   string // LMHeadF32 or LMHeadMXFP4
	Sinks    bool   // attention sinks join the softmax

	PrefixCache       bool   // keep keys and values between requests
	PrefixCacheTokens int    // at most so many
	ProfilerDir       string // where /stop_profile writes; empty disables profiles
	Speculation       int    // tokens that prompt lookup drafts a step; 0 is off
	Reasoning         int    // first tokens of a chat answer, sent as reasoning

	Pace     time.Duration // that a step takes at least; 0 is as fast as it goes
	Autotune bool          // draw a tactic at the start, see Tune
	CacheDir string        // where it is kept

	Faults Faults
}

// Limits that keep a mistyped number from exhausting the machine.
const (
	maxLayers   = 64
	maxThreads  = 64
	maxPosition = 131072
	maxSeqs     = 1024
	maxPrefix   = 1 << 20 // tokens
)

// parseConfig parses flags and environment. All problems are reported at once;
// pflag.ErrHelp is returned unchanged if args ask for help.
func parseConfig(args []string, env func(string) string, help io.Writer) (Config, error) {
	var c Config
	flags := pflag.NewFlagSet("mxflow engine serve", pflag.ContinueOnError)
	flags.SetOutput(help)
	flags.SortFlags = false
	text := func(at *string, name string) {
		s := setting(name)
		flags.StringVar(at, flagName(name), s.Default, s.Doc)
	}
	number := func(at *int, name string) {
		s := setting(name)
		value, _ := strconv.Atoi(s.Default) // the table's defaults are covered by a test
		flags.IntVar(at, flagName(name), value, s.Doc)
	}
	text(&c.Host, "host")
	number(&c.Port, "port")
	flags.Uint64Var(&c.Seed, "seed", 0, setting("seed").Doc)
	number(&c.Layers, "layers")
	number(&c.Threads, "threads")
	number(&c.MaxModelLen, "max_model_len")
	number(&c.MaxNumSeqs, "max_num_seqs")
	text(&c.ServedModelName, "served_model_name")
	number(&c.PrefixCacheTokens, "prefix_cache_tokens")
	text(&c.ProfilerDir, "profiler_dir")
	if err := flags.Parse(args); err != nil {
		return Config{}, err
	}
	var problems []error
	if extra := flags.Args(); len(extra) > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q: the engine takes flags only", extra[0]))
	}
	problems = append(problems, c.readSwitches(env, flags.Changed("threads"))...)
	within := func(name string, value, lowest, highest int) {
		if value < lowest || value > highest {
			problems = append(problems, fmt.Errorf("--%s %d is out of range: use %d to %d", flagName(name), value, lowest, highest))
		}
	}
	within("port", c.Port, 0, 65535)
	within("layers", c.Layers, 1, maxLayers)
	within("threads", c.Threads, 1, maxThreads)
	within("max_model_len", c.MaxModelLen, 16, maxPosition)
	within("max_num_seqs", c.MaxNumSeqs, 1, maxSeqs)
	within("prefix_cache_tokens", c.PrefixCacheTokens, blockTokens, maxPrefix)
	if c.ServedModelName == "" {
		problems = append(problems, errors.New("--served-model-name is empty: requests could not name the model"))
	}
	return c, errors.Join(problems...)
}

func (c *Config) readSwitches(env func(string) string, threadsGiven bool) (problems []error) {
	read := func(name string) string {
		value, err := choice(env, name)
		if err != nil {
			problems = append(problems, err)
		}
		return value
	}
	c.KVCache = read(envKVCache) == "on"
	c.KVFormat = read(envKVFormat)
	if c.KVFormat == KVInt8 && !c.KVCache {
		problems = append(problems, fmt.Errorf("%s=%s needs %s=on: without a KV cache nothing is stored", envKVFormat, KVInt8, envKVCache))
	}
	c.MoE = read(envMoE)
	c.LMHead = read(envLMHead)
	c.Sinks = read(envSinks) == "on"
	c.PrefixCache = read(envPrefixCache) == "on"
	if c.PrefixCache && !c.KVCache {
		problems = append(problems, fmt.Errorf("%s=on needs %s=on: without a KV cache there is nothing to keep", envPrefixCache, envKVCache))
	}
	if value := env(envThreads); value != "" && !threadsGiven {
		threads, err := strconv.Atoi(value)
		if err != nil || threads < 1 || threads > maxThreads {
			problems = append(problems, fmt.Errorf("%s=%q is not a number of threads: use 1 to %d", envThreads, value, maxThreads))
		} else {
			c.Threads = threads
		}
	}
	var err error
	if c.Speculation, err = readSpeculation(env(envSpeculation)); err != nil {
		problems = append(problems, err)
	}
	if value := env(envReasoning); value != "" {
		if c.Reasoning, err = strconv.Atoi(value); err != nil || c.Reasoning < 0 {
			problems = append(problems, fmt.Errorf("%s=%q is not a number of tokens: use 0 for none, or how many come first", envReasoning, value))
		}
	}
	if value := env(envPace); value != "" {
		if c.Pace, err = time.ParseDuration(value); err != nil || c.Pace < 0 || c.Pace > time.Minute {
			problems = append(problems, fmt.Errorf("%s=%q is not a time up to 1m: use one such as 2ms", envPace, value))
		}
	}
	c.Autotune, c.CacheDir = read(envAutotune) == "on", env(envCacheDir)
	faults, err := parseFaults(env(envFault))
	if err != nil {
		problems = append(problems, err)
	}
	c.Faults = faults
	return problems
}

func setting(name string) Setting {
	for _, s := range Settings() {
		if s.Name == name {
			return s
		}
	}
	return Setting{Name: name}
}

func flagName(name string) string { return strings.ReplaceAll(name, "_", "-") }

// Environment variables that switch code paths.
const (
	envKVCache     = "MXFLOW_EMBEDDED_KV_CACHE"
	envKVFormat    = "MXFLOW_EMBEDDED_KV_FORMAT"
	envMoE         = "MXFLOW_EMBEDDED_MOE"
	envLMHead      = "MXFLOW_EMBEDDED_LM_HEAD"
	envSinks       = "MXFLOW_EMBEDDED_SINKS"
	envThreads     = "MXFLOW_EMBEDDED_THREADS"
	envPrefixCache = "MXFLOW_EMBEDDED_PREFIX_CACHE"
	envSpeculation = "MXFLOW_EMBEDDED_SPECULATION"
	envReasoning   = "MXFLOW_EMBEDDED_REASONING"
	envPace        = "MXFLOW_EMBEDDED_PACE"
	envAutotune    = "MXFLOW_EMBEDDED_AUTOTUNE"
	envCacheDir    = "MXFLOW_EMBEDDED_CACHE_DIR"
	envFault       = "MXFLOW_EMBEDDED_FAULT"
)

// Values of Config.KVFormat, Config.MoE and Config.LMHead.
const (
	KVF32       = "f32"
	KVInt8      = "int8"
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
		{envKVFormat, []string{KVF32, KVInt8}, KVF32, "Format of the KV cache: float32, or 8 bits with a scale per head and token (kernel " + kernelKVInt8 + "), stored as the float32 values that they represent. Rounding shifts every log-probability slightly."},
		{envMoE, []string{MoERouted, MoEAll}, MoERouted, "Compute only the routed experts (kernel " + kernelMoERouted + "), or all of them with the others weighted by zero (kernel " + kernelMoEAll + "). Both give the same text."},
		{envLMHead, []string{LMHeadF32, LMHeadMXFP4}, LMHeadF32, "Format of the output projection: float32 (kernel " + kernelHeadF32 + ") or MXFP4, smaller but slower in pure Go (kernel " + kernelHeadMXFP4 + ")."},
		{envSinks, []string{"on", "off"}, "on", "Attention sinks in the softmax (kernel " + kernelSoftmaxSinks + ") or a plain softmax (kernel " + kernelSoftmaxNoSinks + "). The weights were built with sinks: without them the first two positions of a prompt see noise."},
		{envThreads, []string{"N"}, "1", "Threads that share the tokens of a prefill or a recomputed prefix, 1 to 64; decoding with the KV cache uses one. --threads overrides it. Output does not depend on it."},
		{envPrefixCache, []string{"on", "off"}, "off", "Keep keys and values of past requests, in blocks of " + strconv.Itoa(blockTokens) + " tokens, and compute only the rest of a prompt with a cached prefix (kernel " + kernelPrefixLookup + " for lookup, " + kernelPrefixReuse + " for a hit). The last token is always computed. The text is the same; usage counts cached_tokens."},
		{envSpeculation, []string{speculationOff, promptLookupPrefix + "N"}, speculationOff, "Draft up to N tokens per step, 1 to " + strconv.Itoa(maxDraft) + ": what followed when the last tokens, " + strconv.Itoa(longestGram) + " down to " + strconv.Itoa(shortestGram) + " of them, occurred earlier in prompt or output (kernel " + kernelPromptLookup + "), verified in one pass (kernel " + kernelVerify + "). The text is the same at any temperature; tokens of one step come in one event."},
		{envReasoning, []string{"N"}, "0", "The first N tokens of a chat answer go out as reasoning_content, so clients of reasoning models can be tried."},
		{envPace, []string{"Nms"}, "", "What a step takes at least, such as 2ms: the engine sleeps for what its work leaves of it. So a speed is declared, and hardly depends on what else the machine does."},
		{envAutotune, []string{"on", "off"}, "off", "Draw one of " + strconv.Itoa(tactics) + " near-tied tactics at the start, as autotuners do: the quickest makes a step 5% shorter than its pace, the slowest 5% longer. What was drawn is kept in a file below " + envCacheDir + ", which the next start reads; without that, each start draws."},
		{envCacheDir, []string{"PATH"}, "", "Where the tuner keeps what it chose. A caches block sets it."},
		{envFault, faultForms(), "", "Faults to inject, separated by commas, for testing the checks on an engine. retry_after:20 refuses the first 20 requests for more than one token with 429 and Retry-After: 0, and retry_after:20:1 with Retry-After: 1. wrong_expert gives the tokens of a layer's experts to their neighbours, stale_kv gives every 16th decoded token the keys and values of 16 tokens earlier, half_accumulator sums up the experts' products and the logits in bfloat16, wrong_after:20 is right for 20 requests and has wrong_expert from then on, and leak:64 leaks 64 KiB per request: all five are silent in the log, like real bugs of this kind."},
	}
}

// Setting is a command line flag of the engine. Name is in snake_case as in plans; the
// flag has dashes instead.
type Setting struct {
	Name, Type, Default, Doc string
}

// Settings lists the command line flags.
func Settings() []Setting {
	return []Setting{
		{"host", "string", "127.0.0.1", "Address to listen on."},
		{"port", "int", "8000", "Port to listen on; 0 takes a free one and logs it."},
		{"seed", "int", "0", "Seed of the weights, and of sampling for requests without one."},
		{"layers", "int", "4", "Decoder layers, 1 to 64. With fewer layers it knows less of the built-in text."},
		{"threads", "int", "1", "Threads that share the tokens of a prefill or a recomputed prefix, 1 to 64."},
		{"max_model_len", "int", "8192", "Longest sequence, prompt and output together, in tokens."},
		{"max_num_seqs", "int", "4", "Requests that share the model in turn; others wait."},
		{"served_model_name", "string", "mxflow-embedded", "Model name in /v1/models, which requests must use."},
		{"prefix_cache_tokens", "int", "16384", "Tokens that the prefix cache holds, if it is on. The least recently used are evicted first."},
		{"profiler_dir", "string", "", "Folder for profiles: POST /start_profile starts one, POST /stop_profile writes it there as a trace like torch's. Empty disables both."},
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

// Faults are failures on request, so monitoring can be tested against a real process.
// Token counts are totals over all requests since the start.
type Faults struct {
	CrashAfter int  // the process exits with 1 after so many generated tokens; 0 is never
	StallAfter int  // after so many generated tokens nothing more is emitted until clients leave
	NaN        bool // a layer writes NaN: all logits are NaN, every token is token 0, "!"
	Garbage    bool // tokens are drawn at random, at full speed
	HTTP500    bool // completions answer 500
	OOM        bool // loading fails for want of memory
	Malformed  bool // stream events break off in the middle of their JSON
	NeverReady bool // loading never ends
	// WrongExpert routes the tokens of each expert of one layer to the next one.
	WrongExpert bool
	StaleKV     bool // keys and values of some decoded tokens are those of others
	HalfSums    bool // the experts' products and the logits are summed up in bfloat16
	WrongAfter  int  // requests that are answered right, before WrongExpert begins; 0 is never
	Leak        int  // KiB that each request loses
	Refuse      int  // the first so many requests for more than one token get 429
	RetryAfter  int  // seconds that their Retry-After says
}

// faultForms lists the accepted spellings.
func faultForms() []string {
	return []string{"crash_after:N", "stall_after:N", "nan", "garbage", "http_500", "oom", "malformed", "never_ready", "retry_after:N", "wrong_expert", "stale_kv", "half_accumulator", "wrong_after:N", "leak:N"}
}

// parseFaults reads a comma-separated list such as "crash_after:20,nan".
func parseFaults(list string) (Faults, error) {
	var f Faults
	for _, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		name, count, given := strings.Cut(item, ":")
		flags := map[string]*bool{
			"nan": &f.NaN, "garbage": &f.Garbage, "http_500": &f.HTTP500,
			"oom": &f.OOM, "malformed": &f.Malformed, "never_ready": &f.NeverReady,
			"wrong_expert": &f.WrongExpert, "stale_kv": &f.StaleKV, "half_accumulator": &f.HalfSums,
		}
		type counted struct {
			at *int
			of string
		}
		counts := map[string]counted{
			"crash_after": {&f.CrashAfter, "tokens"}, "stall_after": {&f.StallAfter, "tokens"},
			"wrong_after": {&f.WrongAfter, "requests"}, "leak": {&f.Leak, "KiB per request"},
		}
		switch {
		case item == "":
		case name == "retry_after":
			if !f.parseRefusal(count) {
				return Faults{}, fmt.Errorf("%s: %q needs a number of requests, and may give seconds, as in retry_after:20 or retry_after:20:1", envFault, item)
			}
		case flags[name] != nil && !given:
			*flags[name] = true
		case counts[name].at != nil:
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 {
				return Faults{}, fmt.Errorf("%s: %q needs a number of %s, as in %s:20", envFault, item, counts[name].of, name)
			}
			*counts[name].at = n
		default:
			return Faults{}, fmt.Errorf("%s: no fault is named %q: use %s", envFault, item, strings.Join(faultForms(), ", "))
		}
	}
	return f, nil
}

// parseRefusal reads "requests" or "requests:seconds".
func (f *Faults) parseRefusal(text string) bool {
	requests, seconds, given := strings.Cut(text, ":")
	var err error
	if f.Refuse, err = strconv.Atoi(requests); err != nil || f.Refuse < 1 {
		return false
	}
	if given {
		f.RetryAfter, err = strconv.Atoi(seconds)
	}
	return err == nil && f.RetryAfter >= 0
}
