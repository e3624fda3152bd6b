// Package signing keeps the Ed25519 key of the person who runs mxflow, and signs texts
// as signed notes (golang.org/x/mod/sumdb/note). It knows nothing about what is
// signed.
package signing

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// name is the name of keys made here; the hash after it distinguishes them.
const name = "mxflow"

// Environment names the variable that holds a private key as text, for machines where no
// file may hold one.
const Environment = "MXFLOW_SIGNING_KEY"

// Key is a private key with its public part as a verifier key.
type Key struct {
	note.Signer
	// Public is the key to verify with: "mxflow+1a2b3c4d+…".
	Public string
}

// Path is the path of this user's key: mxflow/signing.key in the user's configuration
// folder.
func Path() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the signing key: %w; set %s", err, Environment)
	}
	return filepath.Join(dir, "mxflow", "signing.key"), nil
}

// Open returns the key in the environment, or that in the file, which is created if
// missing. A file that others can read is refused.
func Open(path string) (*Key, error) {
	key, err := load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return create(path)
	}
	return key, err
}

// Public is the public part of the key that Open would open; it creates none, and reads
// the private key only if no public one is beside it.
func Public(path string) (string, error) {
	if os.Getenv(Environment) == "" {
		if text, err := os.ReadFile(publicPath(path)); !errors.Is(err, fs.ErrNotExist) {
			return strings.TrimSpace(string(text)), err
		}
	}
	key, err := load(path)
	if err != nil {
		return "", err
	}
	return key.Public, nil
}

func publicPath(path string) string { return strings.TrimSuffix(path, ".key") + ".pub" }

// load reads the key in the environment, or else that in the file.
func load(path string) (*Key, error) {
	from, text := Environment, os.Getenv(Environment)
	if text == "" {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			return nil,
				fmt.Errorf("%s: mode %04o lets others read the private key; run chmod 600 %s, and create a new key "+
					"if others may have read it", path, mode, path)
		}
		private, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		from, text = path, string(private)
	}
	key, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return key, nil
}

// create never replaces a key: two that start at once end with one.
func create(path string) (*Key, error) {
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// Linked into place when complete, so no process reads half a key.
	whole, err := os.CreateTemp(filepath.Dir(path), ".signing-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(whole.Name())
	_, err = whole.WriteString(private + "\n")
	if err := errors.Join(err, whole.Sync(), whole.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(whole.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return load(path)
		}
		return nil, err
	}
	if err := os.WriteFile(publicPath(path), []byte(public+"\n"), 0o644); err != nil {
		return nil, err
	}
	return load(path)
}

// parse reads a private key as note.GenerateKey writes it.
func parse(text string) (*Key, error) {
	text = strings.TrimSpace(text)
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, errors.New("not a private key of a signed note (PRIVATE+KEY+…)")
	}
	// Five parts, as NewSigner has checked; the last is base64, which may contain a +
	// itself.
	secret, err := base64.StdEncoding.DecodeString(strings.SplitN(text, "+", 5)[4])
	if err != nil || len(secret) != 1+ed25519.SeedSize {
		return nil, errors.New("not an Ed25519 key of a signed note (PRIVATE+KEY+…)")
	}
	public, err := note.NewEd25519VerifierKey(signer.Name(),
		ed25519.NewKeyFromSeed(secret[1:]).Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	return &Key{Signer: signer, Public: public}, nil
}

// Sign returns the text, which ends with a newline, as a signed note.
func (k *Key) Sign(text []byte) ([]byte, error) {
	return note.Sign(&note.Note{Text: string(text)}, k.Signer)
}

// Verify returns the text of a note that this key signed.
func (k *Key) Verify(signed []byte) ([]byte, error) { return Verify(signed, k.Public) }

// Verify returns the text of a signed note if the holder of the public key signed it.
func Verify(signed []byte, public string) ([]byte, error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(public))
	if err != nil {
		return nil, fmt.Errorf("not a public key (%s+hash+base64)", name)
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return nil, fmt.Errorf("no valid signature of %s+%08x", verifier.Name(), verifier.KeyHash())
	}
	return []byte(n.Text), nil
}
