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

// Labels are those of a launch, as NAME=value.
func Labels(l engine.Launch) (all []string) {
	for name, value := range labels(l) {
		all = append(all, name+"="+value)
	}
	return all
}
