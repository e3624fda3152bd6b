package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

// TestMain lets this binary play the roles that loadbench runs itself for.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "role-"):
		err = run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// opt skips tests that take seconds, unless they are requested.
func opt(t *testing.T) {
	t.Helper()
	if os.Getenv("MXFLOW_TEST_LONG") == "" {
		t.Skip("takes several seconds: set MXFLOW_TEST_LONG=1")
	}
}

func TestSmoke(t *testing.T) {
	opt(t)
	var out, said bytes.Buffer
	args := []string{"--grid", "3x50", "--window", "200ms", "--repeat", "2", "--json", "--batched"}
	if err := run(t.Context(), args, nil, &out, &said); err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 1 || r.Rows[0].Rounds != 2 || len(r.Marks) != 4 || len(r.Saturation) != 0 || !r.Batched {
		t.Fatalf("%s", out.String())
	}
	one := r.Rows[0]
	for name, o := range map[string]outcome{"client": one.Client, "floor": one.Floor} {
		if o.Events < 1 || !(o.Received > 0) || !(o.CPU > 0) || !(o.Memory > 1) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if one.Client.Errors == nil || !(one.Client.Sent > 0) || !(one.Ratio > 0) {
		t.Errorf("client %+v, ratio %v", one.Client, one.Ratio)
	}
	if one.Clock == nil || one.Clock.Errors == nil || one.Clock.Errors.TTFTp50 <= 0 {
		t.Errorf("floor with a clock: %+v", one.Clock)
	}
	if e := one.Client.Errors; e != nil && (e.TTFTp50 <= 0 || e.ITLp99 < e.ITLp50) {
		t.Errorf("errors %+v", e)
	}
	var page strings.Builder
	if err := r.print(&page); err != nil {
		t.Error(err)
	}
	if !strings.Contains(page.String(), "| 3       | 50") || strings.Contains(page.String(), "behind") {
		t.Errorf("table\n%s", page.String())
	}
}

func TestRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`--grid has "3x"`:      {"--grid", "1x10,3x"},
		`--grid has "0x5"`:     {"--grid", "0x5"},
		`--grid has "3xNaN"`:   {"--grid", "3xNaN"},
		"--repeat 0":           {"--repeat", "0"},
		"--window -1s":         {"--window", "-1s"},
		`unknown argument "x"`: {"x"},
		"no job":               {roleClient},
	} {
		if err := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

func verdicts(r result) string {
	var words []string
	for _, m := range r.marks() {
		words = append(words, strings.Trim(m.Verdict, "*"))
	}
	return strings.Join(words, ", ")
}

func TestMarks(t *testing.T) {
	full := func(streams int, rate, ratio, itl, memory float64) row {
		planned := float64(streams) * rate
		return row{
			Streams: streams, Rate: rate, Ratio: ratio,
			Client: outcome{Received: planned, CPU: ratio * 10, Memory: memory, Errors: &errors99{ITLp99: itl}},
			Floor:  outcome{Received: planned, CPU: 10},
		}
	}
	behind := full(1000, 20, 3, 0, 100)
	behind.Client.Errors = nil
	slow := full(100, 200, 1, 0.1, 10)
	slow.Client.Received = 1000
	for name, c := range map[string]struct {
		r    result
		want string
	}{
		"nothing": {result{}, "not measured, not measured, not measured, not measured"},
		"all well": {
			result{Rows: []row{full(500, 40, 1.1, 0.4, 60), full(2000, 10, 1.9, 0.9, 149)}, ClientMost: 95, FloorMost: 100},
			"met, met, met, met",
		},
		"nothing well": {
			result{Rows: []row{full(500, 40, 1.3, 0.4, 60), full(2000, 10, 1, 1.1, 151)}, ClientMost: 89, FloorMost: 100},
			"missed, missed, missed, missed",
		},
		"the worst row counts": {result{Rows: []row{full(100, 200, 1.3, 2, 0), full(500, 40, 1.1, 0.4, 0)}}, "not measured, missed, missed, not measured"},
		"behind":               {result{Rows: []row{full(500, 40, 1, 0.1, 0), behind}}, "not measured, missed, missed, not measured"},
		"did not keep up":      {result{Rows: []row{slow}}, "not measured, not measured, missed, not measured"},
		"NaN":                  {result{ClientMost: math.NaN(), FloorMost: 1}, "missed, not measured, not measured, not measured"},
	} {
		if got := verdicts(c.r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMiddle(t *testing.T) {
	e := func(itl float64) *errors99 { return &errors99{ITLp99: itl} }
	m := middle([]outcome{{CPU: 3, Errors: e(1)}, {CPU: 1, Errors: e(5)}, {CPU: 2}})
	if m.CPU != 2 || m.Errors == nil || m.Errors.ITLp99 != 3 {
		t.Errorf("%+v", m)
	}
	if m := middle([]outcome{{CPU: 3, Errors: e(1)}, {}}); m.Errors != nil {
		t.Errorf("half of the rounds fell behind: %+v", m.Errors)
	}
	if median(nil) != 0 {
		t.Error("median of nothing")
	}
}
