package docker

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// What a launch changes in a compose file is what compose then reads.
func TestComposeChange(t *testing.T) {
	_, err := composeCommand()
	enginetest.Require(t, "compose", err)
	dir := t.TempDir()
	file := filepath.Join(dir, "compose.yaml")
	must.Do(t, os.WriteFile(file, []byte(`
services:
  eng:
    image: busybox
    pull_policy: always
    restart: always
    environment: {GONE: "1", KEPT: "a$$b"}
    ports: ["9000:9000"]
    volumes: ["cache:/cache", "./here:/here"]
    networks: [default, front, other]
    command: [sh, -c, "echo $$HOME"]
  beside:
    image: busybox
networks:
  front: {}
  other: {external: true, name: theirs}
volumes:
  cache: {}
`), 0o600))
	spec := engine.Spec{
		Compose: &engine.Compose{File: file, Service: "eng"}, Command: []string{"--port", "{port}", "$X"},
		Env: map[string]string{"SET": "x$y"}, Unset: []string{"GONE", "NEVER"},
	}
	var images *Images
	p, err := images.read(t.Context(), spec)
	must.Do(t, err)
	p.launch, p.name = engine.Launch{ID: "l", Owner: "o"}, "mxflow-test"
	c := &box{instance: instance{spec: spec, port: 8000}, name: "box"}
	must.Do(t, p.write(t.Context(), c, filepath.Join(dir, "log")))
	text, err := p.compose(t.Context(), "config")
	must.Do(t, err)
	var got composeFile
	must.Do(t, yaml.Unmarshal([]byte(text), &got))
	s := got.Services["eng"]
	env := map[string]string{}
	for name, value := range s.Environment {
		if value != nil {
			env[name] = strings.ReplaceAll(*value, "$$", "$")
		}
	}
	want := map[string]string{"KEPT": "a$b", "SET": "x$y", "MXFLOW_LAUNCH": "l", "MXFLOW_PORT": "8000"}
	if !maps.Equal(env, want) {
		t.Errorf("environment %v, want %v", env, want)
	}
	var words []string
	for _, word := range s.Command.([]any) {
		words = append(words, strings.ReplaceAll(word.(string), "$$", "$"))
	}
	if want := []string{"sh", "-c", "echo $HOME", "--port", "8000", "$X"}; !slices.Equal(words, want) {
		t.Errorf("command %q, want %q", words, want)
	}
	if !s.Init || s.Restart != "no" || s.ContainerName != "box" || s.PullPolicy == "always" || len(s.Ports) != 2 ||
		len(s.Volumes) != 2 {
		t.Errorf("service %+v", s)
	}
	if got.Services["beside"].Labels[LabelOwner] != "o" || got.Networks["front"].Labels[LabelOwner] != "o" ||
		got.Networks["default"].Labels[LabelOwner] != "o" || got.Networks["other"].Labels != nil {
		t.Errorf("labels: %+v", got)
	}
	if name := got.Volumes["cache"].Name; name != projectName(file)+"_cache" {
		t.Errorf("the volume is %q", name)
	}
}
