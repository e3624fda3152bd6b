package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// bounded is one comparison as it should be decided.
type bounded struct {
	Verdict string `json:"verdict"`
	Stop    string `json:"stop"`
	// PassLevel and FailLevel are 0 where no test was made.
	PassLevel float64              `json:"pass_level"`
	FailLevel float64              `json:"fail_level"`
	Looks     []map[string]float64 `json:"looks"`
}

// TestBoundaries: cases just on either side of what decides come out as an
// independent program worked out from docs/statistics.md: the verdict of each rule
// and comparison, the looks that were made, and every number of them.
func TestBoundaries(t *testing.T) {
	text, err := os.ReadFile("testdata/boundaries/boundaries.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]map[string][]bounded
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for plan, cases := range want {
		var out, errs bytes.Buffer
		if status := run(context.Background(), []string{"test", "--json", "testdata/boundaries/" + plan + ".hcl"}, &out, &errs); status != 0 {
			t.Errorf("%s: exit status %d\n%s", plan, status, errs.String())
		}
		var got struct {
			Cases []struct {
				Name, Expect, Verdict string
				OK                    bool
				Rules                 []struct {
					Name        string
					Comparisons []struct {
						Text    string
						Verdict string
						Test    bounded
					}
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Cases) != len(cases) {
			t.Errorf("%s: %d cases, want %d", plan, len(got.Cases), len(cases))
		}
		for _, c := range got.Cases {
			if !c.OK {
				t.Errorf("%s: %q came out %s, want %s", plan, c.Name, c.Verdict, c.Expect)
			}
			for _, r := range c.Rules {
				list, ok := cases[c.Name][r.Name]
				if !ok {
					continue // an input is absent, so that nothing was compared
				}
				if len(list) != len(r.Comparisons) {
					t.Errorf("%s: %q, %s: %d comparisons, want %d", plan, c.Name, r.Name, len(r.Comparisons), len(list))
					continue
				}
				for i, w := range list {
					g := r.Comparisons[i].Test
					g.Verdict = r.Comparisons[i].Verdict
					for _, d := range differences(g, w) {
						t.Errorf("%s: %q, %s: %s: %s", plan, c.Name, r.Name, r.Comparisons[i].Text, d)
					}
					compared++
				}
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d comparisons were held against the fixture", compared)
	}
}

// differences says where a comparison was not decided as it should be. What the
// fixture does not say (why a test is open) is not held against it.
func differences(got, want bounded) (list []string) {
	differ := func(what string, g, w any) { list = append(list, fmt.Sprintf("%s is %v, want %v", what, g, w)) }
	if got.Verdict != want.Verdict {
		differ("verdict", got.Verdict, want.Verdict)
	}
	if want.Stop != "" && got.Stop != want.Stop {
		differ("stop", got.Stop, want.Stop)
	}
	near := func(g, w float64) bool { return math.Abs(g-w) <= 1e-8*math.Max(1e-6, math.Abs(w)) }
	if !near(got.PassLevel, want.PassLevel) || !near(got.FailLevel, want.FailLevel) {
		differ("levels", []float64{got.PassLevel, got.FailLevel}, []float64{want.PassLevel, want.FailLevel})
	}
	if len(got.Looks) != len(want.Looks) {
		differ("number of looks", len(got.Looks), len(want.Looks))
		return list
	}
	for i, w := range want.Looks {
		for what, v := range w {
			if g := got.Looks[i][what]; !near(g, v) {
				differ(fmt.Sprintf("%s of the look at %v", what, w["n"]), g, v)
			}
		}
	}
	return list
}
