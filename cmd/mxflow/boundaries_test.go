package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/steps"
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

// boundary is what was measured of a feature, and what its criteria should come to.
type boundary struct {
	Feature string
	Expect  verdict.Verdict
	Rules   map[string]verdict.Verdict
	Noise   map[string]verdict.Noise
	// Launches are the arms' launches by address; one that is null lacks the metric.
	// Requests are those behind each value, if not the workload's.
	Launches map[string]struct {
		Requests        int
		Base, Candidate []*float64
	}
}

// readJSON reads a file of this test.
func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(must.Read(t, "testdata/boundaries/"+name)), into))
}

// TestBoundaries: launches just on either side of what decides are decided as an
// independent program worked out from docs/statistics.md: the verdict of each rule
// and comparison, the looks that were made, and every number of them.
func TestBoundaries(t *testing.T) {
	var want map[string]map[string]map[string][]bounded
	var measured map[string]map[string]boundary
	readJSON(t, "boundaries.json", &want)
	readJSON(t, "launches.json", &measured)
	compared := 0
	for name, cases := range measured {
		res := load.Path("testdata/boundaries/"+name+".hcl", steps.Registry(), load.Options{})
		if !res.OK() {
			t.Fatal(res.Diagnostics)
		}
		for title, c := range cases {
			f := res.Plan.Feature(c.Feature)
			evidence := gates.Evidence{f.Name: c.evidence(t, res.Plan, f)}
			admits := func(i int) bool { return slices.Contains(f.Accept, f.Criteria[i].Name) }
			rules := decide.Rules(f.Criteria, admits, evidence, decide.Settings(res.Plan, f))
			if v := decide.JoinVerdicts(string(runtime.KindFeature), nil, rules); v != c.Expect {
				t.Errorf("%s: %q came out %s, want %s", name, title, v, c.Expect)
			}
			for _, r := range rules {
				if v, ok := c.Rules[r.Name]; ok && v != r.Verdict {
					t.Errorf("%s: %q, %s came out %s, want %s", name, title, r.Name, r.Verdict, v)
				}
				list, ok := want[name][title][r.Name]
				if !ok {
					continue // an input is absent, so that nothing was compared
				}
				if len(list) != len(r.Comparisons) {
					t.Errorf("%s: %q, %s: %d comparisons, want %d", name, title, r.Name, len(r.Comparisons), len(list))
					continue
				}
				for i, w := range list {
					for _, d := range differences(boundedBy(t, r.Comparisons[i]), w) {
						t.Errorf("%s: %q, %s: %s: %s", name, title, r.Name, r.Comparisons[i].Text, d)
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

// boundedBy is how a comparison was decided.
func boundedBy(t *testing.T, c verdict.Comparison) (got bounded) {
	t.Helper()
	text, err := json.Marshal(c.Test)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	must.Do(t, err)
	got.Verdict = string(c.Verdict)
	return got
}

// evidence is what rules read of these launches.
func (b boundary) evidence(t *testing.T, p *plans.Plan, f *plans.Feature) *gates.Feature {
	t.Helper()
	_, most := p.LaunchesOf(f.Name)
	// The other program knows no margin: all starts are on record as having one speed.
	noise := map[string]verdict.Noise{}
	for address := range b.Launches {
		for _, key := range []string{address, address + ".p95", address + ".mean"} {
			n := b.Noise[key]
			n.Gap = 1e-12
			noise[key] = n
		}
	}
	ev := &gates.Feature{Candidate: gates.Arm{Name: f.Name}, Parent: gates.Arm{Name: "base"}, Noise: noise, Max: most}
	for address, m := range b.Launches {
		b.add(t, &ev.Candidate, address, m.Requests, m.Candidate)
		b.add(t, &ev.Parent, address, m.Requests, m.Base)
	}
	for _, arm := range []*gates.Arm{&ev.Candidate, &ev.Parent} {
		arm.Launches = slices.DeleteFunc(arm.Launches, func(l gates.Launch) bool { return len(l.Metrics) == 0 })
	}
	return ev
}

// add adds the values of one metric to the launches of an arm.
func (b boundary) add(t *testing.T, arm *gates.Arm, address string, requests int, values []*float64) {
	t.Helper()
	stat := "median"
	if head, ok := strings.CutSuffix(address, ".p95"); ok {
		address, stat = head, "p95"
	}
	m, ok := measure.LookupAddress(address)
	if !ok {
		t.Fatalf("no metric %s", address)
	}
	if requests == 0 {
		requests = 400 // those of the workload
	}
	for i, v := range values {
		if i == len(arm.Launches) {
			arm.Launches = append(arm.Launches, gates.Launch{
				ID: fmt.Sprintf("%s#%d", arm.Name, i+1), Round: i + 1,
				Metrics: map[string]measure.Summary{},
			})
		}
		switch {
		case v == nil:
		case m.Scope == measure.PerRequest:
			s := arm.Launches[i].Metrics[address]
			s.Unit, s.Better, s.N, s.Requests = m.Unit, m.Better, requests, requests
			if s.Stats == nil {
				s.Stats = map[string]float64{}
			}
			s.Stats[stat] = *v
			arm.Launches[i].Metrics[address] = s
		default:
			arm.Launches[i].Metrics[address], _ = m.Summary([]float64{*v})
		}
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
