package report

import (
	"io"
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Part is a section of the results page, also used by other pages.
type Part func(p *page)

// The self-contained sections.
var (
	Headline    Part = (*page).headline
	Gates       Part = (*page).gates
	Features    Part = (*page).features
	Again       Part = (*page).again
	Compared    Part = (*page).comparisons
	StackPart   Part = (*page).stack
	TargetsPart Part = (*page).targets
	Predicted   Part = (*page).hypotheses
)

// Sections writes parts of the results page.
func Sections(w io.Writer, st *store.Store, moved Moved, parts ...Part) error {
	p := &page{w: w, st: st, now: time.Now(), moved: moved}
	for _, part := range parts {
		part(p)
	}
	return p.err
}

// Side are a decided feature's variants side by side, and its changed metrics.
func Side(d *ledger.Decision) Part {
	return func(p *page) {
		p.movements(d)
		p.arms(d)
	}
}
