package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
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
		{verdict.Inconclusive, Decided, true},
		{verdict.Invalid, Decided, false},
		{verdict.Error, Decided, false},
		{verdict.Error, Ended, true},
		{verdict.Error, Settled, true},
	} {
		v := &verdicts{of: map[string]verdict.Verdict{"a": c.verdict}}
		g := graphOf(t, node("a", KindStep), node("b", KindStep, Need{"a", c.mode}),
			node("c", KindStep, Need{"b", Passed}))
		res := execute(t, runnerOf(g, newMemory(), v.step))
		must.Equal(t, fmt.Sprint(c.verdict, " ", c.mode), res.Outcomes["b"] != nil, c.runs)
		if locked := verdict.New(code.Outcome).On("a").Is(c.verdict); !c.runs && !res.Locked["c"].Equal(locked) {
			t.Errorf("c is locked because %+v, want the root cause a", res.Locked["c"])
		}
	}
}

// TestLockedSettles: what only waits for an end goes on when it is locked.
func TestLockedSettles(t *testing.T) {
	v := &verdicts{of: map[string]verdict.Verdict{"a": verdict.Fail}}
	var why verdict.Reason
	g := graphOf(t, node("a", KindStep), node("b", KindStep, Need{"a", Passed}),
		node("c", KindStep, Need{"b", Settled}))
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

// TestUnknownOutcome: no verdict, an unknown word, an error and a panic are all the verdict error.
func TestUnknownOutcome(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Scope) (*ledger.Decision, error){
		"nil":   func(context.Context, *Scope) (*ledger.Decision, error) { return nil, nil },
		"empty": func(context.Context, *Scope) (*ledger.Decision, error) { return &ledger.Decision{}, nil },
		"unknown": func(context.Context, *Scope) (*ledger.Decision, error) {
			return &ledger.Decision{Verdict: "ok"}, nil
		},
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

// TestRandomGraphs: whatever the graph and the verdicts, every node ends or is locked, one at a time and in the plan's
// order, none before what it needs, and a second run starts nothing that was decided.
func TestRandomGraphs(t *testing.T) {
	words := []verdict.Verdict{
		verdict.Pass, verdict.Pass, verdict.Pass, verdict.Fail, verdict.Inconclusive,
		verdict.Invalid, verdict.Error,
	}
	for seed := range uint64(120) {
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
		var running atomic.Int32
		r := runnerOf(g, m, func(n *Node) (Step, error) {
			inner, _ := v.step(n)
			return fakeStep{run: func(ctx context.Context, s *Scope) (*ledger.Decision, error) {
				for _, need := range n.Needs {
					if s.Outcome(need.On) == nil && s.LockedBy(need.On).IsZero() {
						t.Errorf("seed %d: %s started before %s", seed, n.ID, need.On)
					}
				}
				defer running.Add(-1)
				if running.Add(1) > 1 {
					t.Errorf("seed %d: %s started beside another", seed, n.ID)
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
		if !slices.IsSorted(v.started) {
			t.Errorf("seed %d: started %v, want the plan's order", seed, v.started)
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

// preparedStep is a step that prepares.
type preparedStep struct {
	fakeStep
	prepare func(ctx context.Context) error
}

func (p preparedStep) Prepare(ctx context.Context, _ *Scope) error { return p.prepare(ctx) }

func TestPrepare(t *testing.T) {
	journal, ran := newMemory(), 0
	var prepare func(context.Context) error
	r := &Runner{
		Graph: graphOf(t, &Node{ID: "a", Kind: KindQualify}), Journal: journal,
		Step: func(*Node) (Step, error) {
			return preparedStep{fakeStep{"m", func(context.Context, *Scope) (*ledger.Decision, error) {
				ran++
				return &ledger.Decision{Verdict: verdict.Pass}, nil
			}}, func(ctx context.Context) error { return prepare(ctx) }}, nil
		},
	}
	execute := func(ctx context.Context) *executed {
		t.Helper()
		res := must.Get(r.Execute(ctx))(t)
		return byNode(res)
	}
	prepare = func(context.Context) error { return nil }
	if res := execute(t.Context()); res.Outcomes["a"].Verdict != verdict.Pass || ran != 1 {
		t.Fatalf("prepared: %+v, ran %d times", res.Outcomes["a"], ran)
	}
	// What was decided is not kept where it is unknown whether it still holds.
	prepare = func(context.Context) error { return errors.New("no image") }
	res := execute(t.Context())
	if d := res.Outcomes["a"]; d.Verdict != verdict.Error || !d.Reasons[0].Equal(verdict.Say("broken", "{error}",
		verdict.Text("error", "no image"))) || d.Attempt != 2 || d.Because.Kind != "not_prepared" || ran != 1 {
		t.Errorf("not prepared: %+v, ran %d times", d, ran)
	}
	// Whoever only looks prepares nothing.
	must.Get(r.Reconcile())(t)
	ctx, cancel := context.WithCancel(t.Context())
	prepare = func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	}
	if res := execute(ctx); !res.Interrupted || res.Outcomes["a"] != nil || ran != 1 ||
		journal.Latest("a").Attempt != 2 {
		t.Errorf("cancelled: %+v, ran %d times", res, ran)
	}
	prepare = func(context.Context) error { return nil }
	if res := execute(t.Context()); res.Outcomes["a"].Verdict != verdict.Pass ||
		!res.Outcomes["a"].Because.Equal(verdict.New(code.RetryAfter).Is(verdict.Error)) || ran != 2 {
		t.Errorf("mended: %+v, ran %d times", res.Outcomes["a"], ran)
	}
}

// What waits for a gate to be decided runs whichever way that goes, and the preview may not say that it takes a pass.
func TestPreviewSaysOnWhatItDepends(t *testing.T) {
	g := graphOf(t,
		node("phase.a", KindStep),
		node("phase.b", KindGate, Need{"phase.a", Passed}),
		node("phase.c", KindGate, Need{"phase.a", Decided}),
	)
	v := &verdicts{of: map[string]verdict.Verdict{}}
	preview := must.Get(runnerOf(g, newMemory(), v.step).Reconcile())(t)
	for i, want := range []string{"", "phase.a passes", "phase.a is decided"} {
		must.Equal(t, preview[i].Node.ID, preview[i].If, want)
	}
}

// TestRecorded: which outcome on record counts, and else why the work is wanted.
func TestRecorded(t *testing.T) {
	was := func(v verdict.Verdict) *ledger.Decision {
		return &ledger.Decision{Node: "n", MeasureKey: "m", Verdict: v, Attempt: 1}
	}
	disturbed, derived := was(verdict.Inconclusive), was(verdict.Invalid)
	disturbed.Reasons = verdict.Because(code.MachineDisturbed)
	derived.Derived = true
	matrix := &plans.Block{Kind: plans.MatrixStep}
	for name, c := range map[string]struct {
		kind     Kind
		block    *plans.Block
		previous *ledger.Decision
		key      string
		forced   bool
		waived   bool
		counts   bool
		why      code.Kind
	}{
		"never done":       {kind: KindBenchmark, key: "m", why: "first"},
		"a pass":           {kind: KindBenchmark, previous: was(verdict.Pass), key: "m", counts: true},
		"a fail":           {kind: KindBenchmark, previous: was(verdict.Fail), key: "m", counts: true},
		"inconclusive":     {kind: KindBenchmark, previous: was(verdict.Inconclusive), key: "m", counts: true},
		"disturbed":        {kind: KindBenchmark, previous: disturbed, key: "m", why: "retry_after"},
		"an error":         {kind: KindBenchmark, previous: was(verdict.Error), key: "m", why: "retry_after"},
		"invalid":          {kind: KindBenchmark, previous: was(verdict.Invalid), key: "m", why: "retry_after"},
		"no work was done": {kind: KindBenchmark, previous: derived, key: "m", why: "measurement_changed"},
		"of something else": {
			kind: KindBenchmark, previous: was(verdict.Pass), key: "n",
			why: "measurement_changed",
		},
		"asked for": {
			kind: KindBenchmark, previous: was(verdict.Pass), key: "m",
			forced: true, why: "rerun",
		},
		"a step that failed":   {kind: KindStep, previous: was(verdict.Fail), key: "m", why: "retry_after"},
		"a matrix that failed": {kind: KindStep, block: matrix, previous: was(verdict.Fail), key: "m", counts: true},
		"below a waived gate": {
			kind: KindStep, previous: was(verdict.Fail), key: "m", waived: true, counts: true,
			why: "gate_waived",
		},
	} {
		w := &walk{Runner: &Runner{Journal: newMemory()}, waived: map[string]bool{"p": c.waived}}
		n := &Node{ID: "n", Kind: c.kind, Phase: "p", StepBlock: c.block}
		got, why := (&Scope{Node: n, Previous: c.previous, Forced: c.forced, w: w}).Recorded(c.key, verdict.Reason{})
		if (got != nil) != c.counts || got != nil && got != c.previous || why.Kind != c.why {
			t.Errorf("%s: %+v because %q, want it to count: %v because %q", name, got, why.Kind, c.counts, c.why)
		}
	}
	moved := verdict.Say("moved", "the branch moved")
	w := &walk{Runner: &Runner{Journal: newMemory()}}
	if _, why := (&Scope{Node: &Node{Kind: KindStep}, Previous: was(verdict.Pass), w: w}).Recorded("n",
		moved); len(why.Causes) != 1 || !why.Causes[0].Equal(moved) {
		t.Errorf("what changed is lost: %+v", why)
	}
}

// TestPart: a phase names its steps and features by what they are, whatever words people named them by.
func TestPart(t *testing.T) {
	step, feature := StepPart(&plans.Block{Kind: "exec", Name: "build: pass"}),
		FeaturePart(&plans.Feature{Name: "gemm"})
	below := verdict.New(code.Outcome).On("gemm").Is(verdict.Invalid)
	for _, c := range []struct {
		got     verdict.Reason
		code    code.Kind
		subject string
		verdict verdict.Verdict
		causes  []verdict.Reason
	}{
		{step.Outcome(verdict.Pass), code.Step.Kind, "exec build: pass", verdict.Pass, nil},
		{step.AloneOutcome(verdict.Fail), "step.alone", "exec build: pass", verdict.Fail, nil},
		{step.NotRun(below), code.StepNotRun.Kind, "exec build: pass", "", []verdict.Reason{below}},
		{feature.Outcome(verdict.Invalid), code.Feature.Kind, "gemm", verdict.Invalid, nil},
		{feature.AloneOutcome(verdict.Error), "feature.alone", "gemm", verdict.Error, nil},
		{feature.NotRun(below), code.FeatureNotRun.Kind, "gemm", "", []verdict.Reason{below}},
	} {
		if c.got.Kind != c.code || c.got.Subject != c.subject || c.got.Verdict != c.verdict ||
			!reflect.DeepEqual(c.got.Causes, c.causes) {
			t.Errorf("%+v, want %+v", c.got, c)
		}
	}
}

// TestEventsCarryReasons: the event that ends a node has the reasons of its decision
// with all that they follow from, so whoever shows it can leave some of it out.
func TestEventsCarryReasons(t *testing.T) {
	kernels := ledger.Level{Name: "kernels", Verdict: verdict.Fail, Reasons: []verdict.Reason{verdict.Say("broken",
		"{error}",
		verdict.Text("error", "312 of 400 are wrong"))}}
	in := verdict.Input{Path: "gemm.tg.gain", Missing: kernels.Reason()}
	slow := verdict.Rule{
		Name: "slow", Role: verdict.RoleCriterion, Verdict: verdict.Invalid,
		Inputs: []verdict.Input{in}, Reasons: []verdict.Reason{in.Absence()},
	}
	decisions := map[string]ledger.Decision{
		"other": {
			Verdict: verdict.Invalid, Levels: []ledger.Level{kernels}, Rules: []verdict.Rule{slow},
			Reasons: []verdict.Reason{kernels.WithoutCauses()},
		},
		"joined": {
			Verdict: verdict.Invalid,
			Reasons: []verdict.Reason{verdict.New(code.NotConfirmed).On("vllm.prod").Is(verdict.Invalid).
				From(slow.Reason())},
		},
		"plain": {Verdict: verdict.Pass},
	}
	g := graphOf(t, node("other", KindCriteria), node("joined", KindFeature, Need{"other", Settled}),
		node("plain", KindStep))
	var mu sync.Mutex
	got := map[string][]verdict.Reason{}
	r := runnerOf(g, newMemory(), func(n *Node) (Step, error) {
		return fakeStep{run: func(context.Context, *Scope) (*ledger.Decision, error) {
			d := decisions[n.ID]
			return &d, nil
		}}, nil
	})
	r.Observe = func(ev Event) {
		mu.Lock()
		defer mu.Unlock()
		if ev.Type == "node_done" {
			got[ev.Node] = ev.Reasons
		}
	}
	execute(t, r)
	for id, d := range decisions {
		if !reflect.DeepEqual(got[id], d.Why()) {
			t.Errorf("%s:\n%+v, want\n%+v", id, got[id], d.Why())
		}
	}
	missing := got["joined"][0].Causes[0].Causes[0]
	if missing.Kind != code.Missing.Kind || missing.Subject != in.Path || !missing.Causes[0].Equal(kernels.Reason()) {
		t.Errorf("%+v", missing)
	}
}

// memory is a journal without a disk. It fails from the append that failAt names.
type memory struct {
	mu      sync.Mutex
	latest  map[string]*ledger.Decision
	waivers map[string]*ledger.Waiver
	order   []string
	appends int
	failAt  int
}

func newMemory() *memory { return &memory{latest: map[string]*ledger.Decision{}} }

func (m *memory) Latest(node string) *ledger.Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest[node]
}

func (m *memory) Waiver(node string) *ledger.Waiver { return m.waivers[node] }

var errDisk = errors.New("no space left")

func (m *memory) Append(records ...*ledger.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.appends++; m.failAt > 0 && m.appends >= m.failAt {
		return errDisk
	}
	for _, r := range records {
		m.latest[r.Decision.Node] = r.Decision
		m.order = append(m.order, r.Decision.Node)
	}
	return nil
}

// fakeStep is a step whose outcome the test chooses.
type fakeStep struct {
	key string
	run func(ctx context.Context, s *Scope) (*ledger.Decision, error)
}

func (f fakeStep) Derive(s *Scope) (*Derived, error) {
	out := &Derived{Key: f.key}
	if !DecidesAlone(s.Node.Kind) {
		out.Outcome, out.Why = s.Recorded(f.key, verdict.Reason{})
		return out, nil
	}
	out.Key = s.Key
	var err error
	if out.Outcome, err = f.run(context.Background(), s); err != nil {
		out.Outcome = &ledger.Decision{Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.OfError(err)}}
	}
	return out, nil
}

func (f fakeStep) Do(ctx context.Context, s *Scope) (*ledger.Decision, error) { return f.run(ctx, s) }

// graphOf makes a graph of nodes; needs are written "a>passed".
func graphOf(t testing.TB, nodes ...*Node) *Graph {
	t.Helper()
	g := &Graph{byID: map[string]*Node{}}
	for _, n := range nodes {
		g.Nodes = append(g.Nodes, n)
		g.byID[n.ID] = n
	}
	must.Do(t, g.sort())
	return g
}

func node(id string, kind Kind, needs ...Need) *Node {
	return &Node{
		ID: id, Kind: kind, Needs: needs, PhaseBlock: &plans.Phase{Gate: &plans.Gate{}},
		FeatureBlock: &plans.Feature{},
	}
}

// verdicts gives each node the verdict that the map names, pass where it names none, and notes the order of starts.
type verdicts struct {
	mu      sync.Mutex
	of      map[string]verdict.Verdict
	started []string
	keys    map[string]string
}

func (v *verdicts) step(n *Node) (Step, error) {
	return fakeStep{key: v.keys[n.ID], run: func(context.Context, *Scope) (*ledger.Decision, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if !DecidesAlone(n.Kind) {
			v.started = append(v.started, n.ID)
		}
		word, ok := v.of[n.ID]
		if !ok {
			word = verdict.Pass
		}
		return &ledger.Decision{Verdict: word}, nil
	}}, nil
}

func runnerOf(g *Graph, j Journal, step func(*Node) (Step, error)) *Runner {
	return &Runner{Plan: &plans.Plan{}, Graph: g, Journal: j, Step: step, Run: "r1"}
}

// executed is a result by node.
type executed struct {
	*Result
	Outcomes  map[string]*ledger.Decision
	Reused    map[string]bool
	Locked    map[string]verdict.Reason
	Waived    map[string]*ledger.Waiver
	Overruled map[string]verdict.Reason
}

func byNode(res *Result) *executed {
	out := &executed{
		res,
		map[string]*ledger.Decision{},
		map[string]bool{},
		map[string]verdict.Reason{},
		map[string]*ledger.Waiver{},
		map[string]verdict.Reason{},
	}
	for _, st := range res.States {
		id := st.Node.ID
		if st.Decision != nil {
			out.Outcomes[id] = st.Decision
		}
		if !st.Locked.IsZero() {
			out.Locked[id] = st.Locked
		}
		if st.Waiver != nil {
			out.Waived[id] = st.Waiver
		}
		if !st.Overruled.IsZero() {
			out.Overruled[id] = st.Overruled
		}
		out.Reused[id] = st.Recorded
	}
	return out
}

func execute(t *testing.T, r *Runner) *executed {
	t.Helper()
	res := must.Get(r.Execute(t.Context()))(t)
	return byNode(res)
}

func wantVerdict(t *testing.T, res *executed, id string, want verdict.Verdict) {
	t.Helper()
	d := res.Outcomes[id]
	if d == nil {
		t.Fatalf("%s has no outcome (locked: %+v), want %s", id, res.Locked[id], want)
	}
	must.Equal(t, fmt.Sprint(id, " ", d.Reasons), d.Verdict, want)
}

func chainOf(n int, kind Kind) []*Node {
	var nodes []*Node
	for i := range n {
		x := node(fmt.Sprintf("n%05d", i), kind)
		if i > 0 {
			x.Needs = []Need{{nodes[i-1].ID, Passed}}
		}
		nodes = append(nodes, x)
	}
	return nodes
}
