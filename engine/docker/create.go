package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-connections/nat"

	"github.com/mxflow/mxflow/engine"
)

// configFolder is where a configuration file lies in the container.
const configFolder = "/etc/mxflow"

// containerOf says in docker's terms what a Spec asks for.
func containerOf(spec engine.Spec, launch engine.Launch, ref string, at *ports) (*container.Config, *container.HostConfig, error) {
	d := spec.Docker
	var wrong []error
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	replace := []string{"{config}", configFolder + "/" + spec.ConfigName}
	if at.inside != 0 {
		replace = append(replace, "{port}", strconv.Itoa(at.inside))
	}
	expand := strings.NewReplacer(replace...).Replace
	command, err := expanded(spec.Command, expand)
	note(err)
	entrypoint, err := expanded(d.Entrypoint, expand)
	note(err)
	if d.Entrypoint != nil && len(entrypoint) == 0 {
		entrypoint = []string{""} // takes the image's away
	}
	env, err := containerEnv(spec, launch, at, expand)
	note(err)
	gpus, err := GPUs(d.GPUs)
	note(err)
	shm, err := Size(d.ShmSize)
	note(err)
	limits, err := Ulimits(d.Ulimits)
	note(err)
	mounts, err := Volumes(d.Volumes)
	note(err)
	if len(wrong) > 0 {
		return nil, nil, errors.Join(wrong...)
	}
	reap := true
	config := &container.Config{
		Image: ref, Cmd: command, Entrypoint: entrypoint, Env: env, User: d.User, WorkingDir: d.WorkDir, Labels: Labels(launch),
	}
	host := &container.HostConfig{
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Init:          &reap,
		IpcMode:       container.IpcMode(d.IPC), NetworkMode: container.NetworkMode(d.Network), ShmSize: shm, Mounts: mounts,
		Resources: container.Resources{Ulimits: limits, DeviceRequests: gpus},
		// The daemon's own copy of the log, from which ours is followed. This driver
		// keeps bytes as they are, where json-file replaces what is no UTF-8.
		LogConfig: container.LogConfig{Type: "local", Config: map[string]string{
			"max-size": "64m", "max-file": "3", "compress": "false",
		}},
	}
	if at.publish != "" {
		port := nat.Port(strconv.Itoa(at.inside) + "/tcp")
		config.ExposedPorts = nat.PortSet{port: {}}
		host.PortBindings = nat.PortMap{port: {{HostIP: at.publish}}}
	}
	return config, host, nil
}

func expanded(argv []string, expand func(string) string) ([]string, error) {
	var out []string
	for _, arg := range argv {
		if strings.Contains(arg, "{mxflow}") {
			return nil, fmt.Errorf("{mxflow} in %q is the path of a program on this machine, which is not in the container: name the image's program", arg)
		}
		out = append(out, expand(arg))
	}
	return out, nil
}

// containerEnv is what the container gets beside what its image sets. A name
// without a value takes away what the image sets.
func containerEnv(spec engine.Spec, launch engine.Launch, at *ports, expand func(string) string) ([]string, error) {
	var env []string
	for _, name := range spec.Unset {
		if _, set := spec.Env[name]; !set {
			env = append(env, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		value := spec.Env[name]
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, fmt.Errorf("%q cannot be the name of an environment variable, or its value cannot be set", name)
		}
		env = append(env, name+"="+expand(value))
	}
	// The owner's mark is left out: by it engine.Sweep ends processes one by one,
	// and a container goes as a whole, by its labels.
	env = append(env, "MXFLOW_LAUNCH="+launch.ID)
	if at.inside != 0 {
		env = append(env, "MXFLOW_PORT="+strconv.Itoa(at.inside))
	}
	return env, nil
}

// putConfig copies the configuration file into a container that does not run
// yet. Any user in there may read it.
func (d *Daemon) putConfig(ctx context.Context, id string, spec engine.Spec) error {
	if len(spec.Config) == 0 {
		return nil
	}
	if spec.ConfigName == "" || strings.ContainsAny(spec.ConfigName, "/\x00") {
		return fmt.Errorf("%q is no file name", spec.ConfigName)
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	folder := strings.TrimPrefix(configFolder, "/") + "/"
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755})
	if err == nil {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: folder + spec.ConfigName, Mode: 0o644, Size: int64(len(spec.Config))})
	}
	if err == nil {
		_, err = w.Write(spec.Config)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return d.CopyToContainer(ctx, id, "/", &buf, container.CopyToContainerOptions{})
}
