package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/inert"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/load"
	planseal "github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

func newMCPCommand(a *app) *cobra.Command {
	var vars []load.Given
	var key string
	c := &cobra.Command{
		Use:   "mcp [PLAN]",
		Short: "Serve one plan to a coding agent over the Model Context Protocol",
		Long: `Speaks the Model Context Protocol on standard input and output. An agent reads
(validate, plan, status, explain, show, schema, kinds), proposes within the limits of
the plan's seal (propose_feature, propose_value), and measures: qualify and apply return
at once, progress tells how they come along, stop ends them. There is nothing to waive,
retract, measure again or change rules with. Without a seal (mxflow seal) it can read
only.`,
		Example: "  mxflow mcp plan.hcl\n  mxflow mcp --key signing.pub plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			s := &agentServer{app: a, path: path, vars: vars, key: key}
			soft, hard, release := signals(c.Context(), a.stderr, shuttingDown)
			defer release()
			s.soft, s.hard = soft, hard
			err = s.server().Run(soft, &mcp.IOTransport{Reader: os.Stdin, Writer: notClosed{bare(a.stdout)}})
			s.job.end()
			if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
	varFlag(c, &vars)
	c.Flags().StringVar(&key, "key", "", "public key of who sealed, or its `file` (default: your own)")
	return c
}

type notClosed struct{ io.Writer }

func (notClosed) Close() error { return nil }

// agentServer answers an agent about one plan.
type agentServer struct {
	app       *app
	path, key string
	vars      []load.Given
	// soft ends with the server, hard what goes on after that.
	soft, hard context.Context

	// mu is held while a tool works: loading hides secrets for all of them.
	mu     sync.Mutex
	loaded *load.Result
	graph  *runtime.Graph
	job    *job
}

// nextCall is a tool that there is a reason to call now.
type nextCall struct {
	Tool string `json:"tool"`
	// Of is what to call it for: a feature, a node, a file with its line.
	Of string `json:"of,omitempty"`
	// Code says why: "refused", "undecided", "running", …
	Code string `json:"code"`
}

func (s *agentServer) server() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "mxflow", Version: version}, nil)
	server.AddReceivingMiddleware(s.forbidden)
	addTool(s, server, "validate", "Every mistake of the plan with its place.", true, s.validate)
	addTool(s, server, "plan", "What an apply would do: nodes that are not kept, launches, seconds, and the smallest effect that the launches resolve.", true, s.plan)
	addTool(s, server, "status", "The accepted stack, what is undecided or did not pass, the limits of the seal and what is left of them.", true, s.status)
	addTool(s, server, "explain", "Why a feature, gate or node was decided as it was.", true, s.explain)
	addTool(s, server, "show", "A run with its decisions and launches, or one launch with its metrics.", true, s.show)
	addTool(s, server, "schema", "The parts of the plan language, or the JSON Schema of one.", true, s.schema)
	addTool(s, server, "kinds", "The kinds of engine, or the whole profile of one.", true, s.kinds)
	addTool(s, server, "propose_feature", "Write a feature into the plan that is judged as a sealed feature of its phase is.", false, s.proposeFeature)
	addTool(s, server, "propose_value", "Write a value of a knob into the plan, or replace one.", false, s.proposeValue)
	addTool(s, server, "qualify", "Launch a feature once and run its levels, without measuring. Returns at once.", false, s.qualify)
	addTool(s, server, "apply", "Measure and decide. Returns at once.", false, s.apply)
	addTool(s, server, "progress", "How the running qualify or apply comes along, or how the last one came out.", true, s.progress)
	addTool(s, server, "stop", "Stop the running qualify or apply. What was decided is kept.", false, s.stop)
	return server
}

// forbidden puts on record that an agent called a tool that there is none of, such as waive.
func (s *agentServer) forbidden(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if p, is := req.GetParams().(*mcp.CallToolParamsRaw); is && err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.job.running() {
				s.app.refuse(s.path, refusal(byMCP, cut(p.Name), nil, verdict.New(code.NotProposers).On(cut(p.Name))))
			}
		}
		return res, err
	}
}

// addTool answers with the JSON that commands print: reasons with their words, secrets hidden.
func addTool[In any](s *agentServer, to *mcp.Server, name, says string, reads bool, answer func(context.Context, In) (any, error)) {
	mcp.AddTool(to, &mcp.Tool{Name: name, Description: says, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			v, err := answer(ctx, in)
			if err != nil {
				return nil, nil, errors.New(s.app.secrets.Text(err.Error()))
			}
			data, err := tell.JSON(s.app.secrets.Any(v, apply.Identities...))
			if err != nil {
				return nil, nil, err
			}
			data = inert.JSON(data)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}, nil, nil
		})
}

// load is the plan as its files are now; of files that have not changed since it is not
// read again.
func (s *agentServer) load() (*load.Result, *runtime.Graph, error) {
	if s.loaded != nil && s.sameFiles() {
		return s.loaded, s.graph, nil
	}
	s.loaded = nil
	res := s.app.loadSilently(s.path, load.Options{Inputs: s.vars})
	if !res.OK() {
		return res, nil, errors.New(res.Diagnostics.Error())
	}
	g, err := runtime.NewGraph(res.Plan)
	if err == nil {
		s.loaded, s.graph = res, g
	}
	return res, g, err
}

// sameFiles reports whether the plan's one file, and what it reads, is as it was loaded.
func (s *agentServer) sameFiles() bool {
	if info, err := os.Stat(s.path); err != nil || info.IsDir() {
		return false // which may have another file by now
	}
	for name, text := range s.loaded.Sources {
		if now, err := os.ReadFile(filepath.FromSlash(name)); err != nil || !bytes.Equal(now, text) {
			return false
		}
	}
	for _, f := range s.loaded.Plan.NamedFiles() {
		if runtime.FileDigest(f.Path) != f.Digest {
			return false
		}
	}
	return true
}

// recorded is the state of the plan, nil where nothing was applied.
func (s *agentServer) recorded() (*store.Store, error) {
	st, err := store.OpenReadOnly(s.app.stateDir(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return st, err
}

func (s *agentServer) seal() (*planseal.Seal, error) { return readSeal(s.path, s.key) }
