// Command mxflow applies plans for optimising inference engines: it starts the
// engine under test, measures it, decides rules and unlocks phases. This
// package is wiring and exit statuses only: one file a subcommand.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
