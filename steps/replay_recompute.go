package steps

import (
	"errors"
	"io/fs"
	goruntime "runtime"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// ElsewhereTolerance is how far numbers may be off, relatively, when they were
// recorded on a processor of another architecture: it may round sums otherwise.
const ElsewhereTolerance = 1e-9

// RawOutcome is what a recomputation of a launch came to.
type RawOutcome string

const (
	// RawAgrees: every statistic comes out as recorded, bit for bit.
	RawAgrees RawOutcome = "agrees"
	// RawWithin is agrees with ElsewhereTolerance.
	RawWithin RawOutcome = "agrees within 1e-9"
	// RawDiffers: some do not, or the raw data are damaged.
	RawDiffers RawOutcome = "differs"
	// RawMissing launches have metrics that came from samples, and the samples are
	// gone.
	RawMissing RawOutcome = "no raw data"
	// RawNone launches have nothing that comes from samples, as qualifications.
	RawNone RawOutcome = "nothing from samples"
)

// Recomputed is one launch evaluated again from its raw data.
type Recomputed struct {
	Launch  string     `json:"launch"`
	Variant string     `json:"variant"`
	Outcome RawOutcome `json:"outcome"`
	// RecordedOn is the architecture of the machine that recorded it, where known.
	RecordedOn string `json:"recorded_on,omitempty"`
	// Why says what stands in the way of the raw data.
	Why verdict.Reason `json:"why,omitzero"`
	// Damaged is set where raw data are there and cannot be what was recorded.
	Damaged bool `json:"damaged,omitempty"`
	measure.Agreement
}

// Recompute evaluates a launch again from its raw data and compares with what was
// stored.
func Recompute(st *store.Store, l *ledger.Launch) Recomputed {
	out, _ := recompute(st, l, archOf(st, l))
	return out
}

// recompute is Recompute with the recording, for whoever needs its metrics.
func recompute(st *store.Store, l *ledger.Launch, recordedOn string) (out Recomputed, recording measure.Recording) {
	out = Recomputed{Launch: l.ID, Variant: l.Variant, RecordedOn: recordedOn}
	recording, err := recordingOf(st, l)
	if err != nil {
		out.Why = verdict.OfError(err)
		out.Outcome, out.Damaged = RawDiffers, true
		if errors.Is(err, fs.ErrNotExist) {
			out.Outcome, out.Damaged = RawMissing, false
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

// recordingOf reads what a launch was evaluated from.
func recordingOf(st *store.Store, l *ledger.Launch) (r measure.Recording, err error) {
	if l.Samples != "" {
		if r.Samples, err = st.ReadSamples(l.Samples); err != nil {
			return r, unread("samples", err)
		}
	}
	if l.Series != "" {
		if r.Series, err = st.ReadSeries(l.Series); err != nil {
			return r, unread("series", err)
		}
	}
	r.Cells = l.Cells
	return r, nil
}

// unread is the error of raw data that cannot be read; files that are gone stay known
// as such.
func unread(of string, err error) error {
	return errors.Join(&verdict.Fault{Reason: verdict.New(code.RawUnread, verdict.Text("of", of), verdict.Err(err))}, err)
}

// fromSamples reports whether a launch has metrics that samples are needed for.
func fromSamples(l *ledger.Launch) bool {
	for address := range l.Metrics {
		if !strings.HasPrefix(address, "engine.") && !strings.HasPrefix(address, "command.") {
			return true
		}
	}
	return false
}

// archOf is the architecture of the mxflow that recorded a launch, empty where no
// record says so.
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
