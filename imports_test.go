// Package mxflow has no code: this folder holds the rules for who may import whom.
package mxflow

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

const module = "github.com/mxflow/mxflow/"

// allowed lists, for a package and all below it, which of our packages it may depend on: the
// directions of docs/internals/architecture.md. Everybody may know what a metric is, what
// statistics say and what is secret. The commands and the steps may import everything below.
var allowed = map[string][]string{
	"internal": {},
	"engine":   {},
	"plans":    {"gates/verdict", "engine/measure/imported"},
	"gates":    {"plans"},
	"runtime":  {"plans", "gates", "engine/trace"},
	"steps":    {"plans", "gates", "runtime", "engine"},
}

var everybody = []string{"engine/measure", "gates/stats", "plans/redact", "internal"}

// forbidden lists, for a package and all below it, what it may not depend on.
var forbidden = map[string][]string{
	"engine":         {"github.com/hashicorp/hcl", "github.com/expr-lang"},
	"gates":          {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"},
	"runtime":        {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"},
	"engine/measure": {"github.com", "golang.org", "gonum.org"},
	// The results of other tools are read by programs.
	"engine/measure/imported": {"github.com/hashicorp", "github.com/expr-lang"},
	// Deciding is the same wherever it happens: nothing of a machine, a file or a plan's
	// syntax reaches it.
	"steps/decide": {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty", module + "engine", module + "runtime/store"},
	"steps/replay": {module + "engine"},
	// Who checks the record depends on nothing that measured or decided it.
	"cmd/mxflow/internal/audit": {
		module + "steps/launch", module + "steps/levels", module + "steps/session", module + "steps/replay",
		module + "engine/kinds", module + "engine/run", module + "engine/docker", module + "plans/load", "github.com/hashicorp/hcl",
	},
	// An agent's tools reach neither a command nor a key.
	"cmd/mxflow/internal/agents": {"github.com/spf13/cobra", module + "runtime/signing"},
}

func TestImportDirections(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...").Output())(t)
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath    string
			Imports, Deps []string
		}
		must.Do(t, dec.Decode(&p))
		name := strings.TrimPrefix(p.ImportPath, module)
		for room, prefixes := range forbidden {
			for _, dep := range p.Deps {
				if below(name, room) && (room != "engine/measure" || !below(name, room+"/imported")) && underAny(dep, prefixes) && !underAny(dep, ours(everybody)) {
					t.Errorf("%s depends on %s", name, dep)
				}
			}
		}
		top, _, _ := strings.Cut(name, "/")
		may, limited := allowed[top]
		for _, imported := range p.Imports {
			ourOther := strings.HasPrefix(imported, module)
			if limited && ourOther && !underAny(imported, ours(append([]string{top}, may...))) && !underAny(imported, ours(everybody)) {
				t.Errorf("%s imports %s: the directions in this test do not allow it", name, imported)
			}
			if imported == "github.com/spf13/cobra" && below(name, "cmd/mxflow/internal") && !below(name, "cmd/mxflow/internal/audit") {
				t.Errorf("%s imports cobra: flags and exit statuses are the command's", name)
			}
		}
	}
}

// builtOn are the packages that the project is to be built on.
var builtOn = []string{
	"github.com/hashicorp/hcl/v2", "github.com/expr-lang/expr", "gopkg.in/yaml.v3", "github.com/docker/docker/client",
}

// TestBuiltOn: each is a direct requirement, and imported by code that is no test.
func TestBuiltOn(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./...").Output())(t)
	imported := strings.Fields(string(out))
	mod := must.Get(exec.Command("go", "mod", "edit", "-json").Output())(t)
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	must.Do(t, json.Unmarshal(mod, &file))
	for _, path := range builtOn {
		if !slices.ContainsFunc(imported, func(p string) bool { return below(p, path) }) {
			t.Errorf("no code imports %s", path)
		}
		direct := false
		for _, r := range file.Require {
			direct = direct || !r.Indirect && below(path, r.Path)
		}
		if !direct {
			t.Errorf("%s is no direct requirement of go.mod", path)
		}
	}
}

func below(name, room string) bool { return name == room || strings.HasPrefix(name, room+"/") }

// underAny reports whether the import path is one of the paths or below one.
func underAny(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return below(path, p)
	})
}

func ours(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = module + name
	}
	return paths
}

// TestPagesNameWhatIsThere: tests, files, folders, functions and variables that a page
// names exist.
func TestPagesNameWhatIsThere(t *testing.T) {
	code, all, pages := map[string]string{}, "", ""
	must.Do(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "shared"):
			return filepath.SkipDir
		case ext != ".go" && ext != ".sh" && ext != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if ext == ".md" {
			pages += string(text)
		} else {
			code[filepath.Dir(path)] += string(text)
		}
		return err
	}))
	for _, text := range code {
		all += text
	}
	const folder, ending = `(?:cmd|docs|engine|examples|gates|internal|plans|runtime|steps)/`, `\.(?:go|js|md|py|txt|hcl|yaml)`
	for pattern, there := range map[string]func(string) bool{
		`\bTest[A-Z]\w+`:          func(name string) bool { return strings.Contains(all, "\nfunc "+name) },
		`\bMXFLOW_[A-Z_]*[A-Z]\b`: func(name string) bool { return strings.Contains(all, name) },
		"`(?:plans|gates|steps|runtime)[a-z/]*\\.[A-Za-z]+`": func(name string) bool {
			room, function, _ := strings.Cut(strings.Trim(name, "`"), ".")
			declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + function + `\b`)
			_, err := os.Stat(strings.Trim(name, "`")) // a file
			return err == nil || declared.MatchString(code[room])
		},
		"`" + folder + `[\w/-]+(?:` + ending + ")?`": func(path string) bool {
			_, err := os.Stat(strings.Trim(path, "`"))
			return err == nil || strings.Contains(path, "KIND")
		},
	} {
		names := regexp.MustCompile(pattern).FindAllString(pages, -1)
		if len(names) < 10 {
			t.Errorf("only %d names like %s were found", len(names), pattern)
		}
		for _, name := range names {
			if !there(name) {
				t.Errorf("a page names %s, which does not exist", name)
			}
		}
	}
}
