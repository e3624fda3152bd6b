package docker

import (
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
)

// The labels on everything that mxflow starts in docker. All four together say
// that a container is ours: one that lacks any was made by somebody else.
const (
	// LabelOwner is engine.Launch.Owner.
	LabelOwner = "mxflow.owner"
	// LabelLaunch is engine.Launch.ID.
	LabelLaunch = "mxflow.launch"
	// LabelStarted is when mxflow asked for it, by mxflow's own clock.
	LabelStarted = "mxflow.started"
	// LabelHost is the machine that mxflow runs on, hashed: several may use one
	// daemon, with state directories of the same path and so the same owner.
	LabelHost = "mxflow.host"
)

// Labels mark what is started for a launch.
func Labels(l engine.Launch) map[string]string {
	return map[string]string{
		LabelOwner: l.Owner, LabelLaunch: l.ID, LabelHost: thisHost(),
		LabelStarted: time.Now().UTC().Format(time.RFC3339Nano),
	}
}

var thisHost = sync.OnceValue(func() string { return machine.Environment()["host"] })
