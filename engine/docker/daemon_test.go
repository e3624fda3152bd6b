package docker

import (
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for host, far := range map[string]bool{
		"unix:///run/d.sock": false, "tcp://127.0.0.1:2375": false, "tcp://10.0.0.3:2375": true, "ssh://me@gb10": true, "10.0.0.3:2375": true,
	} {
		t.Setenv("DOCKER_HOST", host)
		got, err := address()
		if got != host || (err != nil) != far || far && !strings.Contains(err.Error(), `executor "ssh"`) {
			t.Errorf("DOCKER_HOST %q: %q, %v", host, got, err)
		}
	}
}
