package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/engine"
)

// override writes the file that is laid over the user's.
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
	replace := []string{"{config}", configFolder + "/" + spec.ConfigName}
	if at.inside != 0 {
		replace = append(replace, "{port}", strconv.Itoa(at.inside))
	}
	expand := strings.NewReplacer(replace...).Replace
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
	path, err := filepath.Abs(p.launch.LogPath + ".override.yaml")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		// It holds what the plan puts into the environment, secrets included.
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the file to lay over %s cannot be written: %w", p.spec.File, err)
	}
	p.over = path
	return nil
}

// ownCommand is the service's command, which flags are appended to: the file's,
// or the image's, which only a container of it shows. Each $ in it is doubled.
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
