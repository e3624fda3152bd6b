package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configured makes a configuration folder of the docker command.
func configured(t *testing.T, current string, contexts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"} {
		t.Setenv(name, "")
	}
	t.Setenv("DOCKER_CONFIG", dir)
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if current != "" {
		write(filepath.Join(dir, "config.json"), current)
	}
	for name, meta := range contexts {
		sum := sha256.Sum256([]byte(name))
		write(filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"), meta)
	}
	return dir
}

func meta(name, host string) string {
	return `{"Name":"` + name + `","Metadata":{},"Endpoints":{"docker":{"Host":"` + host + `","SkipTLSVerify":false}}}`
}

func TestFindEndpoint(t *testing.T) {
	contexts := map[string]string{
		"gb10": meta("gb10", "ssh://me@gb10"), "box": meta("box", "tcp://10.0.0.2:2375"), "pipe": meta("pipe", "npipe:////./pipe/docker"),
		"kube": `{"Name":"kube","Endpoints":{}}`, "torn": `{"Name":`,
	}
	for name, test := range map[string]struct {
		current, host, context string
		env                    map[string]string
		want, err              string
	}{
		"nothing":                {want: defaultHost},
		"a host":                 {host: "tcp://10.0.0.3:2375", env: map[string]string{"DOCKER_CONTEXT": "box"}, want: "tcp://10.0.0.3:2375"},
		"a host without scheme":  {host: "10.0.0.3:2375", want: "tcp://10.0.0.3:2375"},
		"a context":              {context: "gb10", env: map[string]string{"DOCKER_HOST": "tcp://1.2.3.4:1"}, want: `context "gb10" (ssh://me@gb10)`},
		"both":                   {host: "unix:///x", context: "gb10", err: "remove one of them"},
		"DOCKER_HOST":            {current: `{"currentContext":"box"}`, env: map[string]string{"DOCKER_HOST": "unix:///run/d.sock"}, want: "unix:///run/d.sock"},
		"DOCKER_CONTEXT":         {current: `{"currentContext":"box"}`, env: map[string]string{"DOCKER_CONTEXT": "gb10"}, want: `context "gb10" (ssh://me@gb10)`},
		"the current context":    {current: `{"currentContext":"box"}`, want: `context "box" (tcp://10.0.0.2:2375)`},
		"default is no context":  {current: `{"currentContext":"default"}`, want: defaultHost},
		"default asked for":      {context: "default", want: defaultHost},
		"no current context":     {current: `{"auths":{}}`, want: defaultHost},
		"an unknown context":     {context: "gb11", err: `no docker context "gb11"; there are box, default, gb10, kube, pipe`},
		"a context without":      {context: "kube", err: "names no docker daemon"},
		"a torn context":         {context: "torn", err: "cannot read "},
		"a Windows pipe":         {context: "pipe", err: "only unix, tcp and ssh"},
		"a torn configuration":   {current: `{"currentContext"`, err: "cannot read the docker configuration"},
		"an address of no kind":  {host: "http://x", err: `host "http://x" is not the address`},
		"an address in the env":  {env: map[string]string{"DOCKER_HOST": "fd://"}, err: `DOCKER_HOST "fd://" is not the address`},
		"certificates elsewhere": {host: "tcp://10.0.0.3:2376", env: map[string]string{"DOCKER_TLS_VERIFY": "1"}, want: "tcp://10.0.0.3:2376"},
	} {
		t.Run(name, func(t *testing.T) {
			configured(t, test.current, contexts)
			for key, value := range test.env {
				t.Setenv(key, value)
			}
			e, err := findEndpoint(test.host, test.context)
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, %v; want an error with %q", e, err, test.err)
				}
			case err != nil || e.String() != test.want:
				t.Errorf("got %q, %v; want %q", e, err, test.want)
			}
			if test.env["DOCKER_TLS_VERIFY"] != "" && (e.tls == nil || e.tls.InsecureSkipVerify) {
				t.Error("the connection is not checked")
			}
		})
	}
}

func TestSSHTarget(t *testing.T) {
	for address, want := range map[string]string{
		"ssh://gb10":                    "-- gb10",
		"ssh://me@gb10:2222":            "-l me -p 2222 -- gb10",
		"ssh://me@gb10/run/docker.sock": "-l me -- gb10 /run/docker.sock",
	} {
		args, socket, err := sshTarget(address)
		if got := strings.TrimSpace(strings.Join(args, " ") + " " + socket); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", address, got, err, want)
		}
	}
	for _, address := range []string{"ssh://", "ssh://me:secret@gb10", "ssh://-oProxyCommand=x", "ssh://%"} {
		if args, _, err := sshTarget(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v; want an error that shows no password", address, args, err)
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
	configured(t, `{"auths":{"nvcr.io":{"auth":"JG9hdXRodG9rZW46a2V5"},"torn.io":{"auth":"!"},"https://index.docker.io/v1/":{"identitytoken":"tok"}},
		"credHelpers":{"gcr.io":"not-installed-here"}}`, nil)
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
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("DOCKER_CONTEXT", "")
	for _, c := range []struct{ env, host, want string }{
		{"", "", ""},
		{"unix:///run/other.sock", "", ""},
		{"tcp://box:2375", "", " on tcp://box:2375"},
		{"tcp://box:2375", "ssh://me@gpu", " on ssh://me@gpu"},
		{"tcp://box:2375", "unix:///var/run/docker.sock", ""},
	} {
		t.Setenv("DOCKER_HOST", c.env)
		if got := elsewhere(c.host, ""); got != c.want {
			t.Errorf("DOCKER_HOST %q, host %q: %q", c.env, c.host, got)
		}
	}
}
