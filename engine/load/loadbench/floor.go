package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
	"github.com/mxflow/mxflow/engine/measure"
)

// counter has its own cache line, so counting costs the same with many streams as with
// one.
type counter struct {
	n atomic.Int64
	// clocked: also records when the request was sent and when events were read.
	clocked bool
	sent    time.Time
	at      []time.Duration
	_       [8]byte
}

func (c *counter) count(n int) {
	c.n.Add(int64(n))
	if !c.clocked {
		return
	}
	now := time.Since(c.sent)
	for range n {
		c.at = append(c.at, now)
	}
}

// count is the floor's role: plain net/http, Body.Read, and a count of events. It parses
// nothing, keeps nothing, and records no times except for a job with Clock.
func count(ctx context.Context, j job) (outcome, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 16, DisableCompression: true}}
	defer client.CloseIdleConnections()
	clock, err := mock.NewClock()
	if err != nil {
		return outcome{}, err
	}
	counts := make([]counter, j.Streams)
	all := func(ctx context.Context, series string, p mock.Pacing) error {
		var wg sync.WaitGroup
		zero, failed := time.Now(), make([]error, j.Streams)
		for i := range j.Streams {
			wg.Go(func() {
				time.Sleep(time.Until(zero.Add(j.begin(i))))
				failed[i] = plainRead(ctx, client, j.URL, j.prompt(series, i), p, &counts[i])
			})
		}
		wg.Wait()
		return cmp.Or(failed...)
	}
	if err := all(ctx, "warm", mock.Pacing{TTFT: 1000, ITL: 1000, Tokens: 2}); err != nil {
		return outcome{}, err
	}
	cut, cancel := context.WithTimeout(ctx, j.to()+patience)
	defer cancel()
	for i := range counts {
		counts[i].clocked = j.Clock
	}
	zero := time.Now()
	w := openWindow(j, func() (total int64) {
		for i := range counts {
			total += counts[i].n.Load()
		}
		return total
	})
	err = all(cut, "watched", j.pacing())
	<-w.done
	if err != nil && cut.Err() == nil {
		return outcome{}, err
	}
	o := w.outcome(w.counted)
	if !j.Clock || cut.Err() != nil {
		return o, nil
	}
	truths, err := j.truths(ctx)
	if err == nil {
		o.Errors, err = errorsOf(clockedSamples(counts, j, zero), truths, j, clock.At(zero))
	}
	return o, err
}

// clockedSamples are the recorded times, in the client's form; the last two events of
// each stream are usage and end.
func clockedSamples(counts []counter, j job, zero time.Time) []measure.Sample {
	samples := make([]measure.Sample, len(counts))
	for i := range counts {
		c := &counts[i]
		s := &samples[i]
		s.Index, s.OpenLoop, s.Start, s.Scheduled = i, true, c.sent.Sub(zero), j.begin(i)
		for _, at := range c.at[:max(0, len(c.at)-2)] {
			s.Events = append(s.Events, measure.Event{At: at, Kind: measure.KindText})
		}
	}
	return samples
}

func plainRead(ctx context.Context, client *http.Client, url, prompt string, p mock.Pacing, seen *counter) error {
	body, err := json.Marshal(map[string]any{
		"model": "mock", "prompt": prompt, "max_tokens": p.Tokens, "stream": true, "mock": p,
		"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true},
	})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	seen.sent = time.Now()
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the mock server answers %s", resp.Status)
	}
	buf := make([]byte, 4<<10)
	for {
		n, err := resp.Body.Read(buf)
		seen.count(bytes.Count(buf[:n], []byte("\n\n")))
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
