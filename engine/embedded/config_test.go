package embedded

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestParseConfig(t *testing.T) {
	defaults := Config{
		Host: "127.0.0.1", Port: 8000, Layers: 4, Threads: 1, MaxModelLen: 8192, MaxNumSeqs: 4,
		ServedModelName: "mxflow-embedded", KVCache: true, KVFloat32: true, MoERouted: true, Sinks: true,
		Faults: Faults{},
	}
	for _, test := range []struct {
		name, args string
		env        []string
		want       func(*Config)
	}{
		{"defaults", "", nil, func(*Config) {}},
		{
			"flags", "--port 0 --seed 9 --layers 2 --served-model-name m --max-model-len 64 --max-num-seqs 1", nil,
			func(c *Config) {
				c.Port, c.Seed, c.Layers, c.ServedModelName, c.MaxModelLen, c.MaxNumSeqs = 0, 9, 2, "m", 64, 1
			},
		},
		{"switches", "", []string{
			"MXFLOW_EMBEDDED_KV_CACHE=off", "MXFLOW_EMBEDDED_MOE=all", "MXFLOW_EMBEDDED_SINKS=off",
		}, func(c *Config) {
			c.KVCache, c.MoERouted, c.Sinks = false, false, false
		}},
		{"a KV format", "", []string{"MXFLOW_EMBEDDED_KV_FORMAT=int8"}, func(c *Config) { c.KVFloat32 = false }},
		{
			"mistakes", "",
			[]string{"MXFLOW_EMBEDDED_FAULT=wrong_expert,stale_kv,half_accumulator,wrong_after:5,leak:64"},
			func(c *Config) {
				c.Faults = Faults{"wrong_expert": 1, "stale_kv": 1, "half_accumulator": 1, "wrong_after": 5, "leak": 64}
			},
		},
		{"prefix cache", "", []string{"MXFLOW_EMBEDDED_PREFIX_CACHE=on"}, func(c *Config) { c.PrefixCache = true }},
		{"speculation", "", []string{"MXFLOW_EMBEDDED_SPECULATION=prompt_lookup:16"}, func(c *Config) {
			c.Speculation = 16
		}},
		{"no speculation", "", []string{"MXFLOW_EMBEDDED_SPECULATION=off"}, func(*Config) {}},
		{"a pace", "", []string{"MXFLOW_EMBEDDED_PACE=2ms"}, func(c *Config) { c.Pace = 2 * time.Millisecond }},
		{"a tuner", "", []string{"MXFLOW_EMBEDDED_AUTOTUNE=on", "MXFLOW_EMBEDDED_CACHE_DIR=/caches"}, func(c *Config) {
			c.Autotune, c.CacheDir = true, "/caches"
		}},
		{"refusals", "", []string{"MXFLOW_EMBEDDED_FAULT=retry_after:20"}, func(c *Config) {
			c.Faults = Faults{"retry_after": 20}
		}},
		{"faults", "", []string{"MXFLOW_EMBEDDED_FAULT=crash_after:20, nan"}, func(c *Config) {
			c.Faults = Faults{"crash_after": 20, "nan": 1}
		}},
	} {
		want := defaults
		test.want(&want)
		got, err := parseConfig(strings.Fields(test.args), environment(test.env...), io.Discard)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", test.name, got, err, want)
		}
	}
}

// A mistyped switch must not measure the wrong thing silently.
func TestParseConfigRefuses(t *testing.T) {
	for _, test := range []struct {
		args, env string
		want      string // all parts, separated by |
	}{
		{"", "MXFLOW_EMBEDDED_KV_CACHE=yes", `MXFLOW_EMBEDDED_KV_CACHE="yes"|use on or off`},
		{"", "MXFLOW_EMBEDDED_MOE=ALL", "use routed or all"},
		{"", "MXFLOW_EMBEDDED_PACE=2", "use a time up to 1m"},
		{"", "MXFLOW_EMBEDDED_PACE=-2ms", "use a time up to 1m"},
		{"", "MXFLOW_EMBEDDED_PACE=2ms:", "use a time up to 1m"},
		{"", "MXFLOW_EMBEDDED_AUTOTUNE=fast", "use on or off"},
		{"", "MXFLOW_EMBEDDED_LIE=white", "MXFLOW_EMBEDDED_LIE"}, // in a build that cannot lie, and in one that can
		{"", "MXFLOW_EMBEDDED_FAULT=meteor", `no fault is named "meteor"|crash_after:N`},
		{"", "MXFLOW_EMBEDDED_FAULT=crash_after", "needs a number"},
		{"", "MXFLOW_EMBEDDED_FAULT=stall_after:-1", "needs a number"},
		{"", "MXFLOW_EMBEDDED_FAULT=nan:3", "no fault"},
		{"", "MXFLOW_EMBEDDED_FAULT=retry_after", "retry_after:20"},
		{"", "MXFLOW_EMBEDDED_FAULT=retry_after:0", "needs a number"},
		{"", "MXFLOW_EMBEDDED_FAULT=wrong_after", "needs a number"},
		{"", "MXFLOW_EMBEDDED_FAULT=leak:no", "needs a number"},
		{"", "MXFLOW_EMBEDDED_FAULT=stale_kv:3", "no fault"},
		{"", "MXFLOW_EMBEDDED_KV_FORMAT=fp8", "use f32 or int8"},
		{"", "MXFLOW_EMBEDDED_PREFIX_CACHE=1", "use on or off"},
		{
			"", "MXFLOW_EMBEDDED_SPECULATION=on",
			`MXFLOW_EMBEDDED_SPECULATION="on": use off, or prompt_lookup:N with 1 to 16`,
		},
		{"", "MXFLOW_EMBEDDED_SPECULATION=prompt_lookup", "prompt_lookup:N"},
		{"", "MXFLOW_EMBEDDED_SPECULATION=prompt_lookup:0", "1 to 16"},
		{"", "MXFLOW_EMBEDDED_SPECULATION=prompt_lookup:17", "1 to 16"},
		{"", "MXFLOW_EMBEDDED_SPECULATION=4", "prompt_lookup:N"},
		// Whatever is not kept between steps cannot be kept between requests, or in another format.
		{"", "MXFLOW_EMBEDDED_PREFIX_CACHE=on MXFLOW_EMBEDDED_KV_CACHE=off", "MXFLOW_EMBEDDED_KV_CACHE=off: "},
		{"", "MXFLOW_EMBEDDED_KV_FORMAT=int8 MXFLOW_EMBEDDED_KV_CACHE=off", "MXFLOW_EMBEDDED_KV_CACHE=off: "},
		{"--layers 0 --port 70000", "", "--layers 0: use 1 to 64|--port 70000"},
		{"--layers 0", "MXFLOW_EMBEDDED_SINKS=maybe", "--layers 0|SINKS"},
		{"--threads 1000", "", "use 1 to 64"},
		{"--served-model-name=", "", "--served-model-name"},
		{"extra", "", `unexpected argument "extra"`},
		{"--nonsense", "", "nonsense"},
	} {
		_, err := parseConfig(strings.Fields(test.args), environment(strings.Fields(test.env)...), io.Discard)
		if err == nil {
			t.Errorf("%s %s was accepted", test.args, test.env)
			continue
		}
		for _, part := range strings.Split(test.want, "|") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s %s: %q does not say %q", test.args, test.env, err, part)
			}
		}
	}
}

// Help and manual are generated from these tables, so they must be true, and a plan must
// be able to set what they have.
func TestTablesAgreeWithTheParser(t *testing.T) {
	kind, _ := kinds.Lookup("embedded")
	for _, o := range Variables {
		if !slices.Contains(kind.Variables, o.Name) || o.Doc == "" {
			t.Errorf("the kind does not know %s, so that a plan may not set it, or it has no doc: %q", o.Name, o.Doc)
		}
		for _, value := range o.Values {
			if value = strings.ReplaceAll(value, "N", "3"); value == "3AME" {
				value = "honest"
			}
			if _, err := parseConfig(nil, environment(o.Name+"="+value), io.Discard); err != nil {
				t.Errorf("%s documents %q: %v", o.Name, value, err)
			}
		}
	}
	for _, s := range kind.Settings {
		at := slices.IndexFunc(Flags, func(o Option) bool { return "--"+o.Name == s.Flag })
		if at < 0 || s.Type == kinds.TypeNumber && Flags[at].Default != s.Default {
			t.Errorf("%s: the engine's flag is another", s.Flag)
		}
		if s.Type != kinds.TypeNumber || s.Name == "seed" {
			continue
		}
		for value, fits := range map[float64]bool{s.Min: true, s.Max: true, s.Min - 1: false, s.Max + 1: false} {
			if _, err := parseConfig([]string{s.Flag, fmt.Sprint(int(value))}, environment(),
				io.Discard); (err == nil) != fits {
				t.Errorf("%s %v: a plan has %v to %v, the engine says %v", s.Flag, value, s.Min, s.Max, err)
			}
		}
	}
}
