package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	process "github.com/mxflow/mxflow/engine/run"
)

// project is the compose project of one launch.
type project struct {
	d      *Daemon
	argv   []string // the compose command
	spec   engine.Compose
	launch engine.Launch
	unset  []string
	file   composeFile
	text   string // what `config` printed
	// name is the project's; over the overriding file. Both are empty while the file is
	// only read.
	name, over string
}

// readProject has compose read the file.
func readProject(ctx context.Context, d *Daemon, spec engine.Spec, launch engine.Launch) (*project, error) {
	argv, err := composeCommand()
	if err != nil {
		return nil, err
	}
	p := &project{d: d, argv: argv, spec: *spec.Compose, launch: launch, unset: spec.Unset}
	switch info, err := os.Stat(p.spec.File); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the compose file %s does not exist: correct file, which is relative to the plan's folder", p.spec.File)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name the compose file in it, such as compose.yaml", p.spec.File)
	}
	if p.text, err = p.compose(ctx, "config"); err != nil {
		return nil, err
	}
	if p.file, err = parseCompose(p.text, p.spec.File); err != nil {
		return nil, err
	}
	if _, ok := p.file.Services[p.spec.Service]; !ok {
		hint := ""
		if len(p.spec.Profiles) > 0 {
			hint = " with the profiles " + strings.Join(p.spec.Profiles, ", ")
		}
		return nil, fmt.Errorf("%s has no service %q%s; it has %s", p.spec.File, p.spec.Service, hint, strings.Join(sortedKeys(p.file.Services), ", "))
	}
	return p, nil
}

func newProject(ctx context.Context, d *Daemon, spec engine.Spec, launch engine.Launch) (*project, error) {
	p, err := readProject(ctx, d, spec, launch)
	if err != nil {
		return nil, err
	}
	p.name = "mxflow-" + strings.ToLower(rand.Text()[:10])
	return p, nil
}

func (p *project) service() composeService { return p.file.Services[p.spec.Service] }

// image is the service's image and when it is pulled, in terms of a docker block: never
// if compose builds it. An unnamed image is one to be built.
func (p *project) image() (name, pull string) {
	s := p.service()
	if name = s.Image; p.spec.Image != "" {
		name = p.spec.Image
	}
	switch {
	case s.Build != nil, s.PullPolicy == "never", s.PullPolicy == "build":
		return name, "never"
	case s.PullPolicy == "always":
		return name, "always"
	}
	return name, "missing"
}

// container is the container of the service in the project.
func (p *project) container(ctx context.Context) (container.Summary, error) {
	list, err := p.d.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", "com.docker.compose.project="+p.name),
		filters.Arg("label", "com.docker.compose.service="+p.spec.Service),
		filters.Arg("label", LabelLaunch+"="+p.launch.ID),
	)})
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("service %q has %d containers, but an engine must have one: remove its scale or replicas", p.spec.Service, len(list))
	}
	if err != nil {
		return container.Summary{}, err
	}
	return list[0], nil
}

// putConfig copies the configuration file into the service's container, which must be
// created but not started.
func (p *project) putConfig(ctx context.Context, spec engine.Spec) error {
	if len(spec.Config) == 0 {
		return nil
	}
	if _, err := p.compose(ctx, "up", "--no-start", p.spec.Service); err != nil {
		return err
	}
	made, err := p.container(ctx)
	if err != nil {
		return err
	}
	if err := p.d.putConfig(ctx, made.ID, spec, "/", configFolder); err != nil {
		return fmt.Errorf("cannot copy its configuration file into the container: %w", err)
	}
	return nil
}

// forget removes the override file: a running project is identified by its name.
func (p *project) forget() {
	if p.over != "" {
		_ = os.Remove(p.over)
		p.over = ""
	}
}

// down removes what the project created, except named volumes. If compose cannot (the
// file was changed), it is done by label.
func (p *project) down(grace time.Duration) error {
	p.forget()
	ctx, cancel := context.WithTimeout(context.Background(), grace+2*callLimit)
	defer cancel()
	ours := filters.NewArgs(filters.Arg("label", "com.docker.compose.project="+p.name))
	var nameless []string
	made, err := p.d.ContainerList(ctx, container.ListOptions{All: true, Filters: ours})
	if err != nil {
		return err
	}
	for _, c := range made {
		for _, m := range c.Mounts {
			if m.Type == "volume" && anonymous.MatchString(m.Name) {
				nameless = append(nameless, m.Name)
			}
		}
	}
	_, err = p.compose(ctx, "down", "--timeout", strconv.Itoa(int(grace.Seconds())))
	if err != nil {
		err = p.d.removeProject(ctx, ours)
	}
	for _, name := range nameless {
		_ = p.d.VolumeRemove(ctx, name, false)
	}
	return err
}

// override writes the file that overrides the user's.
func (p *project) override(ctx context.Context, spec engine.Spec, at *ports) error {
	separator := "-"
	if p.argv[0] == "docker-compose" {
		separator = "_"
	}
	over := newOverlay(p.file, Labels(p.launch), separator)
	s := over.Services[p.spec.Service]
	reap := true
	s.Init, s.Restart, s.ContainerName = &reap, "no", containerName(p.launch.ID)
	if p.spec.Image != "" {
		s.Image = literal(p.spec.Image)
	}
	if p.service().PullPolicy == "always" {
		s.PullPolicy = "if_not_present" // it was pulled before
	}
	expand := inContainer(spec, at)
	env, err := containerEnv(spec, p.launch, at, expand)
	if err != nil {
		return err
	}
	s.Environment = map[string]*string{}
	for _, kv := range env {
		name, value, set := strings.Cut(kv, "=")
		if value = literal(value); set {
			s.Environment[name] = &value
		} else {
			s.Environment[name] = nil
		}
	}
	if at.publish != "" {
		s.Ports = []string{at.publish + "::" + strconv.Itoa(at.inside)}
	}
	if err := p.write(over); err != nil {
		return err
	}
	argv, err := expanded(spec.Command, expand)
	if err != nil || len(argv) == 0 {
		return err
	}
	if s.Command = literals(argv); len(p.spec.Command) == 0 {
		own, err := p.ownCommand(ctx)
		if err != nil {
			return err
		}
		s.Command = append(own, s.Command...)
	}
	return p.write(over)
}

func (p *project) write(over overlay) error {
	text, err := yaml.Marshal(over)
	if err != nil {
		return err
	}
	path := p.launch.LogPath + ".override.yaml"
	err = os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		// It contains the plan's environment, secrets included.
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write the override file for %s: %w", p.spec.File, err)
	}
	p.over = path
	return nil
}

// ownCommand is the service's command, which flags are appended to: the file's, or the
// image's, which only its container shows. Each $ in it is doubled.
func (p *project) ownCommand(ctx context.Context) ([]string, error) {
	if list, ok := p.service().Command.([]any); ok {
		var own []string
		for _, arg := range list {
			own = append(own, fmt.Sprint(arg))
		}
		return own, nil
	}
	if _, err := p.compose(ctx, "up", "--no-start", p.spec.Service); err != nil {
		return nil, err
	}
	made, err := p.container(ctx)
	if err != nil {
		return nil, err
	}
	info, err := p.d.ContainerInspect(ctx, made.ID)
	if err != nil {
		return nil, err
	}
	return literals(info.Config.Cmd), nil
}

// composeLimit bounds a compose command: it may build and pull images.
const composeLimit = 2 * time.Hour

// composeCommand is how compose is called on this machine: as a plugin of the docker
// command, or as the older separate program.
var composeCommand = sync.OnceValues(func() ([]string, error) {
	if _, err := exec.LookPath("docker"); err == nil && exec.Command("docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}, nil
	}
	if _, err := exec.LookPath("docker-compose"); err == nil {
		return []string{"docker-compose"}, nil
	}
	return nil, errors.New("neither `docker compose` nor `docker-compose` works here: install docker's compose plugin " +
		"(package docker-compose-plugin or docker-compose-v2), or docker-compose")
})

// compose runs compose for the project and returns its standard output. An error has the
// last lines of its output.
func (p *project) compose(ctx context.Context, args ...string) (string, error) {
	set, unset := p.d.commandEnv()
	argv := append([]string{}, p.argv...)
	argv = append(argv, "--file", p.spec.File)
	if p.over != "" {
		argv = append(argv, "--file", p.over)
	}
	if p.name != "" {
		argv = append(argv, "--project-name", p.name)
	}
	for _, profile := range p.spec.Profiles {
		argv = append(argv, "--profile", profile)
	}
	set["COMPOSE_ANSI"], set["COMPOSE_PROGRESS"], set["COMPOSE_IGNORE_ORPHANS"] = "never", "plain", "true"
	log := p.launch.LogPath + ".compose"
	run, err := process.StartCommand(engine.Spec{
		Command: append(argv, args...), Dir: filepath.Dir(p.spec.File), Env: set,
		// What the engine must not have must not come from here either.
		Unset: append(unset, p.unset...), StopGrace: buildGrace,
	}, engine.Launch{ID: p.launch.ID, Owner: p.launch.Owner, LogPath: log, OutPath: log + ".out"})
	if err != nil {
		return "", err
	}
	defer removeFiles(log)
	limit := time.NewTimer(composeLimit)
	defer limit.Stop()
	select {
	case <-run.Exited():
	case <-ctx.Done():
	case <-limit.C:
	}
	exit := run.Exit()
	stopping, cancel := context.WithTimeout(context.Background(), buildGrace)
	defer cancel()
	_ = run.Stop(stopping)
	what := strings.Join(append(append([]string{}, p.argv...), args[0]), " ")
	switch {
	case exit == nil && ctx.Err() != nil:
		return "", fmt.Errorf("%s was cancelled: %w", what, ctx.Err())
	case exit == nil:
		return "", fmt.Errorf("%s did not end within %s", what, composeLimit)
	case *exit != (engine.Exit{}):
		return "", p.explain(what, exit, logscan.Tail(log, engine.TailLines))
	}
	out, err := os.ReadFile(log + ".out")
	return string(out), err
}

// explain turns compose's output into a failure.
func (p *project) explain(what string, exit *engine.Exit, said []string) *engine.Failure {
	f := p.d.startFailed(errors.New(strings.Join(said, " ")))
	why := "; its last lines say why"
	if hint, _, ok := strings.Cut(f.Reason, " (docker says: "); ok {
		why = ": " + hint
	}
	if len(said) == 0 {
		why = " and printed nothing"
	}
	f.Reason = fmt.Sprintf("%s of %s ended with %s%s", what, p.spec.File, exit, why)
	f.LogTail = said
	return f
}

// removeFiles deletes all files whose path has a prefix.
func removeFiles(prefix string) {
	paths, _ := filepath.Glob(prefix + "*")
	for _, path := range paths {
		_ = os.Remove(path)
	}
}

// composeFile is the part of a compose file that mxflow reads, as `config` prints it:
// variables are expanded, and a $ is written as $$.
type composeFile struct {
	// Name is the file's own project name; version 1 of compose does not print it.
	Name     string                     `yaml:"name"`
	Version  string                     `yaml:"version"`
	Services map[string]composeService  `yaml:"services"`
	Networks map[string]composeResource `yaml:"networks"`
	Volumes  map[string]composeResource `yaml:"volumes"`
}

type composeService struct {
	Image       string `yaml:"image"`
	NetworkMode string `yaml:"network_mode"`
	Build       any    `yaml:"build"`
	// PullPolicy is always, never, build, missing or if_not_present, or how often.
	PullPolicy string `yaml:"pull_policy"`
	// Command is a list, or a text that is split like a shell's.
	Command any `yaml:"command"`
}

// composeResource is a network or a volume. External is a bool, or in old files
// a map with a name.
type composeResource struct {
	Name     string `yaml:"name"`
	External any    `yaml:"external"`
}

func (r composeResource) external() bool { return r.External != nil && r.External != false }

// parseCompose parses the output of `config`.
func parseCompose(text, path string) (composeFile, error) {
	var f composeFile
	if err := yaml.Unmarshal([]byte(text), &f); err != nil {
		return f, fmt.Errorf("cannot read compose's resolved %s: %w", path, err)
	}
	// Overriding files must have the same version in compose version 1; `config` may
	// print another than it read.
	var raw struct {
		Version string `yaml:"version"`
	}
	if source, err := os.ReadFile(path); err == nil && yaml.Unmarshal(source, &raw) == nil {
		f.Version = raw.Version
	}
	if f.Name == "" {
		f.Name = projectName(path)
	}
	return f, nil
}

var notInProject = regexp.MustCompile(`[^-_a-z0-9]`)

// projectName is compose's default project name for a file.
func projectName(path string) string {
	name := os.Getenv("COMPOSE_PROJECT_NAME")
	if abs, err := filepath.Abs(path); name == "" && err == nil {
		name = filepath.Base(filepath.Dir(abs))
	}
	return notInProject.ReplaceAllString(strings.ToLower(name), "")
}

// overlay is the overriding file.
type overlay struct {
	Version  string                     `yaml:"version,omitempty"`
	Services map[string]*overlayService `yaml:"services"`
	Networks map[string]overlayResource `yaml:"networks,omitempty"`
	Volumes  map[string]overlayResource `yaml:"volumes,omitempty"`
}

type overlayService struct {
	Image         string             `yaml:"image,omitempty"`
	PullPolicy    string             `yaml:"pull_policy,omitempty"`
	ContainerName string             `yaml:"container_name,omitempty"`
	Labels        map[string]string  `yaml:"labels"`
	Init          *bool              `yaml:"init,omitempty"`
	Restart       string             `yaml:"restart,omitempty"`
	Environment   map[string]*string `yaml:"environment,omitempty"`
	Command       []string           `yaml:"command,omitempty"`
	Ports         []string           `yaml:"ports,omitempty"`
}

type overlayResource struct {
	Name   string            `yaml:"name,omitempty"`
	Labels map[string]string `yaml:"labels,omitempty"`
}

// newOverlay labels everything that a project creates, so a later start finds what this
// one could not remove, and uses the volumes that the file itself would use: a cache that
// is empty at every launch would be useless.
func newOverlay(f composeFile, labels map[string]string, separator string) overlay {
	marks := map[string]string{}
	for name, value := range labels {
		marks[name] = literal(value)
	}
	over := overlay{
		Version: f.Version, Services: map[string]*overlayService{},
		Networks: map[string]overlayResource{"default": {Labels: marks}}, Volumes: map[string]overlayResource{},
	}
	for name, service := range f.Services {
		s := &overlayService{Labels: marks}
		if service.Build != nil && service.Image == "" {
			s.Image = f.Name + separator + name // not an image per launch
		}
		over.Services[name] = s
	}
	for name, network := range f.Networks {
		switch {
		case network.external() || network.Name != "" && network.Name != f.Name+"_"+name:
			delete(over.Networks, name)
		default:
			over.Networks[name] = overlayResource{Labels: marks}
		}
	}
	for name, volume := range f.Volumes {
		if !volume.external() && volume.Name == "" {
			volume.Name = f.Name + "_" + name
		}
		if !volume.external() {
			over.Volumes[name] = overlayResource{Name: literal(volume.Name)}
		}
	}
	return over
}

// literal keeps compose from expanding variables.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func literals(texts []string) []string {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = literal(out[i])
	}
	return out
}
