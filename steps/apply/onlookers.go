package apply

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
)

// Kept is the reported state of a run in progress.
type Kept struct {
	runtime.Event
	// Began is when the current launch started; absent if there is none.
	Began time.Time `json:"began,omitzero"`
	// Looks are the states of the tests of the sessions in progress, one per feature.
	Looks []runtime.Event `json:"looks,omitempty"`
	// Locked are the nodes that cannot run, with the reason.
	Locked map[string]verdict.Reason `json:"locked,omitempty"`
}

// AtWork is the last reported state of the run in progress on a state directory.
func AtWork(dir string) (at Kept, underWay bool) {
	held, by, err := store.AtWork(dir)
	if err != nil || !held || by == nil {
		return at, false
	}
	text, err := store.Progress(dir, by.Run)
	if err != nil || json.Unmarshal(text, &at) != nil || at.Type == "run_done" {
		return at, false
	}
	return at, true
}

// Recorder records the state of a run for mxflow serve. It writes when a node, a launch
// or a stage starts or ends, for each new line of a starting engine, and after a round of
// a session; nothing while a launch is measured.
type Recorder struct {
	Observer
	// Dir is the state directory.
	Dir string
	// Secrets are removed from what is kept; loading a plan finds them.
	Secrets func() *redact.Redactor

	mu  sync.Mutex
	run string
	// launch is the newest event with the position in the plan that later ones of it
	// lack.
	launch runtime.Event
	began  time.Time
	looks  []runtime.Event
	locked map[string]verdict.Reason
}

func (r *Recorder) Begin(s Start) {
	r.mu.Lock()
	r.run = s.Run
	r.mu.Unlock()
	r.Observer.Begin(s)
}

func (r *Recorder) Event(ev runtime.Event) {
	r.keep(ev)
	r.Observer.Event(ev)
}

func (r *Recorder) keep(ev runtime.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ev.Type {
	case "launch_started":
		r.launch, r.began = ev, ev.Time
	case "level_started":
		r.launch = ev
	case "launch_ready", "launch_loading":
		// These events lack their position.
		launch := r.launch
		launch.Seconds, launch.ETALeast, launch.ETA, launch.ETAMost = ev.Seconds, ev.ETALeast, ev.ETA, ev.ETAMost
		if launch.Line = ""; ev.Type == "launch_loading" {
			launch.Line = ev.Line
		}
		ev = launch
	case "looked":
		r.looks = append(slices.DeleteFunc(r.looks, func(l runtime.Event) bool { return l.Feature == ev.Feature }), ev)
		r.began = time.Time{}
	case "node_started", "node_done":
		r.looks = slices.DeleteFunc(r.looks, func(l runtime.Event) bool { return l.Node == ev.Node })
		r.began = time.Time{}
	case "node_locked":
		if r.locked == nil {
			r.locked = map[string]verdict.Reason{}
		}
		r.locked[ev.Node] = ev.Why
		return // the next event is kept with it
	case "run_done":
		r.looks, r.locked = nil, nil
	default:
		return
	}
	// Reasons and messages may contain what must not be kept here, and the ledger has
	// them.
	kept := Kept{Began: r.began, Looks: r.looks, Locked: r.locked, Event: runtime.Event{
		Time: ev.Time, Type: ev.Type, Run: r.run, Node: ev.Node, Phase: ev.Phase, Feature: ev.Feature, Level: ev.Level,
		Variant: ev.Variant, Line: ev.Line,
		Launch: ev.Launch, Launches: ev.Launches, LaunchesLeast: ev.LaunchesLeast, Again: ev.Again, Seconds: ev.Seconds,
		ETALeast: ev.ETALeast, ETA: ev.ETA, ETAMost: ev.ETAMost, Made: ev.Made, Left: ev.Left,
	}}
	said, err := json.Marshal(r.Secrets().Any(kept, Identities...))
	if err == nil {
		err = store.KeepProgress(r.Dir, r.run, said)
	}
	_ = err // it is for onlookers: failing to write it does not end a run
}
