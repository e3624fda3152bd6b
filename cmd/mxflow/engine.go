package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/load/mock"
)

func newEngineCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "engine",
		Short: "What mxflow knows of engines, and the engine it contains",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newEngineCheckCommand(a), newEngineKindsCommand(a), newEngineMockCommand(a), newEngineServeCommand(a))
	return c
}

func newEngineServeCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the embedded engine",
		Long: `Runs the engine that mxflow contains: a small decoder in pure Go, shaped like
gpt-oss, with an OpenAI-like HTTP API. It is what the examples measure.

` + switchesHelp(),
		Example:            "  mxflow engine serve --port 8000\n  MXFLOW_EMBEDDED_KV_CACHE=off mxflow engine serve --port 8000",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "--help" || arg == "-h" {
					return c.Help()
				}
			}
			ending.Interrupts()
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return embedded.Serve(ctx, args, os.Getenv, a.stdout, a.stderr)
		},
	}
	return c
}

// switchesHelp lists flags and environment of the embedded engine.
func switchesHelp() string {
	var b strings.Builder
	b.WriteString("Flags:\n")
	for _, s := range embedded.Settings() {
		fmt.Fprintf(&b, "  --%-18s %s (default %s)\n", strings.ReplaceAll(s.Name, "_", "-"), s.Doc, s.Default)
	}
	b.WriteString("\nEnvironment:\n")
	for _, s := range embedded.Switches() {
		fmt.Fprintf(&b, "  %s=%s (default %s)\n      %s\n", s.Env, strings.Join(s.Values, "|"), s.Default, s.Doc)
	}
	return b.String()
}

// newEngineMockCommand runs the server whose times are known, against which the
// measuring client calibrates itself. It is hidden: mxflow starts it by itself.
func newEngineMockCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                "mock [flags]",
		Short:              "Run the mock server that the measuring client is calibrated with",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			ending.Interrupts()
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return mock.Main(ctx, args, os.Stdin, a.stdout, a.stderr)
		},
	}
}
