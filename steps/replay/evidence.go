package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
)

// replayedLaunch is a launch with the result of recomputing its raw data.
type replayedLaunch struct {
	// launch is the recorded one with the metrics of its raw data; nil if the ledger has
	// none of that ID.
	launch *ledger.Launch
	// said is the decision that last reported the result.
	said *Replayed
	Recomputed
}

// evidence is what the rules of a decision read, with metrics derived from raw data
// again. Launches whose raw data disagree with the record are among the differences;
// missing raw data are an error.
func (r *Replay) evidence(out *Replayed, kept []ledger.Evidence) (*gates.Evidence, error) {
	var gone error
	ev, err := decide.Assemble(kept, func(id string) (*ledger.Launch, bool) {
		l, err := r.told(out, id)
		gone = cmp.Or(gone, err)
		return l, l != nil
	})
	if err == nil {
		err = gone
	}
	return ev, err
}

// told returns a launch with the result of recomputing its raw data, which each decision
// reports once. It is nil if the ledger has none of that ID; an error with it means that
// its raw data are gone.
func (r *Replay) told(out *Replayed, id string) (*ledger.Launch, error) {
	l := r.again(id)
	if l.launch == nil {
		return nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
	}
	if l.Outcome == RawMissing || l.Outcome == RawDamaged {
		return l.launch, &verdict.Fault{Reason: verdict.New(code.NoRawData).On(id).From(l.Why)}
	}
	if l.said == out {
		return l.launch, nil
	}
	l.said = out
	switch l.Outcome {
	case RawDiffers:
		for _, d := range l.Differ {
			out.differ("launch "+id, d.Address+" "+d.What, d.Stored, d.Again)
		}
	case RawWithin:
		out.note(verdict.New(code.RecordedElsewhere, verdict.Text("arch", l.RecordedOn), verdict.Num("tolerance", ElsewhereTolerance, "")).On(id))
	}
	if !l.Why.IsZero() {
		out.note(verdict.New(code.LaunchNote).On(id).From(l.Why))
	}
	out.Numbers += l.Numbers
	return l.launch, nil
}

// again evaluates a launch again, once.
func (r *Replay) again(id string) *replayedLaunch {
	if l := r.launches[id]; l != nil {
		return l
	}
	out := &replayedLaunch{}
	r.launches[id] = out
	stored, ok := r.store.LaunchByID(id)
	if !ok {
		return out
	}
	var recording measure.Recording
	out.Recomputed, recording = recompute(r.store, stored, r.arch[id])
	launch := *stored
	out.launch = &launch
	if out.Outcome == RawAgrees || out.Outcome == RawDiffers {
		// What does not come from samples, such as the startup time, stays as recorded;
		// metrics derived now but not then were read by no rule.
		launch.Metrics = maps.Clone(stored.Metrics)
		again := measure.Evaluate(recording)
		for address := range stored.Metrics {
			if slices.Contains(out.Elsewhere, address) {
				continue
			}
			delete(launch.Metrics, address)
			if s, there := again[address]; there {
				launch.Metrics[address] = s
			}
		}
	}
	return out
}

// ElsewhereTolerance is how far numbers may be off, relatively, if they were recorded on
// a processor of another architecture: it may round sums differently.
const ElsewhereTolerance = 1e-9

// RawOutcome is the result of recomputing a launch.
type RawOutcome string

const (
	// RawAgrees: every statistic is as recorded, bit for bit.
	RawAgrees RawOutcome = "agrees"
	// RawWithin: they agree within ElsewhereTolerance.
	RawWithin RawOutcome = "agrees within 1e-9"
	// RawDiffers: some do not.
	RawDiffers RawOutcome = "differs"
	// RawDamaged: raw data exist but cannot be what was recorded.
	RawDamaged RawOutcome = "damaged"
	// RawMissing: the launch has metrics that came from samples, and the samples are
	// gone.
	RawMissing RawOutcome = "no raw data"
	// RawNone: nothing in the launch comes from samples, as in qualifications.
	RawNone RawOutcome = "nothing from samples"
)

// Recomputed is one launch evaluated again from its raw data.
type Recomputed struct {
	Launch  string     `json:"launch"`
	Variant string     `json:"variant"`
	Outcome RawOutcome `json:"outcome"`
	// RecordedOn is the architecture of the machine that recorded it, if known.
	RecordedOn string `json:"recorded_on,omitempty"`
	// Why is what is wrong with the raw data.
	Why verdict.Reason `json:"why,omitzero"`
	measure.Agreement
}

// Recompute evaluates a launch again from its raw data and compares the result with the
// record.
func Recompute(st *store.Store, l *ledger.Launch) Recomputed {
	out, _ := recompute(st, l, archOf(st, l))
	return out
}

// recompute is Recompute with the recording, for callers that need its metrics.
func recompute(st *store.Store, l *ledger.Launch, recordedOn string) (out Recomputed, recording measure.Recording) {
	out = Recomputed{Launch: l.ID, Variant: l.Variant, RecordedOn: recordedOn}
	recording, err := recordingOf(st, l)
	if err != nil {
		out.Why = verdict.OfError(err)
		out.Outcome = RawDamaged
		if errors.Is(err, fs.ErrNotExist) {
			out.Outcome = RawMissing
		}
		return out, recording
	}
	if l.Samples == "" && l.Series == "" && fromSamples(l) {
		out.Outcome, out.Why = RawMissing, verdict.New(code.RawUnnamed)
		return out, recording
	}
	agreed := RawAgrees
	out.Agreement = measure.Agree(recording, l.Metrics, 0)
	if len(out.Differ) > 0 && out.RecordedOn != "" && out.RecordedOn != goruntime.GOARCH {
		agreed, out.Agreement = RawWithin, measure.Agree(recording, l.Metrics, ElsewhereTolerance)
	}
	out.Differ = append(out.Differ, elsewhen(l, recording.Samples)...)
	switch {
	case len(out.Differ) > 0:
		out.Outcome = RawDiffers
	case out.Metrics > 0:
		out.Outcome = agreed
	default:
		out.Outcome = RawNone
	}
	return out, recording
}

// wallClock is how far the wall clock may be adjusted while a launch is measured.
const wallClock = time.Minute

// elsewhen reports samples that were sent at another time than their launch was made: the
// zero of their clock is its start.
func elsewhen(l *ledger.Launch, samples []measure.Sample) []measure.Difference {
	for _, s := range samples {
		if zero := s.Sent.Add(-s.Start); !s.Sent.IsZero() && (zero.Sub(l.Started) > wallClock || l.Started.Sub(zero) > wallClock) {
			return []measure.Difference{{Address: "launch", What: "started", Stored: l.Started.Format(time.RFC3339), Again: zero.UTC().Format(time.RFC3339)}}
		}
	}
	return nil
}

// recordingOf reads the data that a launch was evaluated from.
func recordingOf(st *store.Store, l *ledger.Launch) (r measure.Recording, err error) {
	if l.Samples != "" {
		if r.Samples, err = st.ReadSamples(l); err != nil {
			return r, unread("samples", err)
		}
	}
	if l.Series != "" {
		if r.Series, err = st.ReadSeries(l); err != nil {
			return r, unread("series", err)
		}
	}
	r.Cells, r.Windows = l.Cells, l.Windows
	return r, nil
}

// unread is the error for raw data that cannot be read; missing files remain
// recognizable.
func unread(of string, err error) error {
	if _, ok := errors.AsType[*verdict.Fault](err); ok {
		return err // which says what is wrong with them
	}
	return errors.Join(&verdict.Fault{Reason: verdict.New(code.RawUnread, verdict.Text("of", of), verdict.Err(err))}, err)
}

// fromSamples reports whether a launch has metrics that samples are needed for.
func fromSamples(l *ledger.Launch) bool {
	for address := range l.Metrics {
		if !strings.HasPrefix(address, "engine.") && !strings.HasPrefix(address, "command.") && !strings.HasPrefix(address, plans.FoundRoot) {
			return true
		}
	}
	return false
}

// archOf is the architecture of the mxflow that recorded a launch, empty if no record
// says so.
func archOf(st *store.Store, l *ledger.Launch) string {
	run := ""
	arch := map[string]string{}
	for _, r := range st.Records() {
		switch {
		case r.RunStart != nil:
			arch[r.Run] = r.RunStart.Environment["arch"]
		case r.Launch != nil && r.Launch.ID == l.ID:
			run = r.Run
		}
	}
	return arch[run]
}

// checkNoise recomputes the launch noise before each session, from the launches that the
// ledger holds before it, and compares it with the decision's floor: also if the decision
// records none although earlier launches show how its rules' metrics vary. Without its
// floor a test decides too soon.
func (r *Replay) checkNoise(out *Replayed, d store.Decided, rules replayRules) {
	for _, ev := range d.Evidence {
		addresses := slices.Collect(maps.Keys(ev.Noise))
		if ev.Broken == "" {
			addresses = append(addresses, decide.NoiseKeys(rules.reading(d, ev.Feature))...)
		}
		slices.Sort(addresses)
		addresses = slices.Compact(addresses)
		work, variants := r.armsOf(ev)
		now := r.noiseBefore(ev.Session, work, variants, addresses)
		for _, address := range addresses {
			was, recorded := ev.Noise[address]
			now, there := now[address]
			if !recorded && !there {
				continue
			}
			out.Numbers += 3
			if was.SD != now.SD || was.DF != now.DF || was.Gap != now.Gap {
				out.differ("noise", fmt.Sprintf("%s before session %s", address, ev.Session), noiseText(was), noiseText(now))
			}
		}
	}
}

// checkTries recounts the earlier tries at a measurement from the ledger: a try that
// counts as the first has a higher false pass rate.
func (r *Replay) checkTries(out *Replayed, d store.Decided) {
	if d.Statistics.Version != decide.Version {
		return // others counted differently, or not at all
	}
	for _, ev := range d.Evidence {
		if len(ev.Candidate.Launches) == 0 || len(ev.Parent.Launches) == 0 {
			continue
		}
		candidate, ok := r.store.LaunchByID(ev.Candidate.Launches[0])
		parent, there := r.store.LaunchByID(ev.Parent.Launches[0])
		if !ok || !there {
			continue // reported with the evidence
		}
		out.Numbers++
		if again := r.triesBefore(ev.Candidate.Name, candidate.VariantKey, parent.VariantKey, ev.Session, candidate.Work); again != ev.Try {
			out.differ("decision", "try of "+ev.Feature, fmt.Sprint(max(1, ev.Try)), fmt.Sprint(max(1, again)))
		}
	}
}

// triesBefore caches the count: decisions of a session ask for the same.
func (r *Replay) triesBefore(name, candidate, parent, session, work string) int {
	key := [...]string{name, candidate, parent, session, work}
	n, ok := r.tries[key]
	if !ok {
		n = decide.Tries(r.store.Records(), name, candidate, parent, session, work)
		r.tries[key] = n
	}
	return n
}

// reading returns the compiled rules that determined the noise of a piece of evidence:
// those of a gate that read its feature, and all of a feature's own.
func (rules replayRules) reading(d store.Decided, feature string) (out []*plans.Rule) {
	for _, part := range rules.parts {
		for _, r := range part.rules {
			if runtime.Kind(d.Kind) != runtime.KindGate || decide.Reads([]*plans.Rule{r}, feature) {
				out = append(out, r)
			}
		}
	}
	return out
}

// armsOf is what the launches of a piece of evidence were sent, and their variants.
func (r *Replay) armsOf(ev ledger.Evidence) (work string, variants []string) {
	for _, id := range slices.Concat(ev.Candidate.Launches, ev.Parent.Launches) {
		if l, ok := r.store.LaunchByID(id); ok {
			work, variants = l.Work, append(variants, l.VariantKey)
		}
	}
	slices.Sort(variants)
	return work, slices.Compact(variants)
}

// noiseBefore caches the pooled noise: most decisions of a session ask for the same.
func (r *Replay) noiseBefore(session, work string, variants, addresses []string) map[string]verdict.Noise {
	key := strings.Join(slices.Concat([]string{session, work}, variants, addresses), " ")
	n, ok := r.noise[key]
	if !ok {
		n = decide.Noise(decide.NoiseBefore(r.store.Records(), session, work, variants...), addresses, variants)
		r.noise[key] = n
	}
	return n
}

func noiseText(n verdict.Noise) string {
	if n.DF == 0 {
		return "none"
	}
	return fmt.Sprintf("%v with %v degrees of freedom, and starts within %v", n.SD, n.DF, n.Gap)
}
