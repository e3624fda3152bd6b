package steps

import (
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/measure"
)

// heldShare of the answers may come in one piece before a cell does not count:
// medians do not move for so few, and every one that there is is named.
const heldShare = 0.1

// held looks for answers that did not come as they were made.
func (r *recording) held(c sentCell) {
	found := load.HeldBack(c.samples, r.Kind.Lag(c.w.MaxLag))
	if found.Requests == 0 {
		return
	}
	tell := r.note
	if tooMany(found) {
		tell = r.invalid
	}
	tell("%d of %d answers of %s came in one piece, after up to %.3g ms without a token, so that ttft, itl and tg say when they were let go and not how fast they were made: a proxy that buffers, or a server without processor time to send, keeps them back", found.Requests, found.Of, c.cell.Address, ms(found.Longest))
}

func tooMany(found load.Held) bool { return float64(found.Requests) > heldShare*float64(found.Of) }

// inPieces reports whether answers came in one piece, however soon: then they
// arrive one after another though they were made at the same time.
func inPieces(samples []measure.Sample) bool { return tooMany(load.HeldBack(samples, 0)) }

// uncounted looks at the engine's own counters where it does not say of each
// request how much of the prompt it had cached. Where contexts are cached on
// purpose, these are counted too, so that nothing follows from a hit.
func (r *recording) uncounted(c sentCell, found load.Contamination) {
	hits, known := r.taken.Metrics[c.cell.Address+".prefix_hit_rate"].Stats["median"]
	switch {
	case known && !cachesOnPurpose(c.w) && hits > templateShare+templateOf(c):
		r.invalid("prompts were partly answered from a cache: by its own counters the engine found %.3g %% of the prompt tokens of %s in its prefix cache, which makes prefill look fast; start the engine with its prefix cache off, or send prompts that it has not seen (another seed)", 100*hits, c.cell.Address)
	case known && hits <= templateShare:
	case r.Kind.Ask.CachedTokens != "":
		r.note("whether prompts of %s were answered from a cache is not known of %d of %d requests: started with %s the engine says it", c.cell.Address, found.Unknown, found.Of, r.Kind.Ask.CachedTokens)
	}
}

// templateOf is the chat template's share of a cell's shortest prompt.
func templateOf(c sentCell) (share float64) {
	for _, s := range c.samples {
		if s.Measured() && s.PromptTokens > 0 {
			share = max(share, float64(c.prompts.Template)/float64(s.PromptTokens))
		}
	}
	return share
}
