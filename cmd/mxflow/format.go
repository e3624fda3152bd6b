package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
)

// exitWork is the exit status of fmt --check if a file is not formatted.
const exitWork = 3

// formatter is one run of fmt.
type formatter struct {
	a     *app
	check bool
	// work is set if a file was changed, broken if one could not be.
	work, broken bool
}

func newFormatCommand(a *app) *cobra.Command {
	f := &formatter{a: a}
	c := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format plan files",
		Long: `Rewrites plan files (.hcl) and variable files (.mxvars) in the standard layout: two
spaces per level, equals signs aligned. Comments and meaning are untouched. Only
files that change are written, atomically, and their names are printed.

A path is a file, a folder (its plan files), or - for standard input, which is
formatted to standard output. The default is the current folder. Files with syntax errors are not touched, nor are
plans in YAML: any formatter of YAML will do for them.

Exit status: 0 done, 1 a file could not be formatted, 3 --check found
unformatted files.`,
		Example: "  mxflow fmt\n  mxflow fmt --check plans    # in CI\n  mxflow fmt - < plan.hcl",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			var paths []string
			for _, arg := range args {
				if arg == "-" {
					if len(args) > 1 {
						return errors.New("- is standard input, which cannot be formatted together with files")
					}
					return f.standardInput()
				}
				found, err := formattable(arg)
				if err != nil {
					return err
				}
				paths = append(paths, found...)
			}
			for _, path := range paths {
				f.one(path)
			}
			return f.result()
		},
	}
	c.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with status 3 if a file is not formatted")
	return c
}

// result sets the exit status.
func (f *formatter) result() error {
	switch {
	case f.broken:
		f.a.exit = verdict.ExitUsage
		return errShown
	case f.check && f.work:
		f.a.exit = exitWork
	}
	return nil
}

// one formats a file; whatever is wrong with it, the others are still formatted.
func (f *formatter) one(path string) {
	old, err := files.ReadBounded(path)
	if err != nil {
		f.fail(err)
		return
	}
	formatted, problems := formatPlan(path, old)
	switch {
	case problems != nil:
		f.refuse(problems)
		return
	case bytes.Equal(old, formatted):
		return
	}
	f.work = true
	fmt.Fprintln(f.a.stdout, path)
	if f.check {
		return
	}
	if err := files.Replace(path, formatted); err != nil {
		f.fail(err)
	}
}

func (f *formatter) fail(err error) {
	f.broken = true
	fmt.Fprintf(f.a.stderr, "mxflow: %v\n", err)
}

// refuse explains why a file is left unchanged.
func (f *formatter) refuse(problems *lang.Findings) {
	f.broken = true
	_ = problems.WriteDiagnostics(f.a.stderr, f.a.width(), colours(f.a.stderr))
}

// formatPlan is a file in HCL in the standard layout, where it means the same. Text with
// syntax errors is not touched: the result is then nil, and the diagnostics say where.
func formatPlan(filename string, src []byte) ([]byte, *lang.Findings) {
	if len(bytes.TrimSpace(src)) == 0 {
		return src, nil // an empty variable file is not a mistake
	}
	if s, diags := lang.Parse(filename, src); lang.BrokenSyntax(diags) {
		return nil, &lang.Findings{Diagnostics: diags, Files: map[string]*hcl.File{filename: {Bytes: s.Text}}}
	}
	return formatHCL(src), nil
}

// formatHCL formats as the HCL package does, which keeps what heredocs hold, but counts the
// brackets of expressions in it as if they were outside: so it is given none of it.
func formatHCL(src []byte) []byte {
	mark := "mxflow_heredoc"
	for bytes.Contains(src, []byte(mark)) {
		mark += "_"
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // which was parsed before
	var without []byte
	var back []string
	at, from, depth := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			if depth++; depth == 1 {
				from = t.Range.End.Byte
			}
		case hclsyntax.TokenCHeredoc:
			if depth--; depth == 0 {
				own := fmt.Sprintf("%s%d\n", mark, len(back))
				back = append(back, own, string(src[from:t.Range.Start.Byte]))
				without = slices.Concat(without, src[at:from], []byte(own))
				at = t.Range.Start.Byte
			}
		}
	}
	out := hclwrite.Format(append(without, src[at:]...))
	return []byte(strings.NewReplacer(back...).Replace(string(out)))
}

// standardInput formats what is piped in.
func (f *formatter) standardInput() error {
	const name = "standard input"
	src, err := io.ReadAll(io.LimitReader(os.Stdin, 2<<20)) // anything longer than a plan may be is rejected
	if err != nil {
		return err
	}
	out, problems := formatPlan(name, src)
	switch {
	case problems != nil:
		f.refuse(problems)
		return f.result()
	case !f.check:
		_, err = f.a.document().Write(out)
		return err
	}
	f.work = !bytes.Equal(src, out)
	return f.result()
}

// formattable lists the files to format for a path.
func formattable(path string) (found []string, err error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.IsDir() {
		if !hasPlanName(path) {
			return nil, fmt.Errorf("%s: fmt formats .hcl and .mxvars files", path)
		}
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && hasPlanName(e.Name()) {
			found = append(found, filepath.Join(path, e.Name()))
		}
	}
	return found, err
}

func hasPlanName(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".hcl" || ext == ".mxvars"
}
