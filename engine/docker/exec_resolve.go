package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
)

// resolve makes the command line and the environment.
func (e *execed) resolve() error {
	command := e.spec.Command
	if len(command) == 0 {
		command = e.spec.Exec.Command
	}
	if len(command) == 0 || command[0] == "" {
		return errors.New("it has no command: add one to the exec block")
	}
	replace := []string{"{config}", e.folder + "/" + e.spec.ConfigName}
	if e.reach.port != 0 {
		replace = append(replace, "{port}", strconv.Itoa(e.reach.port))
	}
	expand := strings.NewReplacer(replace...).Replace
	var err error
	if e.argv, err = expanded(command, expand); err != nil {
		return err
	}
	// See engine's own launcher: setproctitle must leave the marks alone.
	e.env = []string{"SPT_NOENV=1"}
	for _, key := range sortedKeys(e.spec.Env) {
		value := e.spec.Env[key]
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("%q cannot be the name of an environment variable, or its value cannot be set", key)
		}
		e.env = append(e.env, key+"="+expand(value))
	}
	e.env = append(e.env, e.in.mark.env()...)
	if e.reach.port != 0 {
		e.env = append(e.env, "MXFLOW_PORT="+strconv.Itoa(e.reach.port))
	}
	return nil
}

// copyConfig puts the configuration file into a folder of the launch's own, in
// the container's /tmp. Any user in there may read it.
func (e *execed) copyConfig(ctx context.Context) error {
	if len(e.spec.Config) == 0 {
		return nil
	}
	if e.spec.ConfigName == "" || strings.ContainsAny(e.spec.ConfigName, "/\x00") {
		return fmt.Errorf("%q is no file name", e.spec.ConfigName)
	}
	name := "mxflow-" + strings.ToLower(rand.Text())
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
	if err == nil {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name + "/" + e.spec.ConfigName, Mode: 0o644, Size: int64(len(e.spec.Config))})
	}
	if err == nil {
		_, err = w.Write(e.spec.Config)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		_, err = e.in.run(ctx, `mkdir -p /tmp`)
	}
	if err == nil {
		err = e.in.d.CopyToContainer(ctx, e.in.id, "/tmp", &buf, container.CopyToContainerOptions{})
	}
	if err != nil {
		return fmt.Errorf("its configuration file cannot be copied into container %q: %w", e.in.name, err)
	}
	e.folder = "/tmp/" + name
	return nil
}

// removeFolder takes the configuration file away again, as far as it can.
func (e *execed) removeFolder() {
	if e.folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	_, _ = e.in.run(ctx, `rm -rf "$1"`, e.folder)
	e.folder = ""
}
