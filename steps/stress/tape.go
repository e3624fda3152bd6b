package stress

import (
	"errors"
	"slices"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/redact"
)

// Tape is everything that a level received from an engine, in order: what it is judged by.
type Tape struct {
	// Serves is the engine's maximum length, 0 if it does not report one, and GPUs are
	// its.
	Serves  int      `json:"serves,omitempty"`
	GPUs    []string `json:"gpus,omitempty"`
	Entries []Entry  `json:"entries"`
	// Samples are those of all entries, as far as they matter for judging, and Series the
	// memory readings. They are kept as separate files.
	Samples []measure.Sample `json:"-"`
	Series  []measure.Series `json:"-"`
	// Shown is what the log shows of a failure.
	Shown verdict.Reason `json:"shown,omitzero"`

	text   int // bytes of all answers
	played bool
	// at counts the entries that were played, taken their samples.
	at, taken int
}

// Entry is one batch of requests, or one reading of how many are running.
type Entry struct {
	Part    string `json:"part"`
	Samples int    `json:"samples,omitempty"`
	// Counted is how many were cut, and of these during their answer, or refused.
	Counted []int `json:"counted,omitempty"`
	// Running is how many the engine reported as running, -1 if it does not, and
	// NotFinite its counter that was not a number.
	Running   float64 `json:"running,omitempty"`
	NotFinite string  `json:"not_finite,omitempty"`
	// Unread is set if the texts of its answers are not kept, as there were too many.
	Unread bool `json:"unread,omitempty"`
	// Verdict and Why are the consequence of a failed request, or of a text that is not
	// kept.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Why     verdict.Reason  `json:"why,omitzero"`
}

// mostText bounds the answers that are kept, in bytes.
const mostText = 64 << 20

// errTape is a tape that ends before the level does.
var errTape = errors.New("answers of the engine are missing")

func (t *Tape) begin(part string) { t.Entries = append(t.Entries, Entry{Part: part}) }

// last is the entry being recorded, or last played.
func (t *Tape) last() *Entry {
	if !t.played {
		return &t.Entries[len(t.Entries)-1]
	}
	if t.at > len(t.Entries) || t.at == 0 {
		return &Entry{Running: -1}
	}
	return &t.Entries[t.at-1]
}

// keep adds samples to the last entry, without what judging does not need.
func (t *Tape) keep(samples []measure.Sample, r *redact.Redactor) {
	for _, s := range samples {
		t.text += len(s.Text) + len(s.Reasoning) + len(s.Tools)
	}
	t.last().Samples, t.last().Unread = len(samples), t.text > mostText
	for _, s := range samples {
		if n := len(s.Events); n > 0 {
			s.Events = []measure.Event{s.Events[max(0, slices.IndexFunc(s.Events, measure.Event.HasText))], s.Events[n-1]}
		}
		for _, text := range []*string{&s.Text, &s.Reasoning, &s.Tools, &s.Doubts, &s.Err} {
			*text = r.Text(*text)
		}
		if t.last().Unread {
			s.Text, s.Reasoning, s.Tools = "", "", ""
		}
		t.Samples = append(t.Samples, s)
	}
}

// play returns the next batch of requests.
func (t *Tape) play() (load.Result, error) {
	if t.at++; t.at > len(t.Entries) {
		return load.Result{}, errTape
	}
	e := t.last()
	if e.Verdict != "" {
		return load.Result{}, &finding{e.Verdict, e.Why}
	}
	if t.taken+e.Samples > len(t.Samples) {
		return load.Result{}, errTape
	}
	samples := t.Samples[t.taken : t.taken+e.Samples]
	t.taken += e.Samples
	return load.Result{Samples: samples}, nil
}

// counted stores counts in the last entry, or restores them from it.
func (t *Tape) counted(counts ...*int) {
	e := t.last()
	for i, n := range counts {
		switch {
		case !t.played:
			e.Counted = append(e.Counted, *n)
		case i < len(e.Counted):
			*n = e.Counted[i]
		}
	}
}
