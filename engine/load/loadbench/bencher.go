package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
	"github.com/mxflow/mxflow/engine/measure"
)

// row is one load: streams with a rate of events per second each.
type row struct {
	Streams int     `json:"streams"`
	Rate    float64 `json:"rate"`
	// Client and Floor are medians over the rounds, Ratio that of client to floor within
	// rounds, whose two parts ran one right after the other.
	Client outcome `json:"client"`
	Floor  outcome `json:"floor"`
	Ratio  float64 `json:"cpu_ratio"`
	// Clock is the floor with a clock: its time errors are the machine's and not the
	// client's. Its CPU is not the floor's.
	Clock *outcome `json:"clock,omitempty"`
	// Rounds is how often they took turns.
	Rounds int `json:"rounds"`
}

func (r row) planned() float64 { return float64(r.Streams) * r.Rate }

// keepsUp reports whether client and floor received the planned load.
func (r row) keepsUp() bool {
	return min(r.Client.Received, r.Floor.Received) >= enough*r.planned()
}

// The rows of the full table and of the short one.
var (
	grid = []row{
		{Streams: 1, Rate: 10},
		{Streams: 1, Rate: 200},
		{Streams: 10, Rate: 50},
		{Streams: 10, Rate: 200},
		{Streams: 100, Rate: 10},
		{Streams: 100, Rate: 50},
		{Streams: 100, Rate: 200},
		{Streams: 500, Rate: 10},
		{Streams: 500, Rate: 40},
		{Streams: 1000, Rate: 10},
		{Streams: 1000, Rate: 20},
		{Streams: 1000, Rate: 100},
		{Streams: 2000, Rate: 10},
		{Streams: 2000, Rate: 50},
		{Streams: 2000, Rate: 200},
	}
	shortGrid = []row{{Streams: 1, Rate: 50}, {Streams: 100, Rate: 50}, {Streams: 1000, Rate: 20}, {Streams: 2000, Rate: 10}}
)

// bencher measures rows.
type bencher struct {
	rows      []row
	saturates bool // the load is raised until neither keeps up
	batched   bool
	repeat    int
	window    time.Duration
	self      string
	stderr    io.Writer
}

func (b *bencher) all(ctx context.Context) (result, error) {
	r := result{Processors: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Batched: b.batched}
	for i, one := range b.rows {
		fmt.Fprintf(b.stderr, "row %d of %d: %d streams of %g events/s\n", i+1, len(b.rows), one.Streams, one.Rate)
		done, err := b.row(ctx, one, true)
		if err != nil {
			return r, err
		}
		r.Rows = append(r.Rows, done)
	}
	if b.saturates {
		if err := b.saturate(ctx, &r); err != nil {
			return r, err
		}
	}
	r.Marks = r.marks()
	return r, nil
}

// saturationStreams share the rising load, which ends when less than saturated of it
// arrives.
const saturationStreams, saturated = 400, 0.9

// saturate raises the load by half until neither client nor floor keeps up.
func (b *bencher) saturate(ctx context.Context, r *result) error {
	for rate := 50.0; rate <= 2000; rate *= 1.5 {
		fmt.Fprintf(b.stderr, "saturation: %d streams of %.0f events/s\n", saturationStreams, rate)
		one, err := b.row(ctx, row{Streams: saturationStreams, Rate: rate}, false)
		if err != nil {
			return err
		}
		r.Saturation = append(r.Saturation, one)
		r.ClientMost, r.FloorMost = max(r.ClientMost, one.Client.Received), max(r.FloorMost, one.Floor.Received)
		if max(one.Client.Received, one.Floor.Received) < saturated*one.planned() {
			return nil
		}
	}
	return nil
}

// row runs client and floor in turn against one mock server, and if clocked the floor
// with a clock as well.
func (b *bencher) row(ctx context.Context, r row, clocked bool) (row, error) {
	server, err := mock.StartChild(ctx, []string{b.self, roleMock})
	if err != nil {
		return r, err
	}
	defer server.Stop()
	var ratios []float64
	found := map[string][]outcome{}
	for i := range b.repeat {
		roles := []string{roleClient, roleFloor}
		if i%2 == 1 { // so neither always gets the quieter half
			slices.Reverse(roles)
		}
		if clocked {
			roles = append(roles, roleClock)
		}
		for _, role := range roles {
			j := newJob(server.URL, fmt.Sprintf("%s%d", role, i), r.Streams, r.Rate, b.window)
			j.Batched, j.Clock = b.batched, role == roleClock
			if err := mock.Forget(ctx, server.URL); err != nil {
				return r, err
			}
			o, err := b.role(ctx, role, j)
			if err != nil {
				return r, fmt.Errorf("%d streams of %g events/s: %w", r.Streams, r.Rate, err)
			}
			found[role] = append(found[role], o)
		}
		if f := found[roleFloor][i].CPU; f > 0 {
			ratios = append(ratios, found[roleClient][i].CPU/f)
		}
	}
	r.Client, r.Floor, r.Ratio, r.Rounds = middle(found[roleClient]), middle(found[roleFloor]), median(ratios), b.repeat
	if clocked {
		o := middle(found[roleClock])
		r.Clock = &o
	}
	return r, nil
}

// role runs this program in a role and returns its outcome.
func (b *bencher) role(ctx context.Context, role string, j job) (o outcome, err error) {
	text, err := json.Marshal(j)
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(ctx, j.to()+patience+time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.self, role)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &said
	out, err := cmd.Output()
	if err != nil {
		return o, fmt.Errorf("%s: %w: %s", role, err, strings.TrimSpace(said.String()))
	}
	if err := json.Unmarshal(out, &o); err != nil {
		return o, fmt.Errorf("%s: %w in %q", role, err, out)
	}
	return o, nil
}

// middle takes the median of each number. Errors are from the rounds that have them, and
// none if most have none.
func middle(all []outcome) outcome {
	m := medians(all, (*outcome).numbers)
	var with []errors99
	for _, o := range all {
		if o.Errors != nil {
			with = append(with, *o.Errors)
		}
	}
	if 2*len(with) > len(all) {
		e := medians(with, (*errors99).numbers)
		m.Errors = &e
	}
	return m
}

func medians[T any](all []T, numbers func(*T) []*float64) (m T) {
	for i, into := range numbers(&m) {
		var values []float64
		for _, one := range all {
			values = append(values, *numbers(&one)[i])
		}
		*into = median(values)
	}
	return m
}

// median is 0 for no values, which no mark takes for a pass.
func median(values []float64) float64 {
	if m := measure.Quantile(slices.Sorted(slices.Values(values)), 0.5); !math.IsNaN(m) {
		return m
	}
	return 0
}
