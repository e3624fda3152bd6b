package docker

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// defaultHost is where a daemon listens by default.
const defaultHost = "unix:///var/run/docker.sock"

// endpoint is the location of a daemon and how to connect.
type endpoint struct {
	// context is the docker context that it came from, empty if an address was given.
	context string
	host    string
	tls     *tls.Config // nil means that the connection is not encrypted
}

func (e endpoint) String() string {
	if e.context == "" {
		return e.host
	}
	return fmt.Sprintf("context %q (%s)", e.context, e.host)
}

func (e endpoint) scheme() string {
	scheme, _, _ := strings.Cut(e.host, "://")
	return scheme
}

// findEndpoint chooses as the docker command does: the given values, then DOCKER_HOST,
// DOCKER_CONTEXT, the current context of its configuration, and last the default socket.
func findEndpoint(host, name string) (endpoint, error) {
	switch {
	case host != "" && name != "":
		return endpoint{}, fmt.Errorf("both a docker host (%s) and a context (%s) are given: remove one of them", host, name)
	case host != "":
		return givenHost(host, "host")
	case name == "" && os.Getenv("DOCKER_HOST") != "":
		return givenHost(os.Getenv("DOCKER_HOST"), "DOCKER_HOST")
	case name == "":
		name = os.Getenv("DOCKER_CONTEXT")
	}
	if name == "" {
		var err error
		if name, err = currentContext(); err != nil {
			return endpoint{}, err
		}
	}
	if name == "" || name == "default" {
		// The default context is what would be used without contexts.
		if host := os.Getenv("DOCKER_HOST"); host != "" {
			return givenHost(host, "DOCKER_HOST")
		}
		return endpoint{host: defaultHost}, nil
	}
	return storedContext(name)
}

// schemes are the supported address schemes.
var schemes = []string{"unix", "tcp", "ssh"}

// CheckHost is what is wrong with a daemon's address; empty if nothing.
func CheckHost(host string) error {
	if scheme, _, ok := strings.Cut(host, "://"); host != "" && (!ok || !slices.Contains(schemes, scheme)) {
		return fmt.Errorf("%q is not the address of a docker daemon: write unix:///path, tcp://host:port or ssh://user@host", host)
	}
	return nil
}

func givenHost(host, from string) (endpoint, error) {
	if !strings.Contains(host, "://") {
		host = "tcp://" + host
	}
	e := endpoint{host: strings.TrimSuffix(host, "/")}
	if !slices.Contains(schemes, e.scheme()) {
		return e, fmt.Errorf("%s %q is not the address of a docker daemon: write unix:///path, tcp://host:port or ssh://user@host", from, host)
	}
	if e.scheme() != "tcp" {
		return e, nil
	}
	// As the docker command does: the folder determines the certificates, the other
	// variable whether the server's is verified; either enables encryption.
	folder, verify := os.Getenv("DOCKER_CERT_PATH"), os.Getenv("DOCKER_TLS_VERIFY") != ""
	if folder == "" && !verify {
		return e, nil
	}
	if folder == "" {
		folder = configDir()
	}
	var err error
	e.tls, err = certificates(folder, !verify)
	return e, err
}

func configDir() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ".docker"
	}
	return filepath.Join(home, ".docker")
}

// currentContext is the one chosen by `docker context use`; empty if none.
func currentContext() (string, error) {
	path := filepath.Join(configDir(), "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var config struct{ CurrentContext string }
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the docker configuration %s: %w", path, err)
	}
	return config.CurrentContext, nil
}

// contextMeta is contexts/meta/<digest of the name>/meta.json below the
// configuration folder, as the docker command writes it.
type contextMeta struct {
	Name      string
	Endpoints map[string]struct {
		Host          string
		SkipTLSVerify bool
	}
}

func storedContext(name string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	path := filepath.Join(configDir(), "contexts", "meta", id, "meta.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return endpoint{}, fmt.Errorf("there is no docker context %q; there are %s (docker context ls)", name, strings.Join(knownContexts(), ", "))
	}
	var meta contextMeta
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("docker context %q: cannot read %s: %w", name, path, err)
	}
	docker, ok := meta.Endpoints["docker"]
	if !ok {
		return endpoint{}, fmt.Errorf("docker context %q names no docker daemon (%s)", name, path)
	}
	e := endpoint{context: name, host: docker.Host}
	if e.host == "" {
		e.host = defaultHost
	}
	if !slices.Contains(schemes, e.scheme()) {
		return e, fmt.Errorf("docker context %q: mxflow cannot use the address %q: only unix, tcp and ssh", name, e.host)
	}
	folder := filepath.Join(configDir(), "contexts", "tls", id, "docker")
	if info, err := os.Stat(folder); e.scheme() == "tcp" && (err == nil && info.IsDir() || docker.SkipTLSVerify) {
		if e.tls, err = certificates(folder, docker.SkipTLSVerify); err != nil {
			return e, fmt.Errorf("docker context %q: %w", name, err)
		}
	}
	return e, nil
}

func knownContexts() []string {
	known := []string{"default"}
	files, _ := filepath.Glob(filepath.Join(configDir(), "contexts", "meta", "*", "meta.json"))
	for _, file := range files {
		var meta contextMeta
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &meta) == nil && meta.Name != "" {
			known = append(known, meta.Name)
		}
	}
	slices.Sort(known)
	return known
}
