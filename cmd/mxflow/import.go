package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

// importOptions are the command line of mxflow import.
type importOptions struct {
	*app
	jq, format string
}

func newImportCommand(a *app) *cobra.Command {
	o := &importOptions{app: a}
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Show another benchmark tool's result, and how rules read it",
		Long: `Reads a result file of another tool, shows every number with its unit and its
address in rules, and prints the block that makes it part of a plan. The tool is
recognised by the content:

  ` + strings.Join(imported.Tools(), "\n  ") + `

The numbers keep the tool's own names and definitions and are never mixed with
mxflow's. A file that is damaged or unknown is refused, with what is wrong. For
any other file, --jq or --format has a jq program that makes rows of it.`,
		Example: `  mxflow import results/llama-benchy.json
  mxflow import all.json --jq '.[] | {metric: "tg", value: .tps, unit: "tok/s"}'
  mxflow import runs.json --format runs.jq --json`,
		Args: cobra.ExactArgs(1),
		RunE: o.run,
	}
	c.Flags().StringVar(&o.jq, "jq", "", "a jq `PROGRAM` that makes rows of the file")
	c.Flags().StringVar(&o.format, "format", "", "a `FILE` with such a program")
	c.MarkFlagsMutuallyExclusive("jq", "format")
	a.jsonFlag(c.Flags())
	return c
}

func (o *importOptions) run(_ *cobra.Command, args []string) error {
	o.fold()
	data, err := files.ReadResult(args[0], imported.MaxSize)
	if err != nil {
		return err
	}
	if o.format != "" {
		text, err := files.ReadResult(o.format, 1<<20)
		if o.jq = string(text); err != nil {
			return err
		}
	}
	var own *imported.Format
	if o.jq != "" || o.format != "" {
		if own, err = imported.ParseFormat(cmp.Or(o.format, "--jq"), o.jq); err != nil {
			return err
		}
	}
	f, err := imported.Read(args[0], data, own, true)
	if err != nil {
		return err
	}
	o.show(f, func() { printImported(o.screen(), args[0], o.jq, f) })
	return nil
}

func printImported(on table.Screen, path, jq string, f *imported.File) {
	title := []string{path + ": a result of " + f.Tool, f.Version, f.Model, f.Date}
	title = slices.DeleteFunc(title, func(s string) bool { return s == "" })
	fmt.Fprintf(on, "%s\n\n", foreign.Line(strings.Join(title, ", ")))
	name := blockName.ReplaceAllString(strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))),
		"_")
	if name[0] < 'a' { // no word begins so
		name = "r" + name
	}
	var rows [][]string
	for _, c := range f.Cells {
		for _, m := range c.Metrics {
			for _, stat := range m.StatNames() {
				better := string(m.Better)
				if slices.Contains([]string{"std", "cv", "se", "stderr"}, stat) {
					better = ""
				}
				address := fmt.Sprintf("imported.%s.%s.%s.%s", name, c.Name, m.Name, stat)
				differs := foreign.Line(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(c.Differs), "map["), "]"))
				rows = append(rows,
					[]string{address, strconv.FormatFloat(m.Stats[stat], 'g', 6, 64), m.Unit, better, differs})
			}
		}
	}
	on.Table([]string{"address in rules", "value", "unit", "better", "what differs"}, rows)
	for _, n := range f.Notes {
		fmt.Fprintln(on, "\nnote: "+foreign.Line(n))
	}
	if len(f.NotRead) > 0 {
		fmt.Fprintln(on, "\nnumbers of the file that were not read: "+strings.Join(f.NotRead, ", "))
	}
	program := ""
	if jq != "" {
		program = fmt.Sprintf("  jq   = %q\n", strings.NewReplacer("${", "$${", "%{", "%%{").Replace(jq))
	}
	block := fmt.Sprintf("imported %q {\n  file = %q\n%s}\n", name, path, program)
	fmt.Fprintf(on, "\nIn a plan, in HCL or YAML:\n\n%s\n%s\n", block, yamlbody.Inline(block))
}

// blockName matches what the name of a block has not.
var blockName = regexp.MustCompile(`[^a-z0-9_]|^$`)
