package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
)

func newSignCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "sign [PLAN]",
		Short: "Sign a ledger that your key has not signed",
		Long: `Signs the ledger as it is, and with that says that it is whole: one from before there
were signatures, one whose checkpoint is gone, or one that another key signed. Compare it
with a copy first. apply signs by itself only what your key has signed before.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := ownKey()
			if err != nil {
				return err
			}
			st, done, err := opened(a, args)
			if err != nil {
				return err
			}
			defer done()
			if err := st.SignWith(key, true); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "Signed %s with %s+%08x.\n", filepath.Clean(st.LedgerPath()), key.Name(), key.KeyHash())
			return nil
		},
	}
}

func newKeyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key that others verify with",
		Long: `Prints your public key, for audit verify --key and apply --sealed --key. The key is made
on first use, in mxflow/signing.key in the folder of your configuration;
MXFLOW_SIGNING_KEY takes its place.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key, err := ownKey()
			if err != nil {
				return err
			}
			fmt.Fprintln(a.stdout, key.Public)
			return nil
		},
	}
}

// ownKey is the key of this user, made where there is none.
func ownKey() (*signing.Key, error) {
	file, err := signing.Path()
	if err != nil && os.Getenv(signing.Environment) == "" {
		return nil, err
	}
	return signing.Open(file)
}

// signer is the key of this user to sign a ledger with; without one the work goes on, and
// audit verify does not pass.
func (a *app) signer() ledger.Signer {
	key, err := ownKey()
	if err != nil {
		fmt.Fprintf(a.stderr, "note: the ledger is not signed, and audit verify will not pass: %v\n", err)
		return nil
	}
	return key
}

// publicKey is the key to verify a file with: as text, in a file, or where none is given
// that of this user.
func publicKey(given, file string) (string, error) {
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

// signedBy is who signed all that a ledger holds; anything less is an error.
func signedBy(rep ledger.Report, given string) (string, error) {
	checkpoint := filepath.Clean(rep.Path) + ".checkpoint"
	if rep.Note == nil {
		return "", fmt.Errorf("there is no checkpoint (%s): records may have been cut off at the end. Compare with a copy; where the ledger is whole, sign it: mxflow audit sign", checkpoint)
	}
	key, err := publicKey(given, checkpoint)
	if err != nil {
		return "", err
	}
	if _, err := signing.Verify(rep.Note, key); err != nil {
		return "", fmt.Errorf("%s: %w. Pass the key of who signed (--key); where nobody did and the ledger is whole, sign it: mxflow audit sign", checkpoint, err)
	}
	if n := int(rep.Size - rep.Checkpoint); n > 0 {
		return "", fmt.Errorf("%s: %s at the end not signed. While an apply is running, ask again when it has finished; if it was killed, the next apply signs", checkpoint, count(n, "record"))
	}
	// NewVerifier has checked the form: name, hash, key.
	parts := strings.SplitN(strings.TrimSpace(key), "+", 3)
	if len(parts) < 3 {
		return "", errors.New("not a public key")
	}
	return parts[0] + "+" + parts[1], nil
}
