package steps

import (
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/coherence"
	"github.com/mxflow/mxflow/engine/measure"
)

const (
	// templateShare of a prompt may be cached beyond what is known to be common to
	// all: the fixed beginning of a chat template.
	templateShare = 0.05
	// recomputedShare of a context may be computed although it was put into the
	// cache: caches hold whole blocks.
	recomputedShare = 0.25
)

// judge looks for what makes the numbers not count, and for what is to be known
// of them.
func (r *recording) judge() {
	disturbed := measure.Disturbances(r.taken.Recording)
	r.taken.Invalid = append(r.taken.Invalid, disturbed...)
	r.disturbances = len(disturbed)
	defer func() {
		r.taken.Disturbed = r.disturbances > 0 && len(r.taken.Invalid) == r.disturbances
	}()
	running := measure.Gauge(r.taken.Series, "engine.running")
	for _, c := range r.sent {
		r.late(c)
		r.held(c)
		r.reached(c, running)
		r.cached(c)
		r.lengths(c)
		r.overlong(c)
		r.counted(c)
		r.doubtful(c)
		r.coherent(c)
	}
}

func (r *recording) invalid(format string, args ...any) {
	r.taken.Invalid = append(r.taken.Invalid, fmt.Sprintf(format, args...))
}

func (r *recording) note(format string, args ...any) {
	r.taken.Notes = append(r.taken.Notes, fmt.Sprintf(format, args...))
}

// late looks whether the client kept up.
func (r *recording) late(c sentCell) {
	limit := r.Kind.Lag(c.w.MaxLag)
	if l := load.Lag(c.samples, limit); l.Late {
		r.invalid("%s: the client sent requests up to %.3g ms after they were due (p99 %.3g ms), and %s is allowed: it could not keep up with the schedule", c.cell.Address, ms(l.Max), ms(l.P99), limit)
	}
	if l := load.Delayed(c.delay, c.run.From, c.run.To, limit); l.Late {
		r.disturbances++ // of this machine, at this moment
		r.invalid("%s: the client was woken up to %.3g ms late (p99 %.3g ms), and %s is allowed: what it measured is of this machine as much as of the engine; end what else runs here, measure from another machine, or declare a wider max_lag", c.cell.Address, ms(l.Max), ms(l.P99), limit)
	}
}

// reached looks whether the engine worked on as many requests as were asked for.
func (r *recording) reached(c sentCell, running measure.Series) {
	if c.w.Arrival != "" || c.cell.Concurrency < 2 || c.w.MinReached == 0 {
		return
	}
	found := load.Reached(c.run, running, c.samples)
	enough, known := found.Enough(c.w.MinReached)
	switch {
	case enough:
	case found.By == "client" && inPieces(c.samples):
		r.note("whether %s really had %d requests at once is not known: its answers came in one piece, which does not show how many were made at once", c.cell.Address, found.Asked)
	case known:
		r.invalid("%s asked for %d requests at once, and the engine reached %.3g (by its %s's count): it queues what is more; look at its limit of sequences, or ask for less", c.cell.Address, found.Asked, found.Reached, found.By)
	default:
		r.note("whether %s really had %d requests at once is not known: %s", c.cell.Address, found.Asked, found.Why)
	}
}

// cached looks for prompts that were not computed, and for contexts that were.
func (r *recording) cached(c sentCell) {
	if c.w.Data != nil && c.w.Data.Shares {
		return // its prompts begin alike on purpose
	}
	switch found := load.Contaminated(c.samples, c.prompts.Template, c.w.SystemTokens); {
	case found.Worst > templateShare:
		r.invalid("prompts were partly answered from a cache: %d of %d requests of %s, %d tokens, which makes prefill look fast; start the engine with its prefix cache off, or declare what prompts share (system_tokens, depth_cached, turns)", found.Requests, found.Of, c.cell.Address, found.Tokens)
	case found.Requests > 0:
		r.note("%d of %d requests of %s had a few cached tokens, as from a fixed chat template", found.Requests, found.Of, c.cell.Address)
	case found.Unknown > 0:
		r.uncounted(c, found)
	}
	if !c.w.DepthCached || c.cell.Depth == 0 {
		return
	}
	switch found := load.Recomputed(c.samples); {
	case found.Worst > recomputedShare:
		r.invalid("%s was to find its context in the engine's prefix cache, and %d of %d requests did not, by %d tokens: is prefix caching on, and large enough?", c.cell.Address, found.Requests, found.Of, found.Tokens)
	case found.Unknown > 0:
		r.note("whether %s found its context in the engine's prefix cache is not known of %d of %d requests", c.cell.Address, found.Unknown, found.Of)
	}
}

// lengths compares what was asked for with what came.
func (r *recording) lengths(c sentCell) {
	if s := load.Shortfall(c.samples); s.Requests > 0 && c.w.IgnoreEOS {
		r.note("%d of %d answers of %s were shorter than asked for, by %d tokens in all", s.Requests, s.Of, c.cell.Address, s.Tokens)
	}
	d := load.Deviating(c.samples, 0)
	if d.Unknown > 0 {
		r.note("how long prompts of %s were is not known of %d of %d requests: the engine did not count them, or not with a number that can be (counted by: %s)", c.cell.Address, d.Unknown, d.Of, c.prompts.Method)
	}
	if d.Requests > 0 {
		long := fmt.Sprintf("%d to %d", d.Least, d.Most)
		if d.Least == d.Most {
			long = fmt.Sprint(d.Most)
		}
		want := "what was asked for"
		if c.cell.Prompt > 0 {
			want = fmt.Sprint(c.cell.Prompt)
		}
		r.note("prompts of %s were %s tokens long instead of %s (counted by: %s)", c.cell.Address, long, want, c.prompts.Method)
	}
}

// counted says so where nobody but the client counted the tokens.
func (r *recording) counted(c sentCell) {
	if c.run.ByEvents {
		r.note("tokens of %s were counted as stream events, because the engine does not count them", c.cell.Address)
	}
}

// doubtful says where what a server counted contradicts what it sent.
func (r *recording) doubtful(c sentCell) {
	n, example := 0, ""
	for _, s := range c.samples {
		if !s.Measured() || s.Doubts == "" {
			continue
		}
		if n++; example == "" {
			example = fmt.Sprintf("request %d: %s", s.Index, s.Doubts)
		}
	}
	switch n {
	case 0:
	case 1:
		r.note("one answer of %s is doubtful, %s", c.cell.Address, example)
	default:
		r.note("%d answers of %s are doubtful, such as %s", n, c.cell.Address, example)
	}
}

// coherent looks at each answer for what no text has.
func (r *recording) coherent(c sentCell) {
	for _, f := range coherence.Incoherent(c.samples) {
		r.taken.Incoherent = append(r.taken.Incoherent, fmt.Sprintf("%s %s", f.Cell, f))
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
