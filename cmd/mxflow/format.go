package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/format"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
)

// exitWork is the exit status of fmt --check if a file is not formatted.
const exitWork = 3

// formatter is one run of fmt.
type formatter struct {
	a           *app
	check, diff bool
	// work is set if a file was changed, broken if one could not be.
	work, broken bool
}

func newFormatCommand(a *app) *cobra.Command {
	f := &formatter{a: a}
	var recursive, yaml bool
	c := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format plan files",
		Long: `Rewrites plan files (.hcl), variable files (.mxvars) and YAML plans (.yaml, .yml)
in the standard layout: two spaces per level, equals signs aligned. Comments and
meaning are untouched. Only files that change are written, atomically, and their
names are printed.

A path is a file, a folder (its plan files, with --recursive also those of its
subfolders; YAML files count when they look like a plan), or - for standard
input, which is formatted to standard output. The default is the current folder.
Files with syntax errors are not touched.

Exit status: 0 done, 1 a file could not be formatted, 3 --check found
unformatted files.`,
		Example: "  mxflow fmt\n  mxflow fmt --check --diff --recursive .    # in CI\n  mxflow fmt - < plan.hcl",
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
					return f.standardInput(yaml)
				}
				found, err := formattable(arg, recursive)
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
	c.Flags().BoolVar(&f.diff, "diff", false, "print changes as a unified diff")
	c.Flags().BoolVar(&recursive, "recursive", false, "also subfolders")
	c.Flags().BoolVar(&yaml, "yaml", false, "standard input is YAML")
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
	formatted, problems := format.Plan(path, old)
	switch {
	case problems != nil:
		f.refuse(problems)
		return
	case bytes.Equal(old, formatted):
		return
	}
	f.work = true
	fmt.Fprintln(f.a.stdout, path)
	f.showDiff(path, old, formatted)
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

func (f *formatter) showDiff(name string, old, formatted []byte) {
	if f.diff {
		fmt.Fprint(f.a.document(), udiff.Unified(name, name+" (formatted)", string(old), string(formatted)))
	}
}

// standardInput formats what is piped in.
func (f *formatter) standardInput(yaml bool) error {
	name := "standard input"
	if yaml {
		name += ".yaml"
	}
	src, err := io.ReadAll(io.LimitReader(os.Stdin, 2<<20)) // anything longer than a plan may be is rejected
	if err != nil {
		return err
	}
	out, problems := format.Plan(name, src)
	switch {
	case problems != nil:
		f.refuse(problems)
		return f.result()
	case !f.check && !f.diff:
		_, err = f.a.document().Write(out)
		return err
	}
	f.work = !bytes.Equal(src, out)
	f.showDiff(name, src, out)
	return f.result()
}

// formattable lists the files to format for a path.
func formattable(path string, recursive bool) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if !lang.IsYAML(path) && !hasPlanName(path) {
			return nil, fmt.Errorf("%s: fmt knows .hcl, .mxvars, .yaml and .yml files", path)
		}
		return []string{path}, nil
	}
	var found []string
	err = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(e.Name(), ".") && p != path
		switch {
		case err != nil:
			return err
		case e.IsDir() && (hidden || p != path && !recursive):
			return filepath.SkipDir
		case e.IsDir() || hidden:
		case hasPlanName(p), lang.IsYAML(p) && looksLikePlan(p):
			found = append(found, p)
		}
		return nil
	})
	return found, err
}

func hasPlanName(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".hcl" || ext == ".mxvars"
}

// looksLikePlan keeps fmt away from a folder's other YAML files: it requires a mapping
// with only a plan's blocks at its top.
func looksLikePlan(path string) bool {
	src, err := os.ReadFile(path)
	if err != nil || len(src) > 1<<20 {
		return false
	}
	var doc yaml.Node
	if yaml.NewDecoder(bytes.NewReader(src)).Decode(&doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return false
	}
	known := load.Describe(nil)
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		if key := doc.Content[0].Content[i].Value; known.Block(key) == nil && known.Attr(key) == nil {
			return false
		}
	}
	return len(doc.Content[0].Content) > 0
}
