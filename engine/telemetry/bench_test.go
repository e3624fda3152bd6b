package telemetry

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// BenchmarkHostSample is what one look at this machine costs, with one process of
// the engine's.
func BenchmarkHostSample(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("the host's counters are read on Linux")
	}
	h := newHost("/", newTape(time.Now()))
	own := []int{os.Getpid()}
	for b.Loop() {
		h.sample(own, "")
	}
}

// BenchmarkPageRead is what one page costs that is as large as vLLM's: most of it
// are lines of histograms, which nobody asks for.
func BenchmarkPageRead(b *testing.B) {
	var page strings.Builder
	page.WriteString(vllmPage)
	for i := range 1000 {
		fmt.Fprintf(&page, "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"%d.0\",model_name=\"m\"} %d.0\n", i, i)
	}
	text := []byte(page.String())
	p := newPageLines(vllmNames)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.read(text); err != nil {
			b.Fatal(err)
		}
	}
}
