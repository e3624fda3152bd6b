package process

import (
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

const aCommand = "command" // Failure.Of

// StartCommand starts spec's command with its folder and environment: same
// marks, same log, same way to stop as Launcher, but nothing is waited
// for and {port} is not replaced. A StopGrace of zero kills at once. The error
// is a *Failure.
func StartCommand(spec engine.Spec, l engine.Launch) (engine.Command, error) {
	cmd, failure := command(spec, l, 0)
	if failure != nil {
		failure.Of = aCommand
		return nil, failure
	}
	p, failure := Launcher{}.start(cmd, spec, kinds.Kind{}, l)
	if failure != nil {
		failure.Of = aCommand
		return nil, failure
	}
	p.of = aCommand
	go p.watch()
	return p, nil
}
