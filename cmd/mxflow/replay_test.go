package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

func TestAuditReplay(t *testing.T) {
	t.Parallel()
	withVariable := strings.Replace(planWith(tenPercent, "chat.tg.gain >= ${var.least}"), "engine \"embedded\"",
		"variable \"least\" {\n  type = number\n  default = 0.15\n}\nengine \"embedded\"", 1)
	required := strings.Replace(withVariable, "  default = 0.15\n", "", 1)
	lastBit := func(l *ledger.Launch) {
		ttft := l.Metrics["chat.ttft"].Stats
		ttft["mean"] = math.Nextafter(ttft["mean"], 1e9)
	}
	other := map[bool]string{true: "amd64", false: "arm64"}[goruntime.GOARCH == "arm64"]
	tests := []struct {
		name   string
		plan   string
		vars   map[string]string
		tamper func(*ledger.Decision)
		record func(s *recordedState)
		change func(*ledger.Launch)
		// sealed variables are not on record, and arch is another machine's.
		sealed bool
		arch   string
		breaks func(t *testing.T, s *recordedState)
		args   []string
		exit   int
		want   []string
	}{
		{name: "agrees", want: []string{
			"feature.routed", "phase.experts", "the recorded plan",
			"Everything agrees: 2 decisions with ",
		}},
		{
			name: "those that others took the place of, and noise", want: []string{"Everything agrees: 6 decisions"},
			record: func(s *recordedState) {
				s.session("s-1", steadyBase, noisyGain)
				s.decide("s-1")
				s.session("s-2", steadyBase[:3], clearGain[:3])
				s.decide("s-2")
				s.session("s-3", steadyBase[:4], slower[:4])
				s.decide("s-3")
			},
		},
		{
			name: "a count in every launch", plan: planWith(tenPercent, "engine.crashes < 1"),
			want: []string{"phase.experts 1 fail fail agrees", "Everything agrees: 2 decisions"},
			record: func(s *recordedState) {
				s.crashes = map[string]float64{"s-1.routed.2": 1}
				once(s)
			},
		},
		{
			name: "one node by its short name", args: []string{"--node", "experts"},
			want: []string{"Everything agrees: 1 decision with "},
		},
		{
			name: "verdict of a rule", exit: 2, want: []string{
				"differs", "decode is faster", "verdict", "fail",
				"1 decision did not come out as recorded",
			},
			tamper: gate(func(d *ledger.Decision) { d.Rules[0].Verdict, d.Verdict = verdict.Fail, verdict.Fail }),
		},
		{
			name: "verdict of the whole", exit: 2, want: []string{"decision", "verdict"},
			tamper: gate(func(d *ledger.Decision) { d.Verdict = verdict.Fail }),
		},
		{
			name: "the last bit of a number", exit: 2, want: []string{"comparisons[1].test.looks[1].p_pass"},
			tamper: gate(func(d *ledger.Decision) {
				p := &d.Rules[0].Comparisons[0].Test.Looks[0].PPass
				*p = math.Nextafter(*p, 1)
			}),
		},
		{
			name: "a threshold that was not the plan's", exit: 2, want: []string{"chat.tg.gain >= 0.05"},
			tamper: gate(func(d *ledger.Decision) { d.Rules[0].Expr = "chat.tg.gain >= 0.05" }),
		},
		{
			name: "noise that was not there", exit: 2, want: []string{"noise", "chat.tg before session s-1", "none"},
			tamper: func(d *ledger.Decision) {
				d.Evidence[0].Noise = map[string]verdict.Noise{"chat.tg": {SD: 0.001, DF: 9}}
			},
		},
		{
			// It had no floor under its spread, though all its numbers are right.
			name: "noise that was left out", exit: 2, want: []string{"chat.tg before session s-2 none"},
			record: func(s *recordedState) { s.twice(noisyGain, clearGain, func() { s.forgets = true }) },
		},
		{
			// More of the chance of a false pass was taken than was left.
			name: "a try recorded as the first", exit: 2, want: []string{"try of routed 1 2"},
			record: func(s *recordedState) {
				s.twice(slower, slower, func() { s.tamper = func(d *ledger.Decision) { d.Evidence[0].Try = 0 } })
			},
		},
		{
			name: "a second try", want: []string{"Everything agrees: 4 decisions"},
			record: func(s *recordedState) { s.twice(slower, slower, func() {}) },
		},
		{
			name: "a finding that was not there", exit: 2, want: []string{"chat.made_up"},
			tamper: func(d *ledger.Decision) {
				if d.Kind == ledger.KindFeature {
					d.Findings = append(d.Findings,
						verdict.Say("finding.worse", "also worse: {subject}").On("chat.made_up"))
				}
			},
		},
		{
			name: "what did not enter the stack", exit: 2, want: []string{"decision accepted false true"},
			tamper: func(d *ledger.Decision) { d.Accepted = d.Accepted && d.Kind != ledger.KindFeature },
		},
		{
			name: "an outcome that a gate read", exit: 2, want: []string{"evidence on routed outcome fail pass"},
			tamper: gate(func(d *ledger.Decision) { d.Evidence[0].Outcome = verdict.Fail }),
		},
		{
			name: "launches left out of a gate", exit: 2, want: []string{"evidence on routed candidate.launches"},
			tamper: gate(func(d *ledger.Decision) {
				d.Evidence[0].Candidate.Launches = d.Evidence[0].Candidate.Launches[:3]
			}),
		},
		{
			name: "an alternative of luck taken for one", exit: 2,
			want:   []string{"decision statistics.alternatives 4 absent"},
			tamper: gate(func(d *ledger.Decision) { d.Statistics.Alternatives = 4 }),
		},
		{
			name: "a caveat left out", exit: 2, want: []string{"decision notes", "decision launches"},
			record: func(s *recordedState) {
				s.twice(slower, slower, func() {
					s.tamper = func(d *ledger.Decision) { d.Notes, d.Launches = nil, d.Launches[:len(d.Launches)-1] }
				})
			},
		},
		{
			// Its launches tell nothing of noise.
			name: "another engine between", want: []string{"Everything agrees: 4 decisions"},
			record: func(s *recordedState) {
				s.twice(noisyGain, clearGain, func() {
					for i := range 8 {
						tg := measure.Summary{Unit: "tok/s", Stats: map[string]float64{"median": 30 + float64(i%2)}}
						s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
							ID: fmt.Sprintf("s-x.%d", i), Session: "s-x", Purpose: ledger.ForBenchmark,
							Node:    "feature.routed.benchmark",
							Variant: "other", VariantKey: "other", Work: "w", Ordinal: i + 1, Order: i + 1,
							Started: s.at, OK: true,
							Metrics: map[string]measure.Summary{"chat.tg": tg},
						}})
					}
				})
			},
		},
		{
			name: "a launch that the ledger has not", exit: 4,
			want: []string{"evidence missing", "launch s-9.routed.1"},
			tamper: gate(func(d *ledger.Decision) {
				d.Evidence[0].Candidate.Launches[0] = gates.Launch{ID: "s-9.routed.1"}
			}),
		},
		{name: "the last bit of a metric", change: lastBit, exit: 2, want: []string{"chat.ttft mean"}},
		{
			name: "the last bit of a metric, from another architecture", arch: other, change: lastBit,
			want: []string{other},
		},
		{
			name: "more than the last bit, from another architecture", arch: other, exit: 2,
			want:   []string{"chat.tg median"},
			change: func(l *ledger.Launch) { l.Metrics["chat.tg"].Stats["median"] *= 1 + 1e-8 },
		},
		{
			name: "no raw data named", exit: 4, want: []string{"evidence missing", "has no raw data"},
			change: func(l *ledger.Launch) { l.Samples = "" },
		},
		{
			name: "no raw data", exit: 4, want: []string{"evidence missing", "has no raw data to decide from"},
			breaks: func(t *testing.T, s *recordedState) {
				l, _ := s.st.LaunchByID("s-1.routed.2")
				remove(t, artifactOf(s, l.Samples))
			},
		},
		{
			name: "damaged raw data", exit: 4, want: []string{"evidence missing"},
			breaks: func(t *testing.T, s *recordedState) {
				l, _ := s.st.LaunchByID("s-1.routed.2")
				must.Write(t, artifactOf(s, l.Samples), "forged")
			},
		},
		{
			name: "no evidence", exit: 4, want: []string{
				"evidence missing",
				"its record lacks the evidence that decided it", "cannot decide 2 decisions again",
			},
			tamper: func(d *ledger.Decision) { d.Evidence, d.Statistics = nil, nil },
		},
		{
			name: "decided without a rule", exit: 3, want: []string{"no rules", "there is nothing to decide again"},
			tamper: func(d *ledger.Decision) { d.Rules, d.Evidence = nil, nil },
		},
		{
			name: "nothing recorded", exit: 3, want: []string{"there is nothing to decide again"},
			record: func(*recordedState) {},
		},
		{
			name: "a variable of the command line", plan: withVariable, vars: map[string]string{"least": "0.10"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
		{
			name: "a sensitive variable", sealed: true, plan: withVariable, vars: map[string]string{"least": "0.10"},
			want: []string{
				"the decision's own text", "without var.least, which no run records",
				"Everything agrees: 2 decisions",
			},
		},
		{
			name: "a decision of another node", sealed: true, plan: withVariable,
			vars: map[string]string{"least": "0.10"}, exit: 2,
			want: []string{"baseline 1 pass – not replayed", "phase.experts 1 decision verdict pass invalid"},
			tamper: func(d *ledger.Decision) {
				if d.Kind == ledger.KindFeature {
					d.Node = "baseline"
				}
			},
		},
		{
			name: "a decision of another node, by the plan", exit: 2, want: []string{"none that is decided so"},
			tamper: func(d *ledger.Decision) {
				if d.Kind == ledger.KindFeature {
					d.Node = "baseline"
				}
			},
		},
		{
			name: "a sensitive variable given again", sealed: true, plan: withVariable,
			vars: map[string]string{"least": "0.10"}, args: []string{"--var", "least=0.1"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
		{
			name: "a plan that cannot be compiled", sealed: true, plan: required,
			vars: map[string]string{"least": "0.10"}, exit: 3,
			want: []string{"not replayed", "the recorded plan does not compile", "give them again with --var"},
		},
		{
			name: "a plan that can be compiled again", sealed: true, plan: required,
			vars: map[string]string{"least": "0.10"}, args: []string{"--var", "least=0.1"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.tamper, s.sealed, s.change, s.arch = tt.tamper, tt.sealed, tt.change, tt.arch
			if tt.plan == "" {
				tt.plan = planWith(tenPercent, tenPercent)
			}
			s.apply(tt.plan, tt.vars)
			if tt.record == nil {
				tt.record = once
			}
			tt.record(s)
			if tt.breaks != nil {
				tt.breaks(t, s)
			}
			exit, out, errs := mxflow(append([]string{"audit", "replay", "--state", s.dir}, tt.args...)...)
			all := out + errs
			must.Equal(t, "exit status", exit, tt.exit)
			for _, want := range tt.want {
				must.Contain(t, want, evenly(all), evenly(want))
			}
			if t.Failed() {
				t.Log(all)
			}
			as, doc, _ := mxflow(append([]string{"audit", "replay", "--json", "--state", s.dir}, tt.args...)...)
			var parsed replay.Agreement
			if json.Unmarshal([]byte(doc), &parsed) != nil || as != exit || parsed.Agrees != (exit == 0) {
				t.Errorf("as JSON: %d %s", as, doc)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.Remove(path))
}

// evenly is a text however it is broken into lines and columns.
func evenly(text string) string { return strings.Join(strings.Fields(text), " ") }

// BenchmarkReplay decides 10,000 recorded gates again, over the launches of 20
// sessions, from the opening of the state directory on. It is to take less than
// 10 s.
func BenchmarkReplay(b *testing.B) {
	const gates, sessions = 10_000, 20
	s := newRecordedState(b)
	s.apply(planWith(tenPercent, "chat.tg.gain >= 0.10 and levels.benchmark == 'pass' and chat.tg >= 30"), nil)
	for i := range sessions {
		id := fmt.Sprintf("s-%d", i+1)
		base, gain := append([]float64(nil), steadyBase...), append([]float64(nil), clearGain...)
		for j := range base {
			base[j] += 0.01 * float64(i)
			gain[j] -= 0.01 * float64(i)
		}
		s.session(id, base, gain)
		s.decide(id)
		old := s.st.History("phase.experts")
		var recs []*ledger.Record
		for range gates / sessions {
			s.node["phase.experts"]++
			d := *old[len(old)-1].Decision
			d.Attempt = s.node["phase.experts"]
			recs = append(recs, &ledger.Record{Type: "decision", Time: s.at, Run: "run-1", Decision: &d})
		}
		must.Do(b, s.st.Append(recs...))
	}
	b.ResetTimer()
	before := cpuSeconds(b)
	for range b.N {
		st, err := store.OpenReadOnly(s.dir)
		must.Do(b, err)
		r := replay.New(st, steps.Registry(), nil)
		for _, d := range r.Decisions() {
			got := r.Decide(d)
			if d.Kind == ledger.KindGate && (got.Outcome != replay.Agrees || got.Verdict != verdict.Pass) {
				b.Fatalf("%+v", got)
			}
		}
		st.Close()
	}
	// On a machine that others use too, the time on the wall says little.
	b.ReportMetric((cpuSeconds(b)-before)/float64(b.N), "cpu-s/op")
}

// cpuSeconds is the processor time that this process has used.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// TestVerifyArtifacts: everything that a launch names is looked for.
func TestVerifyArtifacts(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith("chat.tg.gain >= 0.10", "chat.tg.gain >= 0.10"), nil)
	gone := func(n int) string { return fmt.Sprintf("%064x", n) }
	s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
		ID: "l", Session: "s", Purpose: "benchmark", Node: "n", Variant: "v", VariantKey: "v", Samples: gone(1),
		Series: gone(2), Log: gone(3),
		Output: gone(4), Prompts: gone(5), Metadata: gone(6),
		Trees: map[string]ledger.Tree{"llama": {Path: "src", Diff: gone(7)}},
	}})
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	must.Do(t, scenario.SignLedger(filepath.Join(s.dir, "ledger"), userKey(t)))
	exit, out, _ := mxflow("audit", "verify", "--json", "--state", s.dir)
	var said struct {
		Artifacts int
		Bad       []string `json:"bad_artifacts"`
	}
	must.Do(t, json.Unmarshal([]byte(out), &said))
	bad := said.Bad
	if exit != verdict.ExitFail || said.Artifacts != 8 || len(bad) != 7 {
		t.Errorf("exit status %d, %d artifacts, bad: %q", exit, said.Artifacts, bad)
	}
	for i, what := range []string{
		"samples", "series", "output", "prompts", "log", "metadata",
		"changes to source tree llama",
	} {
		if i < len(bad) && !strings.Contains(bad[i], what+" of launch l") {
			t.Errorf("%q, want %s", bad[i], what)
		}
	}
}

// TestAuditSaysEachDecisionWhole: what an attempt came to stands with it, whatever the
// attempts before it said, and of a cause nothing is told by words far above.
func TestAuditSaysEachDecisionWhole(t *testing.T) {
	cause := ledger.Level{
		Name: "benchmark", Verdict: verdict.Invalid,
		Reasons: facts("launch 1 (baseline): the client woke up to 162 ms late"),
	}.Reason()
	reasons := []verdict.Reason{
		verdict.New(code.Feature).On("attention_backend_flashinfer").Is(verdict.Fail),
		verdict.New(code.FeatureNotRun).On("kv").From(cause),
		verdict.New(code.Rule).On("decode").Is(verdict.Pass).From(fact("chat.tg.gain is +38.2%, as wanted")),
	}
	s := newRecordedState(t)
	for attempt := 1; attempt <= 2; attempt++ {
		s.append(&ledger.Record{Type: "decision", Run: "r", Decision: &ledger.Decision{
			Node: "phase.p", Kind: ledger.KindPhase, Phase: "p", Attempt: attempt, Verdict: verdict.Fail,
			Reasons: reasons,
		}})
		s.append(&ledger.Record{Type: "decision", Run: "r", Decision: &ledger.Decision{
			Node: "phase.q", Kind: ledger.KindGate, Phase: "q", Attempt: attempt, Verdict: verdict.Invalid,
			Rules: []verdict.Rule{
				{
					Name: "a", Role: "rule", Verdict: verdict.Invalid,
					Inputs: []verdict.Input{{Path: "chat.tg", Missing: cause}},
				},
				{
					Name: "b", Role: "rule", Verdict: verdict.Invalid,
					Inputs: []verdict.Input{{Path: "chat.tg", Missing: cause}},
				},
			},
		}})
	}
	exit, out, errs := mxflow("audit", "--state", s.dir)
	must.Equal(t, errs, exit, 0)
	for text, want := range map[string]int{
		reasons[0].String(): 2,
		reasons[1].String(): 2,
		reasons[2].String(): 2,
		"chat.tg = missing: level benchmark is invalid: launch 1 (baseline): the client woke up to 162 ms late": 2,
		"chat.tg = missing: level benchmark is invalid, see above":                                              2,
		"see above": 2,
	} {
		if n := strings.Count(out, text); n != want {
			t.Errorf("%q stands there %d times, want %d:\n%s", text, n, want, out)
		}
	}
}
