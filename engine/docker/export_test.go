package docker

import (
	"context"

	"github.com/mxflow/mxflow/engine"
)

// ReadService reads a service's file, as several mxflow processes may do at once.
func ReadService(ctx context.Context, spec engine.Spec) error {
	_, err := (&Images{}).read(ctx, spec)
	return err
}
