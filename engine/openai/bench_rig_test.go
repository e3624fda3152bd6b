//go:build linux

package openai

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Environment variables that make this test binary the server of the
// benchmarks, so that its CPU is not the client's, or a client whose memory is
// nobody else's: the value is then "plain" or "stream" and the server's address.
const (
	benchServer = "MXFLOW_BENCH_SERVER"
	benchClient = "MXFLOW_BENCH_CLIENT"
)

func TestMain(m *testing.M) {
	if os.Getenv(benchServer) != "" {
		servePaced()
		return
	}
	if how := os.Getenv(benchClient); how != "" {
		beClient(how)
		return
	}
	os.Exit(m.Run())
}

// Of BenchmarkStreamMemory.
const (
	memoryStreams = 2000
	memoryEvents  = 100
	memoryGap     = 100 * time.Millisecond
)

// beClient reads memoryStreams streams at once and prints the most memory that
// the process ever had, in bytes (VmHWM).
func beClient(how string) {
	kind, url, _ := strings.Cut(how, " ")
	read := plain(url)
	if kind == "stream" {
		read = streaming(url)
	}
	if _, err := spend(read, memoryStreams, memoryEvents, memoryGap); err != nil {
		fmt.Println(err)
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, _ := strconv.Atoi(strings.Fields(rest)[0])
	fmt.Println(kib * 1024)
}

// reader reads one whole answer of so many events and returns how many it saw.
type reader func(events int, gap time.Duration) (int, error)

// plain is the floor: net/http, its Body.Read, and a count of line ends.
func plain(url string) reader {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}}
	return func(events int, gap time.Duration) (int, error) {
		question := fmt.Sprintf(`{"max_tokens":%d,"seed":%d}`, events, gap)
		resp, err := client.Post(url+"/v1/completions", "application/json", strings.NewReader(question))
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		buf, seen := make([]byte, 4096), 0
		for {
			n, err := resp.Body.Read(buf)
			seen += bytes.Count(buf[:n], []byte("\n"))
			if err == io.EOF {
				return seen / 2, nil // an event ends in two
			}
			if err != nil {
				return seen / 2, err
			}
		}
	}
}

func streaming(url string) reader {
	c := New(url, "m")
	return func(events int, gap time.Duration) (int, error) {
		seed := int64(gap)
		s, err := c.Stream(context.Background(), Request{
			MaxTokens: events, Seed: &seed, ContinuousUsage: true,
			Timeouts: Timeouts{Total: time.Minute, First: time.Minute, Stall: time.Minute},
		})
		return len(s.Events), err
	}
}

// cost is CPU time of this process and what it was spent on.
type cost struct {
	cpu    time.Duration
	events int
}

// spend reads so many streams at once and says what that cost this process.
func spend(read reader, streams, events int, gap time.Duration) (cost, error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var c cost
	var failed error
	before := cpuTime()
	for range streams {
		all.Go(func() {
			n, err := read(events, gap)
			mu.Lock()
			defer mu.Unlock()
			c.events += n
			failed = cmp.Or(failed, err)
		})
	}
	all.Wait()
	c.cpu = cpuTime() - before
	if want := streams * (events + 1); failed == nil && c.events != want {
		failed = fmt.Errorf("%d events, want %d", c.events, want)
	}
	return c, failed
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
