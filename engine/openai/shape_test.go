package openai

import "testing"

// Streams as engines send them, in full.
func TestShapes(t *testing.T) {
	const id = `data: {"id":"chatcmpl-81ac59df6f7a4f4f","object":"chat.completion.chunk","created":1767225600,"model":"openai/gpt-oss-20b",`
	for _, tt := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{
			"vLLM, a chat with reasoning and counts in every event",
			[]string{
				id + `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"usage":{"prompt_tokens":70,"total_tokens":70,"completion_tokens":0}}` + "\n\n",
				id + `"choices":[{"index":0,"delta":{"reasoning":"We","reasoning_content":"We"},"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":{"prompt_tokens":70,"total_tokens":74,"completion_tokens":4}}` + "\n\n",
				id + `"choices":[{"index":0,"delta":{"content":"Yes"},"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":{"prompt_tokens":70,"total_tokens":79,"completion_tokens":9}}` + "\n\n",
				id + `"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":200002,"token_ids":null}],"usage":{"prompt_tokens":70,"total_tokens":80,"completion_tokens":10}}` + "\n\n",
				id + `"choices":[],"usage":{"prompt_tokens":70,"total_tokens":80,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":64}}}` + "\n\n",
				end,
			},
			`other/0/0 reasoning/4/2 text/9/3 other/10/0 usage/10/0 done/-1/0 prompt=70 output=10 cached=64 of=16 continuous_usage finish="stop" text="Yes" reasoning="We"`,
		},
		{
			"SGLang, a chat",
			[]string{
				id + `"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}` + "\n\n",
				id + `"choices":[{"index":0,"delta":{"role":null,"content":"Yes","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}` + "\n\n",
				id + `"choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"length","matched_stop":null}],"usage":null}` + "\n\n",
				id + `"choices":[],"usage":{"prompt_tokens":8,"total_tokens":9,"completion_tokens":1,"prompt_tokens_details":null,"reasoning_tokens":0}}` + "\n\n",
				end,
			},
			`other/-1/0 text/-1/3 other/-1/0 usage/1/0 done/-1/0 prompt=8 output=1 cached=-1 of=16 usage finish="length" text="Yes" reasoning=""`,
		},
		{
			"llama-server, a chat that ends with timings",
			[]string{
				id + `"system_fingerprint":"b6527","choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]}` + "\n\n",
				id + `"system_fingerprint":"b6527","choices":[{"finish_reason":null,"index":0,"delta":{"content":"Yes"}}]}` + "\n\n",
				id + `"system_fingerprint":"b6527","choices":[{"finish_reason":"stop","index":0,"delta":{}}]}` + "\n\n",
				id + `"system_fingerprint":"b6527","choices":[],"usage":{"completion_tokens":2,"prompt_tokens":8,"total_tokens":10},"timings":{"cache_n":0,"prompt_n":8,"prompt_ms":9.1,"predicted_n":2,"predicted_ms":3.5}}` + "\n\n",
				end,
			},
			`other/-1/0 text/-1/3 other/-1/0 usage/2/0 done/-1/0 prompt=8 output=2 cached=0 of=16 usage finish="stop" text="Yes" reasoning=""`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, script(tt.pieces...))
			s, err := c.Stream(t.Context(), Request{API: Chat, Prompt: "x", MaxTokens: 16})
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(s); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}
