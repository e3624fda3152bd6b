package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// dockerHub is what the docker command calls Docker Hub in its configuration.
const dockerHub = "https://index.docker.io/v1/"

// logins is the part of the docker command's config.json that holds logins.
type logins struct {
	Auths map[string]struct {
		Auth          string
		IdentityToken string
	}
	CredsStore  string
	CredHelpers map[string]string
}

// registryAuth is the login that `docker login` left for the registry of an
// image, in the form of the X-Registry-Auth header; empty where there is none.
func registryAuth(ctx context.Context, ref string) (string, error) {
	path := filepath.Join(configDir(), "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var config logins
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return "", fmt.Errorf("the docker configuration %s cannot be read: %w", path, err)
	}
	registry, _, _ := strings.Cut(repository(ref), "/")
	if registry == "docker.io" {
		registry = dockerHub
	}
	login := map[string]string{"serveraddress": registry}
	helper := config.CredHelpers[registry]
	if helper == "" {
		helper = config.CredsStore
	}
	switch auth, stored := config.Auths[registry]; {
	case helper != "":
		if err := askHelper(ctx, helper, registry, login); err != nil {
			return "", err
		}
	case stored && auth.IdentityToken != "":
		login["identitytoken"] = auth.IdentityToken
	case stored && auth.Auth != "":
		pair, err := base64.StdEncoding.DecodeString(auth.Auth)
		user, password, ok := strings.Cut(string(pair), ":")
		if err != nil || !ok {
			return "", fmt.Errorf("the login for %s in %s cannot be read: run docker login again", registry, path)
		}
		login["username"], login["password"] = user, password
	}
	if len(login) == 1 {
		return "", nil
	}
	header, err := json.Marshal(login)
	return base64.URLEncoding.EncodeToString(header), err
}

// askHelper asks the program that keeps the logins. One that knows none leaves
// login as it is: the image may be public.
func askHelper(ctx context.Context, helper, registry string, login map[string]string) error {
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(registry)
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("the docker configuration keeps logins with docker-credential-%s, which is not installed: install it, or remove it from %s",
			helper, filepath.Join(configDir(), "config.json"))
	}
	if err != nil || bytes.Contains(out, []byte("credentials not found")) {
		return nil
	}
	var said struct{ Username, Secret string }
	if err := json.Unmarshal(out, &said); err != nil {
		return fmt.Errorf("docker-credential-%s gave no login that can be read: %w", helper, err)
	}
	if said.Username == "<token>" {
		login["identitytoken"] = said.Secret
	} else {
		login["username"], login["password"] = said.Username, said.Secret
	}
	return nil
}
