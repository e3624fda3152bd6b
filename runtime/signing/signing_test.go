package signing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestKey: a key is made once, signs what its public part verifies, and is refused where others could have read it.
func TestKey(t *testing.T) {
	t.Setenv(Environment, "")
	path := filepath.Join(t.TempDir(), "mxflow", "signing.key")
	if _, err := Public(path); err == nil {
		t.Error("a public key without a private one")
	}
	key := must.Get(Open(path))(t)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: want mode 0600", info.Mode(), err)
	}
	again, err := Open(path)
	if err != nil || again.Public != key.Public {
		t.Errorf("opened again: %v, %v, want %s", again, err, key.Public)
	}
	if public, err := Public(path); err != nil || public != key.Public {
		t.Errorf("public key %q, %v, want %q", public, err, key.Public)
	}
	text := "a text\nof two lines\n"
	signed := must.Get(key.Sign([]byte(text)))(t)
	if got, err := Verify(signed, key.Public); err != nil || string(got) != text {
		t.Errorf("verified %q, %v", got, err)
	}
	other := must.Get(Open(filepath.Join(t.TempDir(), "other.key")))(t)
	for name, try := range map[string]struct{ signed, public string }{
		"another key":  {string(signed), other.Public},
		"changed text": {strings.Replace(string(signed), "two", "too", 1), key.Public},
		"no signature": {text, key.Public},
		"empty":        {"", key.Public},
		"no key":       {string(signed), ""},
	} {
		if got, err := Verify([]byte(try.signed), try.public); err == nil {
			t.Errorf("%s: verified %q", name, got)
		}
	}
	must.Do(t, os.Chmod(path, 0o640))
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "0640") {
		t.Errorf("a key that others can read: %v", err)
	}
}

// TestKeyOfEnvironment: the environment comes first, and what is no key makes none.
func TestKeyOfEnvironment(t *testing.T) {
	t.Setenv(Environment, "")
	path := filepath.Join(t.TempDir(), "signing.key")
	key := must.Get(Open(path))(t)
	text := must.Get(os.ReadFile(path))(t)
	t.Setenv(Environment, string(text))
	missing := filepath.Join(t.TempDir(), "signing.key")
	if got, err := Open(missing); err != nil || got.Public != key.Public {
		t.Errorf("%v, %v", got, err)
	}
	if public, err := Public(missing); err != nil || public != key.Public {
		t.Errorf("%v, %v", public, err)
	}
	t.Setenv(Environment, "PRIVATE+KEY+mxflow+12345678+AAAA")
	if _, err := Open(missing); err == nil {
		t.Error("opened what is no key")
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("made a key although the environment has one")
	}
}
