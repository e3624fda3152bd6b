package main

import (
	"fmt"
	"path/filepath"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/report/tree"
	"github.com/mxflow/mxflow/runtime/store"
)

// writeTree writes the files of --dir. The plan is read as it is now, since it holds what
// people write beside the numbers.
func writeTree(a *app, args []string, vars []load.Given, st *store.Store, dir string, force bool) error {
	path, err := a.planOf(args)
	if err != nil {
		return err
	}
	loaded, _, err := a.load(path, load.Options{Inputs: vars})
	if err != nil {
		return err
	}
	if runs := st.Runs(); len(runs) > 0 && runs[len(runs)-1].Plan != loaded.Plan.Name {
		return fmt.Errorf("%s holds results of plan %q, and %s is plan %q: name the plan that was applied here, or its directory with --state", st.Dir(), runs[len(runs)-1].Plan, path, loaded.Plan.Name)
	}
	files, err := tree.Files(loaded.Plan, st, movedIn(st))
	if err != nil {
		return err
	}
	for i := range files {
		files[i].Text = a.secrets.Text(files[i].Text)
	}
	changed, err := tree.Write(dir, files, force)
	for _, name := range changed {
		fmt.Fprintf(a.stdout, "wrote %s\n", filepath.Join(dir, name))
	}
	if err == nil && len(changed) == 0 {
		fmt.Fprintf(a.stdout, "%s is up to date: %s.\n", dir, tell.Count(len(files), "file"))
	}
	return err
}
