package docker

import (
	"context"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// BaseURL implements engine.Instance.
func (e *execed) BaseURL() string {
	if e.reach.address == "" {
		return ""
	}
	return "http://" + e.reach.address
}

// Access implements engine.Instance.
func (e *execed) Access() engine.Access { return engine.Access{BaseURL: e.BaseURL()} }

// About implements engine.Instance.
func (e *execed) About() map[string]string {
	about := map[string]string{
		"container": e.in.name, "container_id": e.in.id, "docker": e.in.d.Name, "image_id": e.in.info.Image,
		"resolved_command": strings.Join(e.argv, " "),
	}
	if e.in.info.Config != nil {
		about["image"] = e.in.info.Config.Image
	}
	return about
}

// Startup implements engine.Instance.
func (e *execed) Startup() time.Duration { return time.Duration(e.startup.Load()) }

// Exited implements engine.Instance.
func (e *execed) Exited() <-chan struct{} { return e.exited }

// Exit implements engine.Instance.
func (e *execed) Exit() *engine.Exit {
	select {
	case <-e.exited:
		exit := e.how.exit
		return &exit
	default:
		return nil
	}
}

// PeakMemory implements engine.Instance: the resident sets of all processes of
// the launch, as they are when the engine is ready and before it is stopped, or
// the most that one of them ever held where that is more.
func (e *execed) PeakMemory() int64 { return e.peak.Load() }

// LogPath implements engine.Instance.
func (e *execed) LogPath() string { return e.log.Path() }

// Identify implements engine.Identifier: the image that the container was made
// of. What was changed in the container since is not seen by it.
func (ExecLauncher) Identify(ctx context.Context, spec engine.Spec) (string, error) {
	d, err := Connect(ctx, spec.Exec.Host, spec.Exec.Context)
	if err != nil {
		return "missing", err
	}
	info, err := d.running(ctx, spec.Exec.Container)
	if err != nil {
		return "missing", err
	}
	return info.Image + elsewhere(spec.Exec.Host, spec.Exec.Context), nil
}
