package docker

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/registry"
)

// configFile is docker's configuration, as far as it is used here. Its format is described
// in docker's reference of the docker command, "Configuration files".
type configFile struct {
	CurrentContext string
	HTTPHeaders    map[string]string `json:"HttpHeaders"`
	Auths          map[string]struct {
		Auth, Username, Password string
		IdentityToken            string `json:"identitytoken"`
		RegistryToken            string `json:"registrytoken"`
	}
	CredsStore  string
	CredHelpers map[string]string
}

// configHome is where docker keeps its configuration.
func configHome() string {
	if folder := os.Getenv("DOCKER_CONFIG"); folder != "" {
		return folder
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".docker")
}

// readConfig reads the configuration; without a readable one everything is at its default,
// as for the docker command.
func readConfig() (c configFile) {
	text, err := os.ReadFile(filepath.Join(configHome(), "config.json"))
	if err != nil || json.Unmarshal(text, &c) != nil {
		return configFile{}
	}
	return c
}

// contextID names the folders of a context, as docker does.
func contextID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// contextEndpoint reads where a context of docker has its daemon.
func contextEndpoint(name string) (at endpoint, err error) {
	id, folder := contextID(name), filepath.Join(configHome(), "contexts")
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "meta", id, "meta.json"))
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	to := meta.Endpoints["docker"]
	if err == nil && to.Host == "" {
		err = fmt.Errorf("it names no daemon")
	}
	if err != nil {
		return at, fmt.Errorf("docker's context %q cannot be read: %w; docker context ls lists those that exist, "+
			"DOCKER_CONTEXT or docker context use chooses one", name, err)
	}
	at.host = to.Host
	certs := filepath.Join(folder, "tls", id, "docker")
	if _, err := os.Stat(certs); err == nil {
		at.certs, at.trusting = certs, to.SkipTLSVerify
	}
	return at, nil
}

// dockerHub is the name of Docker Hub in docker's configuration.
const dockerHub = "https://index.docker.io/v1/"

// loginFor is the login for an image's registry in the form of the header X-Registry-Auth,
// empty without one, and the registry.
func loginFor(ctx context.Context, image string) (header, host string, err error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", "", fmt.Errorf("%q is not the name of an image: %w", image, err)
	}
	host = reference.Domain(named)
	server := host
	if host == "docker.io" {
		server = dockerHub
	}
	c := readConfig()
	helper := c.CredHelpers[server]
	if helper == "" {
		helper = c.CredsStore
	}
	login := registry.AuthConfig{ServerAddress: server}
	if helper != "" {
		// https://github.com/docker/docker-credential-helpers: the server on standard input,
		// JSON on standard output. Without credentials it fails.
		out, err := command{
			argv: []string{"docker-credential-" + helper, "get"}, stdin: strings.NewReader(server), limit: callLimit,
		}.output(ctx)
		var kept struct{ Username, Secret string }
		if err != nil || json.Unmarshal([]byte(out), &kept) != nil {
			return "", host, nil
		}
		if login.Username, login.Password = kept.Username, kept.Secret; kept.Username == "<token>" {
			login.Username, login.Password, login.IdentityToken = "", "", kept.Secret
		}
	} else {
		kept, ok := c.Auths[server]
		if !ok {
			kept, ok = c.Auths["https://"+server]
		}
		if !ok {
			return "", host, nil
		}
		login.Username, login.Password = kept.Username, kept.Password
		login.IdentityToken, login.RegistryToken = kept.IdentityToken, kept.RegistryToken
		if pair, err := base64.StdEncoding.DecodeString(kept.Auth); err == nil && kept.Auth != "" {
			login.Username, login.Password, _ = strings.Cut(strings.TrimRight(string(pair), "\x00"), ":")
		}
	}
	header, err = registry.EncodeAuthConfig(login)
	return header, host, err
}
