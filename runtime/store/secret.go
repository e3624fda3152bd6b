package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SecretName is the file of the key that distinguishes sensitive values without storing
// them.
const SecretName = "secret.key"

// SecretKey is the key of a state directory, created if missing; without a directory it
// is one for this process. A reader without write permission uses a fresh one: nothing
// was measured yet.
func SecretKey(dir string) ([]byte, error) {
	fresh := make([]byte, sha256.Size)
	if _, err := rand.Read(fresh); err != nil || dir == "" {
		return fresh, err
	}
	known, err := KnownSecretKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return known, err
	}
	err = os.WriteFile(filepath.Join(dir, SecretName), []byte(hex.EncodeToString(fresh)+"\n"), 0o600)
	if errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return fresh, err
}

// KnownSecretKey is the key of a state directory that has one; nothing is written.
func KnownSecretKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, SecretName)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var key [sha256.Size]byte
	if n, err := hex.Decode(key[:], text[:min(len(text), 2*len(key))]); err != nil || n != len(key) {
		return nil,
			fmt.Errorf("%s is damaged: remove it; variants with secrets in the plan are then measured again", path)
	}
	return key[:], nil
}
