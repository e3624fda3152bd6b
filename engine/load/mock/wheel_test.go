package mock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	const ms = int64(time.Millisecond)
	p := Pacing{TTFT: 50_000, ITL: 10_000, Tokens: 1000, PerEvent: 1}
	plain := p.schedule(7)
	for _, i := range []int{0, 1, 999} {
		if got, want := plain.due(i), 7+50*ms+int64(i)*10*ms; got != want {
			t.Errorf("event %d is due at %d, want %d", i, got, want)
		}
	}
	p.Jitter, p.ID = 4_000, "a"
	one, same := p.schedule(7), p.schedule(7)
	p.ID = "b"
	other := p.schedule(7)
	spread, differs := map[int64]bool{}, false
	for i := range 1000 {
		at, base := one.due(i), plain.due(i)
		if at < base || at >= base+4*ms {
			t.Fatalf("event %d is due %d ns after its time", i, at-base)
		}
		if at != same.due(i) {
			t.Fatalf("event %d differs for the same ID", i)
		}
		differs = differs || at != other.due(i)
		spread[(at-base)/ms] = true
	}
	if len(spread) != 4 || !differs {
		t.Errorf("delays of %v, differs for another ID: %v", spread, differs)
	}
	p.Jitter, p.Align = 0, 8_000
	aligned := p.schedule(7)
	for i := range 100 {
		if at := aligned.due(i); at%(8*ms) != 0 || at < plain.due(i) || at >= plain.due(i)+8*ms {
			t.Fatalf("event %d is due at %d, not at the next step after %d", i, at, plain.due(i))
		}
	}
	if n := (Pacing{Tokens: 7, PerEvent: 3}).events(); n != 3 {
		t.Errorf("7 tokens by 3 are %d events", n)
	}
}

func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q queue
	var want, got []int64
	for range 500 {
		due := r.Int64N(100)
		want = append(want, due)
		q.push(&answer{due: due})
	}
	for i := range 100 { // the first ones again, later
		q[0].due += int64(i)
		q.fix()
	}
	want = want[:0]
	for _, a := range q {
		want = append(want, a.due)
	}
	slices.Sort(want)
	for len(q) > 0 {
		got = append(got, q[0].due)
		q.pop()
	}
	if !slices.Equal(got, want) {
		t.Errorf("out of order: %v", got)
	}
}

// A client that does not read delays nobody, and loses nothing.
func TestSlowReader(t *testing.T) {
	s := start(t, Config{Wheels: 1})
	const tokens = 1 << 20
	slow := post(t, s.URL(), "/v1/completions", object{
		"prompt": "slow", "stream": true, "mock": Pacing{Tokens: tokens, PerEvent: maxPerEvent},
		"stream_options": object{"include_usage": true, "continuous_usage_stats": true},
	})
	quick := post(t, s.URL(), "/v1/completions", object{"prompt": "quick", "stream": true, "mock": Pacing{Tokens: 50, PerEvent: 1, ITL: 200}})
	if data, _ := read(t, quick.Body, s.clock); len(data) != 51 {
		t.Errorf("the quick one got %d events", len(data))
	}
	if found := s.truths.find("slow"); len(found) > 0 {
		t.Skip("this system's sockets hold the whole answer")
	}
	events, last := 0, ""
	lines := bufio.NewScanner(slow.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "[DONE]" {
			events, last = events+1, data
		}
	}
	if want := tokens/maxPerEvent + 1; events != want || decode(t, last).Usage.Completion != tokens {
		t.Errorf("the slow one got %d events of %d, the last %s", events, want, last)
	}
	if found := s.truths.find("slow"); len(found) != 1 || found[0].Broken || len(found[0].Sent) != tokens/maxPerEvent {
		t.Errorf("truth of the slow one: %d", len(found))
	}
}

// A client that leaves is noticed, and a server that stops leaves no client waiting.
func TestLeaving(t *testing.T) {
	s := start(t, Config{})
	long := object{"prompt": "leaves", "stream": true, "mock": Pacing{Tokens: 100_000, PerEvent: 1, ITL: 100}}
	resp := post(t, s.URL(), "/v1/completions", long)
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for s.running.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	if found := s.truths.find("leaves"); len(found) != 1 || !found[0].Broken || len(found[0].Sent) == 0 {
		t.Errorf("truth of who left: %+v", found)
	}

	long["prompt"], long["mock"] = "waits", Pacing{Tokens: 2, PerEvent: 1, TTFT: maxWait}
	resp = post(t, s.URL(), "/v1/completions", long)
	long["stream"] = false
	whole := make(chan error)
	go func() {
		text, _ := json.Marshal(long)
		resp, err := http.Post(s.URL()+"/v1/completions", "application/json", bytes.NewReader(text))
		if err == nil {
			resp.Body.Close()
		}
		whole <- err
	}()
	for s.running.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-whole; err == nil {
		t.Error("an answer from a server that is closed")
	}
	if n, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes from a server that is closed", n)
	}
	if resp, err := http.Get(s.URL() + "/health"); err == nil {
		resp.Body.Close()
		t.Error("a closed server answers")
	}
}
