package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/mxflow/mxflow/engine"
)

// project is one compose project: that of one launch.
type project struct {
	d      *Daemon
	argv   []string // the compose command
	spec   engine.Compose
	launch engine.Launch
	unset  []string
	file   composeFile
	text   string // what `config` printed
	// name is the project's; over the file laid over the user's. Both are empty
	// while the file is only looked at.
	name, over string
}

// readProject asks compose what the file says.
func readProject(ctx context.Context, d *Daemon, spec engine.Spec, launch engine.Launch) (*project, error) {
	argv, err := composeCommand()
	if err != nil {
		return nil, err
	}
	p := &project{d: d, argv: argv, spec: *spec.Compose, launch: launch, unset: spec.Unset}
	switch info, err := os.Stat(p.spec.File); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no compose file %s: correct file, which is relative to the plan's folder", p.spec.File)
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

// image is the service's image and when it is pulled, in the words of a docker
// block: never where compose builds it. Without a name there is one to be built.
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
		err = fmt.Errorf("service %q has %d containers, and an engine is one: remove its scale or replicas", p.spec.Service, len(list))
	}
	if err != nil {
		return container.Summary{}, err
	}
	return list[0], nil
}

// putConfig copies the configuration file into the service's container, which has
// to be made for it before it is started.
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
	if err := p.d.putConfig(ctx, made.ID, spec); err != nil {
		return fmt.Errorf("its configuration file cannot be copied into the container: %w", err)
	}
	return nil
}

// forget removes the overlay: a project that runs is known by its name.
func (p *project) forget() {
	if p.over != "" {
		_ = os.Remove(p.over)
		p.over = ""
	}
}

// down removes what the project has made, but no volume that has a name. Where
// compose cannot (the file was changed), it is done by label.
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
