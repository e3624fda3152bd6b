package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// composeFile is what mxflow reads of a compose file, in the form that `config`
// prints: variables are filled in, and a $ is written as $$.
type composeFile struct {
	// Name is the project that the file itself would be; version 1 of compose
	// does not print it.
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
	// Command is a list, or a text that is split as a shell would.
	Command any `yaml:"command"`
}

// composeResource is a network or a volume. External is a bool, or in old files
// a map with a name.
type composeResource struct {
	Name     string `yaml:"name"`
	External any    `yaml:"external"`
}

func (r composeResource) external() bool { return r.External != nil && r.External != false }

// parseCompose reads what `config` prints.
func parseCompose(text, path string) (composeFile, error) {
	var f composeFile
	if err := yaml.Unmarshal([]byte(text), &f); err != nil {
		return f, fmt.Errorf("what compose makes of %s cannot be read: %w", path, err)
	}
	// Files that are laid over each other must be of one version, as version 1 of
	// compose has it; `config` may print another one than it read.
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

// projectName is what compose calls the project of a file that nobody names.
func projectName(path string) string {
	name := os.Getenv("COMPOSE_PROJECT_NAME")
	if abs, err := filepath.Abs(path); name == "" && err == nil {
		name = filepath.Base(filepath.Dir(abs))
	}
	return notInProject.ReplaceAllString(strings.ToLower(name), "")
}

// overlay is the second file, laid over the user's.
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

// newOverlay labels all that a project makes, so that a later start finds what
// this one could not remove, and lets volumes be those that the file itself
// would use: a cache that is empty at every launch would be none.
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
			s.Image = f.Name + separator + name // not an image for every launch
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

// literal keeps compose from filling in variables.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func literals(texts []string) []string {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = literal(out[i])
	}
	return out
}
