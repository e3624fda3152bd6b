// Package planstest has the registry and the plans that the tests of several packages
// share.
package planstest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Registry stands for what levels, steps and engine kinds declare.
func Registry() *plans.Registry {
	return &plans.Registry{
		Dataset: testRows,
		Decision: func(falsePass, falseFail float64, least, most int) error {
			_, err := stats.DesignFor(falsePass, falseFail, least, most, stats.Unrecorded)
			return err
		},
		Levels: map[string]plans.Schema{
			"smoke": {Attrs: []plans.Attr{
				{Name: "prompt", Type: plans.String, Required: true, Doc: "what is asked."},
				{Name: "expect", Type: plans.String},
				{Name: "pattern", Type: plans.String},
				{Name: "max_tokens", Type: plans.Int, Default: 16, Min: 1, MinSet: true},
			}, Check: func(b *plans.Block) []plans.AttrError {
				if b.Attrs["expect"] == nil && b.Attrs["pattern"] == nil {
					return []plans.AttrError{{
						Code: "smoke-expects-nothing", Summary: "Smoke test without an answer",
						Detail: "Say what the answer has to contain: set expect or pattern.",
					}}
				}
				if p, ok := b.Attrs["pattern"].(string); ok {
					if _, err := regexp.Compile(p); err != nil {
						return []plans.AttrError{{
							Attr: "pattern", Code: "invalid-value", Summary: "Invalid pattern",
							Detail: err.Error(),
						}}
					}
				}
				return nil
			}},
			"kernels": {Attrs: []plans.Attr{{
				Name: "from", Type: plans.Strings, Required: true, OneOf: []string{"log"},
				Doc: "where to look.",
			}}},
			"benchmark": {Attrs: []plans.Attr{
				{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "Name what to send."},
				{Name: "suite", Type: plans.Reference, Ref: "suite", Doc: "Name a suite of it."},
				{Name: "launches", Type: plans.Int, Default: 5, Min: 1, MinSet: true},
			}, Check: func(b *plans.Block) []plans.AttrError {
				if list, ok := b.Attrs["workloads"].([]any); ok && len(list) == 0 {
					return []plans.AttrError{{
						Attr: "workloads", Code: "empty-value", Summary: "Empty workloads",
						Detail: "Name what to send.",
					}}
				}
				return nil
			}},
		},
		Steps: map[string]plans.Schema{
			"exec": {Attrs: []plans.Attr{
				{Name: "command", Type: plans.Strings, Required: true, Doc: "Name the program and its arguments."},
				{Name: "dir", Type: plans.String},
				{Name: "env", Type: plans.Map},
				{Name: "timeout", Type: plans.Duration, Default: "10m"},
			}},
		},
		Engines: map[string]plans.EngineKind{
			"openai": {NeedsProcess: true},
			"vllm":   {},
			"embedded": {Variables: []string{"MXFLOW_EMBEDDED_KV_CACHE", "MXFLOW_EMBEDDED_MOE"}, Settings: []plans.Attr{
				{Name: "layers", Type: plans.Int, Min: 1, MinSet: true},
				{Name: "kv_cache", Type: plans.Bool},
				{Name: "moe", Type: plans.String, OneOf: []string{"all", "routed"}},
				{Name: "threads", Type: plans.Int},
			}},
		},
	}
}

// testRows tells rows apart by what is in them.
func testRows(name string, data []byte) (rows plans.DataRows, err error) {
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case !strings.HasPrefix(line, "{"):
			return rows, fmt.Errorf("%s:%d: each line must be one JSON object", name, i+1)
		}
		if rows.Unanswered == 0 && !strings.Contains(line, "output") {
			rows.Unanswered = i + 1
		}
		if rows.Chat == 0 && strings.Contains(line, "messages") {
			rows.Chat = i + 1
		}
		rows.Count++
	}
	return rows, nil
}

// Text is the diagnostics as a person would read them.
func Text(r *lang.Findings) string {
	var b strings.Builder
	_ = r.WriteDiagnostics(&b, 100, false)
	return b.String()
}

// Hang is longer than any machine needs: what takes that long would not end. How
// fast something is is in benchmarks.
const Hang = time.Minute

// Decoded is all that a plan came out as, but for where it stands.
func Decoded(t testing.TB, p *plans.Plan) string {
	t.Helper()
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
