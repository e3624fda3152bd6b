package docker_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/internal/testing/require"
)

// BenchmarkLaunch is a container from its creation to its removal: what mxflow, and the
// commands that it runs, take of a processor.
func BenchmarkLaunch(b *testing.B) {
	dockertest.Need(b)
	image := dockertest.Image(b, dockertest.Self(b))
	spec := script(image, "print", "started", "sleep")
	used := func() (all time.Duration) {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var r syscall.Rusage
			require.NoError(b, syscall.Getrusage(who, &r))
			all += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
		return all
	}
	before := used()
	for b.Loop() {
		to := launchOf(b)
		inst, err := docker.Launcher{}.Launch(b.Context(), spec, to)
		require.NoError(b, err)
		done, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(b, inst.Stop(done))
	}
	b.ReportMetric(float64(used()-before)/float64(time.Millisecond)/float64(b.N), "cpu-ms/launch")
}
