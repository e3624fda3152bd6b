package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Site is where the steps of one apply do their work.
type Site struct {
	Plan *plans.Plan
	// Graph is searched for the step that makes an image; nil has none.
	Graph *runtime.Graph
	Store *store.Store
	// Launcher runs containers, and fetches their images.
	Launcher engine.Launcher
	// Owner marks what is started on behalf of this state directory, and RunDir is the
	// folder of this run.
	Owner, RunDir string
	// Guardian, which may be nil, ends what runs when mxflow is killed.
	Guardian engine.Guardian
	// Redact takes sensitive values out of what is shown and kept, Seal puts marks in
	// their place in keys.
	Redact, Seal *redact.Redactor
}

// sealed is the digest of what may hold sensitive values.
func (l *Site) sealed(parts ...any) string {
	return runtime.Digest(l.Seal.Any(parts).([]any)...)
}

// stepLaunch is how the command of a step is marked, and where its output goes.
func (l *Site) stepLaunch(s *runtime.Scope) (engine.Launch, error) {
	log := filepath.Join(l.RunDir, "steps", runtime.FileName(s.Node.ID)+".log")
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return engine.Launch{}, err
	}
	return engine.Launch{ID: "step-" + runtime.ShortID(s.Run, s.Node.ID), Owner: l.Owner, Guardian: l.Guardian, LogPath: log}, nil
}

// await waits for the command of a step and decides by its end: exit status 0
// passes, any other and its time limit fail. Whatever happens, nothing of it
// runs on afterwards, and its output is kept without sensitive values.
func (l *Site) await(ctx context.Context, s *runtime.Scope, run engine.Command, limit time.Duration) (*ledger.Decision, error) {
	log := run.LogPath()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	out := &ledger.Decision{}
	select {
	case <-run.Exited():
		exit := run.Exit()
		// What the command left behind ends with it.
		_ = run.Stop(s.Hard)
		out.Verdict = verdict.Pass
		out.Reasons = verdict.Because(code.Ended, verdict.Text("exit", cmp.Or(exit, &engine.Exit{Code: -1}).String()))
		if exit == nil || exit.Code != 0 || exit.Signal != "" {
			out.Verdict = verdict.Fail
			out.LogTail = logscan.Tail(log, 15)
			if exit != nil {
				out.Exit = &exit.Code
			}
		}
	case <-timer.C:
		_ = run.Stop(s.Hard)
		out.Verdict, out.Reasons = verdict.Fail, verdict.Because(code.TimedOut, verdict.Dur("limit", limit))
		out.LogTail = logscan.Tail(log, 15)
	case <-ctx.Done():
		_ = run.Stop(s.Hard)
		return nil, errors.Join(ctx.Err(), redact.File(log, l.Redact))
	}
	if err := redact.File(log, l.Redact); err != nil {
		return nil, fmt.Errorf("sensitive values cannot be taken out of the output: %w", err)
	}
	if _, err := l.Store.PutFile(log); err != nil {
		out.Reasons = append(out.Reasons, verdict.New(code.NotKept, verdict.Err(err)).On("output"))
	}
	return out, nil
}
