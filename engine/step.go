package engine

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
