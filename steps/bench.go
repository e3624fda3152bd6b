package steps

import (
	"context"

	"github.com/mxflow/mxflow/plans"
)

// Bench measures a running server with one workload.
func Bench(ctx context.Context, s Subject, w *plans.Workload) (Taken, error) {
	return Record(ctx, s, []*plans.Workload{w})
}
