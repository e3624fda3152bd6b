package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans/convert"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/steps"
)

func (a *app) initCommand() *cobra.Command {
	var kind string
	var yaml bool
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a plan to begin with",
		Long: `Writes a plan.hcl for an engine, with comments that explain each part. The one
for the embedded engine runs as it is; the others say what to fill in. It is
written into the current folder, or into DIR, which is made where it is missing.
An existing plan is never overwritten.

Kinds of engines: ` + strings.Join(kindNames(), ", ") + ".",
		Example: "  mxflow init                      # runs anywhere: mxflow apply plan.hcl\n  mxflow init --engine vllm port   # a kind of its own; openai for any other server\n  mxflow init --yaml               # the same in YAML",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.scaffold(kind, dir, yaml)
		},
	}
	c.Flags().StringVar(&kind, "engine", "embedded", "kind of engine: "+strings.Join(kindNames(), " or "))
	c.Flags().BoolVar(&yaml, "yaml", false, "write a plan.yaml instead")
	return c
}

func kindNames() (names []string) {
	for _, k := range kinds.All() {
		if scaffolded(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

func (a *app) scaffold(kind, dir string, yaml bool) error {
	k, known := kinds.Lookup(kind)
	if !known || !scaffolded(k) {
		return fmt.Errorf("--engine %s: there is no such kind. There are: %s", kind, strings.Join(kindNames(), ", "))
	}
	if slices.Contains([]string{".hcl", ".yaml", ".yml"}, filepath.Ext(dir)) {
		return fmt.Errorf("%s is named like a plan, and init takes the folder to write plan.hcl into: mxflow init %s", dir, filepath.Dir(dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, "plan.hcl")
	text, err := scaffoldPlan(k)
	if err != nil {
		return err
	}
	var problems *lang.Findings
	if yaml {
		text, problems = convert.ToYAML(path, text, steps.Registry())
		path = filepath.Join(dir, "plan.yaml")
	}
	if problems == nil {
		text, problems = convert.Format(path, text)
	}
	if problems != nil {
		return fmt.Errorf("the plan for %s cannot be written: %w", kind, problems.Diagnostics)
	}
	// O_EXCL, so that nothing is overwritten whatever else happens meanwhile.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists already and is not overwritten. Choose another folder, or remove it first", path)
	case err != nil:
		return err
	}
	_, err = file.Write(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s is written. Next:\n\n", path)
	if !runsAsIs(kind) {
		fmt.Fprintf(a.stdout, "  edit %-28s the model, the knob and its evidence are examples\n", path)
	}
	for _, next := range [][2]string{
		{"mxflow validate " + path, "find mistakes; nothing is started"},
		{"mxflow plan " + path, "what would run, in order"},
		{"mxflow apply " + path, "start the engine, measure, decide"},
	} {
		fmt.Fprintf(a.stdout, "  %-33s %s\n", next[0], next[1])
	}
	return nil
}
