package audit

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
)

// OwnKey is this user's key, created if missing.
func OwnKey() (*signing.Key, error) {
	file, err := signing.Path()
	if err != nil && os.Getenv(signing.Environment) == "" {
		return nil, err
	}
	return signing.Open(file)
}

// Signer is this user's key for signing a ledger. Without one, a ledger that is not signed
// can be written to, and audit verify does not pass.
func Signer(stderr io.Writer) ledger.Signer {
	key, err := OwnKey()
	if err != nil {
		fmt.Fprintf(stderr, "note: there is no key to sign the ledger with, and audit verify will not pass: %v\n", err)
		return nil
	}
	return key
}

// PublicKey is the key to verify a file with: as text, in a file, or by default this
// user's.
func PublicKey(given, file string) (string, error) {
	if text, err := os.ReadFile(given); err == nil {
		return string(text), nil
	}
	if given != "" {
		return given, nil
	}
	own, err := signing.Path()
	if err != nil && os.Getenv(signing.Environment) == "" {
		return "", err
	}
	key, err := signing.Public(own)
	if err != nil {
		return "", fmt.Errorf("no public key to verify %s with: %w; pass --key", file, err)
	}
	return key, nil
}

// KeyName identifies a public key for people: its name and hash.
func KeyName(public string) string {
	name, rest, _ := strings.Cut(public, "+")
	hash, _, _ := strings.Cut(rest, "+")
	return name + "+" + hash
}
