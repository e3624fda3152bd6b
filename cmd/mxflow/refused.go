package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/lang"
	planseal "github.com/mxflow/mxflow/plans/seal"
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
func (a *app) refuse(plan string, r ledger.Refusal) {
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

// movedReasons are what moved, as facts.
func movedReasons(moved []planseal.Moved) (why []verdict.Reason) {
	for _, m := range moved {
		args := []verdict.Arg{verdict.Text("at", fmt.Sprintf("%s:%d", m.File, m.Line))}
		if m.Was != "" {
			args = append(args, verdict.Text("was", cut(m.Was)))
		}
		if m.Is != "" {
			args = append(args, verdict.Text("is", cut(m.Is)))
		}
		if m.Limit != "" {
			args = append(args, verdict.Text("limit", cut(m.Limit)))
		}
		why = append(why, verdict.New(code.SealMoved, args...).On(cut(m.Path)))
	}
	return why
}

// mostOfValue is how much of a text a refusal keeps: who proposes chooses how long it is.
const mostOfValue = 200

func cut(text string) string {
	if len(text) <= mostOfValue {
		return text
	}
	return strings.ToValidUTF8(text[:mostOfValue], "") + "…"
}
