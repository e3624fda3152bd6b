package main

import (
	"cmp"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
)

// TestSingleDashes: Terraform's spelling is taken at every level of commands, and what
// is no flag of ours stays as it is.
func TestSingleDashes(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"apply", "-var", "a=b", "-json", "plan.hcl"}, []string{"apply", "--var", "a=b", "--json", "plan.hcl"}},
		{[]string{"audit", "replay", "-node", "x", "-suite=y"}, []string{"audit", "replay", "--node", "x", "--suite=y"}},
		{[]string{"apply", "-replace=gemm", "-target", "x"}, []string{"apply", "--replace=gemm", "--target", "x"}},
		{[]string{"engine", "check", "-keep-log", "plan.hcl"}, []string{"engine", "check", "--keep-log", "plan.hcl"}},
		{[]string{"audit", "-nodes", "-h"}, []string{"audit", "-nodes", "-h"}},
		{[]string{"apply", "--", "-var"}, []string{"apply", "--", "-var"}},
	} {
		if got := doubleDashes(newRootCommand(&app{}), c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, want %q", c.args, got, c.want)
		}
	}
}

// TestEndingComesFirst: what decides how mxflow ends by a signal is there before
// anything else of mxflow, or of what is large, has begun.
func TestEndingComesFirst(t *testing.T) {
	_, trace := program(t, "", []string{"GODEBUG=inittrace=1"}, "version")
	var order []string
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @`).FindAllStringSubmatch(trace, -1) {
		order = append(order, m[1])
	}
	ending := slices.IndexFunc(order, func(name string) bool { return strings.HasSuffix(name, "cmd/mxflow/internal/ending") })
	signals := slices.Index(order, "os/signal")
	if signals < 0 || ending != signals+1 {
		t.Errorf("its init is number %d of %d and that of os/signal number %d: see the comment of the package", ending+1, len(order), signals+1)
	}
}

// The command line that stands in a plan asks for the same plan again.
func TestABLine(t *testing.T) {
	root := newRootCommand(&app{})
	c, _, _ := root.Find([]string{"ab"})
	given := []string{"--a", "vllm serve m", "--b", "vllm serve m --x", "--claim", "-3%", "--answers", "0.9", "--timeout", "20m", "--accept", "packages,repo.vllm", "--launches", "6", "--dry-run", "--state", "my record"}
	try.OK(t, c.ParseFlags(given))
	const want = "mxflow ab --a 'vllm serve m' --accept packages --accept repo.vllm --answers 0.9 --b 'vllm serve m --x' --claim -3% --timeout 20m0s"
	got, again := abLines(c.Flags(), "", []string{"--max-num-seqs", "4"})
	try.Equal(t, "the line of the plan", got, want+" -- --max-num-seqs 4")
	// What is asked again is asked of the same record, and more flags come before the servers' arguments.
	if got := again("--rerun"); got != strings.Replace(want, "--timeout", "--launches 6 --state 'my record' --timeout", 1)+" --rerun -- --max-num-seqs 4" {
		t.Errorf("again: %s", got)
	}
}

// TestOverrideOptions: who and why stand in one line that can be printed.
func TestOverrideOptions(t *testing.T) {
	for _, c := range []struct{ reason, by, problem, want string }{
		{"known, mended in 0.12", "kim", "", "known, mended in 0.12"},
		{"  two\n  lines\t", "kim", "", "two lines"},
		{"", "kim", "--reason is missing", ""},
		{" \n", "kim", "--reason is missing", ""},
		{"known", " ", "--by is missing", ""},
		{"red \x1b[31m", "kim", "contains unprintable characters", ""},
		{"half \xff", "kim", "contains unprintable characters", ""},
		{strings.Repeat("x", 2001), "kim", "2001 bytes long", ""},
		{"known", strings.Repeat("x", 201), "201 bytes long", ""},
	} {
		s := overrideOptions{reason: c.reason, by: c.by}
		switch err := s.check(); {
		case c.problem == "" && (err != nil || s.reason != c.want):
			t.Errorf("%q by %q: %q, %v", c.reason, c.by, s.reason, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q by %q: %v, want %q", c.reason, c.by, err, c.problem)
		}
	}
}

// Two builds of one version differ in what ledger and reports name them by.
func TestBuildOf(t *testing.T) {
	info := func(module string, settings ...string) *debug.BuildInfo {
		out := &debug.BuildInfo{Main: debug.Module{Version: module}}
		for i := 0; i < len(settings); i += 2 {
			out.Settings = append(out.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return out
	}
	const revision = "6c9b77f31a0255e1a5b0b5c4b6a1d7a9f4f0c3d2"
	for want, info := range map[string]*debug.BuildInfo{
		"devel":                          nil,
		"devel (6c9b77f31a02)":           info("v0.0.0-20261129143000-6c9b77f31a02", "vcs.revision", revision, "vcs.modified", "false"),
		"devel (6c9b77f31a02, modified)": info("v0.1.0+dirty", "vcs.revision", revision, "vcs.modified", "true"),
		"0.1.0":                          info("v0.1.0", "-trimpath", "true"),
		"0.2.0-rc.1 (6c9b77f31a02)":      info("v0.2.0-rc.1", "vcs.revision", revision, "vcs.modified", "false"),
		"devel (v0.1.1-0.20261129143000-6c9b77f31a02)": info("v0.1.1-0.20261129143000-6c9b77f31a02"),
	} {
		b := buildOf(info)
		if got := b.name(cmp.Or(b.release(), "devel")); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	got := buildOf(info("", "-ldflags", "-s -w", "GOOS", "linux", "CGO_ENABLED", "0", "-tags", "")).Flags
	if want := []string{"-ldflags=-s -w", "CGO_ENABLED=0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
