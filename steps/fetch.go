package steps

import (
	"context"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/variant"
)

var _ = []runtime.Preparer{(*qualify)(nil), (*compare)(nil)}

// fetch brings the images that variants start from, before their keys count: an
// image that came with the first launch would be another one to the next apply.
func (l *launchLab) fetch(ctx context.Context, vs ...*variant.Variant) error {
	f, ok := l.Launcher.(engine.Fetcher)
	if !ok {
		return nil
	}
	for _, v := range vs {
		err := f.Fetch(ctx, v.Spec, func(image string) string { return l.Maker(v.Spec, image) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Prepare implements runtime.Preparer.
func (q *qualify) Prepare(ctx context.Context, s *runtime.Scope) error {
	vs, err := q.variants(s)
	if err != nil {
		return nil // Keys says so
	}
	return q.lab.fetch(ctx, vs...)
}
