package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// memory is a journal without a disk. It fails from the append that failAt names.
type memory struct {
	mu      sync.Mutex
	latest  map[string]*ledger.Decision
	all     []*ledger.Decision
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

func (m *memory) History(node string) (out []*ledger.Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.all {
		if d.Node == node {
			out = append(out, d)
		}
	}
	return out
}

func (m *memory) Waiver(node string) *ledger.Waiver { return m.waivers[node] }

func (m *memory) Retracted() (out []*ledger.Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.all {
		if d.RetractedFeature() {
			out = append(out, d)
		}
	}
	return out
}

var errDisk = errors.New("no space left")

func (m *memory) Append(records ...*ledger.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.appends++; m.failAt > 0 && m.appends >= m.failAt {
		return errDisk
	}
	for _, r := range records {
		m.latest[r.Decision.Node] = r.Decision
		m.all = append(m.all, r.Decision)
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
	return &Node{ID: id, Kind: kind, Needs: needs, PhaseBlock: &plans.Phase{Gate: &plans.Gate{}}, FeatureBlock: &plans.Feature{}}
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
	out := &executed{res, map[string]*ledger.Decision{}, map[string]bool{}, map[string]verdict.Reason{}, map[string]*ledger.Waiver{}, map[string]verdict.Reason{}}
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
