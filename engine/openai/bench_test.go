package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Every answer of the benchmark has so many events, and all together bring so many a second.
const benchEvents, benchRate = 100, 20_000

// BenchmarkClientBesideBareReader shows what the client costs: it reads streams of a known schedule, in turn
// with a net/http reader that only takes the time of each line. The processor time per event includes the
// server's, which is the same for both, and of the client's what it spends while answers come; decoding is
// shown by itself. The ITL error is how far the time between two events of an answer is from the schedule.
func BenchmarkClientBesideBareReader(b *testing.B) {
	for _, streams := range []int{1, 100, 500, 2000} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			gap := max(time.Duration(streams)*time.Second/benchRate, 20*time.Millisecond)
			server := httptest.NewServer(sendOnSchedule(gap))
			defer server.Close()
			bare, client := bareReader(server.URL), clientReader(server.URL)
			spend(b, bare, streams, gap) // opens the connections
			spend(b, client, streams, gap)
			var sums [2]cost
			for b.Loop() {
				for i, read := range []reader{bare, client} {
					c := spend(b, read, streams, gap)
					sums[i].cpu, sums[i].after, sums[i].itl = sums[i].cpu+c.cpu, sums[i].after+c.after,
						sums[i].itl+c.itl
				}
			}
			n := float64(b.N)
			b.ReportMetric(sums[0].cpu/n, "bare-µs/event")
			b.ReportMetric(sums[1].cpu/sums[0].cpu, "client/bare")
			b.ReportMetric(sums[1].after/n, "decoding-µs/event")
			b.ReportMetric(sums[0].itl/n, "bare-itl-error-p99-ms")
			b.ReportMetric(sums[1].itl/n, "client-itl-error-p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// sendOnSchedule sends an answer's events, each due one gap after the one before.
func sendOnSchedule(gap time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		began := time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range benchEvents {
			time.Sleep(time.Until(began.Add(time.Duration(i) * gap)))
			_, _ = io.WriteString(w, vllmEvent(i+1))
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

// reader reads one answer and returns when, after the request, it saw each event; it calls
// ended as soon as the answer has ended.
type reader func(ended func()) ([]time.Duration, error)

func bareReader(url string) reader {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: IdleConnections, DisableCompression: true}}
	return func(ended func()) (at []time.Duration, err error) {
		defer ended()
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
	return func(ended func()) (at []time.Duration, _ error) {
		s, err := c.Stream(context.Background(), Request{MaxTokens: benchEvents, ContinuousUsage: true, Ended: ended})
		for _, e := range s.Events[:min(benchEvents, len(s.Events))] { // without the end of the stream
			at = append(at, e.At)
		}
		return at, err
	}
}

// cost is what reading took: the processor time per event in µs while answers came and
// after that, and the 99th percentile of the ITL error in ms.
type cost struct{ cpu, after, itl float64 }

// spend reads so many streams at once.
func spend(b *testing.B, read reader, streams int, gap time.Duration) (c cost) {
	var streaming, all sync.WaitGroup
	answers, errs := make([][]time.Duration, streams), make([]error, streams)
	before := usedTime()
	streaming.Add(streams)
	for i := range streams {
		all.Go(func() {
			time.Sleep(gap * time.Duration(i) / time.Duration(streams)) // events come evenly
			answers[i], errs[i] = read(streaming.Done)
		})
	}
	streaming.Wait()
	came := usedTime()
	all.Wait()
	events := float64(streams * benchEvents)
	c.cpu, c.after = float64(came-before)/1e3/events, float64(usedTime()-came)/1e3/events
	var off []float64
	for _, at := range answers {
		if len(at) != benchEvents {
			b.Fatalf("%d events of %d: %v", len(at), benchEvents, cmp.Or(errs...))
		}
		for i := benchEvents / 10; i < benchEvents*9/10; i++ { // while none starts or ends
			off = append(off, math.Abs(float64(at[i]-at[i-1]-gap))/1e6)
		}
	}
	slices.Sort(off)
	c.itl = off[len(off)*99/100]
	return c
}

// usedTime is the processor time of this process, in ns.
func usedTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no process of its own
	return u.Utime.Nano() + u.Stime.Nano()
}
