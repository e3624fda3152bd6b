package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

const tenPercent = "chat.tg.gain >= 0.10"

// once records one session of a clear gain and the decisions on it.
func once(s *recordedState) {
	s.session("s-1", steadyBase[:4], clearGain[:4])
	s.decide("s-1")
}

// gate changes the gate's decision alone.
func gate(change func(*ledger.Decision)) func(*ledger.Decision) {
	return func(d *ledger.Decision) {
		if d.Kind == "gate" {
			change(d)
		}
	}
}

func TestAuditReplay(t *testing.T) {
	withVariable := strings.Replace(planWith(tenPercent, "chat.tg.gain >= ${var.least}"), "engine \"embedded\"", "variable \"least\" {\n  type = number\n  default = 0.15\n}\nengine \"embedded\"", 1)
	required := strings.Replace(withVariable, "  default = 0.15\n", "", 1)
	tests := []struct {
		name   string
		plan   string
		vars   map[string]string
		tamper func(*ledger.Decision)
		record func(s *recordedState)
		// sealed variables are not on record.
		sealed bool
		breaks func(t *testing.T, s *recordedState)
		args   []string
		exit   int
		want   []string
	}{
		{name: "agrees", want: []string{"feature.routed", "phase.experts", "the recorded plan", "Everything agrees: 2 decisions with "}},
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
			name: "a count in every launch", plan: planWith(tenPercent, "engine.crashes < 1"), want: []string{"phase.experts 1 fail fail agrees", "Everything agrees: 2 decisions"},
			record: func(s *recordedState) {
				s.crashes = map[string]float64{"s-1.routed.2": 1}
				once(s)
			},
		},
		{
			name: "one node by its short name", args: []string{"--node", "experts"}, want: []string{"Everything agrees: 1 decision with "},
		},
		{
			name: "verdict of a rule", exit: 2, want: []string{"differs", "decode is faster", "verdict", "fail", "1 decision does not come out as recorded"},
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
			name: "a launch left out", exit: 2, want: []string{"differs"},
			tamper: gate(func(d *ledger.Decision) {
				d.Evidence[0].Candidate.Launches = d.Evidence[0].Candidate.Launches[:3]
			}),
		},
		{
			name: "noise that was not there", exit: 2, want: []string{"noise", "chat.tg before session s-1", "none"},
			tamper: func(d *ledger.Decision) {
				d.Evidence[0].Noise = map[string]ledger.Noise{"chat.tg": {SD: 0.001, DF: 9}}
			},
		},
		{
			name: "a launch that the ledger has not", exit: 4, want: []string{"evidence missing", "launch s-9.routed.1"},
			tamper: gate(func(d *ledger.Decision) { d.Evidence[0].Candidate.Launches[0] = "s-9.routed.1" }),
		},
		{
			name: "no raw data", exit: 4, want: []string{"evidence missing", "has no raw data to decide by"},
			breaks: func(t *testing.T, s *recordedState) {
				l, _ := s.st.LaunchByID("s-1.routed.2")
				remove(t, artifactOf(t, s, l.Samples))
			},
		},
		{
			name: "damaged raw data", exit: 4, want: []string{"evidence missing"},
			breaks: func(t *testing.T, s *recordedState) {
				l, _ := s.st.LaunchByID("s-1.routed.2")
				if err := os.WriteFile(artifactOf(t, s, l.Samples), []byte("forged"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "damaged ledger", exit: 4, want: []string{"ledger"},
			breaks: func(t *testing.T, s *recordedState) {
				data, err := os.ReadFile(s.st.LedgerPath())
				if err != nil {
					t.Fatal(err)
				}
				data[len(data)/2] ^= 1
				if err := os.WriteFile(s.st.LedgerPath(), data, 0o644); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "no evidence", exit: 4, want: []string{"evidence missing", "its record does not hold by what it was decided", "2 decisions cannot be decided again"},
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
			want: []string{"the decision's own text", "without var.least, which no run records", "Everything agrees: 2 decisions"},
		},
		{
			name: "a sensitive variable given again", sealed: true, plan: withVariable, vars: map[string]string{"least": "0.10"}, args: []string{"--var", "least=0.1"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
		{
			name: "a plan that cannot be compiled", sealed: true, plan: required, vars: map[string]string{"least": "0.10"}, exit: 3,
			want: []string{"tests agree", "Only the recorded tests were computed again", "give them again with --var"},
		},
		{
			name: "a plan that can be compiled again", sealed: true, plan: required, vars: map[string]string{"least": "0.10"}, args: []string{"--var", "least=0.1"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
		{
			name: "a number in a plan that cannot be compiled", sealed: true, plan: required, vars: map[string]string{"least": "0.10"}, exit: 2,
			tamper: gate(func(d *ledger.Decision) { d.Rules[0].Comparisons[0].Test.Values[1] += 1e-9 }), want: []string{"chat.tg.median of launch s-1.routed.2"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.tamper, s.sealed = tt.tamper, tt.sealed
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
			if exit != tt.exit {
				t.Errorf("exit status %d, want %d", exit, tt.exit)
			}
			for _, want := range tt.want {
				if !strings.Contains(evenly(all), evenly(want)) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() {
				t.Log(all)
			}
			again, doc, _ := mxflow(append([]string{"audit", "replay", "--json", "--state", s.dir}, tt.args...)...)
			var parsed replayResult
			if tt.name != "damaged ledger" && (json.Unmarshal([]byte(doc), &parsed) != nil || again != exit || parsed.Agrees != (exit == 0)) {
				t.Errorf("as JSON: %d %s", again, doc)
			}
		})
	}
}

// evenly is a text however it is broken into lines and columns.
func evenly(text string) string { return strings.Join(strings.Fields(text), " ") }

// artifactOf is the file of an artifact.
func artifactOf(t *testing.T, s *recordedState, sum string) string {
	t.Helper()
	found := ""
	err := filepath.Walk(s.dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && strings.Contains(strings.ReplaceAll(path, string(filepath.Separator), ""), sum) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatal("no artifact ", sum, err)
	}
	return found
}
