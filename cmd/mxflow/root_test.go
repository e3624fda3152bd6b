package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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
