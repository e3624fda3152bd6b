package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
	"github.com/mxflow/mxflow/engine/measure"
)

// row is one load: so many streams of so many events a second each.
type row struct {
	Streams int     `json:"streams"`
	Rate    float64 `json:"rate"`
	// Client and Floor are medians over the rounds, Ratio that of client to floor
	// of each round: both of a round ran one right after the other.
	Client outcome `json:"client"`
	Floor  outcome `json:"floor"`
	Ratio  float64 `json:"cpu_ratio"`
	// Clock is the floor with a clock: what its times are off by is the machine's
	// doing and not the client's. Its CPU is not the floor's.
	Clock *outcome `json:"clock,omitempty"`
	// Rounds is how often they took turns.
	Rounds int `json:"rounds"`
}

func (r row) planned() float64 { return float64(r.Streams) * r.Rate }

// grids are the rows of the whole table and of the short one.
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

// maxStreams is bounded by the ports of one address.
const maxStreams = 20000

func (o options) rows() ([]row, error) {
	switch {
	case o.grid == "" && o.short:
		return shortGrid, nil
	case o.grid == "":
		return grid, nil
	case o.grid == "none":
		return nil, nil
	}
	var rows []row
	for text := range strings.SplitSeq(o.grid, ",") {
		streams, rate, _ := strings.Cut(text, "x")
		n, err := strconv.Atoi(streams)
		each, err2 := strconv.ParseFloat(rate, 64)
		if err != nil || err2 != nil || n < 1 || n > maxStreams || !(each >= 0.1 && each <= 1e5) {
			return nil, fmt.Errorf("--grid has %q: write STREAMSxRATE, such as 100x50, with 1 to %d streams of 0.1 to 100000 events a second", text, maxStreams)
		}
		rows = append(rows, row{Streams: n, Rate: each})
	}
	return rows, nil
}

// bencher runs rows.
type bencher struct {
	options
	self   string
	stderr io.Writer
	// env is set for the roles; tests need it.
	env []string
}

// row runs client and floor in turn against one mock server, and where clocked
// the floor with a clock as well.
func (b *bencher) row(ctx context.Context, r row, clocked bool) (row, error) {
	server, err := mock.StartChild(ctx, []string{b.self, roleMock}, b.env...)
	if err != nil {
		return r, err
	}
	defer server.Stop()
	var ratios []float64
	found := map[string][]outcome{}
	for i := range b.repeat {
		// Who goes first changes, so that neither gets the quieter half.
		roles := []string{roleClient, roleFloor}
		if i%2 == 1 {
			roles = []string{roleFloor, roleClient}
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

// role runs this program under a role and returns what it says.
func (b *bencher) role(ctx context.Context, role string, j job) (outcome, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, j.to()+patience+time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.self, role)
	cmd.Env = append(cmd.Environ(), b.env...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &said
	out, err := cmd.Output()
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w: %s", role, err, strings.TrimSpace(said.String()))
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		return outcome{}, fmt.Errorf("%s: %w in %q", role, err, out)
	}
	return o, nil
}

// middle takes the median of each number. Errors are those of the rounds that
// have them, and none when most have none.
func middle(all []outcome) outcome {
	of := func(value func(outcome) float64) float64 {
		values := make([]float64, len(all))
		for i, o := range all {
			values[i] = value(o)
		}
		return median(values)
	}
	m := outcome{
		Events: int(of(func(o outcome) float64 { return float64(o.Events) })), Received: of(func(o outcome) float64 { return o.Received }),
		Sent: of(func(o outcome) float64 { return o.Sent }), CPU: of(func(o outcome) float64 { return o.CPU }),
		Memory: of(func(o outcome) float64 { return o.Memory }),
	}
	var with []errors99
	for _, o := range all {
		if o.Errors != nil {
			with = append(with, *o.Errors)
		}
	}
	if 2*len(with) <= len(all) {
		return m
	}
	e := func(value func(errors99) float64) float64 {
		values := make([]float64, len(with))
		for i, o := range with {
			values[i] = value(o)
		}
		return median(values)
	}
	m.Errors = &errors99{
		TTFTp50: e(func(o errors99) float64 { return o.TTFTp50 }), TTFTp99: e(func(o errors99) float64 { return o.TTFTp99 }),
		ITLp50: e(func(o errors99) float64 { return o.ITLp50 }), ITLp99: e(func(o errors99) float64 { return o.ITLp99 }),
		Delayp50: e(func(o errors99) float64 { return o.Delayp50 }), Delayp99: e(func(o errors99) float64 { return o.Delayp99 }),
	}
	return m
}

// median is 0 of nothing, which no mark takes for a pass.
func median(values []float64) float64 {
	if m := measure.Quantile(slices.Sorted(slices.Values(values)), 0.5); !math.IsNaN(m) {
		return m
	}
	return 0
}
