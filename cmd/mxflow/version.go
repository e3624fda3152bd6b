package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/embedded"
)

// version of mxflow. It stands in every ledger record of a run.
const version = "0.1.0"

// tool is how records and streams name this program.
const tool = "mxflow " + version

func newVersionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of mxflow and of what it contains",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				a.printJSON(map[string]string{
					"mxflow": version, "embedded_engine": embedded.Version, "go": goruntime.Version(),
					"os": goruntime.GOOS, "arch": goruntime.GOARCH,
				})
				return nil
			}
			fmt.Fprintln(a.stdout, versionLine())
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

func versionLine() string {
	return fmt.Sprintf("mxflow %s (embedded engine %s, %s, %s/%s)", version, embedded.Version, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}
