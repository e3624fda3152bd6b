package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// oracle reads an event with encoding/json, in the plainest way. A nil failure stands for
// the raw text of a value, which it does not keep.
func oracle(text []byte) (valid bool, want event) {
	if !json.Valid(text) {
		return false, event{}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return false, event{}
	}
	str := func(v any) string { s, _ := v.(string); return s }
	obj := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	num := func(v any) int {
		n, ok := v.(json.Number)
		if !ok || len(n) > 15 || strings.ContainsAny(string(n), "-.eE") {
			return -1
		}
		i, err := strconv.Atoi(string(n))
		if err != nil {
			return -1
		}
		return i
	}
	e := event{}
	top := obj(root)
	var choice map[string]any
	if list, _ := top["choices"].([]any); len(list) > 0 {
		choice, e.hasChoice, e.several = obj(list[0]), obj(list[0]) != nil, len(list) > 1
	}
	e.index = max(num(choice["index"]), 0)
	delta, usage, timings := obj(choice["delta"]), obj(top["usage"]), obj(top["timings"])
	text0, reasoning := str(choice["text"]), str(delta["reasoning_content"])
	if text0 == "" {
		text0 = str(delta["content"])
	}
	if reasoning == "" {
		reasoning = str(delta["reasoning"])
	}
	calls, _ := delta["tool_calls"].([]any)
	for _, call := range calls {
		function := obj(obj(call)["function"])
		e.tools = append(e.tools, str(function["name"])+str(function["arguments"])...)
	}
	e.tools = append(e.tools, str(obj(delta["function_call"])["name"])+str(obj(delta["function_call"])["arguments"])...)
	e.text, e.reasoning, e.finish = []byte(text0), []byte(reasoning), []byte(str(choice["finish_reason"]))
	e.completion, e.prompt = num(usage["completion_tokens"]), num(usage["prompt_tokens"])
	e.cached = num(obj(usage["prompt_tokens_details"])["cached_tokens"])
	e.hasUsage = usage != nil
	if e.completion < 0 {
		e.completion = num(timings["predicted_n"])
		e.hasUsage = e.hasUsage || e.completion >= 0
	}
	if e.cached < 0 {
		e.cached = num(timings["cache_n"])
	}
	e.failed = top["error"] != nil || str(top["object"]) == "error"
	switch {
	case top["error"] != nil:
		if message, ok := obj(top["error"])["message"].(string); ok {
			e.failure = []byte(message)
		} else if said, ok := top["error"].(string); ok {
			e.failure = []byte(said)
		} else {
			e.failure = nil
		}
	case e.failed:
		if message, ok := top["message"].(string); ok {
			e.failure = []byte(message)
		} else {
			e.failure = []byte("error")
		}
	}
	return true, e
}

func show(e *event) string {
	return fmt.Sprintf("done=%v choice=%v usage=%v text=%q reasoning=%q tools=%q finish=%q index=%d several=%v completion=%d prompt=%d cached=%d failed=%v %q",
		e.done, e.hasChoice, e.hasUsage, e.text, e.reasoning, e.tools, e.finish, e.index, e.several, e.completion, e.prompt, e.cached, e.failed, e.failure)
}

// differ compares the scanner with encoding/json on one text.
func differ(t *testing.T, text []byte) {
	t.Helper()
	valid, want := oracle(text)
	var s scanner
	if got := s.scan(text); got != valid {
		t.Fatalf("scan(%q) = %v, json.Valid says %v", text, got, valid)
	}
	if !valid {
		return
	}
	var e event
	s.read(&e, nil)
	if want.failed && want.failure == nil {
		e.failure = nil
	}
	if got, want := show(&e), show(&want); got != want {
		t.Fatalf("%q\n got %s\nwant %s", text, got, want)
	}
}

var jsonSeeds = []string{
	`{}`, ` { } `, `[]`, `[1,2]`, `null`, `true`, `-0`, `01`, `1.`, `1e`, `1E+5`, `-`, `"a`, `"\u12"`, `"\x"`, "\"\x01\"", `{"a":}`, `{"a" 1}`,
	`{,}`, `{"a":1,}`, `[1,]`, `nul`, `{"a":1}x`, "\xff", "\"\xff\"", `{"error":"no"}`, `{"error":{"message":"bad","code":400}}`,
	`{"error":null}`, `{"error":5}`, `{"object":"error","message":"gone"}`, `{"object":"error"}`, `{"object":"\u0065rror"}`,
	`{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"a","finish_reason":"stop"},{"text":"b"}]}`,
	`{"choices":[]}`, `{"choices":[[{"text":"no"}]]}`, `{"choices":{"text":"no"}}`, `{"choices":[null]}`,
	`{"choices":[{"delta":{"content":"x","reasoning":"y"}}]}`, `{"choices":[{"delta":{"role":"assistant","content":""}}]}`,
	`{"choices":[{"delta":{"reasoning_content":"r","reasoning":"r"}}]}`, `{"choices":[{"delta":[{"content":"no"}]}]}`,
	`{"choices":[{"delta":{"content":"a"},"delta":{}}]}`, `{"choices":[{"text":"a"}],"choices":[]}`, `{"choices":[{"text":"a"}],"choices":null}`,
	`{"choices":[{"te\u0078t":"esc"}]}`, `{"choices":[{"text":"\ud83d\ude00 \ud83d \ude00 \ud83dA é 日本"}]}`, `{"choices":[{"text":"\b\f\n\r\t\"\\\/"}]}`,
	`{"usage":{"completion_tokens":12,"prompt_tokens":7,"prompt_tokens_details":{"cached_tokens":3}}}`,
	`{"usage":{"completion_tokens":-1,"prompt_tokens":1.0}}`, `{"usage":null}`, `{"usage":{"completion_tokens":1},"usage":{}}`,
	`{"usage":{"prompt_tokens_details":{"cached_tokens":3},"prompt_tokens_details":null}}`,
	`{"usage":{"completion_tokens":12345678901234567890}}`, `{"timings":{"predicted_n":4,"cache_n":2}}`, `{"text":"not here"}`,
	`{"choices":[{"index":1,"text":"b"}]}`, `{"choices":[{"index":-1}]}`, `{"choices":[{"index":null,"text":null,"finish_reason":null,"delta":null}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"get_weather"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"a\":"}},{"function":{"name":"two","arguments":"\u00e9"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[null,{},[],{"function":null},{"function":{"name":"a"},"function":{"arguments":"b"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a"}}],"tool_calls":null}}]}`, `{"choices":[{"delta":{"tool_calls":{"function":{"name":"no"}}}}]}`,
	`{"choices":[{"delta":{"tool_calls":[[{"function":{"name":"no"}}]],"function_call":{"name":"f","arguments":"{}"}}}]}`,
	`{"choices":[{"delta":{"function_call":{"name":"f"},"function_call":{"arguments":{"no":1}}}}]}`,
	`{"a":{"choices":[{"text":"deep"}]},"usage":{"usage":{"completion_tokens":9}}}`,
}

func TestJSONAgainstStandardLibrary(t *testing.T) {
	for _, seed := range jsonSeeds {
		differ(t, []byte(seed))
		for i := range seed { // every truncation
			differ(t, []byte(seed[:i]))
		}
	}
	for i := range 40 {
		event := strings.TrimPrefix(vllmEvent(i), "data: ")
		differ(t, []byte(event))
		differ(t, append([]byte(event), 'x'))
	}
	for _, depth := range []int{maxDepth - 1, maxDepth, maxDepth + 1} {
		differ(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		differ(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
	}
	// Every byte at every offset of the eight that are examined together.
	for pad := range 17 {
		for c := range 256 {
			differ(t, []byte(`{"choices":[{"text":"`+strings.Repeat("a", pad)+string([]byte{byte(c)})+`bcdefghijkl"}]}`))
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Add([]byte(strings.TrimPrefix(vllmEvent(1), "data: ")))
	f.Fuzz(func(t *testing.T, text []byte) { differ(t, text) })
}
