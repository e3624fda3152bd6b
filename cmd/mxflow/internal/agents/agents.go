// Package agents answers a coding agent about one plan over the Model Context Protocol:
// it reads, and measures in the background what the seal allows. It knows the plan, its
// state and its seal. It knows no command, no flag, no key and no terminal, and has no way
// to waive, rerun or write a plan: no agent can talk it into what it cannot reach.
package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// Host is what the command provides to the server: what depends on flags, keys and the
// streams of this process.
type Host struct {
	// Path is the plan, State its state directory.
	Path, State, Version string
	// Load reads the plan's present files.
	Load func() *load.Result
	// Secrets are those of the plan read last.
	Secrets func() *redact.Redactor
	// Seal is what a person signed; without one the server only reads.
	Seal func() (*seal.Seal, error)
	// Apply applies a plan under its seal until ctx ends.
	Apply func(ctx context.Context, is *seal.Seal, loaded *load.Result, g *runtime.Graph, target []string,
		watch apply.Observer) error
	// Run is what a command of mxflow prints as JSON; Vars are the flags that give the
	// plan's variables to it.
	Run  func(ctx context.Context, args []string) ([]byte, error)
	Vars []string
}

// Serve answers an agent until ctx or its input ends, and ends what it started.
func Serve(ctx context.Context, h Host, in io.ReadCloser, out io.Writer) error {
	s := &server{Host: h, ctx: ctx}
	err := s.tools().Run(ctx, &mcp.IOTransport{Reader: in, Writer: notClosed{out}})
	s.job.end()
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

type notClosed struct{ io.Writer }

func (notClosed) Close() error { return nil }

// server answers an agent about one plan.
type server struct {
	Host
	// ctx ends with the server.
	ctx context.Context

	// mu is held while a tool works: loading redacts secrets for all of them.
	mu  sync.Mutex
	job *job
}

func (s *server) tools() *mcp.Server {
	to := mcp.NewServer(&mcp.Implementation{Name: "mxflow", Version: s.Version}, nil)
	s.addReads(to)
	addTool(s, to, "qualify", "Launch a feature once and run its levels, without measuring. Returns at once.",
		false, s.qualify)
	addTool(s, to, "apply", "Measure and decide. Returns at once.", false, s.apply)
	addTool(s, to, "progress", "Progress of the running qualify or apply, or the result of the last one.",
		true, s.progress)
	addTool(s, to, "stop", "Stop the running qualify or apply. Decisions are kept.", false, s.stop)
	return to
}

// addTool answers with the JSON that commands print: reasons with their words, secrets
// redacted.
func addTool[In any](s *server, to *mcp.Server, name, says string, reads bool,
	answer func(context.Context, In) (any, error),
) {
	mcp.AddTool(to, &mcp.Tool{Name: name, Description: says, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			v, err := answer(ctx, in)
			if err != nil {
				return nil, nil, errors.New(s.secrets().Text(err.Error()))
			}
			data, err := verdict.JSON(s.secrets().Any(v, apply.Identities...))
			if err != nil {
				return nil, nil, err
			}
			data = foreign.JSON(data)
			res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}}
			if bytes.HasPrefix(data, []byte("{")) { // the protocol has no other
				res.StructuredContent = json.RawMessage(data)
			}
			return res, nil, nil
		})
}

// secrets is Secrets while no tool loads a plan, which changes them.
func (s *server) secrets() *redact.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Secrets()
}

// load is the plan from its present files.
func (s *server) load() (*load.Result, *runtime.Graph, error) {
	res := s.Load()
	if !res.OK() {
		return res, nil, errors.New(res.Diagnostics.Error())
	}
	g, err := runtime.NewGraph(res.Plan)
	return res, g, err
}

// recorded is the state of the plan, nil if nothing was applied.
func (s *server) recorded() (*store.Store, error) {
	st, err := store.OpenReadOnly(s.State)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return st, err
}
