package main

import (
	"cmp"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/mxflow/mxflow/engine/embedded"
)

// release is the version of a build that knows none by itself, as one of an archive of the sources:
// -ldflags "-X main.release=0.1.0".
var release string

// version is that of a release; of any other build it is "devel". With the build it stands in every
// ledger record of a run.
var version = cmp.Or(strings.TrimPrefix(release, "v"), built.release(), "devel")

// build is what tells two programs of one version apart.
type build struct {
	// Revision is that of the source, Time when it was made, Modified whether the tree
	// differed from it; Module the version that Go gave the module: of the tag of its commit, or
	// of what go install fetched.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Module   string `json:"module,omitempty"`
	// Flags are those that change the program.
	Flags []string `json:"flags,omitempty"`
}

// buildOf reads what the compiler wrote into a program; nothing where it wrote nothing.
func buildOf(info *debug.BuildInfo) (b build) {
	if info == nil {
		return b
	}
	if info.Main.Version != "(devel)" {
		b.Module = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "-tags", "-race", "-ldflags", "-gcflags", "-asmflags", "-trimpath", "CGO_ENABLED", "GOEXPERIMENT",
			"GOAMD64", "GOARM64":
			if s.Value != "" {
				b.Flags = append(b.Flags, s.Key+"="+s.Value)
			}
		}
	}
	return b
}

// release is the version of a tag; nothing of a commit without one, or of a tree that differs from it.
func (b build) release() string {
	if b.Modified || !semver.IsValid(b.Module) || semver.Build(b.Module) != "" || module.IsPseudoVersion(b.Module) {
		return ""
	}
	return strings.TrimPrefix(b.Module, "v")
}

// name is a version with the source that it was made of: "devel (6c9b77f31a02, modified)".
func (b build) name(version string) string {
	source := b.Module
	if b.Revision != "" {
		source = fmt.Sprintf("%.12s", b.Revision)
		if b.Modified {
			source += ", modified"
		}
	}
	if source == "" || source == "v"+version {
		return version
	}
	return version + " (" + source + ")"
}

// built is this program.
var built = func() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}()

// tool is how records and streams name this program.
var tool = "mxflow " + built.name(version)

func newVersionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of mxflow; with --json, how it was built",
		Example: "  mxflow version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.show(map[string]any{
				"mxflow": version, "build": built, "embedded_engine": embedded.Version, "go": goruntime.Version(),
				"os": goruntime.GOOS, "arch": goruntime.GOARCH,
			}, func() { fmt.Fprintln(a.stdout, versionLine()) })
			return nil
		},
	}
	a.jsonFlag(c.Flags())
	return c
}

func versionLine() string {
	return fmt.Sprintf("%s (embedded engine %s, %s, %s/%s)", tool, embedded.Version, goruntime.Version(),
		goruntime.GOOS, goruntime.GOARCH)
}
