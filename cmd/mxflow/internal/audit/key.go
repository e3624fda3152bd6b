package audit

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

func newSignCommand(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "sign [PLAN]",
		Short: "Sign a ledger that your key has not signed yet",
		Long: `Signs the ledger as it is, declaring it complete: one from before there
were signatures, one without a checkpoint, or one that another key signed, which the
ledger then records. Compare it with a copy first. apply only signs a ledger that your
key has signed before.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := ownKey()
			if err != nil {
				return err
			}
			st, done, err := h.Writer(args)
			if err != nil {
				return err
			}
			defer done()
			if err := st.SignWith(key, true); err != nil {
				return err
			}
			fmt.Fprintf(h.Stdout, "Signed %s with %s+%08x.\n", st.LedgerName(), key.Name(), key.KeyHash())
			return nil
		},
	}
}

func newRotateCommand(h Host) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "rotate [PLAN]",
		Short: "Hand the ledger over to a new key",
		Long: `Replaces your key with a new one, keeps the old one beside it, and records in the
ledger that the old key signed the new one: verifying with the old public key then
accepts the new one. Run it again for every other ledger that the old key signed;
your key then stays the same.

--from gives the old key's file if yours is in MXFLOW_SIGNING_KEY. If the old
key is lost, audit sign takes the ledger over, and you must tell others.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, done, err := h.Writer(args)
			if err != nil {
				return err
			}
			defer done()
			old, now, err := rotated(st, from)
			if err != nil {
				return err
			}
			if err := st.Rotate(old, now); err != nil {
				return err
			}
			fmt.Fprintf(h.Stdout, "%s now belongs to %s, signed over by %s.\n", st.LedgerName(), keyName(now.Public), keyName(old.Public))
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", "private key `file` that signed the ledger until now")
	return c
}

// rotated is the key that signed a ledger, and the new one: a fresh key, or this user's
// if another one signed.
func rotated(st *store.Store, from string) (old, now *signing.Key, err error) {
	if now, err = ownKey(); err != nil {
		return nil, nil, err
	}
	rep, err := ledger.Verify(st.LedgerPath())
	if err != nil {
		return nil, nil, err
	}
	if from != "" {
		old, err = signing.File(from)
		return old, now, err
	}
	file, err := signing.Path()
	if err != nil {
		return nil, nil, fmt.Errorf("%w; name the old key with --from", err)
	}
	if _, err := now.Verify(rep.Note); err == nil {
		return signing.Rotate(file)
	}
	retired, err := signing.Retired(file)
	if err != nil {
		return nil, nil, err
	}
	for _, old := range retired {
		if _, err := old.Verify(rep.Note); err == nil {
			return old, now, nil
		}
	}
	return nil, nil, fmt.Errorf("%s: none of your keys, current or earlier, signed its checkpoint: give the file of the key that did (--from), or, if it is lost, take the ledger over: mxflow audit sign", st.LedgerName())
}

func newKeyCommand(h Host) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "key",
		Short: "Print the public key that others verify with",
		Long: `Prints your public key, for audit verify --key and apply --sealed --key. The key is made
on first use, in mxflow/signing.key in the folder of your configuration;
MXFLOW_SIGNING_KEY takes its place. Either may say ssh-agent, or ssh-agent:FINGERPRINT,
for a key of Ed25519 that an ssh-agent has.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key, err := ownKey()
			if err != nil {
				return err
			}
			return printKey(h, key.Public, format)
		},
	}
	c.Flags().StringVar(&format, "format", "note", "note, which mxflow reads, or pem, for other tools")
	return c
}

// ownKey is this user's key, created if missing.
func ownKey() (*signing.Key, error) {
	file, err := signing.Path()
	if err != nil && os.Getenv(signing.Environment) == "" {
		return nil, err
	}
	return signing.Open(file)
}

// Signer is this user's key for signing a ledger; without one apply continues, and audit
// verify does not pass.
func Signer(stderr io.Writer) ledger.Signer {
	key, err := ownKey()
	if err != nil {
		fmt.Fprintf(stderr, "note: the ledger is not signed, and audit verify will not pass: %v\n", err)
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

// keyChanged describes a change of keys.
func keyChanged(k ledger.KeyChange) string {
	if k.Handover == "" {
		return "gives the ledger to the key " + keyName(k.Public) + ", without the signature of the one before"
	}
	return "gives the ledger to the key " + keyName(k.Public) + ", signed by the one before"
}

// keyName identifies a public key for people: its name and hash.
func keyName(public string) string {
	name, rest, _ := strings.Cut(public, "+")
	hash, _, _ := strings.Cut(rest, "+")
	return name + "+" + hash
}

// printKey prints a public key in mxflow's format, or in that of other tools.
func printKey(h Host, public, format string) error {
	text := public + "\n"
	switch format {
	case "note":
	case "pem":
		var err error
		if text, err = signing.PEM(public); err != nil {
			return err
		}
	default:
		return fmt.Errorf("--format %s: use note or pem", format)
	}
	fmt.Fprint(h.Stdout, text)
	return nil
}
