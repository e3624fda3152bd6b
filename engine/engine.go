// Package engine knows what an engine is to the rest: the Spec that it is started
// from, the Instance that runs, the Launcher between them, and the Failure that
// is left where it broke. Launching is done by process, docker and endpoint, what
// the kinds are like stands in kinds. It does not know plans, gates or the graph.
package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

// Spec is everything needed to start one variant. It is fully resolved: knobs
// are applied, nothing is looked up later, so that two equal Specs start the
// same thing.
type Spec struct {
	// Kind is the engine kind: "embedded", "openai", …
	Kind string
	// Profile is the kind as the plan extends or overrides it; nil is the kind
	// itself.
	Profile *kinds.Kind
	// Model is the name asked for in requests; empty asks the engine.
	Model string
	// Command is the argument vector, the program first. In an argument or an
	// environment value the text {port} is replaced by the port to listen on,
	// {mxflow} by the path of the running program, and {config} by the path of
	// the file that holds Config, where the engine sees it.
	Command []string
	// Port is where a process listens whatever it is told; 0 is a free one.
	Port int
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
	// Config is the content of the configuration file that some kinds read, and
	// ConfigName its file name. Empty where there is none.
	Config     []byte
	ConfigName string
	// ModelPath is where the model lies on this machine, looked for before a
	// process is started; empty where the model is a name.
	ModelPath string

	// Source, Caches and Trees are what it is built from, what its compilers find
	// in their caches, and the working trees that it sees; nil and none where the
	// plan says nothing of them.
	Source *Source
	Caches *Caches
	Trees  []Tree

	// At most one of these says how it is launched; none means as a process.
	Docker   *Docker
	Compose  *Compose
	Exec     *Exec
	Endpoint *Endpoint
}

// How names the launcher that a Spec asks for: "process", "docker", "compose",
// "exec" or "endpoint".
func (s Spec) How() string {
	switch {
	case s.Docker != nil:
		return "docker"
	case s.Compose != nil:
		return "compose"
	case s.Exec != nil:
		return "exec"
	case s.Endpoint != nil:
		return "endpoint"
	}
	return "process"
}

// Host is the address that an engine listens on for a launcher, as Spec.How
// names it: loopback as a process, all addresses of a container, since what is
// published there comes from outside of it.
func Host(how string) string {
	switch how {
	case "docker", "compose", "exec":
		return "0.0.0.0"
	}
	return "127.0.0.1"
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
	// OutPath, where it is set, is the file that gets stdout instead, so that
	// what a command prints can be read apart from what it logs.
	OutPath string
	// Evidence are patterns whose lines stay in a log that has to be cut.
	Evidence logscan.Evidence
}

// Access is how requests reach an engine.
type Access struct {
	// BaseURL is the root of its HTTP API, without a trailing slash and without
	// /v1.
	BaseURL string
	// Header is sent with every request (Authorization); nil sends none.
	Header http.Header
	// TLS is nil where the system's own trust serves.
	TLS *tls.Config
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
	// Access is how requests reach it: BaseURL, with what else they need.
	Access() Access
	// About is what the launcher knows of what it started, for the record: image
	// and its digest, container, resolved command. It holds what the plan put
	// there, secrets included.
	About() map[string]string
	// Output runs a command where the engine lives, with the engine's
	// environment, and returns its standard output: on this machine, or inside
	// the container. The error is ErrElsewhere where nothing can be run there.
	Output(ctx context.Context, argv ...string) ([]byte, error)
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

// ErrElsewhere says that the engine lives where mxflow can run nothing.
var ErrElsewhere = errors.New("the engine lives where no command can be run")

// Launcher starts engines in one way: as a process, in Docker, remotely.
type Launcher interface {
	// Launch starts spec and does not wait for it to be ready. ctx bounds the
	// start alone: ending it later does not stop the engine. The error is a
	// *Failure.
	Launch(ctx context.Context, spec Spec, l Launch) (Instance, error)
}

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

// Checker is an Instance whose end mxflow is not told of: it has to be asked.
type Checker interface {
	// Alive is nil while the server can be reached; else it says why not, and
	// Exited is closed from then on.
	Alive(ctx context.Context) error
}

// Resident is an Instance whose processes run on this machine, so that what
// they hold of it can be told from what others do.
type Resident interface {
	// PIDs are its processes now, as this machine numbers them; none where they
	// cannot be seen.
	PIDs() []int
}
