package audit

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
)

func newKeyCommand(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key that others verify with",
		Long: `Prints your public key, for audit verify --key and apply --sealed --key. The key
is made on first use, as mxflow/signing.key in your configuration folder;
MXFLOW_SIGNING_KEY replaces it.`,
		Example: "  mxflow audit key > kim.pub",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key, err := ownKey()
			if err != nil {
				return err
			}
			fmt.Fprintln(h.Out(), key.Public)
			return nil
		},
	}
}

// ownKey is this user's key, created if missing.
func ownKey() (*signing.Key, error) {
	file, err := signing.Path()
	if err != nil && os.Getenv(signing.Environment) == "" {
		return nil, err
	}
	return signing.Open(file)
}

// Signer is this user's key for signing a ledger. Without one, a ledger that is not signed
// can be written to, and audit verify does not pass.
func Signer(stderr io.Writer) ledger.Signer {
	key, err := ownKey()
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

// keyName identifies a public key for people: its name and hash.
func keyName(public string) string {
	name, rest, _ := strings.Cut(public, "+")
	hash, _, _ := strings.Cut(rest, "+")
	return name + "+" + hash
}
