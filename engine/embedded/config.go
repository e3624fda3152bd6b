package embedded

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

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

	KVCache bool   // keep keys and values between steps
	MoE     string // MoERouted or MoEAll
	LMHead  string // LMHeadF32 or LMHeadMXFP4
	Sinks   bool   // attention sinks join the softmax

	PrefixCache       bool // keep keys and values between requests
	PrefixCacheTokens int  // at most so many
	Speculation       int  // tokens that prompt lookup drafts a step; 0 is off
	Reasoning         int  // first tokens of a chat answer that go out as reasoning

	Faults Faults
}

// Limits that keep a mistyped number from taking the machine with it.
const (
	maxLayers   = 64
	maxThreads  = 64
	maxPosition = 131072
	maxSeqs     = 1024
	maxPrefix   = 1 << 20 // tokens
)

// ParseConfig reads flags and environment. All problems are reported at once;
// pflag.ErrHelp is returned as it is when args ask for help.
func ParseConfig(args []string, env func(string) string, help io.Writer) (Config, error) {
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
	faults, err := ParseFaults(env(envFault))
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
