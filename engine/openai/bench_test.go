//go:build linux

package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStreamMemory prints how much memory a process needs to read two thousand
// streams at once, beside one that does so with net/http alone.
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

// BenchmarkStream compares Stream with a plain net/http reader of the same bytes,
// alternately, in one process; the server is another. One operation is one round of both.
// It prints the CPU time per event and their ratio.
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
			for _, read := range []reader{floor, stream} { // opens the connections
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

// Environment variables that turn this test binary into the server of the benchmarks, so
// that its CPU time is not the client's, or into a client with its own memory: the value
// is then "plain" or "stream" and the server's address.
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

// For BenchmarkStreamMemory.
const (
	memoryStreams = 2000
	memoryEvents  = 100
	memoryGap     = 100 * time.Millisecond
)

// beClient reads memoryStreams streams at once and prints the peak memory of the process,
// in bytes (VmHWM).
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

// reader reads one whole answer of the given number of events and returns how many it
// saw.
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

// spend reads the given number of streams at once and returns what that cost this
// process.
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

// servePaced answers every request on raw connections with as many events as it asks for,
// at the requested rate, each in its own chunk as vLLM sends them.
func servePaced() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() { // the parent's end is ours
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var chunks [][]byte
	for i := range 8 {
		e := vllmEvent(1000 + i)
		chunks = append(chunks, fmt.Appendf(nil, "%x\r\n%s\r\n", len(e), e))
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer conn.Close()
			in := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				var asked struct {
					Events int           `json:"max_tokens"`
					Gap    time.Duration `json:"seed"`
				}
				_ = json.NewDecoder(req.Body).Decode(&asked)
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
				due := time.Now()
				for i := range asked.Events {
					due = due.Add(asked.Gap)
					time.Sleep(time.Until(due))
					if _, err := conn.Write(chunks[i%len(chunks)]); err != nil {
						return
					}
				}
				_, _ = io.WriteString(conn, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
			}
		}()
	}
}

// startPaced starts the server and returns its address.
func startPaced(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchServer+"=1")
	hold, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { hold.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line)
}

// BenchmarkCollect is the handling of a parsed event, for answers of 256.
func BenchmarkCollect(b *testing.B) {
	e := event{text: []byte(" word"), hasChoice: true, completion: -1, prompt: -1, cached: -1}
	for b.Loop() {
		c := newCollector(Request{MaxTokens: 256})
		for i := range 256 {
			c.add(&e, time.Duration(i)*time.Millisecond)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/event")
}
