package main

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps"
)

func TestBenchDigits(t *testing.T) {
	for _, c := range []struct {
		x, like float64
		want    string
	}{
		{0, 5, "0"},
		{57.854, 57.854, "57.85"},
		{0.21, 57.854, "0.21"},
		{0.0021, 57.854, "0.0021"},
		{123456, 123456, "123456"},
		{0.4053, 0.4053, "0.4053"},
		{0.00004, 0.4053, "4e-05"},
		{1, 1, "1.000"},
		{0.00000123, 0.00000123, "1.23e-06"},
		{3, 0, "3.000"},
		{1.9794e19, 50, "1.98e+19"},
		{-2.5, 2.5, "-2.500"},
	} {
		if got := digits(c.x, c.like); got != c.want {
			t.Errorf("digits(%v, %v) = %s, want %s", c.x, c.like, got, c.want)
		}
	}
}

// Answers that end by themselves have to be text; of forced ones most have to.
func TestBenchUnreadable(t *testing.T) {
	taken := func(exact bool, bad int) steps.Taken {
		var s steps.Taken
		for _, cell := range []string{"bench.o4", "bench.o40"} {
			s.Cells = append(s.Cells, measure.CellRun{Cell: cell, ExactOutput: exact})
			for i := range 4 {
				s.Samples = append(s.Samples, measure.Sample{Workload: cell, Index: i})
			}
		}
		for range bad {
			s.Incoherent = append(s.Incoherent, verdict.New(code.Garbage, verdict.Text("request", "0")).On("bench.o40").From(verdict.New(code.SignEmpty)))
		}
		return s
	}
	for _, c := range []struct {
		exact          bool
		bad            int
		invalid, notes int
	}{{true, 0, 0, 0}, {true, 2, 0, 1}, {true, 3, 1, 0}, {false, 0, 0, 0}, {false, 1, 1, 0}} {
		invalid, notes := unreadable(taken(c.exact, c.bad))
		if len(invalid) != c.invalid || len(notes) != c.notes {
			t.Errorf("forced %v, %d of 4: invalid %q, notes %q", c.exact, c.bad, tell.Lines(invalid), tell.Lines(notes))
		}
		for _, text := range tell.Lines(append(invalid, notes...)) {
			if !strings.Contains(text, `of 4 answers of bench.o40 do not read as text, such as request 0: empty ("")`) {
				t.Error(text)
			}
		}
	}
}
