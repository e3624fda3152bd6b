package engine

import "context"

// Command is a running command that is no engine: it has no port and no
// readiness, and is looked after like an engine in everything else.
type Command interface {
	// Exited is closed when the process has ended, however it ended.
	Exited() <-chan struct{}
	// Exit says how it ended; nil while it runs.
	Exit() *Exit
	// LogPath is the file that holds its output.
	LogPath() string
	// Stop is as Instance.Stop, and as necessary.
	Stop(ctx context.Context) error
}

const aCommand = "command" // Failure.Of

// StartCommand starts spec's command with its folder and environment: same
// marks, same log, same way to stop as ProcessLauncher, but nothing is waited
// for and {port} is not replaced. A StopGrace of zero kills at once. The error
// is a *Failure.
func StartCommand(spec Spec, l Launch) (Command, error) {
	cmd, failure := command(spec, l, 0)
	if failure != nil {
		failure.Of = aCommand
		return nil, failure
	}
	p, failure := ProcessLauncher{}.start(cmd, spec, Kind{}, l)
	if failure != nil {
		failure.Of = aCommand
		return nil, failure
	}
	p.of = aCommand
	go p.watch()
	return p, nil
}
