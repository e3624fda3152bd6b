package traffic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// written is a trace on one line: when each request arrives, its lengths, blocks, session and text.
func written(t *Trace) string {
	var all []string
	for _, r := range t.Requests {
		one := fmt.Sprintf("%d@%s %d>%d", r.Line, r.At, r.Prompt, r.Output)
		if r.Blocks != nil {
			one += fmt.Sprint(r.Blocks)
		}
		if !r.Timed || r.After > 0 {
			one += fmt.Sprintf(" after %s", r.After)
		}
		text := fmt.Sprint(r.System, len(r.Before), r.Text)
		all = append(all, strings.Join(append([]string{one}, strings.Fields(r.Session+" "+text)...), " "))
	}
	return t.Format + ": " + strings.Join(all, ", ")
}

const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n"

// Each tool's file is recognised by its content, and a program reads any other.
func TestRead(t *testing.T) {
	for name, tt := range map[string]struct{ file, program, want string }{
		"Mooncake": {
			`{"timestamp": 27482, "input_length": 600, "output_length": 52, "hash_ids": [46, 2353]}
{"timestamp": 30535, "input_length": 512, "output_length": 26, "hash_ids": [46]}`, "",
			"Mooncake: 1@0s 600>52[46 2353] 0, 2@3.053s 512>26[46] 0",
		},
		"Mooncake's sessions, as AIPerf writes them": {
			`{"timestamp": 0, "input_length": 10, "output_length": 5, "session_id": "a"}
{"session_id": "a", "delay": 1500, "input_length": 20, "output_length": 6}

{"timestamp": 500, "text_input": "Hi", "output_length": 7}`, "",
			"Mooncake: 1@0s 10>5 a 0, 2@0s 20>6 after 1.5s a 0, 4@500ms 0>7 0Hi",
		},
		"Bailian": {
			`{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.1, "input_length": 20, "output_length": 9, ` +
				`"type": "text", "turn": 1, "hash_ids": [1089, 1090]}`, "",
			"Bailian: 1@0s 20>9[1089 1090] 0",
		},
		"Azure": {
			azure + "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
			"", "Azure LLM inference: 2@0s 374>44 0, 3@4.314579s 396>109 0",
		},
		"Azure of 2024, with a zone": {
			azure + "2024-05-10 00:00:00.009930+00:00,1,2\r\n2024-05-10 00:00:01+00:00,3,4\r\n",
			"", "Azure LLM inference: 2@0s 1>2 0, 3@990.07ms 3>4 0",
		},
		"BurstGPT, by columns, not their order": {
			"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
				"5,,1,ChatGPT,472,18,490,Conversation log\n45,,2,GPT-4,1087,0,1087,API log\n" +
				"118,,1,GPT-4,417,276,693,API log\n",
			"", "BurstGPT: 2@0s 472>18 0, 4@1m53s 417>276 0",
		},
		"text": {
			`{"timestamp": 1, "prompt": "Why?", "output_tokens": 3}
{"timestamp": 2.5, "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, ` +
				`{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Bye"}], "max_tokens": 4}`, "",
			"vLLM and SGLang: 1@0s 0>3 0Why?, 2@1.5s 0>4 Be brief.2Bye",
		},
		"a program": {
			"t;in\n9;5\n7;6\n", `to_entries[0].value | split(";") | {at: (.[0] | tonumber), prompt: (.[1] | tonumber), output: 1}`,
			"a program of its own: 3@0s 6>1 0, 2@2s 5>1 0",
		},
	} {
		got, err := Read("f", []byte(tt.file), tt.program)
		if err != nil || written(got) != tt.want {
			t.Errorf("%s: %v\n%s\n%s", name, err, written(cmp.Or(got, &Trace{})), tt.want)
		}
	}
	got := must.Get(Read("f", []byte("Timestamp,Request tokens,Response tokens\n1,2,0\n1,2,3\n"), ""))(t)
	if len(got.Requests) != 1 || got.Skipped["they failed when recorded"] != 1 {
		t.Errorf("%+v", got)
	}
}

// A bad row is an error with its line, what is wrong and what to do.
func TestBadRows(t *testing.T) {
	const good = `{"timestamp": 0, "input_length": 600, "output_length": 52, "hash_ids": [1, 2]}` + "\n"
	for row, want := range map[string]string{
		`{"timestamp": 5, "input_length": -3, "output_length": 5}`: "f:2: prompt is -3, not a number of tokens from 1 to " +
			"20000000: correct or remove the row",
		`{"timestamp": 5, "output_length": 5}`:                      "f:2: prompt is missing",
		`{"timestamp": 5, "input_length": 3.5, "output_length": 5}`: "f:2: prompt is 3.5",
		`{"timestamp": "x", "input_length": 3}`: "f:2: cannot divide: string (\"x\") and " +
			"number (1000): correct the row",
		`{"timestamp": 1e300, "input_length": 3}`:                                           "f:2: at is 1e+297, not a number of seconds",
		`{"input_length": 3}`:                                                               "f:2: at is missing",
		`{"timestamp": 5, "input_length": 600, "output_length": 0}`:                         "f:2: output is 0",
		`{"timestamp": 5, "input_length": 600, "output_length": 1, "hash_ids": [1, 2, 3]}`:  "f:2: 3 blocks of 512 tokens are more than",
		`{"timestamp": 5, "input_length": 600, "output_length": 1, "hash_ids": ["a", "b"]}`: `f:2: blocks has "a", which is no whole number`,
		`{"timestamp": 5, "input_length": 600, "output_length": 1, "hash_ids": 7}`:          "f:2: blocks is 7, not a list",
		`{"timestamp": 5, "text_input": " "}`:                                               "f:2: the prompt is empty",
		`{"timestamp": 5,`: "f:2: the row is no JSON object: it ends in " +
			"the middle",
		`[1]`: "f:2: the row is no " +
			"JSON object",
		"\xff": "f: it is not UTF-8",
	} {
		if _, err := Read("f", []byte(good+row), ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n%v\n%s", row, err, want)
		}
	}
	for file, want := range map[string]string{
		"":                 "f: no requests",
		"[]":               "f:1: the file is a JSON array",
		`{"a": 1, "b": 2}`: `f:1: unknown format, with the fields ["a" "b"]. Write a jq program`,
		"a,b\n1\n":         "f:2: the row is no line of CSV like the first: wrong number of fields",
		"TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n": `f:2: at is "yesterday", not a number of seconds or a date`,
	} {
		if _, err := Read("f", []byte(file), ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n%v\n%s", file, err, want)
		}
	}
	for program, want := range map[string]string{
		"{":                "f: its program is no jq program",
		".a, .b":           "f:1: the program makes 2 objects of the row",
		".timestamp":       "f:1: the program makes no object",
		`error("no time")`: "f:1: no time",
	} {
		if _, err := Read("f", []byte(good), program); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n%v\n%s", program, err, want)
		}
	}
}

func parsed(t *testing.T, rows ...string) *Trace {
	t.Helper()
	return must.Get(Read("f", []byte(strings.Join(rows, "\n")), ". + {block: 10}"))(t)
}

// What a prompt shares is counted against those that are sent before it, in tokens.
func TestShared(t *testing.T) {
	trace := parsed(t,
		`{"at": 0, "prompt": 25, "output": 1, "blocks": [1, 2, 3]}`,
		`{"at": 1, "prompt": 30, "output": 1, "blocks": [1, 2, 3]}`, // its last block is longer
		`{"at": 2, "prompt": 30, "output": 1, "blocks": [1, 2, 3]}`,
		`{"at": 3, "prompt": 35, "output": 1, "blocks": [1, 9, 3]}`, // and 15 tokens of its own
		`{"at": 4, "prompt": 20, "output": 1, "blocks": [2, 3]}`,    // not at the beginning of any
		`{"at": 5, "prompt": 40, "output": 1}`,
	)
	for s, want := range map[Select]string{
		{}:                          "[0 25 30 10 0 0] of 180, longest 41, cut 0",
		{From: 2 * time.Second}:     "[0 10 0 0] of 125, longest 41, cut 0",
		{MaxPrompt: 12}:             "[0 12 12 10 0 0] of 72, longest 13, cut 108",
		{Duration: 2 * time.Second}: "[0 25] of 55, longest 31, cut 0",
	} {
		part := must.Get(trace.Part(s))(t)
		var shared []int
		for _, c := range part.Conversations {
			shared = append(shared, c[0].Shared)
		}
		got := fmt.Sprintf("%v of %d, longest %d, cut %d", shared, part.Prompt, part.Longest, part.CutTokens)
		if got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
}

// A part begins with its first arrival; its times are those of sending, and a session stays together.
func TestPart(t *testing.T) {
	trace := parsed(t,
		`{"at": 0, "prompt": 1, "session": "a"}`,
		`{"at": 10, "prompt": 2}`,
		`{"after": 4, "prompt": 3, "session": "a"}`,
		`{"at": 12, "prompt": 4, "session": "b"}`,
		`{"at": 20, "prompt": 5, "session": "b"}`,
		`{"at": 30, "prompt": 6}`,
	)
	for s, want := range map[Select]string{
		{Speed: 2}:               "1@0s 3@0s+2s|2@5s|4@6s 5@10s|6@15s",
		{From: 5 * time.Second}:  "2@0s|4@2s 5@10s|6@20s",
		{From: 15 * time.Second}: "5@0s|6@10s",
		{From: 11 * time.Second, Duration: 5 * time.Second}: "4@0s",
	} {
		part := must.Get(trace.Part(s))(t)
		var all []string
		for _, c := range part.Conversations {
			var turns []string
			for _, r := range c {
				one := fmt.Sprintf("%d@%s", r.Prompt, r.At)
				if r.After > 0 {
					one += "+" + r.After.String()
				}
				turns = append(turns, one)
			}
			all = append(all, strings.Join(turns, " "))
		}
		if got := strings.Join(all, "|"); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	if part := must.Get(trace.Part(Select{}))(t); part.Longest != 9 {
		t.Errorf("the longest conversation has %d tokens", part.Longest) // 4 and 5, without answers
	}
	if _, err := trace.Part(Select{From: time.Minute}); err == nil || !strings.Contains(err.Error(), "within 30s") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"timestamp": 1, "input_length": 600, "output_length": 52, "hash_ids": [46, 2353]}`))
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n"))
	f.Add([]byte(`{"timestamp": 2, "messages": [{"role": "user", "content": "Hi"}], "session_id": 3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := Read("f", data, "")
		if err != nil {
			return
		}
		part, err := trace.Part(Select{MaxPrompt: 700, Speed: 3})
		if err != nil {
			return
		}
		n := 0
		for _, c := range part.Conversations {
			for _, r := range c {
				if n++; r.At < 0 || r.Shared < 0 || r.Shared > r.Prompt || r.Prompt == 0 && r.Text == "" {
					t.Errorf("%+v", r)
				}
			}
		}
		if n != part.Requests {
			t.Errorf("%d requests of %d", n, part.Requests)
		}
	})
}

// BenchmarkRead reads rows as long as those of Mooncake's conversations, and selects all. Its ratio is to the time in
// which encoding/json decodes them into structs.
func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		ids := make([]string, 24)
		for j := range ids {
			ids[j] = fmt.Sprint(i*20 + j)
		}
		fmt.Fprintf(&text, `{"timestamp": %d, "input_length": 12200, "output_length": 343, "hash_ids": [%s]}`+"\n", i*300,
			strings.Join(ids, ", "))
	}
	data := []byte(text.String())
	var reading, decoding time.Duration
	for b.Loop() {
		began := time.Now()
		trace := must.Get(Read("f", data, ""))(b)
		must.Get(trace.Part(Select{}))(b)
		reading += time.Since(began)
		began = time.Now()
		for line := range bytes.Lines(data) {
			var row struct {
				Timestamp, InputLength, OutputLength int
				HashIDs                              []int64 `json:"hash_ids"`
			}
			must.Do(b, json.Unmarshal(line, &row))
		}
		decoding += time.Since(began)
	}
	b.ReportMetric(float64(reading)/float64(decoding), "times")
}
