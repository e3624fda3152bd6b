package main

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/mxflow/mxflow/internal/try"
)

// TestPackaging writes what packages install beside the program, manual pages and shell completions,
// into the folder that MXFLOW_PACKAGING names, as .goreleaser.yaml asks. It is no command: half a
// megabyte of every program would be for those who package it.
func TestPackaging(t *testing.T) {
	folder := cmp.Or(os.Getenv("MXFLOW_PACKAGING"), t.TempDir())
	man, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	for _, dir := range []string{man, completions} {
		try.OK(t, os.MkdirAll(dir, 0o755))
	}
	root := newRootCommand(&app{})
	root.DisableAutoGenTag = true // the date, which no build is to depend on
	try.OK(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "mxflow"}, man))
	for name, write := range map[string]func(io.Writer) error{
		"mxflow.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_mxflow":     root.GenZshCompletion,
		"mxflow.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var script bytes.Buffer
		if err := write(&script); err != nil || !strings.Contains(script.String(), "_mxflow") {
			t.Errorf("%s: %v, %d bytes", name, err, script.Len())
		}
		try.OK(t, os.WriteFile(filepath.Join(completions, name), script.Bytes(), 0o644))
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(man, name))
		if err != nil || !strings.Contains(string(page), c.Short) {
			t.Errorf("%s lacks %q: %v", name, c.Short, err)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	check(root)
}
