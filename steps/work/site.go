package work

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/work/program"
)

// Site is where the steps of one apply do their work.
type Site struct {
	Plan  *plans.Plan
	Store *store.Store
	// Owner marks what is started on behalf of this state directory, and RunDir is the
	// folder of this run.
	Owner, RunDir string
	// Redact removes sensitive values from what is shown and kept, Seal replaces them by
	// marks in keys.
	Redact, Seal *redact.Redactor
}

// sealed is the digest of what may hold sensitive values.
func (l *Site) sealed(parts ...any) string {
	return runtime.Digest(l.Seal.Any(parts).([]any)...)
}

// stepLaunch is how a step's command is marked, and where its output goes.
func (l *Site) stepLaunch(s *runtime.Scope) (engine.Launch, error) {
	log := filepath.Join(l.RunDir, "steps", runtime.FileName(s.Node.ID)+".log")
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return engine.Launch{}, err
	}
	return engine.Launch{ID: "step-" + runtime.ShortID(s.Run, s.Node.ID), Owner: l.Owner, LogPath: log}, nil
}

// await waits for a step's command and decides by its end, as program.Await does. Its log
// is kept; printed is the file of its standard output, if that is kept separately.
func (l *Site) await(ctx context.Context, s *runtime.Scope, run engine.Command, limit time.Duration,
	printed string,
) (*ledger.Decision, error) {
	ended, err := program.Await(ctx, s.Force, run, limit, printed, l.Redact)
	if err != nil {
		return nil, err
	}
	out := &ledger.Decision{Verdict: ended.Verdict, Reasons: ended.Reasons, Exit: ended.Exit, LogTail: ended.LogTail}
	if _, err := l.Store.PutFile(run.LogPath()); err != nil {
		out.Reasons = append(out.Reasons, verdict.New(code.NotKept, verdict.Err(err)).On("output"))
	}
	return out, nil
}
