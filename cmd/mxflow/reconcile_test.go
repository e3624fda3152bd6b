package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
)

// planHere is a plan in a folder of its own.
type planHere struct {
	t   *testing.T
	dir string
	// file is the plan, and args what an apply of it is given.
	file string
	args []string
}

// portedPlan writes a plan into a folder of its own.
func portedPlan(t *testing.T, plan string) *planHere {
	t.Helper()
	a := &planHere{t: t, dir: t.TempDir()}
	a.file = filepath.Join(a.dir, "plan.hcl")
	must.Write(t, a.file, plan)
	return a
}

func (a *planHere) state() string { return filepath.Join(a.dir, ".mxflow") }

// apply applies it, kills that when so many records are there, and returns the exit status.
func (a *planHere) apply(killAt int) int {
	a.t.Helper()
	cmd := exec.Command(scenario.Program,
		slices.Concat([]string{"apply", "--state", a.state()}, a.args, []string{a.file})...)
	must.Do(a.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		for tick := time.Tick(time.Millisecond); killAt > 0; {
			select {
			case <-ended:
				return
			case <-tick:
				if text, _ := os.ReadFile(filepath.Join(a.state(), "ledger")); bytes.Count(text, []byte("\n")) >
					killAt { // with its header
					_ = cmd.Process.Kill()
					return
				}
			}
		}
	}()
	_ = cmd.Wait() // how it ended is the exit status
	close(ended)
	return cmd.ProcessState.ExitCode()
}

// reconcile is what plan and record say now, and the record.
func (a *planHere) reconcile() (states []*runtime.State, st *store.Store) {
	a.t.Helper()
	if _, err := os.Stat(a.state()); err == nil {
		st = a.record()
	}
	return a.derived(st), st
}

// derived is what a plan comes to on a record, which may be nil.
func (a *planHere) derived(st *store.Store) []*runtime.State {
	a.t.Helper()
	res := load.Path(a.file, steps.Registry(), load.Options{})
	if res.Plan == nil || res.Diagnostics.HasErrors() {
		a.t.Fatalf("%v", res.Diagnostics)
	}
	g, err := runtime.NewGraph(res.Plan)
	must.Do(a.t, err)
	var journal runtime.Journal = runtime.EmptyJournal{}
	if st != nil {
		journal = st.Journal()
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: res.Plan, Graph: g, Reuse: true, Store: st})
	must.Do(a.t, err)
	states, err := (&runtime.Runner{Plan: res.Plan, Graph: g, Journal: journal, Step: lab.Step}).Reconcile()
	must.Do(a.t, err)
	return states
}

// record is what it recorded.
func (a *planHere) record() *store.Store {
	a.t.Helper()
	st, err := store.OpenReadOnly(a.state())
	must.Do(a.t, err)
	a.t.Cleanup(func() { st.Close() })
	return st
}

func (a *planHere) records() (n int) {
	for range a.record().Records() {
		n++
	}
	return n
}

// decided is what a record says of each node, and how often it has each launch.
func decided(st *store.Store) (verdicts map[string]verdict.Verdict, launches map[string]int) {
	verdicts, launches = map[string]verdict.Verdict{}, map[string]int{}
	for _, d := range st.Decisions() {
		verdicts[d.Node] = d.Verdict
	}
	for _, l := range st.Launches(store.LaunchFilter{OK: true}) {
		if l.Replaces == "" && !l.Disturbed {
			launches[fmt.Sprint(l.Purpose, " of ", l.Variant, " ", l.Ordinal, " for ", l.Node)]++
		}
	}
	return verdicts, launches
}

const reconcilePlan = `plan "reconciled" {}

engine "command" "bench" {
  process { command = ["sh", "-c", "echo '{\"tg\": '$${SPEED:-100}'}'"] }
  metric "tg" {
    jq     = ".tg"
    unit   = "tok/s"
    better = "higher"
  }
}

protocol "script" {
  level "benchmark" {}
}

baseline {
  engine   = engine.command.bench
  protocol = protocol.script
}
`

// TestKilledAtRecords: an apply that is killed when a record is written goes on to the
// same decisions, and makes no launch again that is on record. It is killed at one
// record of a plan; at MXFLOW_TEST_KILLS of them, and the examples too, where that is set.
func TestKilledAtRecords(t *testing.T) {
	t.Parallel()
	text := os.Getenv("MXFLOW_TEST_KILLS")
	kills, err := strconv.Atoi(cmp.Or(text, "1"))
	must.Do(t, err)
	kill := func(t *testing.T, fresh func() *planHere) {
		whole := fresh()
		exit := whole.apply(0)
		st := whole.record()
		verdicts, launches := decided(st)
		n, cuts := whole.records(), map[int]bool{}
		for k := 1 + (n-1)/(2*kills); k < n; k += max(1, (n-1)/kills) { // in the middle of each part
			cut := fresh()
			if cut.apply(k); cuts[cut.records()] {
				continue // two records were written together
			}
			cuts[cut.records()] = true
			before := cut.record().Launches(store.LaunchFilter{})
			must.Equal(t, k, cut.apply(0), exit)
			now := cut.record()
			gotVerdicts, gotLaunches := decided(now)
			if fmt.Sprint(gotVerdicts) != fmt.Sprint(verdicts) {
				t.Errorf("killed at record %d: decided %v, want %v", k, gotVerdicts, verdicts)
			}
			for what, times := range gotLaunches {
				if times > max(1, launches[what]) {
					t.Errorf("killed at record %d: %d launches %s, want %d", k, times, what, launches[what])
				}
			}
			for _, l := range before {
				if _, kept := now.LaunchByID(l.ID); !kept {
					t.Errorf("killed at record %d: launch %s is lost", k, l.ID)
				}
			}
		}
		t.Logf("killed at %d of %d records", len(cuts), n)
	}
	t.Run("two phases", func(t *testing.T) {
		t.Parallel()
		kill(t, func() *planHere {
			return portedPlan(t, reconcilePlan+port("one", "", 130)+port("two", "after = [phase.one]", 80))
		})
	})
	if text == "" {
		return
	}
	for _, file := range globbed("../../examples/*/plan.*") {
		e := examplePlan{name: filepath.Base(filepath.Dir(file)), file: file}
		t.Run(e.name, func(t *testing.T) {
			e.read(t)
			kill(t, func() *planHere { return &planHere{t: t, dir: t.TempDir(), file: file, args: e.args} })
		})
	}
}

// port is a phase that ports a knob of its own name, with how fast it is.
func port(name, after string, speed float64, more ...string) string {
	return fmt.Sprintf(`
knob %[1]q {
  default = "off"
  value "off" {}
  value "on" { env = { SPEED = "%[3]g" } }
}

phase %[1]q {
  %[2]s
  feature %[1]q {
    set      = { %[1]s = "on" }
    %[4]s
    criterion "speed" { rule = "command.tg.gain >= 0.1" }
  }
}
`, name, after, speed, strings.Join(more, "\n    "))
}

// TestPlanIsWhatApplyDoes: what plan lists before an apply is what the apply then does, for
// plans of any shape and ports that get faster, slower or nothing; and after it nothing is
// left to do but what did not count.
func TestPlanIsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	many, err := strconv.Atoi(cmp.Or(os.Getenv("MXFLOW_TEST_PLANS"), "2"))
	must.Do(t, err)
	const parts = 4
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < many; seed += parts {
				plan := randomPlan(rand.New(rand.NewPCG(uint64(seed), 36)))
				a := portedPlan(t, plan)
				before, _ := a.reconcile()
				a.apply(0)
				after, st := a.reconcile()
				if problem := unlike(before, after, st); problem != "" {
					t.Fatalf("seed %d: %s\n%s", seed, problem, plan)
				}
			}
		})
	}
}

// sentence is the text of a reason, which people alone read.
var sentence = regexp.MustCompile(`"(?:text|template)":"(?:[^"\\]|\\.)*",?`)

// told is all that follows from plan and record now: as JSON without its sentences, the part of it that
// names no run, and the sentences.
func (a *planHere) told(st *store.Store) (whole, keys, sentences []string) {
	a.t.Helper()
	keep := func(v ...any) {
		text, err := json.Marshal(v)
		must.Do(a.t, err)
		whole = append(whole, sentence.ReplaceAllString(string(text), ""))
	}
	for _, s := range a.derived(st) {
		keep(s.Node.ID, s.Decision, s.Recorded, s.Why, s.If, s.Locked, s.Overruled, s.Launches, s.Notes)
		keys = append(keys,
			fmt.Sprint(s.Node.ID, s.Recorded, s.HasWork(), s.Locked.Key(), s.Overruled.Key(), len(s.Launches)))
		sentences = append(sentences, s.Why.String(), s.Locked.String(), s.Overruled.String())
	}
	r := replay.New(st, steps.Registry(), nil)
	for _, d := range r.Decisions() {
		again := r.Decide(d)
		keep(again)
		keys = append(keys, fmt.Sprint(again.Node, again.Attempt, again.Outcome, again.Verdict))
	}
	return whole, keys, sentences
}

// TestWordsBearOnNothing: where every sentence is another, the same is left to do and decided again, to the
// last key and number; and where people say otherwise why they overrule something, no key, verdict or lock moves.
func TestWordsBearOnNothing(t *testing.T) {
	story := func(words string) (keys []string) {
		a := portedPlan(t, reconcilePlan+port("one", "", 130)+port("two", "after = [phase.one]", 80)+
			port("three", "after = [phase.two]", 125)+port("four", "after_decided = [phase.one]", 130,
			"builds_on = accepted"))
		for _, args := range [][]string{nil, {"waive", "phase.two", "--expires", "1d"}} {
			if a.apply(0); args != nil {
				args = append(args, "--state", a.state(), "--by", "kim", "--reason", words, a.file)
				if exit, out, errs := mxflow(args...); exit != 0 {
					t.Fatal(exit, out, errs)
				}
			}
			st := a.record() // which is read in its own words
			whole, now, said := a.told(st)
			keys = append(keys, now...)
			restore := verdict.Swap(func(c code.Kind, _ string) string {
				return fmt.Sprintf("%x other words", string(c))
			})
			again, _, otherwise := a.told(st)
			restore()
			if !slices.Equal(whole, again) {
				t.Errorf("in other words there is\n%s\nand not\n%s", again, whole)
			}
			if slices.Equal(said, otherwise) {
				t.Error("the words are the same")
			}
		}
		return keys
	}
	if as, otherwise := story("as it was said"),
		story("otherwise: phase.one is pass; waived by nobody"); !slices.Equal(as, otherwise) {
		t.Errorf("where people say it otherwise there is\n%s\nand not\n%s", otherwise, as)
	}
}

// unlike is how an apply did something else than was planned; empty if it did not.
func unlike(before, after []*runtime.State, st *store.Store) string {
	// Candidates that share a session are launched for the first of them.
	made, least, most := map[string]int{}, map[string]int{}, map[string]int{}
	for _, l := range st.Launches(store.LaunchFilter{}) {
		if l.Replaces == "" {
			made[l.Purpose+" "+l.VariantKey]++
		}
	}
	for i, s := range before {
		id := s.Node.ID
		d, _, done := st.Latest(id)
		again := done && (!d.Reusable() || s.Node.Kind == runtime.KindStep && !d.Verdict.Unlocks())
		switch {
		case !s.Locked.IsZero() && done:
			return id + " was to be locked, and was decided"
		case s.Decision != nil && (!done || d.Verdict != s.Decision.Verdict):
			return id + " was to come out " + string(s.Decision.Verdict) + ", and did not"
		case s.HasWork() && !done && s.If == "":
			return id + " was to be done, and was not"
		case !after[i].Recorded && after[i].Locked.IsZero() && !again && !rests(after, i):
			return id + " is not done: " + after[i].Why.String()
		}
		for _, l := range s.Launches {
			what := l.Purpose + " " + l.VariantKey
			onBaseline := s.Node.FeatureBlock == nil || s.Node.FeatureBlock.BuildsOn.Kind == plans.OnBaseline
			if most[what]++; l.Sure && onBaseline && done && d.Reusable() && !d.Derived {
				least[what]++
			}
		}
	}
	// Where an outcome was not the one that was planned, others are built on other variants.
	rejected, builds := false, false
	for _, s := range before {
		if d, _, done := st.Latest(s.Node.ID); s.Node.Kind == runtime.KindFeature {
			rejected = rejected || !done || !d.Accepted
			builds = builds || s.Node.FeatureBlock.BuildsOn.Kind != plans.OnBaseline
		}
	}
	for what, n := range made {
		if n > most[what] && !(rejected && builds) {
			return fmt.Sprintf("%d launches for %s were made, and %d planned", n, what, most[what])
		}
	}
	for what, n := range least {
		if made[what] < n {
			return fmt.Sprintf("%d launches for %s were made, and %d sure", made[what], what, n)
		}
	}
	return ""
}

// rests reports whether something that did not count, which an apply tries again, is before
// a node.
func rests(after []*runtime.State, i int) bool {
	return slices.ContainsFunc(after[:i], func(s *runtime.State) bool { return s.HasWork() })
}

// randomPlan is a plan of one to three phases with up to two ports each.
func randomPlan(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(reconcilePlan)
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var phases, features, sound []string
	speeds := map[string]string{}
	for i := range 1 + r.IntN(3) {
		name := fmt.Sprintf("p%d", i)
		fmt.Fprintf(&b, "\nphase %q {\n", name)
		if len(phases) > 0 && r.IntN(4) > 0 {
			fmt.Fprintf(&b, "  %s = [phase.%s]\n", pick("after", "after_decided"), pick(phases...))
		}
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "  step \"exec\" \"s%d\" {\n    command = [%q]\n  }\n", i, pick("true", "true", "false"))
		}
		var own []string
		for j := range 1 + r.IntN(2) {
			f := fmt.Sprintf("f%d%d", i, j)
			on := ""
			switch {
			case len(sound) > 0 && r.IntN(4) == 0: // what broke is qualified once more below it
				on = "builds_on = feature." + pick(sound...)
			case r.IntN(4) == 0:
				on = "builds_on = accepted"
			}
			fmt.Fprintf(&b,
				"  feature %q {\n    set = { %s = \"on\" }\n    %s\n    criterion \"speed\" { rule = "+
					"\"command.tg.gain >= %s\" }\n  }\n", f, f, on, pick("0.1", "-0.03"))
			if own, speeds[f] = append(own, f), pick("80", "97", "104", "125", "nothing"); speeds[f] != "nothing" {
				sound = append(sound, f)
			}
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "  gate {\n    rule \"decided\" { rule = \"feature['%s'].command.tg.gain >= %s\" }\n  }\n",
				pick(own...), pick("0.1", "-0.5"))
		}
		b.WriteString("}\n")
		phases, features = append(phases, name), append(features, own...)
	}
	for _, f := range features {
		fmt.Fprintf(&b,
			"\nknob %q {\n  default = \"off\"\n  value \"off\" {}\n  value \"on\" { env = { SPEED = %q, PORT = %[1]q "+
				"} }\n}\n", f, speeds[f])
	}
	return b.String()
}
