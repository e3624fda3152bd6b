//go:build linux

package openai

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkStreamMemory prints how much memory a process needs that reads two
// thousand streams at once, beside one that does so with net/http alone.
func BenchmarkStreamMemory(b *testing.B) {
	url := startPaced(b)
	for _, kind := range []string{"plain", "stream"} {
		most := 0
		for range b.N {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), benchClient+"="+kind+" "+url)
			out, err := cmd.Output()
			if err != nil {
				b.Fatal(err)
			}
			size, err := strconv.Atoi(strings.TrimSpace(string(out)))
			if err != nil {
				b.Fatalf("%s", out)
			}
			most = max(most, size)
		}
		b.ReportMetric(float64(most)/1e6, kind+"-MB")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStream compares Stream with a plain net/http reader of the same
// bytes, in turn, in one process; the server is another. One operation is one
// round of both. It prints the CPU time of an event and their ratio.
func BenchmarkStream(b *testing.B) {
	for _, size := range []struct {
		streams, events int
		gap             time.Duration
	}{{100, 200, 20 * time.Millisecond}, {1000, 100, 50 * time.Millisecond}, {2000, 100, 100 * time.Millisecond}} {
		b.Run(fmt.Sprintf("streams=%d/gap=%v", size.streams, size.gap), func(b *testing.B) {
			url := startPaced(b)
			floor, stream := plain(url), streaming(url)
			once := func(read reader, events int) cost {
				runtime.GC()
				c, err := spend(read, size.streams, events, size.gap)
				if err != nil {
					b.Fatal(err)
				}
				return c
			}
			for _, read := range []reader{floor, stream} { // connections are opened
				once(read, 1)
			}
			var a, c cost
			b.ResetTimer()
			for range b.N {
				one, two := once(floor, size.events), once(stream, size.events)
				a.cpu, a.events, c.cpu, c.events = a.cpu+one.cpu, a.events+one.events, c.cpu+two.cpu, c.events+two.events
			}
			per := func(x cost) float64 { return float64(x.cpu.Nanoseconds()) / 1e3 / float64(x.events) }
			b.ReportMetric(per(a), "floor-µs/event")
			b.ReportMetric(per(c), "stream-µs/event")
			b.ReportMetric(per(c)/per(a), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}
