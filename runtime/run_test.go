package runtime

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestUnlocking: what each verdict does to what needs it.
func TestUnlocking(t *testing.T) {
	for _, c := range []struct {
		verdict verdict.Verdict
		mode    Mode
		runs    bool
	}{
		{verdict.Pass, Passed, true},
		{verdict.Waived, Passed, true},
		{verdict.Fail, Passed, false},
		{verdict.Inconclusive, Passed, false},
		{verdict.Invalid, Passed, false},
		{verdict.Error, Passed, false},
		{verdict.Fail, Decided, true},
		{verdict.Inconclusive, Decided, true},
		{verdict.Invalid, Decided, false},
		{verdict.Error, Decided, false},
		{verdict.Error, Ended, true},
		{verdict.Error, Settled, true},
	} {
		v := &verdicts{of: map[string]verdict.Verdict{"a": c.verdict}}
		g := graphOf(t, node("a", KindStep), node("b", KindStep, Need{"a", c.mode}), node("c", KindStep, Need{"b", Passed}))
		res := execute(t, runnerOf(g, newMemory(), v.step))
		if got := res.Outcomes["b"] != nil; got != c.runs {
			t.Errorf("a is %s, need %d: b ran is %v, want %v", c.verdict, c.mode, got, c.runs)
		}
		if locked := verdict.New(code.Outcome).On("a").Is(c.verdict); !c.runs && !res.Locked["c"].Equal(locked) {
			t.Errorf("c is locked because %+v, want the root cause a", res.Locked["c"])
		}
	}
}

// TestLockedSettles: what only waits for an end goes on when it is locked.
func TestLockedSettles(t *testing.T) {
	v := &verdicts{of: map[string]verdict.Verdict{"a": verdict.Fail}}
	var why verdict.Reason
	g := graphOf(t, node("a", KindStep), node("b", KindStep, Need{"a", Passed}), node("c", KindStep, Need{"b", Settled}))
	r := runnerOf(g, newMemory(), func(n *Node) (Step, error) {
		if n.ID != "c" {
			return v.step(n)
		}
		return fakeStep{run: func(_ context.Context, s *Scope) (*ledger.Decision, error) {
			why = s.LockedBy("b")
			if s.Outcome("b") != nil {
				t.Error("a locked node has an outcome")
			}
			return &ledger.Decision{Verdict: verdict.Invalid}, nil
		}}, nil
	})
	wantVerdict(t, execute(t, r), "c", verdict.Invalid)
	if !why.Equal(verdict.New(code.Outcome).On("a").Is(verdict.Fail)) {
		t.Errorf("b is locked by %+v", why)
	}
}

// TestUnknownOutcome: no verdict, an unknown word, an error and a panic are all
// the verdict error.
func TestUnknownOutcome(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Scope) (*ledger.Decision, error){
		"nil":     func(context.Context, *Scope) (*ledger.Decision, error) { return nil, nil },
		"empty":   func(context.Context, *Scope) (*ledger.Decision, error) { return &ledger.Decision{}, nil },
		"unknown": func(context.Context, *Scope) (*ledger.Decision, error) { return &ledger.Decision{Verdict: "ok"}, nil },
		"error": func(context.Context, *Scope) (*ledger.Decision, error) {
			return &ledger.Decision{Verdict: verdict.Pass}, errors.New("broke")
		},
		"panic": func(context.Context, *Scope) (*ledger.Decision, error) { panic("broke") },
	} {
		g := graphOf(t, node("a", KindStep), node("b", KindStep, Need{"a", Passed}))
		m := newMemory()
		res := execute(t, runnerOf(g, m, func(*Node) (Step, error) { return fakeStep{run: run}, nil }))
		d := res.Outcomes["a"]
		if d == nil || d.Verdict != verdict.Error || len(d.Reasons) == 0 {
			t.Errorf("%s: outcome %+v, want error with a reason", name, d)
		}
		if res.Outcomes["b"] != nil {
			t.Errorf("%s: b ran", name)
		}
	}
}

// TestJournalFails: an outcome that could not be recorded unlocks nothing.
func TestJournalFails(t *testing.T) {
	m := newMemory()
	m.failAt = 2
	v := &verdicts{}
	r := runnerOf(graphOf(t, chainOf(5, KindStep)...), m, v.step)
	_, err := r.Execute(t.Context())
	if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "n00001") {
		t.Fatalf("error %v, want the disk's with the node's name", err)
	}
	if len(m.order) != 1 || len(v.started) != 2 {
		t.Errorf("recorded %v, started %v: nothing may start after a lost outcome", m.order, v.started)
	}
}

// TestInterrupt: a cancelled run records nothing for what it cut short.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newMemory()
	r := runnerOf(graphOf(t, chainOf(3, KindStep)...), m, func(n *Node) (Step, error) {
		return fakeStep{run: func(ctx context.Context, _ *Scope) (*ledger.Decision, error) {
			if n.ID == "n00001" {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &ledger.Decision{Verdict: verdict.Pass}, nil
		}}, nil
	})
	cut, err := r.Execute(ctx)
	if err != nil || !cut.Interrupted {
		t.Fatalf("err %v, interrupted %v", err, cut.Interrupted)
	}
	res := byNode(cut)
	if len(m.order) != 1 || res.Outcomes["n00001"] != nil {
		t.Errorf("recorded %v", m.order)
	}
	// The next run goes on where this one stopped.
	v := &verdicts{}
	res = execute(t, runnerOf(r.Graph, m, v.step))
	if got := strings.Join(v.started, " "); got != "n00001 n00002" || !res.Reused["n00000"] {
		t.Errorf("started %q, want only what was not decided", got)
	}
}

// TestOneNodeAtATime: nodes never overlap, and of two that are ready the plan's first runs
// first.
func TestOneNodeAtATime(t *testing.T) {
	var now, most atomic.Int32
	var nodes []*Node
	for _, n := range chainOf(20, KindBenchmark) {
		n.Needs = nil
		nodes = append(nodes, n)
	}
	v := &verdicts{}
	r := runnerOf(graphOf(t, nodes...), newMemory(), func(n *Node) (Step, error) {
		inner, _ := v.step(n)
		return fakeStep{run: func(ctx context.Context, s *Scope) (*ledger.Decision, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			return inner.Do(ctx, s)
		}}, nil
	})
	execute(t, r)
	if most.Load() != 1 {
		t.Errorf("%d nodes ran at once", most.Load())
	}
	for i, id := range v.started {
		if id != nodes[i].ID {
			t.Fatalf("started %v, want the plan's order", v.started)
		}
	}
}

// TestRandomGraphs: whatever the graph and the verdicts, every node ends or is
// locked, none starts before what it needs, and a second run starts nothing
// that was decided.
func TestRandomGraphs(t *testing.T) {
	words := []verdict.Verdict{verdict.Pass, verdict.Pass, verdict.Pass, verdict.Fail, verdict.Inconclusive, verdict.Invalid, verdict.Error}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		nodes := chainOf(2+rng.IntN(30), KindBenchmark)
		v := &verdicts{of: map[string]verdict.Verdict{}}
		for i, n := range nodes {
			n.Needs, n.Kind = nil, []Kind{KindBenchmark, KindFeature}[rng.IntN(2)]
			for j := range i {
				if rng.IntN(4) == 0 {
					n.Needs = append(n.Needs, Need{nodes[j].ID, Mode(rng.IntN(4))})
				}
			}
			v.of[n.ID] = words[rng.IntN(len(words))]
		}
		g, m := graphOf(t, nodes...), newMemory()
		r := runnerOf(g, m, func(n *Node) (Step, error) {
			inner, _ := v.step(n)
			return fakeStep{run: func(ctx context.Context, s *Scope) (*ledger.Decision, error) {
				for _, need := range n.Needs {
					if s.Outcome(need.On) == nil && s.LockedBy(need.On).IsZero() {
						t.Errorf("seed %d: %s started before %s", seed, n.ID, need.On)
					}
				}
				return inner.Do(ctx, s)
			}}, nil
		})
		first := execute(t, r)
		for _, n := range nodes {
			ended, locked := first.Outcomes[n.ID] != nil, !first.Locked[n.ID].IsZero()
			if ended == locked {
				t.Errorf("seed %d: %s ended %v and locked %v", seed, n.ID, ended, locked)
			}
		}
		v.started = nil
		execute(t, r)
		for _, id := range v.started {
			if v.of[id].Reusable() {
				t.Errorf("seed %d: %s was decided twice", seed, id)
			}
		}
	}
}
