package main

import (
	"io"
	"os"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/store"
)

// auditHost is what mxflow provides to the commands about the record.
func auditHost(a *app) audit.Host {
	return audit.Host{
		Out: func() io.Writer {
			if _, folded := a.stdout.(*table.Folding); !folded {
				a.fold()
			}
			return a.stdout
		},
		JSON: &a.json, JSONFlag: a.jsonFlag, KeyFlag: keyFlag, PrintJSON: a.printJSON,
		Reader: a.reader, Evidence: func(args []string) (*store.Store, error) { return evidence(a, args) },
		Fail: func(err error) error { return a.fail(verdict.ExitFail, err) },
	}
}

// evidence is reader, also for an export of a state directory: any file that is not a
// plan, so a damaged export is reported as damaged.
func evidence(a *app, args []string) (*store.Store, error) {
	if len(args) == 0 || lang.IsSource(args[0]) && !store.IsArchive(args[0]) {
		return a.reader(args)
	}
	if at, err := os.Stat(args[0]); err != nil || at.IsDir() {
		return a.reader(args)
	}
	st, err := store.OpenArchive(args[0])
	if err != nil {
		return nil, a.fail(verdict.ExitFail, err)
	}
	return st, nil
}
