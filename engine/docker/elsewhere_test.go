package docker

import "testing"

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
