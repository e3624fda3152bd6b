package steps

import (
	"context"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// level is one test level that runs in the qualification launch. It returns its
// verdict with reasons; an error means that the engine or the harness broke.
type level interface {
	run(ctx context.Context, q *qualification) (verdict.Verdict, []verdict.Reason, error)
}

// qualification is what a level can use: the running engine and the variant.
type qualification struct {
	*launch.Started
	variant *variant.Variant
	// answered is true once the engine has generated at least one token: what
	// it logs at its first request is only there afterwards.
	answered bool
}
