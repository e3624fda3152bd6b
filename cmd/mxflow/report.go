package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/explain"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/live"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/standing"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/report/ci"
	"github.com/mxflow/mxflow/runtime/report/tree"
	"github.com/mxflow/mxflow/runtime/store"
)

func newReportCommand(a *app) *cobra.Command {
	var dir, since, format string
	var force, pr bool
	c := &cobra.Command{
		Use:   "report [PLAN]",
		Short: "Write the results as Markdown, as an HTML page, for CI or as files to commit",
		Long: `Writes gates, features with their evidence, the accepted stack and every launch as
one Markdown page. --format html writes one self-contained file for a browser: every
launch as a point, the bounds that decided, distributions, power and clocks.

--dir writes a folder of files to commit: BENCHMARK_RESULTS.md, FEATURE_MATRIX.md,
porting/FEATURE_<name>.md for each feature, UPSTREAM_TODOS.md, analysis/ and
TEST_LOGS/. Your own text is kept in notes, improve, blocked_by and superseded_by
of the plan's features, and between <!-- keep NAME --> and <!-- /keep --> in the
files. A file that mxflow did not write is refused; --force replaces only its own.
Writing again without new results changes no file.

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
			case dir != "" && (a.json || since != "" || format != "md"):
				return errors.New("--dir writes its own files: remove --json, --since and --format")
			}
			switch {
			case pr && (a.json || dir != "" || since != "" || format != "md"):
				return errors.New("--pr prints its own page: redirect it with > FILE, without --json, --dir, --since and --format")
			case pr:
				return ci.PullRequest(a.stdout, st)
			}
			if a.json && since == "" {
				a.printJSON(standing.JSON(st))
				return nil
			}
			switch {
			case dir != "":
				return writeTree(a, args, st, dir, force)
			case since != "" && format != "md":
				return fmt.Errorf("--since is Markdown or --json: remove --format %s", format)
			case since != "":
				return reportSince(c.Context(), a, st, since, args)
			case force:
				return errors.New("--force replaces changed files of --dir: name one")
			}
			return write(a, st)
		},
	}
	c.Flags().StringVar(&format, "format", "md", "md, html, junit or github")
	c.Flags().StringVar(&since, "since", "", "what changed since this `STATE`, a run, a date or a git ref, instead of the page")
	c.Flags().StringVar(&dir, "dir", "", "folder for files that a team commits")
	c.Flags().BoolVar(&pr, "pr", false, "what vLLM and llama.cpp ask for in a pull request that claims performance")
	c.Flags().BoolVar(&force, "force", false, "replace changed files of --dir")
	a.jsonFlag(c, "print as JSON")
	return c
}

// reportSince says what changed since a run, a date or the commit that a git ref names.
func reportSince(ctx context.Context, a *app, st *store.Store, name string, args []string) error {
	s, err := changedSince(ctx, a, st, name, args)
	if err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	if a.json {
		a.printJSON(s)
		return nil
	}
	return s.Markdown(a.stdout)
}

// changedSince reads a state's name: a date is never the beginning of a run's ID, and a run
// goes before a git ref.
func changedSince(ctx context.Context, a *app, st *store.Store, name string, args []string) (*report.Since, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, name); err == nil {
			return report.SinceTime(st, name, at.UTC()), nil
		}
	}
	if _, unknown := st.Run(name); unknown == nil {
		return report.SinceRun(st, name)
	}
	path, err := a.planOf(args)
	if err != nil {
		path = "."
	}
	repo, err := source.OpenRepo(ctx, lang.FolderOf(path))
	if err != nil {
		return nil, fmt.Errorf("%q is neither a run nor a date, and no git ref: %w", name, err)
	}
	at, err := repo.Committed(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%q is neither a run nor a date, and no git ref: %w", name, err)
	}
	return report.SinceTime(st, name, at.UTC()), nil
}

// reportFormats write the forms of the results; that for a browser notes what it lacks.
var reportFormats = map[string]func(*app, *store.Store) error{
	"md":     func(a *app, st *store.Store) error { return report.Markdown(a.stdout, st, movedIn(st)) },
	"html":   func(a *app, st *store.Store) error { return live.Page(a.stdout, st, a.note) },
	"junit":  func(a *app, st *store.Store) error { return ci.JUnit(a.stdout, st, time.Now()) },
	"github": func(a *app, st *store.Store) error { return ci.GitHub(a.stdout, st, movedIn(st), time.Now()) },
}

// movedIn works out what features moved, of a state directory.
func movedIn(st *store.Store) report.Moved {
	return func(d *ledger.Decision) []gates.Movement { return explain.Moved(st, d) }
}

// writeTree writes the files of --dir.
func writeTree(a *app, args []string, st *store.Store, dir string, force bool) error {
	p, err := a.planOfRun(st, args)
	if err != nil {
		return err
	}
	files, err := tree.Files(p, st, movedIn(st))
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
