// Package engine knows how to start, watch and stop an inference engine, and
// what each kind of engine is like. It does not know plans, gates or the graph:
// it is handed a Spec and gives back an Instance. Measuring is done by its
// children openai (the streaming client), load and measure.
package engine

import (
	"context"
	"time"
)

// Spec is everything needed to start one variant. It is fully resolved: knobs
// are applied, nothing is looked up later, so that two equal Specs start the
// same thing.
type Spec struct {
	// Kind is the engine kind: "embedded", "openai", …
	Kind string
	// Model is the name asked for in requests; empty asks the engine.
	Model string
	// Command is the argument vector, the program first. In an argument or an
	// environment value the text {port} is replaced by the port to listen on,
	// and {mxflow} by the path of the running program.
	Command []string
	// Dir is the working directory; empty is the current one. A program given
	// as a relative path is looked for there.
	Dir string
	// Env is set on top of the inherited environment.
	Env map[string]string
	// Unset names variables that are not inherited. What Env sets is set all the
	// same.
	Unset []string
	// ReadyTimeout is how long the engine may take from process start until it
	// answers; zero is the kind's default.
	ReadyTimeout time.Duration
	// StopGrace is how long it may take to stop after SIGTERM before it is
	// killed; zero is the kind's default.
	StopGrace time.Duration
}

// Launch says where one start of a Spec keeps its things.
type Launch struct {
	// ID names the launch in process markers and messages.
	ID string
	// Owner marks everything started on behalf of one state directory, so that
	// what a killed mxflow left behind is found again (see Sweep).
	Owner string
	// LogPath is the file that gets stdout and stderr, in order of arrival. A
	// log that already lies there is moved aside to LogPath + ".old", so that
	// nothing an earlier launch printed is taken for evidence of this one.
	LogPath string
}

// Exit is how an engine's process ended.
type Exit struct {
	// Code is the exit status, -1 when ended by a signal.
	Code int
	// Signal is the signal's name, empty when the process exited by itself.
	Signal string
}

// Instance is one running engine.
type Instance interface {
	// BaseURL is the root of its HTTP API, without a trailing slash and
	// without /v1.
	BaseURL() string
	// Ready waits until the engine answers its readiness check. It fails at
	// once when the process exits, and after the Spec's ReadyTimeout. The
	// error is a *Failure.
	Ready(ctx context.Context) error
	// Startup is the time from process start to readiness; zero before.
	Startup() time.Duration
	// Exited is closed when the process has ended, however it ended.
	Exited() <-chan struct{}
	// Exit says how it ended; nil while it runs.
	Exit() *Exit
	// PeakMemory is the largest resident set of its processes seen so far, in
	// bytes; 0 when unknown. It is host memory, not the accelerator's.
	PeakMemory() int64
	// LogPath is the file that holds its output.
	LogPath() string
	// Stop ends the whole process group: SIGTERM, then SIGKILL after the grace,
	// or at once when ctx is done. It returns when nothing of it runs any more,
	// and may be called again, from several goroutines. Whoever launched must
	// call it, also when the process has ended by itself.
	Stop(ctx context.Context) error
}

// Launcher starts engines in one way: as a process, in Docker, remotely.
type Launcher interface {
	// Launch starts spec and does not wait for it to be ready. ctx bounds the
	// start alone: ending it later does not stop the engine. The error is a
	// *Failure.
	Launch(ctx context.Context, spec Spec, l Launch) (Instance, error)
}
