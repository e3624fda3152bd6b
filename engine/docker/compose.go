package docker

import (
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
	"github.com/mxflow/mxflow/internal/sorted"
)

// project is the compose project of one launch, or only a file that is read, by docker
// compose or docker-compose.
//
// Every launch is its own project, so it neither collides with nor ends what already runs
// from the same file. Its file is the user's as compose resolves it, with what mxflow
// needs: labels, environment, flags, a published port.
type project struct {
	argv    []string // the compose command
	spec    engine.Compose
	launch  engine.Launch
	unset   []string
	text    string         // what `config` printed
	file    map[string]any // its content: variables are expanded, and a $ is written as $$
	service map[string]any
	// name is the project's, and own the path of its file; empty while the file is only
	// read.
	name, own string
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
	services := part(p.file, "services")
	if _, ok := services[p.spec.Service]; !ok {
		with := ""
		if len(p.spec.Profiles) > 0 {
			with = " with the profiles " + strings.Join(p.spec.Profiles, ", ")
		}
		return fmt.Errorf("%s has no service %q%s; it has %s", p.spec.File, p.spec.Service, with,
			strings.Join(slices.Sorted(maps.Keys(services)), ", "))
	}
	p.service = part(services, p.spec.Service)
	return nil
}

// digest identifies what compose reads.
func (p *project) digest() string {
	sum := sha256.Sum256([]byte(p.text))
	return "file " + hex.EncodeToString(sum[:16])
}

// part is a mapping in another, which is made if it is missing.
func part(of map[string]any, name string) map[string]any {
	in, ok := of[name].(map[string]any)
	if !ok {
		in = map[string]any{}
		of[name] = in
	}
	return in
}

// image is the service's image and when it is pulled, in terms of a docker block: never
// if compose builds it. An unnamed image is one to be built.
func (p *project) image() (name, pull string) {
	if name, _ = p.service["image"].(string); p.spec.Image != "" {
		name = p.spec.Image
	}
	policy, _ := p.service["pull_policy"].(string)
	switch {
	case p.service["build"] != nil, policy == "never", policy == "build":
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
	p.launch = launch
	if err := p.change(ctx, c); err != nil {
		return err
	}
	text, err := yaml.Marshal(p.file)
	if err != nil {
		return err
	}
	p.name, p.own = "mxflow-"+strings.ToLower(rand.Text()[:10]), launch.LogPath+".compose.yaml"
	defer os.Remove(p.own)
	// It contains the plan's environment, secrets included.
	if err := os.WriteFile(p.own, text, 0o600); err != nil {
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

// change makes the file the project's own. Everything that it creates has labels, so a
// later start finds what this one could not remove. Volumes are those that the user's file
// would use: a cache that is empty at every launch would be useless. So are images that
// compose builds.
func (p *project) change(ctx context.Context, c *box) error {
	own, _ := p.file["name"].(string)
	if own == "" {
		own = projectName(p.spec.File)
	}
	delete(p.file, "name")
	separator := "-"
	if p.argv[0] == "docker-compose" {
		separator = "_"
	}
	marks := map[string]any{}
	for name, value := range labels(p.launch) {
		marks[name] = literal(value)
	}
	services, networks := part(p.file, "services"), part(p.file, "networks")
	for name := range sorted.All(services) {
		s := part(services, name)
		maps.Copy(part(s, "labels"), marks)
		if s["image"] == nil && s["build"] != nil {
			s["image"] = own + separator + name
		}
	}
	part(networks, "default")
	for name := range sorted.All(networks) {
		n := part(networks, name)
		if n["name"] == own+"_"+name {
			delete(n, "name")
		}
		if external, _ := n["external"].(bool); !external && n["name"] == nil {
			maps.Copy(part(n, "labels"), marks)
		}
	}
	for name := range part(p.file, "volumes") {
		v := part(part(p.file, "volumes"), name)
		if external, _ := v["external"].(bool); !external && v["name"] == nil {
			v["name"] = own + "_" + name
		}
	}

	s := p.service
	s["init"], s["restart"], s["container_name"] = true, "no", c.name
	delete(s, "pull_policy") // it was pulled before
	if p.spec.Image != "" {
		s["image"] = literal(p.spec.Image)
	}
	expand := engine.Placeholders(c.port, configFolder+c.spec.ConfigName)
	env := part(s, "environment")
	for _, name := range c.spec.Unset {
		env[name] = nil
	}
	set, err := c.spec.Environ(expand)
	if err != nil {
		return err
	}
	for _, kv := range append(set, "MXFLOW_LAUNCH="+p.launch.ID) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = literal(value)
	}
	if c.port != 0 {
		env["MXFLOW_PORT"] = strconv.Itoa(c.port)
		if !c.shared {
			ports, _ := s["ports"].([]any)
			s["ports"] = append(ports, "127.0.0.1::"+strconv.Itoa(c.port))
		}
	}
	if c.config != "" {
		volumes, _ := s["volumes"].([]any)
		s["volumes"] = append(volumes, literal(c.config+":"+configFolder+c.spec.ConfigName+":ro"))
	}
	args, err := expanded(c.spec.Command, expand)
	if err != nil || len(args) == 0 {
		return err
	}
	for i := range args {
		args[i] = literal(args[i])
	}
	if len(p.spec.Command) == 0 {
		before, err := p.command(ctx, c.daemon)
		if err != nil {
			return err
		}
		args = append(before, args...)
	}
	s["command"] = args
	return nil
}

// command is the service's command, which flags are appended to: the file's or the
// image's. Each $ in it is doubled.
func (p *project) command(ctx context.Context, d *daemon) (words []string, err error) {
	switch own := p.service["command"].(type) {
	case []any:
		for _, arg := range own {
			words = append(words, fmt.Sprint(arg))
		}
		return words, nil
	case string:
		return nil,
			fmt.Errorf("the command of service %q in %s is one text: write it as a list, so flags can be appended",
				p.spec.Service, p.spec.File)
	}
	name, _ := p.service["image"].(string)
	is, err := d.inspectImage(ctx, name)
	if isMissing(err) && p.service["build"] != nil {
		if _, err := p.compose(ctx, "build", p.spec.Service); err != nil {
			return nil, err
		}
		is, err = d.inspectImage(ctx, name)
	}
	if err != nil || is.Config == nil {
		return nil, err
	}
	for _, word := range is.Config.Cmd {
		words = append(words, literal(word))
	}
	return words, nil
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
	argv := append(slices.Clone(p.argv), "--file", p.spec.File)
	if p.own != "" {
		argv = append(slices.Clone(p.argv), "--file", p.own, "--project-name", p.name)
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

// literal keeps compose from expanding variables.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }
