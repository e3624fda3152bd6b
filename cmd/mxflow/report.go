package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/live"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/report/ci"
	"github.com/mxflow/mxflow/runtime/report/tree"
	"github.com/mxflow/mxflow/runtime/store"
)

func newReportCommand(a *app) *cobra.Command {
	var dir, format string
	var force, pr bool
	c := &cobra.Command{
		Use:   "report [PLAN]",
		Short: "Write the results as Markdown, as an HTML page, for CI or as files to commit",
		Long: `Writes the answer in a sentence, the gates, and each feature with the numbers that
decided it, as one Markdown page. --format html writes one self-contained file for a
browser: the answer, the stack, what each port changed, and every launch as a point.

--dir writes a folder of files to commit: BENCHMARK_RESULTS.md, FEATURE_MATRIX.md,
porting/FEATURE_<name>.md for each feature, UPSTREAM_TODOS.md and TEST_LOGS/. Your
own text is kept in notes, improve, blocked_by and superseded_by of the plan's
features, and between <!-- keep NAME --> and <!-- /keep --> in the files. A file that
mxflow did not write is refused; --force replaces only its own. Writing again without
new results changes no file.

--format junit is red exactly when an apply does not end with 0: fail and
inconclusive are failures; error, invalid, locked and undecided are errors; waived
nodes, and those that their gate does without, are skipped. --format github is for a
step summary or a comment. docs/reports.md shows both in a workflow.`,
		Example: "  mxflow report plan.hcl > RESULTS.md\n  mxflow report plan.hcl --dir docs\n  mxflow report --format html plan.hcl > results.html\n  mxflow report --format junit > mxflow.xml\n  mxflow report --format github >> \"$GITHUB_STEP_SUMMARY\"",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			write, known := reportFormats[format]
			if !known {
				return fmt.Errorf("--format %s: use %s; --json for JSON", format, verdict.Joined(slices.Sorted(maps.Keys(reportFormats)), "or"))
			}
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			switch {
			case a.json && format != "md":
				return fmt.Errorf("--json and --format %s are two formats: use one", format)
			case dir != "" && (a.json || format != "md"):
				return errors.New("--dir writes its own files: remove --json and --format")
			case pr && (a.json || dir != "" || format != "md"):
				return errors.New("--pr prints its own page: redirect it with > FILE, without --json, --dir and --format")
			case force && dir == "":
				return errors.New("--force replaces changed files of --dir: name one")
			case pr:
				return ci.PullRequest(a.stdout, st)
			case a.json:
				a.printJSON(view.StatusJSON(st))
				return nil
			case dir != "":
				return writeTree(a, args, st, dir, force)
			}
			return write(a, st)
		},
	}
	c.Flags().StringVar(&format, "format", "md", "md, html, junit or github")
	c.Flags().StringVar(&dir, "dir", "", "folder for files that a team commits")
	c.Flags().BoolVar(&pr, "pr", false, "what vLLM and llama.cpp ask for in a pull request that claims performance")
	c.Flags().BoolVar(&force, "force", false, "replace changed files of --dir")
	a.jsonFlag(c, "print as JSON")
	return c
}

// reportFormats write the forms of the results; that for a browser notes what it lacks.
var reportFormats = map[string]func(*app, *store.Store) error{
	"md":     func(a *app, st *store.Store) error { return report.Markdown(a.stdout, st) },
	"html":   func(a *app, st *store.Store) error { return live.Page(a.stdout, st, a.note) },
	"junit":  func(a *app, st *store.Store) error { return ci.JUnit(a.stdout, st, time.Now()) },
	"github": func(a *app, st *store.Store) error { return ci.GitHub(a.stdout, st, time.Now()) },
}

// writeTree writes the files of --dir.
func writeTree(a *app, args []string, st *store.Store, dir string, force bool) error {
	p, err := a.planOfRun(st, args)
	if err != nil {
		return err
	}
	files, err := tree.Files(p, st)
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
		fmt.Fprintf(a.stdout, "%s is up to date: %s.\n", dir, verdict.Count(len(files), "file"))
	}
	return err
}
