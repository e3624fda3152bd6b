package replay

import (
	"errors"
	"maps"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// replayedLaunch is a launch with its raw data evaluated again.
type replayedLaunch struct {
	// launch is the recorded one with the metrics of its raw data; nil if the ledger has
	// none of that ID.
	launch *ledger.Launch
	// reported is the decision that last reported the result.
	reported *Replayed
	// unread is why its raw data cannot be read, or are not what was recorded.
	unread verdict.Reason
	// within is set if its numbers agree, but only within ElsewhereTolerance.
	within bool
	measure.Agreement
}

// recomputeLaunch returns a launch with the result of recomputing its raw data, which each decision
// reports once. It is nil if the ledger has none of that ID; an error with it means that
// its raw data are gone.
func (r *Replay) recomputeLaunch(out *Replayed, id string) (*ledger.Launch, error) {
	l := r.derive(id)
	if l.launch == nil {
		return nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
	}
	if !l.unread.IsZero() {
		return l.launch, &verdict.Fault{Reason: verdict.New(code.NoRawData).On(id).From(l.unread)}
	}
	if l.reported == out {
		return l.launch, nil
	}
	l.reported = out
	for _, d := range l.Differ {
		out.differ("launch "+id, d.Address+" "+d.What, d.Stored, d.Again)
	}
	if l.within {
		out.note(verdict.Say("replay.recorded_elsewhere",
			"Launch {subject} was recorded on {arch}: its statistics had to agree within {tolerance} only, and "+
				"rules were decided from the recorded ones.",
			verdict.Text("arch", r.arch[id]), verdict.Num("tolerance", ElsewhereTolerance, "")).On(id))
	}
	out.Numbers += l.Numbers
	return l.launch, nil
}

// derive evaluates the raw data of a launch, once.
func (r *Replay) derive(id string) *replayedLaunch {
	if l := r.launches[id]; l != nil {
		return l
	}
	out := &replayedLaunch{}
	r.launches[id] = out
	stored, ok := r.store.LaunchByID(id)
	if !ok {
		return out
	}
	launch := *stored
	out.launch = &launch
	recording, err := recordingOf(r.store, stored)
	if err == nil && stored.Samples == "" && stored.Series == "" && fromSamples(stored) {
		err = &verdict.Fault{Reason: verdict.Say("replay.raw_unnamed", "its record names no raw data")}
	}
	if err != nil {
		out.unread = verdict.OfError(err)
		return out
	}
	out.Agreement = measure.Agree(recording, stored.Metrics, 0)
	if arch := r.arch[id]; len(out.Differ) > 0 && arch != "" && arch != goruntime.GOARCH {
		out.within, out.Agreement = true, measure.Agree(recording, stored.Metrics, ElsewhereTolerance)
	}
	out.Differ = append(out.Differ, mistimedSamples(stored, recording.Samples)...)
	if out.within = out.within && len(out.Differ) == 0; out.within {
		return out
	}
	// What does not come from samples, such as the startup time, stays as recorded;
	// metrics derived now but not then were read by no rule.
	launch.Metrics = maps.Clone(stored.Metrics)
	for address := range stored.Metrics {
		if !recording.Gives(address) {
			continue
		}
		delete(launch.Metrics, address)
		if s, there := out.Evaluated[address]; there {
			launch.Metrics[address] = s
		}
	}
	return out
}

// ElsewhereTolerance is how far numbers may be off, relatively, if they were recorded on
// a processor of another architecture: it may round sums differently.
const ElsewhereTolerance = 1e-9

// wallClock is how far the wall clock may be adjusted while a launch is measured.
const wallClock = time.Minute

// mistimedSamples reports samples that were sent at another time than their launch was made: the
// zero of their clock is its start.
func mistimedSamples(l *ledger.Launch, samples []measure.Sample) []measure.Difference {
	for _, s := range samples {
		if zero := s.Sent.Add(-s.Start); !s.Sent.IsZero() &&
			(zero.Sub(l.Started) > wallClock || l.Started.Sub(zero) > wallClock) {
			return []measure.Difference{{
				Address: "launch", What: "started", Stored: l.Started.Format(time.RFC3339),
				Again: zero.UTC().Format(time.RFC3339),
			}}
		}
	}
	return nil
}

// recordingOf reads the data that a launch was evaluated from.
func recordingOf(st *store.Store, l *ledger.Launch) (r measure.Recording, err error) {
	if l.Samples != "" {
		if r.Samples, err = st.ReadSamples(l); err != nil {
			return r, readError("samples", err)
		}
	}
	if l.Series != "" {
		if r.Series, err = st.ReadSeries(l); err != nil {
			return r, readError("series", err)
		}
	}
	r.Cells, r.Windows = l.Cells, l.Windows
	return r, nil
}

// readError is the error for raw data that cannot be read.
func readError(of string, err error) error {
	if _, ok := errors.AsType[*verdict.Fault](err); ok {
		return err // which says what is wrong with them
	}
	return &verdict.Fault{Reason: verdict.Say("replay.raw_unread", "{of}: {error}",
		verdict.Text("of", of), verdict.Err(err))}
}

// fromSamples reports whether a launch has metrics that samples are needed for.
func fromSamples(l *ledger.Launch) bool {
	for address := range l.Metrics {
		if !strings.HasPrefix(address, "engine.") && !strings.HasPrefix(address, "command.") &&
			!strings.HasPrefix(address, plans.FoundRoot) {
			return true
		}
	}
	return false
}
