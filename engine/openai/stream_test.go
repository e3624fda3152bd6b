package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestStream(t *testing.T) {
	counted := func(n int) string { return fmt.Sprintf(`,"usage":{"prompt_tokens":11,"completion_tokens":%d}`, n) }
	tests := []struct {
		name   string
		pieces []string
		want   string
	}{
		{
			"counted once",
			[]string{completion("a", ""), completion("b", ""), `data: {"choices":[{"text":"c","finish_reason":"length"}]}` + "\n\n", finalUsage, end},
			`text/-1/1 text/-1/1 text/-1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="length" text="abc" reasoning=""`,
		},
		{
			"counted each time, several tokens an event",
			[]string{completion("ab", counted(2)), completion("c", counted(3)), end},
			`text/2/2 text/3/1 done/-1/0 prompt=11 output=3 cached=-1 of=3 continuous_usage finish="" text="abc" reasoning=""`,
		},
		{
			"nobody counts",
			[]string{completion("a", ""), completion("b", ""), end},
			`text/-1/1 text/-1/1 done/-1/0 prompt=-1 output=2 cached=-1 of=3 events finish="" text="ab" reasoning=""`,
		},
		{
			"chat with both names of reasoning",
			[]string{
				delta(`"role":"assistant","content":""`), delta(`"reasoning_content":"hm"`), delta(`"reasoning":"m"`),
				delta(`"reasoning_content":"!","reasoning":"!"`), delta(`"content":"yes"`), end,
			},
			`other/-1/0 reasoning/-1/2 reasoning/-1/1 reasoning/-1/1 text/-1/3 done/-1/0 prompt=-1 output=4 cached=-1 of=3 events finish="" text="yes" reasoning="hmm!"`,
		},
		{
			"events in pieces, comments, CRLF",
			[]string{": hello\r\n\r\nda", "ta: {\"choices\":[{\"te", "xt\":\"\\u00", "e9\"}]}\r\n\r", "\n: ping\r\n", "data: [DO", "NE]\r\n\r\n"},
			`text/-1/2 done/-1/0 prompt=-1 output=1 cached=-1 of=3 events finish="" text="é" reasoning=""`,
		},
		{
			"several events in one piece",
			[]string{completion("a", counted(1)) + completion("b", counted(2)) + end},
			`text/1/1 text/2/1 done/-1/0 prompt=11 output=2 cached=-1 of=3 continuous_usage finish="" text="ab" reasoning=""`,
		},
		{
			"tool calls as vLLM sends them",
			[]string{
				delta(`"role":"assistant","content":"","reasoning":null,"tool_calls":null`),
				delta(`"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{"name":"get_weather"}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"city\": "}}]`),
				delta(`"content":null,"tool_calls":[{"index":0,"function":{"arguments":"\"Rome\"}"}}]`),
				`data: {"choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}],"usage":null}` + "\n\n",
				finalUsage, end,
			},
			`other/-1/0 tool/-1/11 tool/-1/9 tool/-1/7 other/-1/0 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="tool_calls" text="" reasoning="" tools="get_weather{\"city\": \"Rome\"}"`,
		},
		{
			"two tool calls in one event, and the old form",
			[]string{
				delta(`"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}},{"index":1,"function":{"name":"b","arguments":"[]"}}]`),
				delta(`"function_call":{"name":"c","arguments":"1"}`), end,
			},
			`tool/-1/6 tool/-1/2 done/-1/0 prompt=-1 output=2 cached=-1 of=3 events finish="" text="" reasoning="" tools="a{}b[]c1"`,
		},
		{
			"deltas that are null, and choices that are missing",
			[]string{
				`data: {"choices":[{"index":0,"delta":null}]}` + "\n\n", `data: {"choices":null}` + "\n\n", `data: {"choices":[null]}` + "\n\n", `data: {}` + "\n\n",
				delta(`"content":null,"reasoning_content":null,"tool_calls":[],"function_call":null`), delta(`"content":"x"`), end,
			},
			`other/-1/0 other/-1/0 other/-1/0 other/-1/0 other/-1/0 text/-1/1 done/-1/0 prompt=-1 output=1 cached=-1 of=3 events finish="" text="x" reasoning=""`,
		},
		{
			"several choices that nobody asked for",
			[]string{
				`data: {"choices":[{"index":0,"text":"a"}]}` + "\n\n", `data: {"choices":[{"index":1,"text":"A","finish_reason":"stop"}]}` + "\n\n",
				`data: {"choices":[{"index":0,"text":"b","finish_reason":"length"},{"index":1,"text":"B"}]}` + "\n\n", end,
			},
			`text/-1/1 text/-1/1 text/-1/1 done/-1/0 prompt=-1 output=3 cached=-1 of=3 events finish="length" text="ab" reasoning="" doubts="there was more than one choice, and only the first is kept as text"`,
		},
		{
			"fewer tokens counted than events with text",
			[]string{completion("a", ""), completion("b", ""), completion("c", ""), completion("d", ""), finalUsage, end},
			`text/-1/1 text/-1/1 text/-1/1 text/-1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="" text="abcd" reasoning="" doubts="3 output tokens were counted, and text came in 4 events"`,
		},
		{
			"more tokens than were asked for, and more cached than there were",
			[]string{completion("a", counted(7)), `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":12}}}` + "\n\n", end},
			`text/7/1 usage/7/0 done/-1/0 prompt=11 output=7 cached=12 of=3 continuous_usage finish="" text="a" reasoning="" doubts="7 output tokens were counted, and at most 3 were asked for; 12 cached tokens were counted in a prompt of 11"`,
		},
		{
			"a count that falls",
			[]string{completion("a", counted(2)), completion("b", counted(3)), completion("c", counted(1)), end},
			`text/2/1 text/3/1 text/1/1 done/-1/0 prompt=11 output=1 cached=-1 of=3 continuous_usage finish="" text="abc" reasoning="" doubts="the count of output tokens falls from 3 to 1 at event 3; 1 output tokens were counted, and text came in 3 events"`,
		},
		{
			"a count at the end that is another",
			[]string{completion("a", counted(1)), `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3}}` + "\n\n", end},
			`text/1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=-1 of=3 continuous_usage finish="" text="a" reasoning="" doubts="3 output tokens were counted at the end, and 1 with the last event before"`,
		},
		{
			"a prompt that changes its length",
			[]string{completion("a", counted(1)), `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":1}}` + "\n\n", end},
			`text/1/1 usage/1/0 done/-1/0 prompt=12 output=1 cached=-1 of=3 continuous_usage finish="" text="a" reasoning="" doubts="the count of prompt tokens changes from 11 to 12 at event 2"`,
		},
		{
			"the end twice, and text after it",
			[]string{completion("a", "") + end + completion("late", "") + end + end, ": late\n\n"},
			`text/-1/1 done/-1/0 prompt=-1 output=1 cached=-1 of=3 events finish="" text="a" reasoning="" doubts="[DONE] came 3 times; 1 events came after [DONE] and were not measured"`,
		},
		{
			"a zero beside text is no count",
			[]string{completion("a", counted(0)), completion("b", counted(0)), finalUsage, end},
			`text/0/1 text/0/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="" text="ab" reasoning=""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, script(tt.pieces...))
			s, err := c.Stream(t.Context(), Request{Prompt: "x", MaxTokens: 3})
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(s); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if _, err := measure.Derive(s); (err != nil) != strings.Contains(s.Doubts, "falls") {
				t.Errorf("measured with the error %v", err)
			}
			if s.Err != "" || s.Sent.IsZero() {
				t.Errorf("err %q, sent %v", s.Err, s.Sent)
			}
		})
	}
}

// Connections are used again, also when the end of the body comes late.
func TestConnectionReuse(t *testing.T) {
	from := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true
		script(completion("a", ""), end, ": late\n\n")(w, r)
	})
	for range 5 {
		if _, err := c.Stream(t.Context(), Request{Prompt: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(from) != 1 {
		t.Errorf("%d connections for 5 requests", len(from))
	}
}

func TestComplete(t *testing.T) {
	c := serve(t, script(completion("Pa", ""), completion("ris", ""), finalUsage, end))
	got, err := c.Complete(t.Context(), Request{Prompt: "x"})
	if err != nil || got.Text != "Paris" || got.Tokens != (Tokens{11, 3, 4, measure.SourceUsage}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
