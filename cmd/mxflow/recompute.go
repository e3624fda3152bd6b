package main

import (
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// What a recomputation came to; see steps.Recompute.
const (
	agrees  = steps.RawAgrees
	within  = steps.RawWithin
	differs = steps.RawDiffers
	noRaw   = steps.RawMissing
	// elsewhereTolerance is that of another architecture.
	elsewhereTolerance = steps.ElsewhereTolerance
)

type (
	outcome    = steps.RawOutcome
	recomputed = steps.Recomputed
)

func recompute(st *store.Store, l *ledger.Launch) recomputed { return steps.Recompute(st, l) }
