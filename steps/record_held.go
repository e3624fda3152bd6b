package steps

import (
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
	tell(c.fact(code.HeldBack, verdict.Int("requests", found.Requests), verdict.Int("of", found.Of), msOf("longest", found.Longest)))
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
		r.invalid(c.fact(code.PrefixHits, verdict.Num("share", hits, "share")))
	case known && hits <= templateShare:
	case r.Kind.Ask.CachedTokens != "":
		r.note(c.fact(code.CacheUnknown, verdict.Int("unknown", found.Unknown), verdict.Int("of", found.Of), verdict.Text("flag", r.Kind.Ask.CachedTokens)))
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
