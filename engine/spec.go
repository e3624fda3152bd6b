// Package engine defines an engine for the rest of mxflow: the Spec that it is started
// from, the running Instance, the Launcher between them, and the Failure that describes
// how it broke. Packages run and docker launch; package kinds describes the kinds. It
// does not know plans, gates or the graph.
package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/source"
)

// Spec is everything needed to start one variant. It is fully resolved: knobs are
// applied, nothing is looked up later, so two equal Specs start the same thing.
type Spec struct {
	// Kind is the engine kind: "embedded", "openai", …
	Kind string
	// Profile is the kind as extended or overridden by the plan; nil is the kind itself.
	Profile *kinds.Kind
	// Model is the model name in requests; empty asks the engine.
	Model string
	// Command is the argument vector, the program first. In an argument or an environment
	// value the text {port} is replaced by the port to listen on, {mxflow} by the path of
	// the running program, and {config} by the path of the file with Config, as seen by
	// the engine.
	Command []string
	// Port is the port of a process that cannot be told another; 0 is a free one.
	Port int
	// Dir is the working directory; empty is the current one. A relative program path is
	// resolved there.
	Dir string
	// Env is set on top of the inherited environment.
	Env map[string]string
	// Unset names variables that are not inherited. What Env sets is still set.
	Unset []string
	// ReadyTimeout is how long the engine may take from process start until it
	// answers; zero is the kind's default.
	ReadyTimeout time.Duration
	// StopGrace is how long it may take to stop after SIGTERM before it is
	// killed; zero is the kind's default.
	StopGrace time.Duration
	// Config is the content of the configuration file that some kinds read, and
	// ConfigName its file name. Empty if there is none.
	Config     []byte
	ConfigName string
	// ModelPath is the model's path on this machine, checked before a process is started;
	// empty if the model is a name.
	ModelPath string

	// Sources, Caches and Trees are what it is built from, its compilers' caches, and the
	// working trees that it sees; nil and none if the plan does not declare any.
	Sources []*Source
	Caches  *Caches
	Trees   []Tree
	// Identity is what its command names and loads code from, or what is mounted into its
	// container.
	Identity source.Identity

	// At most one of these says how it is launched; none means as a process.
	Docker   *Docker
	Compose  *Compose
	Exec     *Exec
	Endpoint *Endpoint
}

type How string

const (
	HowProcess  How = "process"
	HowDocker   How = "docker"
	HowCompose  How = "compose"
	HowExec     How = "exec"
	HowEndpoint How = "endpoint"
)

// How is the way that a Spec asks for.
func (s Spec) How() How {
	switch {
	case s.Docker != nil:
		return HowDocker
	case s.Compose != nil:
		return HowCompose
	case s.Exec != nil:
		return HowExec
	case s.Endpoint != nil:
		return HowEndpoint
	}
	return HowProcess
}

// Host is the address that an engine listens on when it is launched so: loopback
// as a process, all addresses of a container, since what is published there comes
// from outside of it.
func (h How) Host() string {
	switch h {
	case HowDocker, HowCompose, HowExec:
		return "0.0.0.0"
	}
	return "127.0.0.1"
}

// Launch says where one start of a Spec keeps its things.
type Launch struct {
	// ID names the launch in process markers and messages.
	ID string
	// Owner marks everything started on behalf of one state directory, so that Sweep
	// finds the leftovers of a killed mxflow.
	Owner string
	// LogPath is the file that gets stdout and stderr, in order of arrival: an absolute
	// path, as programs that run in other folders are told of it. A log that already is
	// there is moved aside to LogPath + ".old", so nothing an earlier launch printed
	// is taken for evidence of this one.
	LogPath string
	// OutPath, where it is set, is the file that gets stdout instead, so a command's
	// output can be read apart from its log.
	OutPath string
	// Evidence are patterns whose lines stay in a log that must be cut.
	Evidence logscan.Evidence
}

// Check says whether what a launch starts can be found again.
func (l Launch) Check() *Failure {
	if l.ID == "" || l.Owner == "" {
		return StartFailure(nil, "the launch has no ID or owner, which mxflow needs to find its processes again")
	}
	return nil
}

// Prepare fills in what the kind says where the Spec is silent, and returns the
// kind with the plan's changes to it. Every launcher calls it first.
func (s *Spec) Prepare() (kinds.Kind, *Failure) {
	kind, ok := kinds.Lookup(s.Kind)
	if s.Profile != nil {
		kind, ok = *s.Profile, true
	}
	if !ok {
		return kind, StartFailure(nil, "unknown engine kind %q; expected one of %s", s.Kind, kinds.Names())
	}
	if s.ReadyTimeout <= 0 {
		s.ReadyTimeout = kind.DefaultReadyTimeout
	}
	if s.StopGrace <= 0 {
		s.StopGrace = kind.DefaultStopGrace
	}
	return kind, nil
}

// Environ is the environment that the plan asks for, as NAME=value in the order
// of the names, with its placeholders filled in by expand.
func (s Spec) Environ(expand func(string) string) ([]string, error) {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value := s.Env[name]
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, fmt.Errorf("the environment variable %q has an invalid name or value", name)
		}
		env = append(env, name+"="+expand(value))
	}
	return env, nil
}

// Placeholders fills in {port} and {config} where they have a value, and whatever
// more is given: names and their values in turn.
func Placeholders(port int, config string, more ...string) func(string) string {
	if port != 0 {
		more = append(more, "{port}", strconv.Itoa(port))
	}
	if config != "" {
		more = append(more, "{config}", config)
	}
	return strings.NewReplacer(more...).Replace
}

// Source is the revision that a variant is built from, in a worktree of its own.
// In the Spec's command, environment and folders the text {source.<name>} stands for
// the path of the worktree where the engine sees it. Where things lie is left out
// of the JSON form, which measurement keys are taken of.
type Source struct {
	// Name is what the plan calls it, in "{source.NAME}" among others.
	Name string `json:"name"`
	Repo string `json:"-"`
	// Ref is the plan's name for the revision, Commit its hash; empty where it cannot be
	// found out now, and Problem says why.
	Ref     string `json:"-"`
	Commit  string `json:"commit"`
	Problem string `json:"-"`
	// Build are the commands that make it ready to run, in the worktree, with Env
	// on top of the inherited environment; Inputs is the digest of the files
	// outside of the repository that they read.
	Build  [][]string        `json:"build,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	Inputs string            `json:"inputs,omitempty"`
	// Uses are the sources before this one whose worktrees the build reads.
	Uses []string `json:"uses,omitempty"`
	// Dir is the folder that worktrees are made in; empty is the state
	// directory's. Mount is where the engine sees it in a container.
	Dir   string `json:"-"`
	Mount string `json:"mount,omitempty"`
	// Timeout bounds each build command, in nanoseconds.
	Timeout int64 `json:"-"`
}

// Caches says what an engine finds in the caches of its compilers.
type Caches struct {
	// State is "warm" (kept between launches of a variant) or "cold" (empty at
	// each launch).
	State string `json:"state"`
	// Tuning is "drawn" if each launch times kernels and chooses again, "pinned" if it
	// reuses the choice of the first.
	Tuning string `json:"tuning"`
	// Dir is the folder they lie in; empty is the state directory's. Mount is
	// where the engine sees it in a container.
	Dir   string `json:"-"`
	Mount string `json:"-"`
}

// Tree is a working tree that the engine runs from as it is there.
type Tree struct {
	Name string `json:"-"`
	Path string `json:"-"`
	// Paths are the paths that matter, relative to the repository's root; none means all.
	Paths []string `json:"paths,omitempty"`
	// Noticed trees were not declared: where one cannot be hashed, that is noted
	// and no error.
	Noticed bool `json:"-"`
	// Hash is the state of its files when the Spec was made; empty where it could
	// not be taken, and Problem says why.
	Hash    string `json:"hash"`
	Problem string `json:"-"`
}

// Docker says how an engine runs in a container of its own. The tags are the
// attributes of a plan's docker block.
type Docker struct {
	Image string `json:"image,omitempty"`
	// Pull is "missing", "always" or "never".
	Pull string `json:"pull,omitempty"`
	// GPUs is "all", a number, a list of indices and UUIDs, or "amd"; nil gives none.
	GPUs any `json:"gpus,omitempty"`
	// Devices are paths of the host, as HOST[:CONTAINER[:rwm]], or names of CDI.
	Devices     []string `json:"devices,omitempty"`
	GroupAdd    []string `json:"group_add,omitempty"`
	SecurityOpt []string `json:"security_opt,omitempty"`
	CapAdd      []string `json:"cap_add,omitempty"`
	// Volumes maps a path of the host, or the name of a volume, to a path in the
	// container, with ":ro" after it where it is not to be written.
	Volumes    map[string]string `json:"volumes,omitempty"`
	IPC        string            `json:"ipc,omitempty"`
	ShmSize    string            `json:"shm_size,omitempty"`
	Ulimits    map[string]string `json:"ulimits,omitempty"`
	Network    string            `json:"network,omitempty"`
	User       string            `json:"user,omitempty"`
	WorkDir    string            `json:"workdir,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	// Command replaces the kind's arguments to the image.
	Command []string `json:"command,omitempty"`
	// Port is the port that the engine listens on inside the container; 0 is the
	// kind's.
	Port int `json:"port,omitempty"`
}

// Compose says that the engine is a service of a compose file.
type Compose struct {
	// File is a path on this machine; it is left out of the JSON form, which
	// measurement keys are taken of, since its content is what counts.
	File     string   `json:"-"`
	Service  string   `json:"service"`
	Profiles []string `json:"profiles,omitempty"`
	// Image replaces the service's. Command replaces its command; without it,
	// Spec.Command is appended to what the file or the image says.
	Image   string   `json:"image,omitempty"`
	Command []string `json:"command,omitempty"`
	// Port is where the service listens in its container; 0 is the kind's.
	Port int `json:"port,omitempty"`
}

// Exec says that the engine is a command inside a container that already runs,
// and that keeps running when the engine is stopped.
type Exec struct {
	Container string   `json:"container"`
	Command   []string `json:"command,omitempty"`
	WorkDir   string   `json:"workdir,omitempty"`
	User      string   `json:"user,omitempty"`
	Port      int      `json:"port,omitempty"`
}

// Endpoint is an engine that mxflow does not start. Files are left out of its JSON
// form, which measurement keys are taken of: where a certificate lies does not
// change what is measured.
type Endpoint struct {
	// URL is the root of its HTTP API, with or without /v1.
	URL string `json:"url"`
	// APIKey is sent as "Authorization: Bearer …"; empty sends none. Headers are
	// sent with every request, and may carry a key of another form.
	APIKey  string            `json:"api_key,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// CAFile is a PEM file of certificates to trust, beside the system's.
	CAFile string `json:"-"`
	// Insecure skips the check of the server's certificate.
	Insecure bool `json:"insecure,omitempty"`
	// Restart is the command that restarts the server; without it launches are
	// not fresh starts.
	Restart []string `json:"restart,omitempty"`
}
