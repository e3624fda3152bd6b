package dockertest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// RegistryProgram is the tests' registry, in Debian's package of that name.
const RegistryProgram = "docker-registry"

// listening matches the registry's message with its port.
var listening = regexp.MustCompile(`listening on 127\.0\.0\.1:([0-9]+)`)

// Registry starts a registry on a free port, which keeps its data in folder until stop.
// Docker uses plain HTTP for its address.
func Registry(folder string) (address string, stop func(), err error) {
	config := filepath.Join(folder, "registry.yml")
	text := "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: " + filepath.Join(folder, "images") +
		"\nhttp:\n  addr: 127.0.0.1:0\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	cmd := exec.Command(RegistryProgram, "serve", config)
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("tests of pulling need a registry: install the package %s: %w", RegistryProgram, err)
	}
	lines := bufio.NewScanner(log)
	said := ""
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			drained := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, log)
				close(drained)
			}()
			return "127.0.0.1:" + m[1], func() {
				_ = cmd.Process.Kill()
				<-drained
				_ = cmd.Wait()
			}, nil
		}
		said += lines.Text() + "\n"
	}
	return "", nil, fmt.Errorf("the registry ended: %w\n%s", cmd.Wait(), said)
}

// Push pushes an image to a registry under a name that starts with the registry's
// address. Afterwards the name refers to the same image on the daemon as before.
func Push(from, name string) error {
	was, missing := Docker("image", "inspect", "--format", "{{.Id}}", name)
	if _, err := Docker("tag", from, name); err != nil {
		return err
	}
	if _, err := Docker("push", "--quiet", name); err != nil {
		return err
	}
	if missing != nil {
		_, err := Docker("rmi", name)
		return err
	}
	_, err := Docker("tag", was, name)
	return err
}

// ForgetAll removes everything that came from a registry from the daemon.
func ForgetAll(address string) error {
	names, err := Docker("images", "--format", "{{.Repository}}:{{.Tag}} {{.Repository}}@{{.Digest}}", address+"/*/*")
	for _, name := range strings.Fields(names) {
		if !strings.HasSuffix(name, "<none>") {
			_, _ = Docker("rmi", name) // a tag may take its digest with it
		}
	}
	return err
}
