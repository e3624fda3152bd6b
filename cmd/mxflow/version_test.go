package main

import (
	"cmp"
	"runtime/debug"
	"slices"
	"testing"
)

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
