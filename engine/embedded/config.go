// Package embedded is the built-in inference engine: a small decoder, shaped like
// gpt-oss, served over an OpenAI-like HTTP API.
//
// It exists so the whole tool can be used and tested on any laptop. It constructs its
// weights from a seed, runs them through kernels selected by environment switches, and
// serves the result the way the real engines do, including the ways in which they fail and
// those in which they could lie.
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
	"cmp"
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
const Version = "0.4.0"

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

	KVCache   bool // keep keys and values between steps
	KVFloat32 bool // and round them to 8 bits otherwise
	MoERouted bool // compute only the experts that the router picks
	Sinks     bool // attention sinks join the softmax

	PrefixCache bool   // keep keys and values between requests
	ProfilerDir string // where /stop_profile writes; empty disables profiles
	Speculation int    // tokens that prompt lookup drafts a step; 0 is off

	Pace     time.Duration // that a step takes at least; 0 is as fast as it goes
	Autotune bool          // draw a tactic at the start, see Tune
	CacheDir string        // where it is kept

	Faults Faults
}

// kvTokens is how many tokens the KV cache holds, and the prefix cache as many again.
func (c Config) kvTokens() int { return c.MaxNumSeqs * c.MaxModelLen }

// Environment variables that others name too.
const (
	envKVCache  = "MXFLOW_EMBEDDED_KV_CACHE"
	envCacheDir = "MXFLOW_EMBEDDED_CACHE_DIR"
	envFault    = "MXFLOW_EMBEDDED_FAULT"
	envLie      = "MXFLOW_EMBEDDED_LIE"
)

// Option is a command line flag or an environment variable of the engine.
type Option struct {
	Name    string // of a flag without its dashes
	Default string // "" means off
	Doc     string // one sentence or two, for help and manual
	form
}

// form is the syntax of an option: Values are examples, in which "N" is a number.
type form struct {
	Values []string
	set    func(value string) error
}

func text(at *string, like string) form {
	return form{[]string{like}, func(value string) error { *at = value; return nil }}
}

func number(at *int, low, high int) form {
	return form{[]string{"N"}, func(value string) (err error) {
		if *at, err = strconv.Atoi(value); err != nil || *at < low || *at > high {
			return fmt.Errorf("use %d to %d", low, high)
		}
		return nil
	}}
}

func either(at *bool, yes, no string) form {
	return form{[]string{yes, no}, func(value string) error {
		if *at = value == yes; value != yes && value != no {
			return fmt.Errorf("use %s or %s", yes, no)
		}
		return nil
	}}
}

// Flags are the options of the command line, Variables the environment variables that switch code paths.
var Flags, Variables = options(new(Config))

// options are those that set a configuration.
func options(c *Config) (flags, variables []Option) {
	flags = []Option{
		{"host", "127.0.0.1", "Address to listen on.", text(&c.Host, "TEXT")},
		{"port", "8000", "Port to listen on; 0 takes a free one and logs it.", number(&c.Port, 0, 65535)},
		{
			"seed", "0", "Seed of the weights, and of sampling for requests without one.",
			form{[]string{"N"}, c.readSeed},
		},
		{
			"layers", "4", "Decoder layers, 1 to 64. With fewer layers it knows less of the built-in text.",
			number(&c.Layers, 1, 64),
		},
		{
			"threads", "1",
			"Threads that share the tokens of a prefill or a recomputed prefix, 1 to 64; decoding with the KV " +
				"cache uses one. Output does not depend on it.", number(&c.Threads, 1, 64),
		},
		{
			"max-model-len", "8192", "Longest sequence, prompt and output together, in tokens.",
			number(&c.MaxModelLen, 16, 131072),
		},
		{
			"max-num-seqs", "4", "Requests that share the model in turn; others wait.",
			number(&c.MaxNumSeqs, 1, 1024),
		},
		{
			"served-model-name", "mxflow-embedded", "Model name in /v1/models, which requests must use.",
			text(&c.ServedModelName, "TEXT"),
		},
		{
			"profiler-dir", "",
			"Folder for profiles: POST /start_profile starts one, POST /stop_profile writes it there as a trace like " +
				"torch's. Empty disables both.", text(&c.ProfilerDir, "TEXT"),
		},
	}
	variables = []Option{
		{
			envKVCache, "on", "Keep keys and values of past tokens (kernel " + kernelDecodeCached +
				"), or compute the whole prefix again for every token (kernel " + kernelRecompute + ").",
			either(&c.KVCache, "on", "off"),
		},
		{
			"MXFLOW_EMBEDDED_KV_FORMAT", "f32",
			"Format of the KV cache: float32, or 8 bits with a scale per head and token (kernel " + kernelKVInt8 +
				"), stored as the float32 values that they represent. Rounding shifts every log-probability slightly.",
			either(&c.KVFloat32, "f32", "int8"),
		},
		{
			"MXFLOW_EMBEDDED_MOE", "routed", "Compute only the routed experts (kernel " + kernelMoERouted +
				"), or all of them with the others weighted by zero (kernel " + kernelMoEAll +
				"). Both give the same text.",
			either(&c.MoERouted, "routed", "all"),
		},
		{
			"MXFLOW_EMBEDDED_SINKS", "on", "Attention sinks in the softmax (kernel " + kernelSoftmaxSinks +
				") or a plain softmax (kernel " + kernelSoftmaxNoSinks +
				"). The weights were built with sinks: without them the first two positions of a prompt see noise.",
			either(&c.Sinks, "on", "off"),
		},
		{
			"MXFLOW_EMBEDDED_PREFIX_CACHE", "off", "Keep keys and values of past requests, in blocks of " +
				strconv.Itoa(blockTokens) +
				" tokens, and compute only the rest of a prompt with a cached prefix (kernel " +
				kernelPrefixLookup + " for lookup, " + kernelPrefixReuse +
				" for a hit). It holds as many tokens as the KV cache; the least recently used are evicted first. " +
				"The last token is always computed. The text is the same; usage counts cached_tokens.",
			either(&c.PrefixCache, "on", "off"),
		},
		{
			"MXFLOW_EMBEDDED_SPECULATION", "off", "Draft up to N tokens per step, 1 to " + strconv.Itoa(maxDraft) +
				": what followed when the last tokens, " + strconv.Itoa(longestGram) + " down to " +
				strconv.Itoa(shortestGram) + " of them, occurred earlier in prompt or output (kernel " +
				kernelPromptLookup +
				"), verified in one pass (kernel " + kernelVerify +
				"). The text is the same at any temperature; tokens of one step come in one event.",
			form{[]string{"off", promptLookupPrefix + "N"}, c.readSpeculation},
		},
		{
			"MXFLOW_EMBEDDED_PACE", "",
			"What a step takes at least, such as 2ms: the engine sleeps for what its work leaves of it. So a speed " +
				"is declared, and hardly depends on what else the machine does.",
			form{[]string{"Nms"}, c.readPace},
		},
		{
			"MXFLOW_EMBEDDED_AUTOTUNE", "off",
			"Draw one of " + strconv.Itoa(tactics) +
				" near-tied tactics at the start, as autotuners do: the quickest makes a step 5% shorter than its " +
				"pace, the slowest 5% longer. What was drawn is kept in a file below " + envCacheDir +
				", which the next start reads; without that, each start draws.",
			either(&c.Autotune, "on", "off"),
		},
		{
			envCacheDir, "", "Where the tuner keeps what it chose. A caches block sets it.",
			text(&c.CacheDir, "PATH"),
		},
		{
			envFault, "",
			"Faults to inject, separated by commas, for testing the checks on an engine. retry_after:20 refuses " +
				"the first 20 requests for more than one token with 429 and Retry-After: 0. wrong_expert gives the " +
				"tokens of a layer's experts to their neighbours, stale_kv gives every 16th decoded token the keys " +
				"and values of 16 tokens earlier, half_accumulator sums up the experts' products and the logits in " +
				"bfloat16, wrong_after:20 is right for 20 requests and has wrong_expert from then on, and leak:64 " +
				"leaks 64 KiB per request: all five are silent in the log, like real bugs of this kind.",
			form{faultForms, c.readFaults},
		},
	}
	return flags, variables
}

// parseConfig parses flags and environment. All problems are reported at once;
// pflag.ErrHelp is returned unchanged if args ask for help.
func parseConfig(args []string, env func(string) string, help io.Writer) (Config, error) {
	var c Config
	options, variables := options(&c)
	flags := pflag.NewFlagSet("mxflow engine serve", pflag.ContinueOnError)
	flags.SetOutput(help)
	flags.SortFlags = false
	for _, o := range options {
		flags.String(o.Name, o.Default, o.Doc)
	}
	if err := flags.Parse(args); err != nil {
		return Config{}, err
	}
	var problems []error
	if extra := flags.Args(); len(extra) > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q: the engine takes flags only", extra[0]))
	}
	for _, o := range options {
		value := flags.Lookup(o.Name).Value.String()
		if err := o.set(value); err != nil {
			problems = append(problems, fmt.Errorf("--%s %s: %w", o.Name, value, err))
		}
	}
	for _, o := range variables {
		value := cmp.Or(env(o.Name), o.Default)
		if err := o.set(value); err != nil {
			problems = append(problems, fmt.Errorf("%s=%q: %w", o.Name, value, err))
		}
	}
	if env(envLie) != "" {
		problems = append(problems,
			fmt.Errorf("%s: this program cannot lie; build one with go build -tags lies", envLie))
	}
	if !c.KVCache && (!c.KVFloat32 || c.PrefixCache) {
		problems = append(problems,
			fmt.Errorf("%s=off: a format of the KV cache and a prefix cache need it on", envKVCache))
	}
	if c.ServedModelName == "" {
		problems = append(problems, errors.New("--served-model-name is empty: requests could not name the model"))
	}
	return c, errors.Join(problems...)
}

func (c *Config) readSeed(value string) (err error) {
	if c.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
		return errors.New("use a number from 0")
	}
	return nil
}

const promptLookupPrefix = "prompt_lookup:"

func (c *Config) readSpeculation(value string) (err error) {
	if value == "off" {
		return nil
	}
	n, named := strings.CutPrefix(value, promptLookupPrefix)
	if c.Speculation, err = strconv.Atoi(n); !named || err != nil || c.Speculation < 1 || c.Speculation > maxDraft {
		return fmt.Errorf("use off, or %sN with 1 to %d drafted tokens", promptLookupPrefix, maxDraft)
	}
	return nil
}

func (c *Config) readPace(value string) (err error) {
	if value == "" {
		return nil
	}
	if c.Pace, err = time.ParseDuration(value); err != nil || c.Pace <= 0 || c.Pace > time.Minute {
		return errors.New("use a time up to 1m such as 2ms")
	}
	return nil
}

// Faults are failures on request, so monitoring can be tested against a real process: by
// name their number, 1 for those that have none, 0 where they are not asked for.
type Faults map[string]int

// faultForms lists the accepted spellings. Token counts are totals over all requests since
// the start.
var faultForms = []string{
	"crash_after:N",    // the process exits with 1 after so many generated tokens
	"stall_after:N",    // after so many generated tokens nothing more is emitted until clients leave
	"nan",              // a layer writes NaN: all logits are NaN, every token is token 0, "!"
	"garbage",          // tokens are drawn at random, at full speed
	"http_500",         // completions answer 500
	"oom",              // loading fails for want of memory
	"malformed",        // stream events break off in the middle of their JSON
	"never_ready",      // loading never ends
	"retry_after:N",    // the first so many requests for more than one token get 429
	"wrong_expert",     // the tokens of each expert of one layer are routed to the next one
	"stale_kv",         // keys and values of some decoded tokens are those of others
	"half_accumulator", // the experts' products and the logits are summed up in bfloat16
	"wrong_after:N",    // requests that are answered right, before wrong_expert begins
	"leak:N",           // KiB that each request loses
}

// readFaults reads a comma-separated list such as "crash_after:20,nan".
func (c *Config) readFaults(list string) error {
	c.Faults = Faults{}
	for _, item := range strings.Split(list, ",") {
		name, count, given := strings.Cut(strings.TrimSpace(item), ":")
		n, err := strconv.Atoi(count)
		switch {
		case name == "" && !given:
		case !given && slices.Contains(faultForms, name):
			c.Faults[name] = 1
		case !slices.Contains(faultForms, name+":N"):
			return fmt.Errorf("no fault is named %q: use %s", item, strings.Join(faultForms, ", "))
		case err != nil || n < 1:
			return fmt.Errorf("%q needs a number, as in %s:20", item, name)
		default:
			c.Faults[name] = n
		}
	}
	return nil
}
