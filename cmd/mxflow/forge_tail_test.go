package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

const tailPlan = `plan "tail" {}

phase "one" {
  step "exec" "works" {
    command = ["true"]
  }
  step "exec" "fails" {
    command = ["false"]
  }
}

phase "two" {
  after = [phase.one]
  step "exec" "locked" {
    command = ["true"]
  }
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
	try.Write(t, f.plan, tailPlan)
	f.dir = appliedState(t, f.plan)
	f.ledger = filepath.Join(f.dir, "ledger")
	f.run = f.records()[0].Run
	return f
}

func (f *tail) records() (all []*ledger.Record) {
	f.t.Helper()
	st, err := store.OpenReadOnly(f.dir)
	try.OK(f.t, err)
	for _, r := range st.Records() {
		all = append(all, r)
	}
	return all
}

// keep cuts the ledger after n records and signs it, as a kill would have left it.
func (f *tail) keep(n int) {
	f.t.Helper()
	lines := bytes.SplitAfter(f.read(f.ledger), []byte("\n"))
	try.OK(f.t, os.WriteFile(f.ledger, bytes.Join(lines[:1+n], nil), 0o644))
	try.OK(f.t, scenario.SignLedger(f.ledger, userKey(f.t)))
}

// add appends records with all hashes, and leaves the checkpoint as it is.
func (f *tail) add(records ...*ledger.Record) {
	f.t.Helper()
	f.checkpoint = f.read(f.ledger + ".checkpoint")
	aside := filepath.Join(f.t.TempDir(), "ledger")
	try.OK(f.t, os.WriteFile(aside, f.read(f.ledger), 0o644))
	l, err := ledger.Open(aside, nil)
	try.OK(f.t, err)
	defer l.Close()
	for _, r := range records {
		r.Time = time.Now().UTC()
	}
	try.OK(f.t, l.Append(records...))
	try.OK(f.t, os.WriteFile(f.ledger, f.read(aside), 0o644))
}

func (f *tail) read(path string) []byte { return []byte(try.Read(f.t, path)) }

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
	if unsigned == "" && (exit != 0 || !strings.Contains(out, "Everything is intact.")) || unsigned != "" && (exit != verdict.ExitFail || !strings.Contains(errs, unsigned)) {
		f.t.Errorf("audit verify, want %q: %d\n%s%s", unsigned, exit, out, errs)
	}
}

// passes is a forged decision that the phase passed, which unlocks the next.
func passes(run string) *ledger.Record {
	return &ledger.Record{Type: "decision", Run: run, Decision: &ledger.Decision{Node: "phase.one", Kind: ledger.KindPhase, Phase: "one", Attempt: 9, Verdict: verdict.Pass}}
}

func ends(run string) *ledger.Record {
	return &ledger.Record{Type: "end", Run: run, End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)}}
}

func starts(run string) *ledger.Record {
	return &ledger.Record{Type: "run", Run: run, RunStart: &ledger.RunStart{Plan: "tail", Tool: "forged", Environment: map[string]string{}}}
}

// TestTails: what somebody without the key appends is never signed. Behind the end of a
// run it is refused, whatever it says; where a killed run left off it is set aside, as the
// last write of that run is that nobody was told of.
func TestTails(t *testing.T) {
	t.Parallel()
	whole := newTail(t)
	gate := slices.IndexFunc(whole.records(), func(r *ledger.Record) bool { return r.Decision != nil && r.Decision.Node == "phase.one" })
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
		{"a gate behind the end", 0, []*ledger.Record{passes(run)}, "a decision about phase.one (pass) of run " + run + " was added without the key"},
		{"a launch behind the end", 0, []*ledger.Record{{Type: "launch", Run: run, Launch: &ledger.Launch{ID: "l", Purpose: ledger.ForStep}}}, "a record of type launch of run"},
		{"a waiver behind the end", 0, []*ledger.Record{waives(whole.records()[gate])}, "a record of type waiver of run"},
		{"a whole run behind the end", 0, []*ledger.Record{starts("r2"), passes("r2"), ends("r2")}, "a record of type run of run r2 was added without the key"},
		{"the start of a run behind the end", 0, []*ledger.Record{starts("r2")}, ""},
		{"a gate of a killed run", gate, []*ledger.Record{passes(run)}, ""},
		{"the end of a killed run", gate, []*ledger.Record{passes(run), ends(run)}, ""},
		{"more than the end of a killed run", gate, []*ledger.Record{ends(run), starts("r2"), passes("r2")}, "a record of type run of run r2 was added without the key"},
		{"another run's gate", gate, []*ledger.Record{passes("r2")}, "a decision about phase.one (pass) of run r2"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			f := &tail{t: t, plan: whole.plan, dir: filepath.Join(t.TempDir(), "state")}
			f.ledger = filepath.Join(f.dir, "ledger")
			try.OK(t, os.CopyFS(f.dir, os.DirFS(whole.dir)))
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
				if exit != verdict.ExitUsage || !strings.Contains(says, c.refused) || !strings.Contains(says, "cut the file off behind the signed lines (truncate -s ") {
					t.Errorf("apply: %d\n%s", exit, says)
				}
				if !bytes.Equal(f.read(f.ledger), forged) || !bytes.Equal(f.read(f.ledger+".checkpoint"), f.checkpoint) {
					t.Error("the ledger was changed")
				}
				if exit, _, errs := mxflow("waive", "phase.one", "--state", f.dir, "--by", "kim", "--reason", "r", "--expires", "1d", f.plan); exit != verdict.ExitUsage || !strings.Contains(errs, "without the key") {
					t.Errorf("waive: %d\n%s", exit, errs)
				}
				try.OK(t, os.Truncate(f.ledger, int64(len(signed)))) // as it says
				f.verified("")
				return
			}
			if exit != verdict.ExitFail || !strings.Contains(says, "they were moved to "+f.ledger+".torn-1") {
				t.Errorf("apply: %d\n%s", exit, says)
			}
			if !bytes.Equal(f.read(f.ledger+".torn-1"), forged[len(signed):]) || !bytes.HasPrefix(f.read(f.ledger), signed) {
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
		try.OK(t, err)
		try.OK(t, apply.Start())
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
		if exit, says := f.apply("MXFLOW_SIGNING_KEY=none"); exit != verdict.ExitUsage || !strings.Contains(says, "is signed, and without a key nothing can be added to it") {
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
