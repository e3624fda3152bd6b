package steps

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps/variant"
)

const (
	// aCommand is what a failure of one is about.
	aCommand = "command"
	// outputEvery is how often a command that runs is looked at for how much it
	// has printed.
	outputEvery = 250 * time.Millisecond
	// failedOutput is how much of the output of a command that failed is put into
	// its log, in bytes.
	failedOutput = 1 << 20
)

// outPath is where a launch keeps what a command printed to standard output, or
// wrote to its file. It lies beside the log.
func outPath(log string) string { return log + ".out" }

// stdoutOf is the file that gets standard output; empty where it belongs into
// the log.
func stdoutOf(c *variant.Command, log string) string {
	if c == nil || c.File != "" {
		return ""
	}
	return outPath(log)
}

// commandUse is a command in one launch.
type commandUse struct {
	// of is nil where the engine is a server.
	of *variant.Command
	// dir is where it works, before its output file as it was at the start, nil
	// where there was none.
	dir    string
	before os.FileInfo
}

// useOf looks at the file that a command is going to write.
func useOf(c *variant.Command, dir string) commandUse {
	u := commandUse{of: c, dir: dir}
	if c != nil && c.File != "" {
		u.before, _ = os.Stat(c.Path(dir))
	}
	return u
}

// discard removes what standard output was kept in: by then it is an artifact or
// part of the log, both without sensitive values.
func (u commandUse) discard(log string) {
	if u.of != nil {
		_ = os.Remove(outPath(log))
	}
}

// execute waits until a command that was started has ended, and completes the
// launch's record with what it printed. whole puts standard output into the log
// as well, for those who look for evidence there. The error is a *engine.Failure,
// or ctx's.
func (st *started) execute(ctx context.Context, c *variant.Command, whole bool) error {
	out := outPath(st.inst.LogPath())
	err := st.await(ctx, c, out)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// What it left behind ends before its output is read, and cannot add to it.
	if stopErr := st.inst.Stop(ctx); stopErr != nil && err == nil {
		st.record.Notes = append(st.record.Notes, verdict.New(code.Stopping, verdict.Line(stopErr)))
	}
	if c.File == "" && (whole || err != nil) {
		limit := int64(variant.MaxOutput)
		if err != nil {
			limit = failedOutput
		}
		if copied := appendFile(st.inst.LogPath(), out, limit); copied != nil && err == nil {
			err = st.unmeasured(nil, "its standard output cannot be put into the log: %v", copied)
		}
	}
	if err != nil {
		return err
	}
	return st.collect(ctx, c, out)
}

// await waits for the end of a command, within its bounds of time and output.
func (st *started) await(ctx context.Context, c *variant.Command, out string) error {
	limit := time.NewTimer(c.Timeout)
	defer limit.Stop()
	look := time.NewTicker(outputEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			err := st.unfinished("it was stopped after its time limit of %s; if it needs longer, write run { timeout = … }", c.Timeout)
			_ = st.inst.Stop(ctx)
			return err
		case <-look.C:
			if info, err := os.Stat(out); err == nil && info.Size() > variant.MaxOutput {
				err := st.unfinished("it printed more than %d MiB to standard output, which is for its JSON; let it log to standard error", variant.MaxOutput>>20)
				_ = st.inst.Stop(ctx)
				return err
			}
		case <-st.inst.Exited():
			if exit := st.inst.Exit(); exit == nil || exit.Code != 0 || exit.Signal != "" {
				return st.unfinished("it failed")
			}
			return nil
		}
	}
}

// unfinished is a command that did not come to a good end, with its last words.
func (st *started) unfinished(format string, args ...any) *engine.Failure {
	tail := logscan.Tail(st.inst.LogPath(), 15)
	if len(tail) == 0 {
		// Some say on standard output what went wrong.
		tail = logscan.Tail(outPath(st.inst.LogPath()), 15)
	}
	return &engine.Failure{Of: aCommand, Op: "finish", Reason: fmt.Sprintf(format, args...), Exit: st.inst.Exit(), LogTail: tail}
}

// unmeasured is a command that ended well and left nothing to go by. It has not
// crashed, so there is no exit.
func (st *started) unmeasured(text []byte, format string, args ...any) *engine.Failure {
	f := &engine.Failure{Of: aCommand, Op: "be measured", Reason: fmt.Sprintf(format, args...), LogTail: logscan.Tail(st.inst.LogPath(), 15)}
	if len(text) > 0 {
		const most = 300
		shown := text[:min(len(text), most)]
		f.Reason += fmt.Sprintf("; what it printed begins with %q", shown)
	}
	return f
}
