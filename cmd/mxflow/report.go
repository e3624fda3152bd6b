package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/live"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/export"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/report/ci"
	"github.com/mxflow/mxflow/runtime/report/tree"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// reportOptions are the command line of mxflow report.
type reportOptions struct {
	*app
	dir, format string
	force       bool
	feature     string // the port of a pull request, as it was named
}

func newReportCommand(a *app) *cobra.Command {
	o := &reportOptions{app: a}
	c := &cobra.Command{
		Use:   "report [PLAN]",
		Short: "Write the results as a page, Markdown, files to commit or for CI",
		Long: `Prints the results as Markdown: the answer in a sentence, the gates, and each
feature with the numbers that decided it. --format prints another form:

  html       one page for a browser: the stack, each port, every launch
  junit      fail and inconclusive are failures; error, invalid, locked and
             undecided are errors; waived nodes are skipped
  github     for a job summary or a comment
  pr         what vLLM and llama.cpp ask for in a pull request about speed, of
             every port, or with --format pr FEATURE [PLAN] of one
  csv        a row per launch that counts, a column per metric
  benchstat  the same for benchstat -col /variant FILE

--dir writes files for a team to commit. Text of your own stays in the plan's notes,
and between <!-- keep NAME --> and <!-- /keep -->. A file that mxflow did not
write is refused; --force replaces only its own.`,
		Example: `  mxflow report --format html plan.hcl > results.html
  mxflow report --format github plan.hcl >> "$GITHUB_STEP_SUMMARY"
  mxflow report --format pr kv_cache plan.hcl > PR.md
  mxflow report --dir docs plan.hcl`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			// One argument is the plan if it is a file, or is called as one.
			isPlan := func(name string) bool {
				_, err := os.Stat(name)
				return err == nil || filepath.Ext(name) == ".hcl" || lang.IsYAML(name)
			}
			switch {
			case len(args) == 2 && o.format != "pr":
				return fmt.Errorf("%s: only --format pr takes a FEATURE before the PLAN", args[0])
			case o.format == "pr" && (len(args) == 2 || len(args) == 1 && !isPlan(args[0])):
				o.feature, args = args[0], args[1:]
			}
			// Commands to run next have the plan.
			if err := c.Flags().Parse(append([]string{"--"}, args...)); err != nil {
				return err
			}
			return o.run(c, args)
		},
	}
	c.Flags().StringVar(&o.format, "format", "md", "`FORM` of the report")
	c.Flags().StringVar(&o.dir, "dir", "", "`FOLDER` for files that a team commits")
	c.Flags().BoolVar(&o.force, "force", false, "replace changed files of --dir")
	a.jsonFlag(c.Flags())
	return c
}

func (o *reportOptions) run(_ *cobra.Command, args []string) error {
	write, known := reportFormats[o.format]
	var forms []string
	for _, form := range []struct {
		flag  string
		given bool
	}{{"--dir", o.dir != ""}, {"--format", o.format != "md"}, {"--json", o.json}} {
		if form.given {
			forms = append(forms, form.flag)
		}
	}
	switch {
	case !known:
		return fmt.Errorf("--format %s: use %s; --json for JSON", o.format,
			verdict.Joined(slices.Sorted(maps.Keys(reportFormats)), "or"))
	case o.force && o.dir == "":
		return errors.New("--force replaces changed files of --dir: name one")
	case len(forms) > 1:
		return fmt.Errorf("%s are different forms of the report: use one", verdict.And(forms))
	}
	st, err := o.reader(args)
	if err != nil {
		return err
	}
	defer st.Close()
	switch {
	case o.dir != "":
		return o.writeTree(args, st)
	case o.json:
		o.printJSON(o.summary(st, args).JSON())
		return nil
	case len(st.Runs()) == 0:
		return report.ErrNothing
	case o.feature != "":
		return o.onePort(st, args)
	}
	o.file()
	return write(o.app, o.summary(st, args))
}

// onePort writes the pull request of one port.
func (o *reportOptions) onePort(st *store.Store, args []string) error {
	node, _, err := view.Argued(st, o.feature)
	if err != nil {
		return err
	}
	s := o.summary(st, args)
	r := s.Rows.At(node)
	switch {
	case r.Feature == "":
		return fmt.Errorf("%s is no feature: a pull request is about one", node)
	case r.Decided == nil:
		return fmt.Errorf("%s was not decided, so there is nothing to claim: %s", node,
			cmp.Or(r.Short(), "not run yet"))
	}
	return ci.PullRequest(o.stdout, s, r.Feature)
}

// reportFormats write the forms of the results; that for a browser notes what it lacks.
var reportFormats = map[string]func(*app, *report.Summary) error{
	"md":        func(a *app, s *report.Summary) error { return report.Markdown(a.stdout, s) },
	"html":      func(a *app, s *report.Summary) error { return live.Page(a.stdout, s.Store, a.note) },
	"junit":     func(a *app, s *report.Summary) error { return ci.JUnit(a.stdout, s) },
	"github":    func(a *app, s *report.Summary) error { return ci.GitHub(a.stdout, s) },
	"pr":        func(a *app, s *report.Summary) error { return ci.PullRequest(a.stdout, s, "") },
	"csv":       launchesAs("csv"),
	"benchstat": launchesAs("benchstat"),
}

// launchesAs writes every launch that counts for another tool.
func launchesAs(format string) func(*app, *report.Summary) error {
	return func(a *app, s *report.Summary) error {
		launches, err := export.Launches(s)
		if err != nil {
			return err
		}
		return export.Formats[format](a.stdout, launches)
	}
}

// writeTree writes the files of --dir.
func (o *reportOptions) writeTree(args []string, st *store.Store) error {
	p, now, err := o.planOfRun(st, args)
	if now.plan != nil {
		if err := apply.SamePlan(st, now.plan); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if now.State == changed {
		o.note(verdict.Say("replay.plan_moved",
			"{subject} is not what run {run} applied: the plan is shown as that run kept it",
			verdict.Text("run", now.run)).On(now.File))
	}
	s := o.reproduced(report.SummaryOf(st, p, time.Now()))
	files, err := tree.Files(s, func(repo, was, is string) (files []string) {
		if r, err := source.OpenRepo(context.Background(), repo); err == nil {
			files, _ = r.Between(context.Background(), was, is)
		}
		return files
	})
	if err != nil {
		return err
	}
	for i := range files {
		files[i].Text = o.secrets.Text(files[i].Text)
	}
	wrote, err := tree.Write(o.dir, files, o.force)
	for _, name := range wrote {
		fmt.Fprintf(o.stdout, "wrote %s\n", filepath.Join(o.dir, name))
	}
	if err == nil && len(wrote) == 0 {
		fmt.Fprintf(o.stdout, "%s is up to date: %s.\n", o.dir, verdict.Count(len(files), "file"))
	}
	return err
}
