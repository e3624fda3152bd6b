// Package audit handles the record itself: it shows its decisions, verifies and exports
// it. It knows the ledger, the artifacts that it names and who signed them. It knows
// nothing about engines, how anything is decided, or plans: checking the record must not
// depend on what wrote it. Deciding again is audit replay, which is elsewhere.
package audit

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

// Host is what mxflow provides to these commands.
type Host struct {
	// Out is where people read.
	Out func() io.Writer
	// JSON is the --json flag, which JSONFlag adds to a command; KeyFlag adds --key.
	JSON      *bool
	JSONFlag  func(*cobra.Command)
	KeyFlag   func(c *cobra.Command, into *string)
	PrintJSON func(any)
	// Reader opens the state directory of a plan, Evidence also an export of one.
	Reader, Evidence func(args []string) (*store.Store, error)
	// Fail makes an error one of the record, exit status 2, and not of usage.
	Fail func(error) error
}

// Command is mxflow audit; more are the caller's subcommands.
func Command(h Host, more ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit [PLAN]",
		Short: "Show every decision of gates and features with its values",
		Long: `Shows every attempt at every gate and feature, the old ones too: the rules, the
values on both sides, the verdict, and why it was decided then. Waivers are
listed where they happened: who, why and until when.`,
		Example: `  mxflow audit plan.hcl
  mxflow audit verify plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := h.Evidence(args)
			if err != nil {
				return err
			}
			defer st.Close()
			printDecisions(h, st)
			return nil
		},
	}
	h.JSONFlag(c)
	c.AddCommand(newVerifyCommand(h), newExportCommand(h), newKeyCommand(h))
	c.AddCommand(more...)
	return c
}

// whole opens a record and calls do if it verifies, with the key that signed it.
func (h Host) whole(open func([]string) (*store.Store, error), args []string, key string,
	do func(st *store.Store, checked ledger.Report, signer string) error,
) error {
	st, err := open(args)
	if err != nil {
		if _, ok := errors.AsType[*ledger.DamageError](err); ok {
			return h.Fail(err)
		}
		return err
	}
	defer st.Close()
	checked, signer, err := verified(st, key)
	if err != nil {
		return h.Fail(err)
	}
	return do(st, checked, signer)
}

// verified is a complete and signed ledger, and the key that signed it.
func verified(st *store.Store, key string) (rep ledger.Report, signer string, err error) {
	if rep, err = ledger.Verify(st.LedgerPath()); err != nil {
		return rep, "", err
	}
	rep.Path = st.LedgerName()
	if signer, err = signedBy(rep, key); err != nil && st.ArchivedKey() != "" {
		err = fmt.Errorf("%w. According to the file, which proves nothing, the key is %s", err, st.ArchivedKey())
	}
	return rep, signer, err
}

// signedBy is the key that signed everything in a ledger; anything less is an error.
func signedBy(rep ledger.Report, given string) (string, error) {
	checkpoint := "checkpoint of " + filepath.Clean(rep.Path)
	if rep.Note == nil {
		return "", fmt.Errorf("there is no %s: records may be missing at the end. Restore both from a copy", checkpoint)
	}
	key, err := PublicKey(given, checkpoint)
	if err != nil {
		return "", err
	}
	key = strings.TrimSpace(key)
	if _, err := signing.Verify(rep.Note, key); err != nil {
		return "", fmt.Errorf("%s: %w. Pass the signer's key (--key)", checkpoint, err)
	}
	if n := int(rep.Size - rep.Checkpoint); n > 0 {
		return "",
			fmt.Errorf("%s: signs lines 1 to %d; %s at the end not signed, from line %d on. If an apply is running, "+
				"try again. "+
				"What a killed apply left there, the next one sets aside and repeats; anything else it refuses",
				checkpoint,
				rep.Checkpoint, verdict.Count(n, "record"), rep.Checkpoint+1)
	}
	return key, nil
}
