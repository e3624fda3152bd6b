package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/steps/variant"
)

type ProgramEnd struct {
	// Verdict is pass for exit status 0, and fail for any other and for exceeded limits.
	Verdict verdict.Verdict
	Reasons []verdict.Reason
	// Exit is its status, nil if it passed or was stopped.
	Exit    *int
	LogTail []string
}

const (
	// tailLines is how much of a failed program's log is shown.
	tailLines = 15
	// printedEvery is how often the size of a program's output is checked.
	printedEvery = 250 * time.Millisecond
)

// Await waits for a started program and decides by its end. Whatever happens, nothing of
// it keeps running, and its log is redacted. out, unless empty, is the file for its
// standard output, limited like a command's; hard ends the stop of a hanging program. The
// error is ctx's, or that redaction failed.
func Await(ctx, hard context.Context, run engine.Command, limit time.Duration, out string,
	r *redact.Redactor,
) (*ProgramEnd, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	look := time.NewTicker(printedEvery)
	defer look.Stop()
	ended := &ProgramEnd{}
	for over := false; !over; {
		over = true
		select {
		case <-run.Exited():
			exit := run.Exit()
			ended.Verdict = verdict.Pass
			ended.Reasons = verdict.Because(code.Of("step.ended", "{exit}"),
				verdict.Text("exit", cmp.Or(exit, &engine.Exit{Code: -1}).String()))
			if exit == nil || exit.Code != 0 || exit.Signal != "" {
				ended.Verdict = verdict.Fail
				if exit != nil {
					ended.Exit = &exit.Code
				}
			}
		case <-timer.C:
			ended.Verdict, ended.Reasons = verdict.Fail, verdict.Because(code.TimedOut, verdict.Dur("limit", limit))
		case <-look.C:
			if over = printed(out) > variant.MaxOutput; over {
				ended.Verdict, ended.Reasons = verdict.Fail, verdict.Because(code.Of("step.printed_too_much",
					"printed more than {mib} MiB to standard output, which metric blocks read: let it log to "+
						"standard error"),
					verdict.Int("mib", variant.MaxOutput>>20))
			}
		case <-ctx.Done():
			ended.Verdict = verdict.Error
		}
	}
	// What the program left behind ends with it, or might slow later measurements.
	if err := run.Stop(hard); err != nil && ctx.Err() == nil {
		ended.Verdict, ended.Reasons = verdict.Error, verdict.Because(code.Unstopped, verdict.Line(err))
	}
	if ended.Verdict == verdict.Fail {
		ended.LogTail = logscan.Tail(run.LogPath(), tailLines)
	}
	for _, path := range []string{run.LogPath(), out} {
		if path == "" {
			continue
		}
		if err := redact.File(path, r); err != nil && !errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(path)
			return nil, errors.Join(ctx.Err(), fmt.Errorf("cannot redact sensitive values in the output: %w", err))
		}
	}
	return ended, ctx.Err()
}

// printed is the size of a file in bytes, 0 if there is none.
func printed(path string) int64 {
	if path == "" {
		return 0
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
