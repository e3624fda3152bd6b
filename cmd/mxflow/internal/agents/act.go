package agents

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/apply"
)

var errRunning = errors.New("an apply is under way: wait for it with progress, or stop it")

// job is one apply that an agent started; nil is none.
type job struct {
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	says JobAnswer
	err  error
}

// JobAnswer is the progress of a job.
type JobAnswer struct {
	State string `json:"state"` // "none", "running", "done" or "failed"
	Run   string `json:"run,omitempty"`
	// Node is the one in progress; Made and Left count launches.
	Node    string  `json:"node,omitempty"`
	Made    int     `json:"made"`
	Left    int     `json:"left"`
	Elapsed float64 `json:"elapsed"`
	ETA     float64 `json:"eta,omitempty"`
	Exit    *int    `json:"exit,omitempty"`
	Verdict string  `json:"verdict,omitempty"`
	// Nodes are those that were decided.
	Nodes []statusNode     `json:"nodes,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
	Error string           `json:"error,omitempty"`
	Next  []nextCall       `json:"next,omitempty"`
}

// statusNode is a node and its state, briefly: explain has the causes and numbers.
type statusNode struct {
	Node    string  `json:"node"`
	Verdict string  `json:"verdict,omitempty"`
	Reasons []brief `json:"reasons,omitempty"`
}

// brief is a reason with its causes and numbers only in its text.
type brief struct {
	Text    string          `json:"text"`
	Kind    code.Kind       `json:"kind"`
	Subject string          `json:"subject,omitempty"`
	Verdict verdict.Verdict `json:"verdict,omitempty"`
}

func briefs(reasons []verdict.Reason) (out []brief) {
	for _, r := range reasons {
		out = append(out, brief{r.String(), r.Kind, r.Subject, r.Verdict})
	}
	return out
}

func (j *job) running() bool {
	if j == nil {
		return false
	}
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// end stops a job and waits until it is over.
func (j *job) end() {
	if j != nil {
		j.stop()
		<-j.done
	}
}

func (j *job) Note(n verdict.Reason) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.says.Notes = append(j.says.Notes, n)
}

func (j *job) Begin(s apply.Start) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.says.Run = s.Run
}

func (j *job) Event(ev runtime.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ev.Node != "" {
		j.says.Node = ev.Node
	}
	if ev.Made > 0 || ev.Left > 0 {
		j.says.Made, j.says.Left = ev.Made, ev.Left
	}
	if ev.Elapsed > 0 {
		j.says.Elapsed, j.says.ETA = ev.Elapsed, ev.ETA
	}
	if ev.Type == "node_done" && ev.Action != runtime.Reuse {
		j.says.Nodes = append(j.says.Nodes, statusNode{Node: ev.Node, Verdict: ev.Verdict, Reasons: briefs(ev.Reasons)})
	}
}

func (j *job) End(res *apply.Result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	exit := res.Exit
	j.says.Exit, j.says.Verdict = &exit, string(res.End.Verdict)
}

func (j *job) answer() JobAnswer {
	if j == nil {
		return JobAnswer{State: "none"}
	}
	running := j.running()
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.says
	out.Nodes, out.Notes = slices.Clone(out.Nodes), slices.Clone(out.Notes)
	switch {
	case running:
		out.State, out.Next = "running", []nextCall{{Tool: "progress", Code: "running"}}
	case j.err != nil:
		out.State, out.Error = "failed", j.err.Error()
	default:
		out.State = "done"
		for _, n := range out.Nodes {
			if n.Verdict != string(verdict.Pass) && len(out.Next) < 3 {
				out.Next = append(out.Next, nextCall{"explain", n.Node, n.Verdict})
			}
		}
	}
	return out
}

type qualifyAsk struct {
	Feature string `json:"feature"`
}

func (s *server) qualify(_ context.Context, ask qualifyAsk) (any, error) {
	return s.begin([]string{runtime.QualifyID(ask.Feature)})
}

type applyAsk struct {
	Target []string `json:"target,omitempty" jsonschema:"features, phases or nodes; the whole plan if empty"`
}

func (s *server) apply(_ context.Context, ask applyAsk) (any, error) {
	return s.begin(ask.Target)
}

// begin starts an apply under the seal.
func (s *server) begin(target []string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job.running() {
		return nil, errRunning
	}
	is, err := s.Seal()
	if err != nil {
		return nil, err
	}
	loaded, g, err := s.load()
	if err != nil {
		return nil, err
	}
	if _, _, err := apply.Named(g, nil, target); err != nil {
		return nil, err
	}
	moved, err := is.Changes(loaded.Plan)
	if err != nil {
		return nil, err
	}
	if len(moved) > 0 {
		return ProposedAnswer{File: s.Path, Refused: moved}, nil
	}
	ctx, stop := context.WithCancel(s.ctx)
	j := &job{stop: stop, done: make(chan struct{})}
	s.job = j
	go func() {
		defer close(j.done)
		defer stop()
		err := s.Apply(ctx, is, loaded, g, target, j)
		j.mu.Lock()
		j.err = err
		j.mu.Unlock()
	}()
	return j.answer(), nil
}

type progressAsk struct {
	WaitSeconds float64 `json:"wait_seconds,omitempty" jsonschema:"answer when it has ended, or after this many seconds, at most 60"`
}

func (s *server) progress(ctx context.Context, ask progressAsk) (any, error) {
	s.mu.Lock()
	j := s.job
	s.mu.Unlock()
	if j.running() && ask.WaitSeconds > 0 {
		select {
		case <-j.done:
		case <-time.After(time.Duration(min(ask.WaitSeconds, 60) * float64(time.Second))):
		case <-ctx.Done():
		}
	}
	return j.answer(), nil
}

func (s *server) stop(context.Context, nothing) (any, error) {
	s.mu.Lock()
	j := s.job
	s.mu.Unlock()
	j.end()
	return j.answer(), nil
}
