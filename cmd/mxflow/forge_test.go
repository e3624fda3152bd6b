package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
	if err := os.CopyFS(f.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	st, err := store.OpenReadOnly(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range st.Records() {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		own := &ledger.Record{}
		if err := json.Unmarshal(text, own); err != nil {
			t.Fatal(err)
		}
		f.records = append(f.records, own)
	}
	change(f)
	for _, path := range []string{st.LedgerPath(), st.LedgerPath() + ".checkpoint"} {
		remove(t, path)
	}
	l, err := ledger.Open(st.LedgerPath(), nil)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	text, err := st.Get(sum)
	if err != nil {
		f.t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func exchange[T any](a, b *T) { *a, *b = *b, *a }

// appliedState is the state directory of an apply of a plan.
func appliedState(t *testing.T, plan string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	apply := exec.Command(scenario.Program, append([]string{"apply", plan, "--state", dir}, args...)...)
	// Whether a noisy machine lets its gates pass is not what is asked.
	if out, err := apply.CombinedOutput(); err != nil && apply.ProcessState.ExitCode() == verdict.ExitBroken {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// patientExample is a copy of an example whose client may be late.
func patientExample(t *testing.T, name string) string {
	t.Helper()
	e := examplePlan{name: name, file: filepath.Join("..", "..", "examples", name, "plan.hcl")}
	e.read(t)
	return patient(t, e.file, e.text)
}

const forgedPlan = `plan "forged" {}

engine "embedded" "tiny" {
  settings = { layers = 1 }
}

knob "kv_cache" {
  default = "off"
  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see { log = ["*using kernel full_prefix_attention_recompute*"] }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see { log = ["*using kernel decode_attention_kvcache*"] }
  }
}

protocol "levels" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "correctness" {
    prompts       = 8
    prompt_tokens = [8]
    output_tokens = 20
    max_kl        = 0.05
  }
  level "exec" "accuracy" {
    command = ["echo", "{\"right\":12}"]
    metric "score" {
      jq     = ".right / 16"
      unit   = "share"
      better = "higher"
    }
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.levels
}

phase "port" {
  feature "cached" {
    set = { kv_cache = "on" }
    criterion "score" {
      rule = "levels.accuracy.score.delta >= -0.1"
    }
  }
}
`

// TestForgedLevels: whatever somebody who holds the key makes of a level, deciding it
// again from what was kept finds it.
func TestForgedLevels(t *testing.T) {
	t.Parallel()
	plan := filepath.Join(t.TempDir(), "plan.hcl")
	if err := os.WriteFile(plan, []byte(forgedPlan), 0o644); err != nil {
		t.Fatal(err)
	}
	state := appliedState(t, plan)
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
			l.Left[path] = f.edit(l.Left[path], func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(was), []byte(is)) })
		}
	}
	drop := func(_ *forgery, l *ledger.Launch, path string) { delete(l.Left, path) }
	for _, c := range []struct {
		name   string
		change func(*forgery)
		exit   int
		says   string
	}{
		{"nothing", func(*forgery) {}, 0, "Everything agrees: 3 decisions"},
		{"smoke", fail(baseline, "smoke"), 2, "level smoke verdict fail pass"},
		{"kernels", fail(cached, "kernels"), 2, "level kernels verdict fail pass"},
		{"correctness of the baseline", fail(baseline, "correctness"), 2, "level correctness verdict fail pass"},
		{"correctness", fail(cached, "correctness"), 2, "level correctness verdict fail pass"},
		{"a program", fail(cached, "accuracy"), 2, "level accuracy verdict fail pass"},
		{"the whole", func(f *forgery) { f.decision(cached).Verdict = verdict.Fail }, 2, "decision verdict fail pass"},
		{"a level left out", func(f *forgery) {
			d := f.decision(cached)
			d.Levels = append(d.Levels[:2:2], d.Levels[3:]...)
		}, 2, "level correctness verdict absent required by protocol levels"},
		{"a level that a feature reads", func(f *forgery) {
			f.decision("feature.cached").Evidence[0].Levels["smoke"] = verdict.Fail
		}, 2, "levels of cached smoke fail pass"},
		{"a number", func(f *forgery) { own(f).Metrics["levels.accuracy.score"].Stats["median"] = 0.9 }, 2, "levels.accuracy.score.stats.median 0.9 0.75"},
		{"a number of answers", func(f *forgery) { own(f).Metrics["levels.correctness.kl"].Stats["median"] = 0.9 }, 2, "levels.correctness.kl.stats.median 0.9"},
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
		{"answers exchanged", left("correctness/answers.json", swap), 4, "the correctness/answers.json named by launch"},
		{"an answer exchanged", left("smoke/artifact.json", swap), 4, "the smoke/artifact.json named by launch"},
		{"an answer dropped", left("smoke/artifact.json", drop), 4, "the evidence of level smoke was not kept"},
		{"answers dropped", left("correctness/answers.json", drop), 4, "the evidence of level correctness was not kept"},
		{"another launch", func(f *forgery) {
			f.level(cached, "smoke").Launch = f.launches(ledger.ForQualification, "baseline")[0].ID
		}, 2, "level kernels verdict absent"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) { replays(t, state, c.change, c.exit, c.says) })
	}
}

const forgedSessions = `plan "sessions" {}

# A pace, so that a busy machine reads tokens one by one.
engine "embedded" "tiny" {
  settings = { layers = 1 }
  env      = { MXFLOW_EMBEDDED_PACE = "2ms" }
}

engine "embedded" "deep" {
  settings = { layers = 2 }
  env      = { MXFLOW_EMBEDDED_PACE = "2ms" }
}

knob "kv_cache" {
  default = "off"
  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see { log = ["*using kernel full_prefix_attention_recompute*"] }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see { log = ["*using kernel decode_attention_kvcache*"] }
  }
  value "garbage" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_FAULT = "garbage" }
    must_see { log = ["*using kernel decode_attention_kvcache*"] }
  }
}

workload "chat" {
  prompt_tokens = 16
  output_tokens = 24
  requests      = 6
  warmup        = 1
  max_lag       = "1m"
}

protocol "measured" {
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 2
  }
}

protocol "asked" {
  level "smoke" {
    expect = "Paris"
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.measured
}

phase "port" {
  feature "cached" {
    set = { kv_cache = "on" }
    criterion "c" { rule = "chat.tg.gain >= 0" }
  }
  feature "wrong" {
    set = { kv_cache = "garbage" }
    criterion "c" { rule = "chat.tg.gain >= 0" }
  }
}

phase "beside" {
  step "compare" "engines" {
    engines   = [engine.embedded.tiny, engine.embedded.deep]
    reference = engine.embedded.tiny
    workloads = [workload.chat]
    protocol  = protocol.asked
    launches  = 2
  }
}

phase "scored" {
  step "exec" "score" {
    command = ["echo", "{\"right\":12}"]
    metric "score" {
      jq     = ".right / 16"
      unit   = "share"
      better = "higher"
    }
  }
}
`

// TestForgedSessions: whatever somebody who holds the key makes of which launches count,
// of a comparison or of what a program printed, deciding it again finds it.
func TestForgedSessions(t *testing.T) {
	t.Parallel()
	plan := filepath.Join(t.TempDir(), "plan.hcl")
	if err := os.WriteFile(plan, []byte(forgedSessions), 0o644); err != nil {
		t.Fatal(err)
	}
	state := appliedState(t, plan)
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
	for _, c := range []struct {
		name   string
		change func(*forgery)
		exit   int
		says   string
	}{
		{"nothing", func(*forgery) {}, 0, "Everything agrees"},
		{"launches that count do not", judged(benchmark, verdict.Invalid), 2, "decision verdict invalid pass"},
		{"launches of garbage count", judged(wrong, verdict.Pass), 2, "decision verdict pass invalid"},
		{"launches of garbage were disturbed", judged(wrong, verdict.Inconclusive), 2, "decision verdict inconclusive invalid"},
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
		{"another environment", func(f *forgery) { own(f).Fingerprint["cpu"] = "another" }, 2, "decision verdict pass invalid"},
		{"knobs of a measured launch unproved", func(f *forgery) {
			l := own(f)
			l.Log = f.edit(l.Log, func(log []byte) []byte {
				return bytes.ReplaceAll(log, []byte("decode_attention_kvcache"), []byte("decode"))
			})
		}, 2, "decision verdict pass invalid"},
		{"a row", func(f *forgery) { f.decision(compared).Rows[1].Verdict = verdict.Fail }, 2, "rows [2].verdict fail pass"},
		{"a speed-up", func(f *forgery) { f.decision(compared).Rows[1].Cells[0].Mean *= 2 }, 2, "rows [2].cells[1].mean"},
		{"a comparison", func(f *forgery) { f.decision(compared).Verdict = verdict.Fail }, 2, "decision verdict fail pass"},
		{"samples of rows exchanged", func(f *forgery) {
			exchange(&f.launches(ledger.ForBenchmark, tiny)[0].Samples, &f.launches(ledger.ForBenchmark, deep)[0].Samples)
		}, 4, "are of another launch"},
		{"a number of a step", func(f *forgery) {
			f.launches(ledger.ForStep, "score")[0].Metrics["levels.score.score"].Stats["median"] = 0.9
		}, 2, "levels.score.score.stats.median 0.9 0.75"},
		{"what a step printed", func(f *forgery) {
			l := f.launches(ledger.ForStep, "score")[0]
			l.Output = f.edit(l.Output, func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("12"), []byte("14")) })
		}, 2, "levels.score.score.stats.median 0.75 0.875"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) { replays(t, state, c.change, c.exit, c.says) })
	}
}

// replays holds what a replay says of a forgery that somebody with the key signed.
func replays(t *testing.T, state string, change func(*forgery), want int, says string) {
	t.Helper()
	f, err := forge(t, state, change)
	if err != nil {
		t.Fatal(err)
	}
	if err := scenario.SignLedger(filepath.Join(f.dir, "ledger"), userKey(t)); err != nil {
		t.Fatal(err)
	}
	if exit, out, errs := mxflow("audit", "verify", "--state", f.dir); exit != 0 {
		t.Fatalf("audit verify: %d\n%s%s", exit, out, errs)
	}
	exit, out, errs := mxflow("audit", "replay", "--state", f.dir)
	if said := evenly(out + errs); exit != want || !strings.Contains(said, says) {
		t.Errorf("exit status %d, want %d with %q:\n%s%s", exit, want, says, out, errs)
	}
}

// rewrite replaces the samples of a launch by edited ones in a file that names it, and its
// metrics by what these come to.
func (f *forgery) rewrite(l *ledger.Launch, change func(*measure.Recording)) {
	st, err := store.OpenSigned(f.dir, userKey(f.t))
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	r := measure.Recording{Cells: l.Cells, Windows: l.Windows}
	if r.Samples, err = st.ReadSamples(l); err == nil {
		r.Series, err = st.ReadSeries(l)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	change(&r)
	run := st.Origin(l).Run
	if err := errors.Join(st.WriteSamples(run, l, r.Samples), st.WriteSeries(run, l, r.Series)); err != nil {
		f.t.Fatal(err)
	}
	for address, s := range measure.Evaluate(r) {
		if _, recorded := l.Metrics[address]; recorded {
			l.Metrics[address] = s
		}
	}
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
			for _, arm := range []*ledger.Arm{&d.Evidence[i].Candidate, &d.Evidence[i].Parent, &d.Evidence[i].Root} {
				if slices.Contains(arm.Launches, id) {
					arm.Launches = change(arm.Launches)
				}
			}
		}
	}
}

// TestForgedRecord is what somebody without the key may do to the record of the example
// "protocol", all hashes recomputed, and who finds it: docs/internals/audit-format.md has the list.
// audit verify finds all of it, since what it asks for is a signature.
func TestForgedRecord(t *testing.T) {
	if os.Getenv("MXFLOW_TEST_LONG") == "" {
		t.Skip("applies the example protocol: set MXFLOW_TEST_LONG=1")
	}
	state := appliedState(t, patientExample(t, "protocol"))
	const (
		form    = -1 // no reader takes the ledger
		feature = "feature.cached"
		gate    = "phase.ports"
	)
	measured := func(f *forgery, arm string) *ledger.Launch { return f.launches(ledger.ForBenchmark, arm)[1] }
	qualified := func(f *forgery, arm string) *ledger.Launch { return f.launches(ledger.ForQualification, arm)[0] }
	insert := func(f *forgery, r ledger.Record) {
		last := f.records[len(f.records)-1]
		r.Time, r.Run = last.Time, last.Run
		f.records = append(f.records, &r)
	}
	for _, c := range []struct {
		name   string
		change func(*forgery)
		replay int
		says   string
	}{
		{"nothing", func(*forgery) {}, 0, "Everything agrees"},
		{"samples of two arms exchanged, with their metrics", func(f *forgery) {
			a, b := measured(f, "cached"), measured(f, "baseline")
			exchange(&a.Samples, &b.Samples)
			exchange(&a.Metrics, &b.Metrics)
		}, 4, "are of another launch"},
		{"one sample's times edited, and the launch's metrics with them", func(f *forgery) {
			f.rewrite(measured(f, "cached"), func(r *measure.Recording) {
				s := &r.Samples[len(r.Samples)-1]
				for i := range s.Events {
					s.Events[i].At = s.Events[i].At * 9 / 10
				}
			})
		}, 2, "did not come out as recorded"},
		{"series edited", func(f *forgery) {
			l := measured(f, "baseline") // which takes long enough for readings within its cells
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
		{"a line of evidence removed from a log", func(f *forgery) {
			l := qualified(f, "cached")
			l.Log = f.edit(l.Log, func(log []byte) []byte {
				return bytes.ReplaceAll(log, []byte("using kernel decode_attention_kvcache"), nil)
			})
		}, 2, "level kernels verdict pass fail"},
		{"a line of evidence added to a log", func(f *forgery) {
			// Behind what the level looked at: nothing rests on it.
			l := qualified(f, "cached")
			l.Log = f.edit(l.Log, func(log []byte) []byte { return append(log, "using kernel full_prefix_attention_recompute\n"...) })
		}, 0, "Everything agrees"},
		{"answers of two arms exchanged", func(f *forgery) {
			a, b := qualified(f, "fast_and_wrong"), qualified(f, "cached")
			a.Left["correctness/answers.json"], b.Left["correctness/answers.json"] = b.Left["correctness/answers.json"], a.Left["correctness/answers.json"]
		}, 4, "are of another launch"},
		{"samples emptied", func(f *forgery) {
			l := measured(f, "cached")
			l.Samples = f.edit(l.Samples, func([]byte) []byte { return nil })
		}, 4, "not readable as Parquet"},
		{"a failed level passes", func(f *forgery) {
			d := f.decision("feature.fast_and_wrong.qualify")
			for i := range d.Levels {
				d.Levels[i].Verdict = verdict.Pass
			}
			d.Verdict = verdict.Pass
		}, 2, "level correctness verdict pass fail"},
		{"a leak passes", func(f *forgery) {
			d := f.decision("feature.leaks.qualify")
			for i := range d.Levels {
				d.Levels[i].Verdict = verdict.Pass
			}
			d.Verdict = verdict.Pass
		}, 2, "level stress verdict pass fail"},
		{"a failed feature passes", func(f *forgery) {
			d := f.decision("feature.trades_ttft")
			d.Verdict, d.Accepted = verdict.Pass, true
			for i := range d.Rules {
				d.Rules[i].Verdict = verdict.Pass
			}
		}, 2, "decision verdict pass"},
		{"a launch dropped", func(f *forgery) {
			id := measured(f, "cached").ID
			f.records = slices.DeleteFunc(f.records, func(r *ledger.Record) bool { return r.Launch != nil && r.Launch.ID == id })
			f.everywhere(id, func(ids []string) []string {
				return slices.DeleteFunc(slices.Clone(ids), func(is string) bool { return is == id })
			})
		}, 2, "did not come out as recorded"},
		{"a launch duplicated", func(f *forgery) { insert(f, ledger.Record{Type: "launch", Launch: measured(f, "cached")}) }, form, ""},
		{"a launch inserted", func(f *forgery) {
			of := measured(f, "cached")
			l := *of
			l.ID, l.Draw, l.Ordinal, l.Order = "s-inserted.cached.9", ledger.Draw{}, 9, 99
			at := slices.IndexFunc(f.records, func(r *ledger.Record) bool { return r.Launch == of })
			f.records = slices.Insert(f.records, at+1, &ledger.Record{Type: "launch", Time: f.records[at].Time, Run: f.records[at].Run, Launch: &l})
			f.everywhere(of.ID, func(ids []string) []string { return append(slices.Clone(ids), l.ID) })
		}, 4, "are of another launch"},
		{"a rule's text edited", func(f *forgery) { f.decision(feature).Rules[0].Expr = "chat.tg.gain >= 0.5" }, 2, "rule chat.tg.gain >= 0.5 chat.tg.gain >= 1"},
		{"the arms' roles exchanged", func(f *forgery) {
			a, b := f.launches(ledger.ForBenchmark, "cached"), f.launches(ledger.ForBenchmark, "baseline")
			for _, l := range a {
				l.Variant, l.VariantKey = b[0].Variant, b[0].VariantKey
			}
			for _, l := range b {
				l.Variant, l.VariantKey = "cached", qualified(f, "cached").VariantKey
			}
		}, 4, "are of another launch: arm is"},
		{"times moved", func(f *forgery) {
			l := measured(f, "cached")
			l.Started = l.Started.Add(-time.Hour)
		}, 2, "started"},
		{"a waiver inserted", func(f *forgery) {
			insert(f, ledger.Record{Type: "waiver", Waiver: &ledger.Waiver{Node: gate, Attempt: 1, Verdict: verdict.Pass, By: "kim", Reason: "because", Expires: time.Now().Add(time.Hour).UTC()}})
		}, form, ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			f, refused := forge(t, state, c.change)
			if (refused != nil) != (c.replay == form) {
				t.Fatalf("the ledger takes it: %v", refused)
			}
			if refused != nil {
				return
			}
			if exit, out, errs := mxflow("audit", "verify", "--state", f.dir); exit != verdict.ExitFail {
				t.Errorf("verify without a signature: %d\n%s%s", exit, out, errs)
			}
			exit, out, errs := mxflow("audit", "replay", "--state", f.dir)
			if exit != c.replay || !strings.Contains(evenly(out+errs), c.says) {
				t.Errorf("exit status %d, want %d with %q:\n%s%s", exit, c.replay, c.says, out, errs)
			}
		})
	}
}
