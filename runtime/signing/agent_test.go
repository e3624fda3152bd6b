package signing

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

// startAgent starts an ssh-agent with these keys, and returns what adds to it and removes
// from it.
func startAgent(t *testing.T, names ...string) (add func(args ...string)) {
	t.Helper()
	dir := t.TempDir()
	for _, program := range []string{"ssh-agent", "ssh-add", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("a key in an ssh-agent cannot be tried: %v", err)
		}
	}
	socket := filepath.Join(dir, "agent")
	c := exec.Command("ssh-agent", "-D", "-a", socket)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // says where it listens once it does
		t.Fatal(err)
	}
	t.Setenv(agentSocket, socket)
	add = func(args ...string) {
		t.Helper()
		if said, err := exec.Command("ssh-add", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	for _, name := range names {
		file := filepath.Join(dir, name)
		kind, comment, _ := strings.Cut(name, "-")
		if said, err := exec.Command("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", comment, "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		add("-q", file)
	}
	return add
}

// TestAgent: what an ssh-agent signs is a signed note like any other, and an agent that
// cannot says why.
func TestAgent(t *testing.T) {
	add := startAgent(t, "rsa-other", "ed25519-kim")
	t.Setenv(Environment, "ssh-agent")
	key, err := Open(filepath.Join(t.TempDir(), "none.key"))
	if err != nil {
		t.Fatal(err)
	}
	const text = "a text\nof two lines\n"
	signed, err := key.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Verify(signed, key.Public); err != nil || string(got) != text {
		t.Errorf("verified %q, %v", got, err)
	}
	if v, err := note.NewVerifier(key.Public); err != nil || v.KeyHash() != key.KeyHash() {
		t.Errorf("key hash %08x, %v", key.KeyHash(), err)
	}
	if public, err := Public(""); err != nil || public != key.Public {
		t.Errorf("public %q, %v", public, err)
	}
	envelope, err := key.Envelope("text/plain", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := openEnvelope(envelope, "text/plain", key.Public); err != nil || string(got) != text {
		t.Errorf("envelope: %q, %v", got, err)
	}

	// The file of the key may say that an agent has it, and has no public one beside it.
	t.Setenv(Environment, "")
	file := filepath.Join(t.TempDir(), "signing.key")
	if err := os.WriteFile(file, []byte("ssh-agent:kim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := Open(file); err != nil || again.Public != key.Public {
		t.Errorf("by the file: %v, %v", again, err)
	}
	if public, err := Public(file); err != nil || public != key.Public {
		t.Errorf("public key by the file: %q, %v", public, err)
	}

	fails := func(which, want string) {
		t.Helper()
		t.Setenv(Environment, which)
		if _, err := Open(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", which, err, want)
		}
	}
	fails("ssh-agent:lee", `has no Ed25519 key "lee"; it has SHA256:`)
	fails("ssh-agents", "not a private key")
	add("-q", "-D")
	fails("ssh-agent", "has no Ed25519 key: create one")
	if _, err := key.Sign([]byte(text)); err == nil || !strings.Contains(err.Error(), "did not sign with SHA256:") {
		t.Errorf("a key that was taken away signs: %v", err)
	}
	t.Setenv(agentSocket, filepath.Join(t.TempDir(), "nowhere"))
	fails("ssh-agent", "does not answer")
	if _, err := key.Signer.Sign([]byte(text)); errors.Is(err, os.ErrNotExist) {
		t.Errorf("it asks another agent than the one that it was found in: %v", err)
	}
	t.Setenv(agentSocket, "")
	fails("ssh-agent", agentSocket+" is not set")
}

// TestAgentWithSeveralKeys: none is chosen for a person.
func TestAgentWithSeveralKeys(t *testing.T) {
	startAgent(t, "ed25519-kim", "ed25519-lee")
	t.Setenv(Environment, "ssh-agent")
	if _, err := Open(""); err == nil || !strings.Contains(err.Error(), "several Ed25519 keys: choose one") {
		t.Errorf("%v", err)
	}
	t.Setenv(Environment, "ssh-agent:lee")
	if _, err := Open(""); err != nil {
		t.Error(err)
	}
}
