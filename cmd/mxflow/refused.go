package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// By what something is refused, on record.
const (
	bySeal = "sealed"
	byRole = "proposer"
	byMCP  = "mcp"
)

// refusal is something that is refused, as the record has it. A value of a flag may be a
// secret, so only names of flags are kept.
func refusal(by, asked string, c *cobra.Command, why ...verdict.Reason) ledger.Refusal {
	r := ledger.Refusal{By: by, Asked: asked, Why: why}
	if u, err := user.Current(); err == nil {
		r.User = u.Username
	}
	if c != nil {
		c.Flags().Visit(func(f *pflag.Flag) { r.Given = append(r.Given, "--"+f.Name) })
	}
	return r
}

// refuse puts a refusal on record beside a plan. Where that cannot be done, since an apply is
// at work, or the record is signed by somebody else, it is refused all the same.
func refuse(a *app, plan string, r ledger.Refusal) {
	dir := filepath.Join(lang.FolderOf(plan), store.DirName)
	if is, err := proposing(); err == nil && !is {
		dir = a.stateDir(plan) // a proposer chooses none
	}
	if _, err := os.Stat(filepath.Join(dir, "ledger")); err != nil {
		return // nothing was applied yet
	}
	if err := appendRefusal(dir, audit.Signer(a.stderr), r); err != nil {
		fmt.Fprintln(a.stderr, "note: the refusal is not on record:", err)
	}
}

func appendRefusal(dir string, signer ledger.Signer, r ledger.Refusal) error {
	lock, err := store.Lock(dir)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer st.Close()
	if signer == nil {
		return errors.New("no key to sign the record with")
	}
	if err := st.SignWith(signer, false); err != nil {
		return err
	}
	return st.Refuse(r)
}
