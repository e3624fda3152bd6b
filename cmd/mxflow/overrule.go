package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/overruling"
	"github.com/mxflow/mxflow/runtime/store"
)

// signature is who overrules a decision, and why: without both nobody could say
// later whether it was right.
type signature struct{ reason, by string }

func (s *signature) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.reason, "reason", "", "why, for later readers (required)")
	c.Flags().StringVar(&s.by, "by", "", "your name (required)")
}

func (s *signature) check() (err error) {
	if s.reason, err = overruling.OneLine("reason", s.reason, 2000, "why"); err != nil {
		return err
	}
	s.by, err = overruling.OneLine("by", s.by, 200, "who decides this")
	return err
}

// writer opens the state directory that a reader of these arguments would read,
// to record what a person decided. It is refused while an apply is at work there:
// what is overruled might change under the hands of both.
func writer(a *app, args []string) (st *store.Store, done func(), err error) {
	if len(args) > 0 && store.IsArchive(args[0]) {
		return nil, nil, fmt.Errorf("%s is an export, which records nothing: name the plan", args[0])
	}
	seen, err := a.reader(args)
	if err != nil {
		return nil, nil, err
	}
	dir := seen.Dir()
	seen.Close()
	lock, err := store.Lock(dir)
	if held := (*store.HeldError)(nil); errors.As(err, &held) {
		return nil, nil, fmt.Errorf("nothing was changed: %w; try again when it has ended, or stop it", err)
	}
	if err != nil {
		return nil, nil, err
	}
	if st, err = store.OpenSigned(dir, audit.Signer(a.stderr)); err != nil {
		_ = lock.Unlock() // the error that counts is the other one
		return nil, nil, err
	}
	for _, n := range st.Notices() {
		fmt.Fprintln(a.stderr, "note:", n)
	}
	return st, func() { _, _ = st.Close(), lock.Unlock() }, nil
}
