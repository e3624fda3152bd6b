package agents

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/seal"
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

// RefusedAnswer is what the plan has beyond its seal, for which nothing was started.
type RefusedAnswer struct {
	Refused []seal.Change `json:"refused"`
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
	// Nodes are those that were decided, as events of apply --json.
	Nodes []runtime.Event  `json:"nodes,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Reward is what its ports are worth, as in the last event of apply --json; nil until it has
	// ended.
	Reward *runtime.Reward `json:"reward,omitempty"`
	Error  string          `json:"error,omitempty"`
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

// tell changes what is answered of the job.
func (j *job) tell(change func(*JobAnswer)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.says)
}

func (j *job) Note(n verdict.Reason) { j.tell(func(s *JobAnswer) { s.Notes = append(s.Notes, n) }) }

func (j *job) Begin(start apply.Start) { j.tell(func(s *JobAnswer) { s.Run = start.Run }) }

func (j *job) Event(ev runtime.Event) {
	j.tell(func(s *JobAnswer) {
		s.Node = cmp.Or(ev.Node, s.Node)
		if ev.Made > 0 || ev.Left > 0 {
			s.Made, s.Left = ev.Made, ev.Left
		}
		if ev.Elapsed > 0 {
			s.Elapsed, s.ETA = ev.Elapsed, ev.ETA
		}
		if ev.Type == "node_done" && ev.Action != runtime.Reuse {
			s.Nodes = append(s.Nodes, ev)
		}
		s.Reward = cmp.Or(ev.Reward, s.Reward)
	})
}

func (j *job) End(res *apply.Result) {
	j.tell(func(s *JobAnswer) {
		exit := res.Exit
		s.Exit, s.Verdict = &exit, string(res.End.Verdict)
	})
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
		out.State = "running"
	case j.err != nil:
		out.State, out.Error = "failed", j.err.Error()
	default:
		out.State = "done"
	}
	return out
}

type qualifyAsk struct {
	Feature string `json:"feature"`
}

func (s *server) qualify(_ context.Context, ask qualifyAsk) (any, error) {
	return s.apply(s.ctx, applyAsk{[]string{runtime.QualifyID(ask.Feature)}})
}

type applyAsk struct {
	Target []string `json:"target,omitempty" jsonschema:"features, phases or nodes; the whole plan if empty"`
}

// apply starts one under the seal.
func (s *server) apply(_ context.Context, ask applyAsk) (any, error) {
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
	if _, _, err := apply.Named(g, nil, ask.Target); err != nil {
		return nil, err
	}
	moved, err := is.Changes(loaded.Plan)
	if err != nil {
		return nil, err
	}
	if len(moved) > 0 {
		return RefusedAnswer{moved}, nil
	}
	ctx, stop := context.WithCancel(s.ctx)
	j := &job{stop: stop, done: make(chan struct{})}
	s.job = j
	go func() {
		defer close(j.done)
		defer stop()
		err := s.Apply(ctx, is, loaded, g, ask.Target, j)
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
