package machine

import "testing"

func TestEnvironment(t *testing.T) {
	env := Environment()
	for _, key := range []string{"os", "arch", "cores"} {
		if env[key] == "" {
			t.Errorf("%s is missing", key)
		}
	}
	if env["os"] == "linux" && (env["kernel"] == "" || env["mem_gib"] == "" || BootID() == "") {
		t.Errorf("kernel, memory or boot is missing: %v", env)
	}
	for key, value := range env {
		if value == "" {
			t.Errorf("%s is empty instead of absent", key)
		}
	}
}
