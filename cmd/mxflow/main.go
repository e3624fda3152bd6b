// Command mxflow applies plans for optimising inference engines: it starts the
// engine under test, measures it, decides rules and unlocks phases. This package is
// flags, wiring and exit statuses, one file per subcommand; what they work out and
// print is in the rooms of internal.
package main

import (
	"context"
	"os"
	"runtime/debug"
)

func main() {
	// What the runtime ends by itself, as out of memory, ends by SIGABRT, 134 in a shell,
	// and not with 2, which is "a gate failed". Package ending has the signals.
	debug.SetTraceback("crash")
	// The heap is tens of megabytes, and what the collector does less stays for the engine.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
