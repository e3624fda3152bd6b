package steps

import (
	"context"

	"github.com/mxflow/mxflow/runtime"
)

var _ = []runtime.Preparer{(*qualify)(nil), (*compare)(nil)}

// Prepare implements runtime.Preparer.
func (q *qualify) Prepare(ctx context.Context, s *runtime.Scope) error {
	vs, err := q.variants(s)
	if err != nil {
		return nil // Keys says so
	}
	return q.lab.Fetch(ctx, vs...)
}
