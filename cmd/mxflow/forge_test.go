package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

// forgery is a state directory in the hands of somebody who edits records and artifacts
// and recomputes every hash.
type forgery struct {
	t       *testing.T
	dir     string
	records []*ledger.Record
}

// forge copies a state directory and rewrites its ledger after a change.
func forge(t *testing.T, from string, change func(*forgery)) (f *forgery, refused error) {
	t.Helper()
	f = &forgery{t: t, dir: filepath.Join(t.TempDir(), "state")}
	must.Do(t, os.CopyFS(f.dir, os.DirFS(from)))
	st, err := store.OpenReadOnly(f.dir)
	must.Do(t, err)
	for _, r := range st.Records() {
		text, err := json.Marshal(r)
		own := &ledger.Record{}
		must.Do(t, errors.Join(err, json.Unmarshal(text, own)))
		f.records = append(f.records, own)
	}
	change(f)
	must.Do(t, errors.Join(os.Remove(st.LedgerPath()), os.Remove(st.LedgerPath()+".checkpoint")))
	l, err := ledger.Open(st.LedgerPath(), nil)
	must.Do(t, err)
	defer l.Close()
	return f, l.Append(f.records...)
}

// launches are those of a purpose and a variant.
func (f *forgery) launches(purpose, variant string) (all []*ledger.Launch) {
	for _, r := range f.records {
		if l := r.Launch; l != nil && l.Purpose == purpose && l.Variant == variant {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		f.t.Fatalf("no launch of %s for %s", variant, purpose)
	}
	return all
}

// decision is the newest about a node.
func (f *forgery) decision(node string) (d *ledger.Decision) {
	for _, r := range f.records {
		if r.Decision != nil && r.Decision.Node == node {
			d = r.Decision
		}
	}
	if d == nil {
		f.t.Fatalf("no decision about %s", node)
	}
	return d
}

// level is one of a decision.
func (f *forgery) level(node, name string) *ledger.Level {
	d := f.decision(node)
	for i := range d.Levels {
		if d.Levels[i].Name == name {
			return &d.Levels[i]
		}
	}
	f.t.Fatalf("%s has no level %s", node, name)
	return nil
}

// edit replaces an artifact by another, and returns the digest of that.
func (f *forgery) edit(sum string, change func([]byte) []byte) string {
	st, err := store.OpenSigned(f.dir, userKey(f.t))
	must.Do(f.t, err)
	defer st.Close()
	text, err := st.Get(sum)
	must.Do(f.t, err)
	is, err := st.Put(change(bytes.Clone(text)))
	if err != nil || is == sum {
		f.t.Fatalf("nothing was changed: %v", err)
	}
	return is
}

// userKey is the key of whoever runs mxflow here.
func userKey(t *testing.T) *signing.Key {
	t.Helper()
	path, err := signing.Path()
	must.Do(t, err)
	key, err := signing.Open(path)
	must.Do(t, err)
	return key
}

func exchange[T any](a, b *T) { *a, *b = *b, *a }

// appliedState is the state directory of an apply of a plan.
func appliedState(t *testing.T, plan string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	must.Do(t, applyTo(dir, plan))
	return dir
}

// applyTo applies a plan, of which a noisy machine may let the gates pass or not.
func applyTo(state, plan string) error {
	apply := exec.Command(scenario.Program, "apply", plan, "--state", state)
	out, err := apply.CombinedOutput()
	if err != nil && (apply.ProcessState == nil || apply.ProcessState.ExitCode() == verdict.ExitBroken) {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// sessionsRecord is a record that several tests read or forge, made once.
var sessionsRecord = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(scenario.Program), "record")
	if err != nil {
		return "", err
	}
	state := filepath.Join(dir, "state")
	return state, applyTo(state, "testdata/plans/forged_sessions.hcl")
})

// forgedCase is an edit of a record, and what a replay then says.
type forgedCase struct {
	name   string
	change func(*forgery)
	exit   int
	says   string
}

// refused is the exit status of a forgery that no reader of a ledger takes.
const refused = -1

// quickly are the forgeries that are tried by default, one of each kind. MXFLOW_TEST_LONG=1 tries all.
var quickly = []string{
	"nothing", "a run that was killed", "correctness", "an output", "a line of the log", "an answer dropped",
	"launches of garbage count", "a launch left out", "a launch made not to count", "a row", "a number of a step",
	"samples of rows exchanged", "a launch inserted", "a launch duplicated",
}

// TestForgedLevels: whatever somebody who holds the key makes of a level, deciding it
// again from what was kept finds it.
func TestForgedLevels(t *testing.T) {
	t.Parallel()
	state := appliedState(t, "testdata/plans/forged_levels.hcl")
	const baseline, cached = "baseline", "feature.cached.qualify"
	fail := func(node, name string) func(*forgery) {
		return func(f *forgery) {
			f.level(node, name).Verdict = verdict.Fail
			f.decision(node).Verdict = verdict.Fail
		}
	}
	own := func(f *forgery) *ledger.Launch { return f.launches(ledger.ForQualification, "cached")[0] }
	left := func(path string, change func(*forgery, *ledger.Launch, string)) func(*forgery) {
		return func(f *forgery) { change(f, own(f), path) }
	}
	swap := func(f *forgery, l *ledger.Launch, path string) {
		other := f.launches(ledger.ForQualification, "baseline")[0]
		l.Left[path], other.Left[path] = other.Left[path], l.Left[path]
	}
	replace := func(was, is string) func(*forgery, *ledger.Launch, string) {
		return func(f *forgery, l *ledger.Launch, path string) {
			l.Left[path] = f.edit(l.Left[path], func(text []byte) []byte {
				return bytes.ReplaceAll(text, []byte(was), []byte(is))
			})
		}
	}
	drop := func(_ *forgery, l *ledger.Launch, path string) { delete(l.Left, path) }
	replays(t, state, []forgedCase{
		{"nothing", func(*forgery) {}, 0, "Everything agrees: 3 decisions"},
		{"smoke", fail(baseline, "smoke"), 2, "level smoke verdict fail pass"},
		{"kernels", fail(cached, "kernels"), 2, "level kernels verdict fail pass"},
		{"correctness of the baseline", fail(baseline, "correctness"), 2, "level correctness verdict fail pass"},
		{"correctness", fail(cached, "correctness"), 2, "level correctness verdict fail pass"},
		{"stress", fail(cached, "stress"), 2, "level stress verdict fail pass"},
		{"a program", fail(cached, "accuracy"), 2, "level accuracy verdict fail pass"},
		{"the whole", func(f *forgery) { f.decision(cached).Verdict = verdict.Fail }, 2, "decision verdict fail pass"},
		{"a level left out", func(f *forgery) {
			d := f.decision(cached)
			d.Levels = append(d.Levels[:2:2], d.Levels[3:]...)
		}, 2, "level correctness verdict absent required by protocol levels"},
		{"a level that a feature reads", func(f *forgery) {
			f.decision("feature.cached").Evidence[0].Levels["smoke"] = verdict.Fail
		}, 2, "levels of cached smoke fail pass"},
		{"a number", func(f *forgery) {
			own(f).Metrics["levels.accuracy.score"].Stats["median"] = 0.9
		}, 2, "levels.accuracy.score.stats.median 0.9 0.75"},
		{
			"a number of answers", func(f *forgery) { own(f).Metrics["levels.correctness.kl"].Stats["median"] = 0.9 },
			2,
			"levels.correctness.kl.stats.median 0.9",
		},
		{"an output", left("accuracy/output", replace("12", "14")), 2, "levels.accuracy.score.stats.median 0.75 0.875"},
		{"an answer", left("smoke/artifact.json", replace("Paris", "Lyons")), 2, "level smoke verdict pass fail"},
		{"logs exchanged", func(f *forgery) {
			exchange(&own(f).Log, &f.launches(ledger.ForQualification, "baseline")[0].Log)
		}, 2, "level kernels verdict pass fail"},
		{"a line of the log", func(f *forgery) {
			l := own(f)
			l.Log = f.edit(l.Log, func(log []byte) []byte {
				return bytes.ReplaceAll(log, []byte("decode_attention_kvcache"), []byte("decode"))
			})
		}, 2, "level kernels verdict pass fail"},
		{
			"answers exchanged", left("correctness/answers.json", swap), 4,
			"the correctness/answers.json named by launch",
		},
		{"an answer exchanged", left("smoke/artifact.json", swap), 4, "the smoke/artifact.json named by launch"},
		{"an answer dropped", left("smoke/artifact.json", drop), 4, "the evidence of level smoke was not kept"},
		{
			"answers dropped", left("correctness/answers.json", drop), 4,
			"the evidence of level correctness was not kept",
		},
		{"another launch", func(f *forgery) {
			f.level(cached, "smoke").Launch = f.launches(ledger.ForQualification, "baseline")[0].ID
		}, 2, "level kernels verdict absent"},
	})
}

// TestForgedSessions: whatever somebody who holds the key makes of which launches count,
// of a comparison or of what a program printed, deciding it again finds it.
func TestForgedSessions(t *testing.T) {
	t.Parallel()
	state, err := sessionsRecord()
	must.Do(t, err)
	const (
		benchmark, wrong   = "feature.cached.benchmark", "feature.wrong.benchmark"
		compared, scored   = "phase.beside.step.compare.engines", "phase.scored.step.exec.score"
		tiny, deep, cached = "embedded.tiny", "embedded.deep", "cached"
	)
	judged := func(node string, v verdict.Verdict) func(*forgery) {
		return func(f *forgery) {
			d := f.decision(node)
			d.Verdict, d.Reasons = v, nil
			f.level(node, "benchmark").Verdict, f.level(node, "benchmark").Reasons = v, nil
		}
	}
	own := func(f *forgery) *ledger.Launch { return f.launches(ledger.ForBenchmark, cached)[1] }
	replays(t, state, []forgedCase{
		{"nothing", func(*forgery) {}, 0, "Everything agrees"},
		{"a run that was killed", func(f *forgery) {
			f.records = slices.DeleteFunc(f.records, func(r *ledger.Record) bool { return r.End != nil })
		}, 0, "Everything agrees"},
		{"launches that count do not", judged(benchmark, verdict.Invalid), 2, "decision verdict invalid pass"},
		{"launches of garbage count", judged(wrong, verdict.Pass), 2, "decision verdict pass invalid"},
		{
			"launches of garbage were disturbed", judged(wrong, verdict.Inconclusive), 2,
			"decision verdict inconclusive invalid",
		},
		{"another cause", func(f *forgery) {
			f.decision(wrong).Reasons = []verdict.Reason{verdict.New(code.EnvironmentChanged).On("wrong")}
		}, 2, "decision reason"},
		{"a launch left out", func(f *forgery) {
			d := f.decision(benchmark)
			d.Launches = d.Launches[:len(d.Launches)-1]
		}, 2, "decision launches"},
		{"a launch made not to count", func(f *forgery) {
			own(f).Invalid, own(f).Disturbed = []verdict.Reason{verdict.New(code.WokenLate).On("chat")}, true
		}, 2, "disturbed yes no"},
		{"garbage hidden", func(f *forgery) {
			for _, l := range f.launches(ledger.ForBenchmark, "wrong") {
				l.Incoherent = nil
			}
		}, 2, "incoherent"},
		{"another environment", func(f *forgery) {
			own(f).Fingerprint["cpu"] = "another"
		}, 2, "decision verdict pass invalid"},
		{"knobs of a measured launch unproved", func(f *forgery) {
			l := own(f)
			l.Log = f.edit(l.Log, func(log []byte) []byte {
				return bytes.ReplaceAll(log, []byte("decode_attention_kvcache"), []byte("decode"))
			})
		}, 2, "decision verdict pass invalid"},
		{"a row", func(f *forgery) {
			f.decision(compared).Rows[1].Verdict = verdict.Fail
		}, 2, "rows [2].verdict fail pass"},
		{"a speed-up", func(f *forgery) {
			f.decision(compared).Rows[1].Cells[0].Mean *= 2
		}, 2, "rows [2].cells[1].mean"},
		{"a comparison", func(f *forgery) {
			f.decision(compared).Verdict = verdict.Fail
		}, 2, "decision verdict fail pass"},
		{"a launch of a row", func(f *forgery) {
			d := f.decision(compared)
			d.Launches = d.Launches[:len(d.Launches)-1]
		}, 2, "decision launches"},
		{"samples of rows exchanged", func(f *forgery) {
			exchange(&f.launches(ledger.ForBenchmark, tiny)[0].Samples,
				&f.launches(ledger.ForBenchmark, deep)[0].Samples)
		}, 4, "are of another launch"},
		{"a sample's times, and metrics with them", func(f *forgery) {
			f.rewrite(own(f), func(r *measure.Recording) {
				for i, e := range r.Samples[len(r.Samples)-1].Events {
					r.Samples[len(r.Samples)-1].Events[i].At = e.At * 9 / 10
				}
			})
		}, 2, "did not come out as recorded"},
		{"series", func(f *forgery) {
			l := f.launches(ledger.ForBenchmark, "baseline")[1]
			was := maps.Clone(l.Metrics)
			f.rewrite(l, func(r *measure.Recording) {
				for i := range r.Series {
					for j := range r.Series[i].Value {
						r.Series[i].Value[j] /= 2
					}
				}
			})
			l.Metrics = was
		}, 2, "did not come out as recorded"},
		{"series left out", func(f *forgery) {
			f.launches(ledger.ForBenchmark, "baseline")[1].Series = ""
		}, 2, "did not come out as recorded"},
		{"samples emptied", func(f *forgery) {
			own(f).Samples = f.edit(own(f).Samples, func([]byte) []byte { return nil })
		}, 4, "not readable as Parquet"},
		{"a line added to the log", func(f *forgery) { // behind what was looked at: nothing rests on it
			own(f).Log = f.edit(own(f).Log, func(log []byte) []byte {
				return append(log, "using kernel full_prefix_attention_recompute\n"...)
			})
		}, 0, "Everything agrees"},
		{"a launch dropped", func(f *forgery) {
			id := own(f).ID
			is := func(other string) bool { return other == id }
			f.records = slices.DeleteFunc(f.records, func(r *ledger.Record) bool {
				return r.Launch != nil && is(r.Launch.ID)
			})
			f.everywhere(id, func(ids []string) []string { return slices.DeleteFunc(slices.Clone(ids), is) })
		}, 2, "did not come out as recorded"},
		{"a launch inserted", func(f *forgery) {
			of := own(f)
			l := *of
			l.ID, l.Draw, l.Ordinal, l.Order = "s-inserted.cached.9", ledger.Draw{}, 9, 99
			at := slices.IndexFunc(f.records, func(r *ledger.Record) bool { return r.Launch == of })
			r := *f.records[at]
			r.Launch = &l
			f.records = slices.Insert(f.records, at+1, &r)
			f.everywhere(of.ID, func(ids []string) []string { return append(slices.Clone(ids), l.ID) })
		}, 4, "are of another launch"},
		{"a launch duplicated", func(f *forgery) {
			f.insert(ledger.Record{Type: "launch", Launch: own(f)})
		}, refused, ""},
		{"a waiver of what passed", func(f *forgery) {
			f.insert(ledger.Record{Type: "waiver", Waiver: &ledger.Waiver{
				Node: "phase.port", Attempt: 1, Verdict: verdict.Pass, By: "kim", Reason: "because",
				Expires: time.Now().Add(time.Hour).UTC(),
			}})
		}, refused, ""},
		{"the arms' roles exchanged", func(f *forgery) {
			a, b := f.launches(ledger.ForBenchmark, cached), f.launches(ledger.ForBenchmark, "baseline")
			key := a[0].VariantKey
			for _, l := range a {
				l.Variant, l.VariantKey = b[0].Variant, b[0].VariantKey
			}
			for _, l := range b {
				l.Variant, l.VariantKey = cached, key
			}
		}, 4, "are of another launch: arm is"},
		{"times moved", func(f *forgery) { own(f).Started = own(f).Started.Add(-time.Hour) }, 2, "started"},
		{"a number of a step", func(f *forgery) {
			f.launches(ledger.ForStep, "score")[0].Metrics["levels.score.score"].Stats["median"] = 0.9
		}, 2, "levels.score.score.stats.median 0.9 0.75"},
		{"what a step printed", func(f *forgery) {
			l := f.launches(ledger.ForStep, "score")[0]
			l.Output = f.edit(l.Output, func(text []byte) []byte {
				return bytes.ReplaceAll(text, []byte("12"), []byte("14"))
			})
		}, 2, "levels.score.score.stats.median 0.75 0.875"},
	})
}

// replays tries forgeries of a record: somebody with the key signs them.
func replays(t *testing.T, state string, cases []forgedCase) {
	t.Helper()
	for _, c := range cases {
		if !slices.Contains(quickly, c.name) && os.Getenv("MXFLOW_TEST_LONG") == "" {
			continue
		}
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			f, err := forge(t, state, c.change)
			if (err != nil) != (c.exit == refused) {
				t.Fatalf("the ledger takes it: %v", err)
			} else if err != nil {
				return
			}
			if exit, _, _ := mxflow("audit", "verify", "--state", f.dir); exit != verdict.ExitFail {
				t.Errorf("without a signature, audit verify ends with %d", exit)
			}
			must.Do(t, scenario.SignLedger(filepath.Join(f.dir, "ledger"), userKey(t)))
			if exit, out, errs := mxflow("audit", "verify", "--state", f.dir); exit != 0 {
				t.Fatalf("audit verify: %d\n%s%s", exit, out, errs)
			}
			exit, out, errs := mxflow("audit", "replay", "--state", f.dir)
			if said := evenly(out + errs); exit != c.exit || !strings.Contains(said, c.says) {
				t.Errorf("exit status %d, want %d with %q:\n%s%s", exit, c.exit, c.says, out, errs)
			}
		})
	}
}

// rewrite replaces the samples of a launch by edited ones in a file that names it, and its
// metrics by what these come to.
func (f *forgery) rewrite(l *ledger.Launch, change func(*measure.Recording)) {
	st, err := store.OpenSigned(f.dir, userKey(f.t))
	must.Do(f.t, err)
	defer st.Close()
	r := measure.Recording{Cells: l.Cells, Windows: l.Windows}
	if r.Samples, err = st.ReadSamples(l); err == nil {
		r.Series, err = st.ReadSeries(l)
	}
	must.Do(f.t, err)
	change(&r)
	run := st.Origin(l).Run
	must.Do(f.t, errors.Join(st.WriteSamples(run, l, r.Samples), st.WriteSeries(run, l, r.Series)))
	for address, s := range measure.Evaluate(r) {
		if _, recorded := l.Metrics[address]; recorded {
			l.Metrics[address] = s
		}
	}
}

// insert adds a record behind the others.
func (f *forgery) insert(r ledger.Record) {
	last := f.records[len(f.records)-1]
	r.Time, r.Run = last.Time, last.Run
	f.records = append(f.records, &r)
}

// everywhere changes the evidence of every decision that names a launch.
func (f *forgery) everywhere(id string, change func([]string) []string) {
	for _, r := range f.records {
		d := r.Decision
		if d == nil || !slices.Contains(d.Launches, id) {
			continue
		}
		d.Launches = change(d.Launches)
		for i := range d.Evidence {
			for _, arm := range []*gates.Arm{&d.Evidence[i].Candidate, &d.Evidence[i].Parent, &d.Evidence[i].Root} {
				if ids := arm.IDs(); slices.Contains(ids, id) {
					arm.Launches = gates.ArmOf("", change(ids)...).Launches
				}
			}
		}
	}
}

const tailPlan = `plan "tail" {}

phase "one" {
  step "exec" "works" { command = ["true"] }
  step "exec" "fails" { command = ["false"] }
}

phase "two" {
  after = [phase.one]
  step "exec" "locked" { command = ["true"] }
}
`

// tail is a state directory whose ledger somebody without the key appends to.
type tail struct {
	t          *testing.T
	plan, dir  string
	run        string // the newest
	ledger     string
	checkpoint []byte
}

func newTail(t *testing.T) *tail {
	f := &tail{t: t, plan: filepath.Join(t.TempDir(), "plan.hcl")}
	must.Write(t, f.plan, tailPlan)
	f.dir = appliedState(t, f.plan)
	f.ledger = filepath.Join(f.dir, "ledger")
	f.run = f.records()[0].Run
	return f
}

func (f *tail) records() (all []*ledger.Record) {
	f.t.Helper()
	st, err := store.OpenReadOnly(f.dir)
	must.Do(f.t, err)
	for _, r := range st.Records() {
		all = append(all, r)
	}
	return all
}

// keep cuts the ledger after n records and signs it, as a kill would have left it.
func (f *tail) keep(n int) {
	f.t.Helper()
	lines := bytes.SplitAfter(f.read(f.ledger), []byte("\n"))
	must.Do(f.t, os.WriteFile(f.ledger, bytes.Join(lines[:1+n], nil), 0o644))
	must.Do(f.t, scenario.SignLedger(f.ledger, userKey(f.t)))
}

// add appends records with all hashes, and leaves the checkpoint as it is.
func (f *tail) add(records ...*ledger.Record) {
	f.t.Helper()
	f.checkpoint = f.read(f.ledger + ".checkpoint")
	aside := filepath.Join(f.t.TempDir(), "ledger")
	must.Do(f.t, os.WriteFile(aside, f.read(f.ledger), 0o644))
	l, err := ledger.Open(aside, nil)
	must.Do(f.t, err)
	defer l.Close()
	for _, r := range records {
		r.Time = time.Now().UTC()
	}
	must.Do(f.t, l.Append(records...))
	must.Do(f.t, os.WriteFile(f.ledger, f.read(aside), 0o644))
}

func (f *tail) read(path string) []byte { return []byte(must.Read(f.t, path)) }

// apply runs the program, with more in its environment.
func (f *tail) apply(env ...string) (exit int, says string) {
	apply := exec.Command(scenario.Program, "apply", f.plan, "--state", f.dir)
	apply.Env = append(os.Environ(), env...)
	out, _ := apply.CombinedOutput()
	return apply.ProcessState.ExitCode(), evenly(string(out))
}

// verified holds that all is signed, or how much is not.
func (f *tail) verified(unsigned string) {
	f.t.Helper()
	exit, out, errs := mxflow("audit", "verify", "--state", f.dir)
	if unsigned == "" && (exit != 0 || !strings.Contains(out, "Everything is intact.")) || unsigned != "" &&
		(exit != verdict.ExitFail || !strings.Contains(errs, unsigned)) {
		f.t.Errorf("audit verify, want %q: %d\n%s%s", unsigned, exit, out, errs)
	}
}

// passes is a forged decision that the phase passed, which unlocks the next.
func passes(run string) *ledger.Record {
	return &ledger.Record{Type: "decision", Run: run, Decision: &ledger.Decision{
		Node: "phase.one",
		Kind: ledger.KindPhase, Phase: "one", Attempt: 9, Verdict: verdict.Pass,
	}}
}

func ends(run string) *ledger.Record {
	return &ledger.Record{
		Type: "end", Run: run,
		End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)},
	}
}

func starts(run string) *ledger.Record {
	return &ledger.Record{
		Type: "run", Run: run,
		RunStart: &ledger.RunStart{Plan: "tail", Tool: "forged", Environment: map[string]string{}},
	}
}

// TestTails: what somebody without the key appends is never signed. Behind the end of a
// run it is refused, whatever it says; where a killed run left off it is set aside, as the
// last write of that run is that nobody was told of.
func TestTails(t *testing.T) {
	t.Parallel()
	whole := newTail(t)
	gate := slices.IndexFunc(whole.records(), func(r *ledger.Record) bool {
		return r.Decision != nil && r.Decision.Node == "phase.one"
	})
	if gate < 0 {
		t.Fatal("no decision about phase.one")
	}
	run := whole.run
	for _, c := range []struct {
		name    string
		killed  int // records that a killed run left; 0 for a run with its end
		tail    []*ledger.Record
		refused string // what apply says
	}{
		{"a gate behind the end", 0, []*ledger.Record{passes(run)}, "a decision about phase.one (pass) of run " + run +
			" was added without the key"},
		{
			"a launch behind the end", 0,
			[]*ledger.Record{{Type: "launch", Run: run, Launch: &ledger.Launch{ID: "l", Purpose: ledger.ForStep}}},
			"a record of type launch of run",
		},
		{
			"a waiver behind the end", 0,
			[]*ledger.Record{waives(whole.records()[gate])},
			"a record of type waiver of run",
		},
		{
			"a whole run behind the end", 0,
			[]*ledger.Record{starts("r2"), passes("r2"), ends("r2")},
			"a record of type run of run r2 was added without the key",
		},
		{"the start of a run behind the end", 0, []*ledger.Record{starts("r2")}, ""},
		{"a gate of a killed run", gate, []*ledger.Record{passes(run)}, ""},
		{"the end of a killed run", gate, []*ledger.Record{passes(run), ends(run)}, ""},
		{
			"more than the end of a killed run", gate,
			[]*ledger.Record{ends(run), starts("r2"), passes("r2")},
			"a record of type run of run r2 was added without the key",
		},
		{"another run's gate", gate, []*ledger.Record{passes("r2")}, "a decision about phase.one (pass) of run r2"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			f := &tail{t: t, plan: whole.plan, dir: filepath.Join(t.TempDir(), "state")}
			f.ledger = filepath.Join(f.dir, "ledger")
			must.Do(t, os.CopyFS(f.dir, os.DirFS(whole.dir)))
			if c.killed > 0 {
				f.keep(c.killed)
			}
			signed := f.read(f.ledger)
			f.add(c.tail...)
			forged := f.read(f.ledger)
			f.verified("not signed, from line ")
			if read, kept := len(f.records()), bytes.Count(signed, []byte("\n"))-1; read != kept {
				t.Errorf("readers see %d records, %d are signed", read, kept)
			}
			exit, says := f.apply()
			if c.refused != "" {
				if exit != verdict.ExitUsage || !strings.Contains(says, c.refused) ||
					!strings.Contains(says, "cut the file off behind the signed lines (truncate -s ") {
					t.Errorf("apply: %d\n%s", exit, says)
				}
				if !bytes.Equal(f.read(f.ledger), forged) ||
					!bytes.Equal(f.read(f.ledger+".checkpoint"), f.checkpoint) {
					t.Error("the ledger was changed")
				}
				if exit, _, errs := mxflow("waive", "phase.one", "--state", f.dir, "--by", "kim", "--reason", "r",
					"--expires", "1d", f.plan); exit != verdict.ExitUsage ||
					!strings.Contains(errs, "without the key") {
					t.Errorf("waive: %d\n%s", exit, errs)
				}
				must.Do(t, os.Truncate(f.ledger, int64(len(signed)))) // as it says
				f.verified("")
				return
			}
			if exit != verdict.ExitFail || !strings.Contains(says, "they were moved to "+f.ledger+".torn-1") {
				t.Errorf("apply: %d\n%s", exit, says)
			}
			if !bytes.Equal(f.read(f.ledger+".torn-1"), forged[len(signed):]) ||
				!bytes.HasPrefix(f.read(f.ledger), signed) {
				t.Error("what was set aside is not what was not signed")
			}
			for _, r := range f.records() {
				if d := r.Decision; d != nil && d.Phase == "two" && d.Verdict == verdict.Pass {
					t.Errorf("a forged gate unlocked %s", d.Node)
				}
			}
			f.verified("")
		})
	}
}

// waives is a waiver of a decision about a gate.
func waives(of *ledger.Record) *ledger.Record {
	d := of.Decision
	return &ledger.Record{Type: "waiver", Run: of.Run, Waiver: &ledger.Waiver{
		Node: d.Node, Attempt: d.Attempt, Verdict: d.Verdict,
		By: "kim", Reason: "because", Expires: time.Now().Add(time.Hour).UTC(),
	}}
}

// TestKilledAnywhere kills applies after each line that they say, and starts the next one
// without a key: whatever the kill left, the signature stays, and the owner of the key goes
// on.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	f := newTail(t)
	for lines := 1; lines <= 9; lines++ {
		apply := exec.Command(scenario.Program, "apply", "--json", "--rerun", "all", f.plan, "--state", f.dir)
		out, err := apply.StdoutPipe()
		must.Do(t, err)
		must.Do(t, apply.Start())
		said := bufio.NewScanner(out)
		for range lines {
			said.Scan()
		}
		_ = apply.Process.Kill() // it may have ended
		_ = apply.Wait()
		before, checkpoint := f.read(f.ledger), f.read(f.ledger+".checkpoint")
		if _, err := userKey(t).Verify(checkpoint); err != nil {
			t.Fatalf("killed after %d lines: %v", lines, err)
		}
		if exit, says := f.apply("MXFLOW_SIGNING_KEY=none"); exit != verdict.ExitUsage ||
			!strings.Contains(says, "is signed, and without a key nothing can be added to it") {
			t.Fatalf("killed after %d lines, then without a key: %d\n%s", lines, exit, says)
		}
		if !bytes.Equal(f.read(f.ledger), before) || !bytes.Equal(f.read(f.ledger+".checkpoint"), checkpoint) {
			t.Fatalf("killed after %d lines: the record was changed without a key", lines)
		}
	}
	if exit, says := f.apply(); exit != verdict.ExitFail {
		t.Errorf("apply: %d\n%s", exit, says)
	}
	f.verified("")
}

// TestSecretsAreNowhere applies a plan that leaks a secret wherever it can, and
// looks for it in everything that mxflow keeps and prints.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	for i, secret := range []string{
		`pa"ss\wörd <&>%41/+=`, "hf_0123456789abcdef", "1234", "two lines of it\nand another one",
	} {
		if i > 0 && !inFull() {
			break
		}
		dir := folder(t, map[string]string{"plan.hcl": must.Read(t, "testdata/plans/leaky.hcl")})
		var printed bytes.Buffer
		mxflow := func(wantExit int, args ...string) {
			got, out := program(t, dir, []string{"MXFLOW_VAR_token=" + secret}, args...)
			if got != wantExit {
				t.Errorf("%v: exit status %d\n%s", args, got, out)
			}
			printed.WriteString(out)
		}
		mxflow(0, "validate", "plan.hcl")
		mxflow(4, "apply", "plan.hcl")
		mxflow(4, "apply", "--json", "plan.hcl")
		mxflow(4, "apply", "--rerun", "all", "--var", "token="+secret, "plan.hcl")
		for _, args := range []string{
			"show latest", "audit", "status", "report", "audit verify", "plan plan.hcl",
		} {
			mxflow(0, strings.Fields(args)...)
			if args != "audit verify" {
				mxflow(0, append(strings.Fields(args), "--json")...)
			}
		}
		mxflow(1, "validate", "--var", "user=${", "--var", "token=", "--var", "tokn="+secret, "plan.hcl")
		mustNotHold(t, "output", printed.Bytes(), secret)
		files := 0
		err := filepath.WalkDir(filepath.Join(dir, ".mxflow"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			mustNotHold(t, path, data, secret)
			return err
		})
		if err != nil || files < 5 {
			t.Errorf("%d files, %v", files, err)
		}
		if !bytes.Contains(printed.Bytes(), []byte("[redacted]")) {
			t.Errorf("nothing leaked, so nothing was tested:\n%s", printed.Bytes())
		}
	}
}

// mustNotHold looks for a secret as it is and as programs write it.
func mustNotHold(t *testing.T, where string, data []byte, secret string) {
	t.Helper()
	quoted, _ := json.Marshal(secret)
	for _, form := range []string{
		secret, string(quoted[1 : len(quoted)-1]), strings.Trim(strconv.Quote(secret), `"`), url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("bob:" + secret)),
	} {
		if at := bytes.Index(data, []byte(form)); at >= 0 && len(form) >= 4 {
			// A short number may be part of a time.
			if secret == "1234" && form == secret && !bytes.Contains(data, []byte("token="+form)) &&
				!bytes.Contains(data, []byte("Bearer "+form)) {
				continue
			}
			t.Errorf("%s holds %q: …%q…", where, form, data[max(0, at-60):min(len(data), at+len(form)+60)])
		}
	}
}
