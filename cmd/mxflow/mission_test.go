package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
	"github.com/mxflow/mxflow/internal/try"
)

// TestMission: the working papers ask for 107 things. The page has each once, what it names as
// shown is there, and the commands that it names work here.
func TestMission(t *testing.T) {
	root := filepath.Join("..", "..")
	page := try.Read(t, filepath.Join(root, "docs", "internals", "mission.md"))
	seen, rows := map[int]bool{}, 0
	shown := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[0]) == "#" {
			continue
		}
		rows++
		for _, number := range strings.Split(cells[0], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil || n < 1 || n > 107 || seen[n] {
				t.Errorf("%q is no number of a requirement, or is there twice", number)
			}
			seen[n] = true
		}
		state, by := strings.TrimSpace(cells[2]), shown.FindAllStringSubmatch(cells[3], -1)
		begins, _, _ := strings.Cut(strings.Fields(state + " -")[0], ":")
		if len(by) == 0 || !slices.Contains([]string{"works", "works;", "partly", "not"}, begins) {
			t.Errorf("%s: %q is no state, or nothing shows it", cells[0], state)
		}
		for _, m := range by {
			if why := shows(t, root, m[1]); why != "" {
				t.Errorf("%s: %s %s", strings.TrimSpace(cells[0]), m[1], why)
			}
		}
	}
	if len(seen) != 107 || rows > 90 {
		t.Errorf("%d of 107 requirements in %d rows", len(seen), rows)
	}
}

// shows is why what a row names shows nothing; empty if it does.
func shows(t *testing.T, root, what string) string {
	kind, name, _ := strings.Cut(what, ":")
	there := func(path string) string {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			return "is not there"
		}
		return ""
	}
	switch {
	case strings.HasPrefix(what, "mxflow "):
		args := strings.Fields(what)[1:]
		for i, arg := range args {
			if strings.HasPrefix(arg, "examples/") {
				args[i] = filepath.Join(root, arg)
			}
		}
		if args[0] == "plan" {
			args = append(args, "--state", t.TempDir())
		}
		if code, out, errs := mxflow(args...); code != 0 {
			return "ends with " + strconv.Itoa(code) + ": " + out + errs
		}
		return ""
	case kind == "script":
		if scenario.Path(name) == "" {
			return "is not there"
		}
		return ""
	case kind == "example":
		return there("examples/" + name + "/plan.hcl")
	case kind == "test":
		files, _ := filepath.Glob(filepath.Join(root, filepath.Dir(name), "*_test.go"))
		for _, file := range files {
			if strings.Contains(try.Read(t, file), "\nfunc "+filepath.Base(name)+"(t *testing.T)") {
				return ""
			}
		}
		return "is not there"
	case kind == "module":
		direct := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(name) + ` v\S+$`)
		if !direct.MatchString(try.Read(t, filepath.Join(root, "go.mod"))) {
			return "is no direct dependency"
		}
		for _, pattern := range []string{"*/*.go", "*/*/*.go", "*/*/*/*.go"} {
			files, _ := filepath.Glob(filepath.Join(root, pattern))
			for _, file := range files {
				if !strings.HasSuffix(file, "_test.go") && strings.Contains(try.Read(t, file), `"`+name) {
					return ""
				}
			}
		}
		return "is imported by no code"
	}
	return "is nothing that shows"
}
