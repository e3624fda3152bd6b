package docker

import (
	"context"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// ShortenReturn shortens the time after which a daemon that went away counts as gone.
func ShortenReturn(t *testing.T) {
	before := returnLimit
	returnLimit = 500 * time.Millisecond
	t.Cleanup(func() { returnLimit = before })
}

// ReadService reads a service's file, as several mxflow processes may do at once.
func ReadService(ctx context.Context, d *Daemon, spec engine.Spec) error {
	var read serviceRead
	return read.from(ctx, d, spec)
}
