package openai

import (
	"bytes"
	"fmt"
	"testing"
)

// vllmEvent is shaped like an event of vLLM with continuous usage: about 300
// bytes with its framing.
func vllmEvent(i int) string {
	words := []string{" the", " quick", ",", " brown", "\\n", " fox\\u00e9", " jumps", " \\\"over\\\""}
	return fmt.Sprintf(`data: {"id":"cmpl-3f2a9bd07c1e4a5f8e6d7c8b9a0f1e2d","object":"text_completion","created":1767225600,"model":"openai/gpt-oss-120b","choices":[{"index":0,"text":"%s","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":{"prompt_tokens":2048,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n",
		words[i%len(words)], 2048+i, i)
}

// BenchmarkParser measures what the client adds to an event: finding it,
// checking it, taking its fields out. One operation is one event. The chunks
// are those of a busy stream (one event a read) and of one that lags behind.
func BenchmarkParser(b *testing.B) {
	for _, perRead := range []int{1, 16} {
		b.Run(fmt.Sprintf("events_per_read=%d", perRead), func(b *testing.B) {
			var chunk bytes.Buffer
			for i := range perRead {
				chunk.WriteString(vllmEvent(i + 1))
			}
			p := newParser()
			b.SetBytes(int64(chunk.Len() / perRead))
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; {
				p.push(chunk.Bytes())
				for p.next() {
					n++
				}
			}
			if p.err != nil {
				b.Fatal(p.err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/event")
		})
	}
}
