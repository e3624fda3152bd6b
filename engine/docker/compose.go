package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/container"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/engine"
)

// project is the compose project of one launch, or only a file that is read, by docker
// compose or docker-compose.
//
// Every launch is its own project, so it neither collides with nor ends what already runs
// from the same file. It is the user's file as compose resolves it, and one that compose
// merges into that, with what mxflow needs: labels, environment, flags, a published port.
type project struct {
	argv   []string // the compose command
	spec   engine.Compose
	launch engine.Launch
	unset  []string
	text   string // what `config` printed: variables are expanded, and a $ is written as $$
	file   composeFile
	// name is the project's, and files the paths of its files; empty while the file is only
	// read.
	name  string
	files []string
}

// composeFile is what is read of a file that compose has resolved, and what compose merges into
// it: mappings by their keys, lists one behind the other but for a command, and the rest is
// replaced (https://docs.docker.com/reference/compose-file/merge/). The older compose wants one
// version in all files.
type composeFile struct {
	Version  string `yaml:",omitempty"`
	Name     string `yaml:",omitempty"`
	Services map[string]*composeService
	Networks map[string]composeShared `yaml:",omitempty"`
	Volumes  map[string]composeShared `yaml:",omitempty"`
}

type composeService struct {
	Labels        map[string]string  `yaml:",omitempty"`
	Image         string             `yaml:",omitempty"`
	Build         any                `yaml:",omitempty"`
	PullPolicy    string             `yaml:"pull_policy,omitempty"`
	NetworkMode   string             `yaml:"network_mode,omitempty"`
	ContainerName string             `yaml:"container_name,omitempty"`
	Init          bool               `yaml:",omitempty"`
	Restart       string             `yaml:",omitempty"`
	Environment   map[string]*string `yaml:",omitempty"`
	Ports         []any              `yaml:",omitempty"`
	Volumes       []any              `yaml:",omitempty"`
	Command       any                `yaml:",omitempty"` // a text or a list
}

// composeShared is a network or a volume. One that is external is not the project's.
type composeShared struct {
	Name     string            `yaml:",omitempty"`
	External any               `yaml:",omitempty"` // true, or in old files an object with its name
	Labels   map[string]string `yaml:",omitempty"`
}

// read has compose read a file, which takes about a second, unless that was done for the
// same file: then a launch starts what was identified.
func (m *Images) read(ctx context.Context, spec engine.Spec) (p *project, err error) {
	p = &project{spec: *spec.Compose, unset: spec.Unset}
	if p.argv, err = composeCommand(); err != nil {
		return p, err
	}
	key := fmt.Sprintf("%+v", p.spec)
	for _, path := range []string{p.spec.File, filepath.Join(filepath.Dir(p.spec.File), ".env")} {
		if info, err := os.Stat(path); err == nil {
			key += fmt.Sprint(" ", info.ModTime().UnixNano(), info.Size())
		}
	}
	if m == nil {
		m = &Images{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.composed == nil {
		m.composed = map[string]string{}
	}
	p.text = m.composed[key]
	if err := p.read(ctx); err != nil {
		return p, err
	}
	m.composed[key] = p.text
	return p, nil
}

// read has compose read the file, unless there is its text, and looks for the service.
func (p *project) read(ctx context.Context) (err error) {
	switch info, err := os.Stat(p.spec.File); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the compose file %s does not exist: correct file (relative to the plan's folder)",
			p.spec.File)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name the compose file in it, such as compose.yaml", p.spec.File)
	}
	if p.text == "" {
		if p.text, err = p.compose(ctx, "config"); err != nil {
			return err
		}
	}
	if err := yaml.Unmarshal([]byte(p.text), &p.file); err != nil {
		return fmt.Errorf("cannot read compose's resolved %s: %w", p.spec.File, err)
	}
	if p.file.Services[p.spec.Service] == nil {
		with := ""
		if len(p.spec.Profiles) > 0 {
			with = " with the profiles " + strings.Join(p.spec.Profiles, ", ")
		}
		return fmt.Errorf("%s has no service %q%s; it has %s", p.spec.File, p.spec.Service, with,
			strings.Join(slices.Sorted(maps.Keys(p.file.Services)), ", "))
	}
	return nil
}

// digest identifies what compose reads.
func (p *project) digest() string {
	sum := sha256.Sum256([]byte(p.text))
	return "file " + hex.EncodeToString(sum[:16])
}

// image is the service's image and when it is pulled, in terms of a docker block: never
// if compose builds it. An unnamed image is one to be built.
func (p *project) image() (name, pull string) {
	s := p.file.Services[p.spec.Service]
	name = cmp.Or(p.spec.Image, s.Image)
	switch policy := s.PullPolicy; {
	case s.Build != nil, policy == "never", policy == "build":
		return name, "never"
	case policy == "always":
		return name, "always"
	}
	return name, "missing"
}

// projectLabel is compose's own, before the name of a project.
const projectLabel = "com.docker.compose.project="

// up brings the service up, and finds its container.
func (p *project) up(ctx context.Context, c *box, launch engine.Launch) error {
	p.launch, p.name = launch, "mxflow-"+strings.ToLower(rand.Text()[:10])
	defer func() {
		for _, path := range p.files {
			os.Remove(path)
		}
	}()
	if err := p.write(ctx, c, launch.LogPath); err != nil {
		return err
	}
	if _, err := p.compose(ctx, "up", "--detach", "--no-recreate", p.spec.Service); err != nil {
		return err
	}
	of, err := c.containers(ctx, projectLabel+p.name, "com.docker.compose.service="+p.spec.Service)
	if err == nil && len(of) != 1 {
		err = fmt.Errorf("service %q has %d containers, but an engine must have one: remove its scale or replicas",
			p.spec.Service, len(of))
	}
	if err != nil {
		return err
	}
	c.id = of[0].ID
	return nil
}

// write writes the project's files. They contain the plan's environment, secrets included.
func (p *project) write(ctx context.Context, c *box, beside string) error {
	change, err := p.change(ctx, c)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(change)
	if err != nil {
		return err
	}
	literal := strings.ReplaceAll(string(text), "$", "$$") // compose must expand no variable
	p.files = []string{beside + ".compose.yaml", beside + ".override.yaml"}
	return errors.Join(os.WriteFile(p.files[0], []byte(p.text), 0o600),
		os.WriteFile(p.files[1], []byte(literal), 0o600))
}

// change is what makes the file the project's own. Everything that it creates has labels, so a
// later start finds what this one could not remove. Volumes are those that the user's file
// would use: a cache that is empty at every launch would be useless. So are images that
// compose builds.
func (p *project) change(ctx context.Context, c *box) (change composeFile, err error) {
	own := cmp.Or(p.file.Name, projectName(p.spec.File))
	separator := "-"
	if p.argv[0] == "docker-compose" {
		separator = "_"
	}
	marks := labels(p.launch)
	change = composeFile{
		Version: p.file.Version, Services: map[string]*composeService{},
		Networks: map[string]composeShared{"default": {Labels: marks}}, Volumes: map[string]composeShared{},
	}
	for name, s := range p.file.Services {
		to := &composeService{Labels: marks}
		if s != nil && s.Image == "" && s.Build != nil {
			to.Image = own + separator + name
		}
		change.Services[name] = to
	}
	for name, n := range p.file.Networks {
		to := composeShared{Labels: marks}
		switch isOwn := own + "_" + name; {
		case n.External != nil && n.External != false, n.Name != "" && n.Name != isOwn:
			delete(change.Networks, name)
			continue
		case n.Name == isOwn:
			to.Name = p.name + "_" + name
		}
		change.Networks[name] = to
	}
	for name, v := range p.file.Volumes {
		if v.Name == "" && (v.External == nil || v.External == false) {
			change.Volumes[name] = composeShared{Name: own + "_" + name}
		}
	}

	return change, p.changeService(ctx, c, change.Services[p.spec.Service])
}

// changeService makes a service the engine.
func (p *project) changeService(ctx context.Context, c *box, s *composeService) error {
	was := p.file.Services[p.spec.Service]
	s.Init, s.Restart, s.ContainerName = true, "no", c.name
	if was.PullPolicy != "" {
		s.PullPolicy = "if_not_present" // it was pulled before
	}
	s.Image = cmp.Or(p.spec.Image, s.Image)
	expand := engine.Placeholders(c.port, configFolder+c.spec.ConfigName)
	s.Environment = map[string]*string{}
	for _, name := range c.spec.Unset {
		s.Environment[name] = nil
	}
	set, err := c.spec.Environ(expand)
	if err != nil {
		return err
	}
	set = append(set, "MXFLOW_LAUNCH="+p.launch.ID)
	if c.port != 0 {
		set = append(set, "MXFLOW_PORT="+strconv.Itoa(c.port))
		if !c.shared {
			s.Ports = []any{"127.0.0.1::" + strconv.Itoa(c.port)}
		}
	}
	for _, kv := range set {
		name, value, _ := strings.Cut(kv, "=")
		s.Environment[name] = new(value)
	}
	if c.config != "" {
		s.Volumes = []any{c.config + ":" + configFolder + c.spec.ConfigName + ":ro"}
	}
	flags, err := expanded(c.spec.Command, expand)
	if err != nil || len(flags) == 0 {
		return err
	}
	var before []string
	if len(p.spec.Command) == 0 {
		before, err = p.command(ctx, c.daemon, cmp.Or(s.Image, was.Image))
	}
	s.Command = append(before, flags...)
	return err
}

// command is the service's command, which flags are appended to: the file's or the
// image's.
func (p *project) command(ctx context.Context, d *daemon, image string) (words []string, err error) {
	s := p.file.Services[p.spec.Service]
	switch own := s.Command.(type) {
	case []any:
		for _, arg := range own {
			words = append(words, strings.ReplaceAll(fmt.Sprint(arg), "$$", "$"))
		}
		return words, nil
	case string:
		return nil,
			fmt.Errorf("the command of service %q in %s is one text: write it as a list, so flags can be appended",
				p.spec.Service, p.spec.File)
	}
	is, err := d.inspectImage(ctx, image)
	if isMissing(err) && s.Build != nil {
		if _, err := p.compose(ctx, "build", p.spec.Service); err != nil {
			return nil, err
		}
		is, err = d.inspectImage(ctx, image)
	}
	if err != nil || is.Config == nil {
		return nil, err
	}
	return is.Config.Cmd, nil
}

// remove removes what the project created, except volumes with a name. The engine's own
// container is gone by then.
func (p *project) remove(d *daemon) error {
	if p.name == "" {
		return nil
	}
	ctx := context.Background()
	containers, err := d.containers(ctx, projectLabel+p.name)
	for _, c := range containers {
		_ = d.do(ctx, callLimit, func(ctx context.Context) error {
			return d.ContainerStop(ctx, c.ID, container.StopOptions{})
		})
		err = errors.Join(err, d.remove(c.ID))
	}
	networks, failed := d.networks(ctx, projectLabel+p.name)
	err = errors.Join(err, failed)
	for _, n := range networks {
		err = errors.Join(err, d.removeNetwork(ctx, n.ID))
	}
	return err
}

// composeCommand is how compose is called on this machine: as a plugin of the docker
// command, or as the older separate program.
var composeCommand = sync.OnceValues(func() ([]string, error) {
	plugin := command{argv: []string{"docker", "compose", "version"}, limit: callLimit}
	if _, err := plugin.output(context.Background()); err == nil {
		return []string{"docker", "compose"}, nil
	}
	if _, err := exec.LookPath("docker-compose"); err == nil {
		return []string{"docker-compose"}, nil
	}
	return nil,
		errors.New("neither `docker compose` nor `docker-compose` works here: install docker's compose plugin " +
			"(package docker-compose-plugin or docker-compose-v2), or docker-compose")
})

// compose runs compose for the project and returns its standard output.
func (p *project) compose(ctx context.Context, args ...string) (string, error) {
	argv := slices.Clone(p.argv)
	if p.files == nil {
		argv = append(argv, "--file", p.spec.File)
	} else {
		argv = append(argv, "--project-name", p.name)
	}
	for _, file := range p.files {
		argv = append(argv, "--file", file)
	}
	for _, profile := range p.spec.Profiles {
		argv = append(argv, "--profile", profile)
	}
	env := append(commandEnv(), "COMPOSE_ANSI=never", "COMPOSE_PROGRESS=plain", "COMPOSE_IGNORE_ORPHANS=true")
	if p.launch.ID != "" { // a next start of mxflow ends what this one leaves
		env = append(env, "MXFLOW_OWNER="+p.launch.Owner, "MXFLOW_LAUNCH="+p.launch.ID)
	}
	out, err := command{
		argv: append(argv, args...), env: env, dir: filepath.Dir(p.spec.File), limit: pullLimit,
		// What the engine must not have must not come from here either.
		unset: p.unset,
	}.output(ctx)
	failed, ok := errors.AsType[*exited](err)
	if !ok {
		return out, err
	}
	why := "; its last lines say why"
	if failed.says == "" {
		why = " and printed nothing"
	}
	f := engine.StartFailure(err, "%s %s of %s ended with %s%s",
		strings.Join(p.argv, " "), args[0], p.spec.File, exitOf(failed.code), why)
	f.LogTail = []string{failed.says}
	return out, f
}

var notInProject = regexp.MustCompile(`[^-_a-z0-9]`)

// projectName is compose's default project name for a file; version 1 does not print it.
func projectName(path string) string {
	name := os.Getenv("COMPOSE_PROJECT_NAME")
	if abs, err := filepath.Abs(path); name == "" && err == nil {
		name = filepath.Base(filepath.Dir(abs))
	}
	return notInProject.ReplaceAllString(strings.ToLower(name), "")
}
