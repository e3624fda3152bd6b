package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for host, want := range map[string]string{
		"": "unix:///var/run/docker.sock", "unix:///run/d.sock": "unix:///run/d.sock", "tcp://10.0.0.3:2375": "tcp://10.0.0.3:2375",
	} {
		t.Setenv("DOCKER_HOST", host)
		if d, err := daemonAt(address()); err != nil || d.Name != want || d.Local() != strings.HasPrefix(want, "unix:") {
			t.Errorf("DOCKER_HOST %q: %+v, %v; want %q", host, d, err, want)
		}
	}
	for _, host := range []string{"ssh://me@gb10", "http://x", "fd://", "10.0.0.3:2375"} {
		t.Setenv("DOCKER_HOST", host)
		if _, err := Connect(t.Context()); err == nil || !strings.Contains(err.Error(), `DOCKER_HOST "`+host+`" is not the address of a docker daemon`) {
			t.Errorf("DOCKER_HOST %q: %v", host, err)
		}
	}
}

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{"1.40": true, "1.41": true, "2.0": true, "1.39": false, "1.4": false, "": false, "x": false} {
		if newEnough(version) != want {
			t.Errorf("API %q: %v", version, !want)
		}
	}
}

func TestRepository(t *testing.T) {
	for ref, want := range map[string]string{
		"busybox": "docker.io/library/busybox", "busybox:1": "docker.io/library/busybox", "vllm/vllm-openai:v1": "docker.io/vllm/vllm-openai",
		"localhost:5000/a:1": "localhost:5000/a", "nvcr.io/nvidia/x@sha256:00": "nvcr.io/nvidia/x", "localhost/a/b": "localhost/a/b",
	} {
		if got := repository(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

func TestRegistryAuth(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("DOCKER_CONFIG", folder)
	config := `{"auths":{"nvcr.io":{"auth":"JG9hdXRodG9rZW46a2V5"},"torn.io":{"auth":"!"},"https://index.docker.io/v1/":{"identitytoken":"tok"}},
		"credHelpers":{"gcr.io":"not-installed-here"}}`
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"nvcr.io/nvidia/x:1": `{"password":"key","serveraddress":"nvcr.io","username":"$oauthtoken"}`,
		"vllm/vllm-openai":   `{"identitytoken":"tok","serveraddress":"https://index.docker.io/v1/"}`,
		"quay.io/x":          "",
	} {
		got, err := registryAuth(t.Context(), ref)
		if err != nil || decoded(t, got) != want {
			t.Errorf("%s: %s, %v; want %s", ref, decoded(t, got), err, want)
		}
	}
	for ref, want := range map[string]string{"torn.io/x": "docker login", "gcr.io/x": "docker-credential-not-installed-here, which is not installed"} {
		if _, err := registryAuth(t.Context(), ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
}

func TestElsewhere(t *testing.T) {
	for host, want := range map[string]string{"": "", "unix:///run/other.sock": "", "tcp://box:2375": " on tcp://box:2375"} {
		t.Setenv("DOCKER_HOST", host)
		if got := elsewhere(); got != want {
			t.Errorf("DOCKER_HOST %q: %q", host, got)
		}
	}
}
