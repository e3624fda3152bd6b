package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Every answer of the benchmark has so many events, one each gap.
const benchEvents, benchGap = 100, 20 * time.Millisecond

// BenchmarkClientBesideBareReader shows what the client adds to the cost of an event: it
// reads streams of a known schedule, in turn with a reader that only takes the time of
// each line. The processor time per event includes the server's, which is the same for
// both. It also shows how late both saw an event on average.
func BenchmarkClientBesideBareReader(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(sendOnSchedule))
	defer server.Close()
	bare, client := bareReader(server.URL), clientReader(server.URL)
	for _, streams := range []int{1, 100, 500} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			spend(b, bare, streams) // opens the connections
			spend(b, client, streams)
			var cpuBare, cpuClient, lateBare, lateClient float64
			for b.Loop() {
				cpu, late := spend(b, bare, streams)
				cpuBare, lateBare = cpuBare+cpu, lateBare+late
				cpu, late = spend(b, client, streams)
				cpuClient, lateClient = cpuClient+cpu, lateClient+late
			}
			b.ReportMetric(cpuBare/float64(b.N), "bare-µs/event")
			b.ReportMetric((cpuClient-cpuBare)/float64(b.N), "client-adds-µs/event")
			b.ReportMetric(lateBare/float64(b.N), "bare-µs-late")
			b.ReportMetric(lateClient/float64(b.N), "client-µs-late")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// sendOnSchedule sends an answer's events, each due one gap after the one before.
func sendOnSchedule(w http.ResponseWriter, _ *http.Request) {
	began := time.Now()
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range benchEvents {
		time.Sleep(time.Until(began.Add(time.Duration(i) * benchGap)))
		_, _ = io.WriteString(w, vllmEvent(i+1))
		w.(http.Flusher).Flush()
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// reader reads one answer and returns when, after the request, it saw each event.
type reader func() ([]time.Duration, error)

func bareReader(url string) reader {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}}
	return func() (at []time.Duration, err error) {
		began := time.Now()
		resp, err := client.Post(url+"/v1/completions", "application/json", strings.NewReader("{}"))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if bytes.HasPrefix(lines.Bytes(), []byte("data: {")) {
				at = append(at, time.Since(began))
			}
		}
		return at, nil
	}
}

func clientReader(url string) reader {
	c := New(url, "m")
	return func() (at []time.Duration, _ error) {
		s, err := c.Stream(context.Background(), Request{MaxTokens: benchEvents, ContinuousUsage: true})
		for _, e := range s.Events[:min(benchEvents, len(s.Events))] { // without the end of the stream
			at = append(at, e.At)
		}
		return at, err
	}
}

// spend reads so many streams at once. It returns, per event, the processor time and the
// delay against the schedule, in µs.
func spend(b *testing.B, read reader, streams int) (cpu, late float64) {
	var all sync.WaitGroup
	answers, errs := make([][]time.Duration, streams), make([]error, streams)
	before := usedTime()
	for i := range streams {
		all.Go(func() { answers[i], errs[i] = read() })
	}
	all.Wait()
	events := float64(streams * benchEvents)
	cpu = float64(usedTime()-before) / 1e3 / events
	for _, at := range answers {
		if len(at) != benchEvents {
			b.Fatalf("%d events of %d: %v", len(at), benchEvents, cmp.Or(errs...))
		}
		for i, seen := range at {
			late += float64(seen-time.Duration(i)*benchGap) / 1e3 / events
		}
	}
	return cpu, late
}

// usedTime is the processor time of this process, in ns.
func usedTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no process of its own
	return u.Utime.Nano() + u.Stime.Nano()
}
