package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/internal/foreign"
)

func newImportCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Show the contents of another benchmark tool's result file, and how rules read it",
		Long: `Reads the result file of another tool, shows every number with its unit and its
address in rules, and prints the block that makes it part of a plan. The tool is
recognised by the file's content:

  ` + strings.Join(imported.Tools(), "\n  ") + `

The numbers keep the tool's own names and definitions (--json has them) and are never
mixed with mxflow's, because tools use one word for different things. A file that is
damaged or of an unknown tool is refused, with what is wrong and where.`,
		Example: "  mxflow import results/llama-benchy.json\n  mxflow import result.json --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			data, err := files.ReadResult(args[0], imported.MaxSize)
			if err != nil {
				return err
			}
			f, err := imported.Read(args[0], data)
			if err != nil {
				return err
			}
			if a.json {
				a.printJSON(f)
				return nil
			}
			printImported(a, args[0], f)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

func printImported(a *app, path string, f *imported.File) {
	head := "a result of " + f.Tool
	for _, more := range []string{f.Version, f.Model, f.Date} {
		if more != "" {
			head += ", " + more
		}
	}
	name := blockName(path)
	fmt.Fprintln(a.stdout, foreign.Line(path+": "+head))
	fmt.Fprintln(a.stdout)
	var rows [][]string
	for _, c := range f.Cells {
		for _, m := range c.Metrics {
			for _, stat := range m.StatNames() {
				better := string(m.Better)
				if stat == "std" || stat == "cv" {
					better = ""
				}
				rows = append(rows, []string{
					fmt.Sprintf("imported.%s.%s.%s.%s", name, c.Name, m.Name, stat),
					strconv.FormatFloat(m.Stats[stat], 'g', 6, 64), m.Unit, better,
				})
			}
		}
	}
	a.printTable([]string{"address in rules", "value", "unit", "better"}, rows)
	if len(f.Notes) > 0 {
		fmt.Fprintln(a.stdout)
	}
	for _, n := range f.Notes {
		fmt.Fprintln(a.stdout, "note: "+foreign.Line(n))
	}
	fmt.Fprintf(a.stdout, "\nIn a plan:\n\nimported %q {\n  file = %q\n}\n", name, path)
}

// blockName derives a block name from a file name.
func blockName(path string) string {
	base := filepath.Base(path)
	base = strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, base)
	if name == "" || name[0] < 'a' {
		name = "r" + name
	}
	return name
}
