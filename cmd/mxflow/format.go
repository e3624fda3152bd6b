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
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

// exitWork is the exit status of fmt --check if a file is not formatted.
const exitWork = 3

// formatOptions are the command line of mxflow fmt.
type formatOptions struct {
	*app
	check bool
}

func newFormatCommand(a *app) *cobra.Command {
	o := &formatOptions{app: a}
	c := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format plan files",
		Long: `Rewrites plan files (.hcl, .yaml, .yml) and variable files (.mxvars) in the standard
layout, and prints the names of those that change. PATH is a file, a folder, or -
for standard input; the default is this folder. Of a plan in YAML only indentation
and the order of its keys change: comments and quotes stay. Files with syntax
errors, those with an expression of several lines in a heredoc, and YAML files of a
folder that are no plans, stay as they are.

Exit status: 0 done, 1 a file could not be formatted, 3 --check found one that
is not formatted.`,
		Example: `  mxflow fmt
  mxflow fmt --check plans
  mxflow fmt - < plan.hcl`,
		RunE: o.run,
	}
	c.Flags().BoolVar(&o.check, "check", false, "write nothing; exit with status 3 if a file is not formatted")
	return c
}

func (o *formatOptions) run(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		args = []string{"."}
	}
	if slices.Contains(args, "-") {
		if len(args) > 1 {
			return errors.New("- is standard input: name it alone, or name files")
		}
		return o.input()
	}
	var paths []string
	for _, arg := range args {
		found, err := formattable(arg)
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	broken := false
	for _, path := range paths { // whatever is wrong with one, the others are formatted
		if err := o.file(path); err != nil {
			broken = true
			if !errors.Is(err, errShown) {
				o.complain(err)
			}
		}
	}
	if broken {
		return o.fail(verdict.ExitUsage, errShown)
	}
	return nil
}

// file formats a file and prints its name, if that changes it.
func (o *formatOptions) file(path string) error {
	old, err := files.ReadBounded(path)
	if err != nil {
		return err
	}
	formatted, err := o.text(path, old)
	if err != nil || bytes.Equal(old, formatted) {
		return err
	}
	fmt.Fprintln(o.stdout, path)
	if o.check {
		o.exit = exitWork
		return nil
	}
	return files.Replace(path, formatted)
}

// input formats what is piped in.
func (o *formatOptions) input() error {
	src, err := io.ReadAll(io.LimitReader(os.Stdin, 2<<20)) // anything longer than a plan may be is rejected
	if err != nil {
		return err
	}
	name := "standard input"
	if lang.OtherSyntax(name+".hcl", src) != nil {
		name += ".yaml"
	}
	out, err := o.text(name, src)
	switch {
	case err != nil:
		return err
	case !o.check:
		_, err = o.document().Write(out)
	case !bytes.Equal(src, out):
		o.exit = exitWork
	}
	return err
}

// text is formatPlan that prints why a text is left unchanged.
func (o *formatOptions) text(name string, src []byte) ([]byte, error) {
	out, problems, err := formatPlan(name, src)
	if problems != nil {
		_ = problems.WriteDiagnostics(o.stderr, o.width(), colours(o.stderr))
		return nil, errShown
	}
	return out, err
}

// formatPlan is a file in the standard layout, where it means the same. Text with syntax
// errors is not touched: the result is then nil, and the diagnostics say where.
func formatPlan(filename string, src []byte) ([]byte, *lang.Findings, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return src, nil, nil // an empty variable file is not a mistake
	}
	if s, diags := lang.Parse(filename, src); lang.BrokenSyntax(diags) {
		return nil, &lang.Findings{Diagnostics: diags, Files: map[string]*hcl.File{filename: {Bytes: s.Text}}}, nil
	}
	if lang.IsYAML(filename) {
		out, err := yamlbody.Format(src, load.TopLevel())
		if err != nil {
			err = fmt.Errorf("%s stays as it is: %w", filename, err)
		}
		return out, nil, err
	}
	out, err := formatHCL(filename, src)
	return out, nil, err
}

// formatHCL formats as the HCL package does. It refuses an expression of several lines in a heredoc,
// whose brackets that package counts as if they were outside.
func formatHCL(name string, src []byte) ([]byte, error) {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos) // which was parsed before
	heredocs, begun := 0, []int(nil)
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			heredocs++
		case hclsyntax.TokenCHeredoc:
			heredocs--
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			begun = append(begun, t.Range.Start.Line)
		case hclsyntax.TokenTemplateSeqEnd:
			line := begun[len(begun)-1]
			if begun = begun[:len(begun)-1]; heredocs > 0 && line != t.Range.Start.Line {
				return nil, fmt.Errorf("%s:%d stays as it is: an expression in a heredoc has several lines, which fmt "+
					"cannot indent: write it on one line, or as a local value that the heredoc names", name, line)
			}
		}
	}
	return hclwrite.Format(src), nil
}

// formattable lists the files to format for a path.
func formattable(path string) (found []string, err error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.IsDir() {
		if !hasPlanName(path) {
			return nil, fmt.Errorf("%s: fmt formats .hcl, .yaml, .yml and .mxvars files", path)
		}
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || !hasPlanName(e.Name()) {
			continue
		}
		if lang.IsYAML(at) { // a compose file, for example, may be beside the plan
			if src, err := files.ReadBounded(at); err != nil || !isPlan(at, src) {
				continue
			}
		}
		found = append(found, at)
	}
	return found, err
}

// isPlan reports whether all that a YAML file has are blocks of a plan.
func isPlan(path string, src []byte) bool {
	s, diags := lang.Parse(path, src)
	if s.Body == nil || lang.BrokenSyntax(diags) {
		return false
	}
	attrs, _ := s.Body.JustAttributes()
	for name := range attrs {
		if !slices.Contains(load.TopLevel(), name) {
			return false
		}
	}
	return true
}

func hasPlanName(path string) bool {
	return lang.IsSource(path) || strings.EqualFold(filepath.Ext(path), ".mxvars")
}
