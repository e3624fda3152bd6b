package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/steps/variant"
)

const (
	// aCommand is the subject of a command's failures.
	aCommand = "command"
	// outputEvery is how often a running command is checked for how much it has printed.
	outputEvery = 250 * time.Millisecond
	// failedOutput is how much of a failed command's output is copied to its log, in
	// bytes.
	failedOutput = 1 << 20
)

// outPath is where a launch keeps a command's standard output, or the file it wrote:
// beside the log.
func outPath(log string) string { return log + ".out" }

type commandUse struct {
	// of is nil where the engine is a server.
	of *variant.Command
	// dir is its working directory, before its output file as it was at the start, nil if
	// there was none.
	dir    string
	before os.FileInfo
	// started is when it was started, and running is closed once its instance is known.
	started time.Time
	running chan struct{}
}

// Execute waits until a started command has ended, and completes the launch's record with
// its output. Standard output goes to the log as well, for evidence. The error is an
// *engine.Failure, or ctx's.
func (st *Started) Execute(ctx context.Context, c *variant.Command) error {
	out := outPath(st.Inst.LogPath())
	limit := time.NewTimer(c.Timeout)
	defer limit.Stop()
	look := time.NewTicker(outputEvery)
	defer look.Stop()
	var err error
	for ended := false; !ended; {
		ended = true
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			err = st.unfinished("it was stopped after its time limit of %s; if it needs longer, set timeout in its "+
				"run block", c.Timeout)
		case <-look.C:
			if info, unread := os.Stat(out); unread == nil && info.Size() > variant.MaxOutput {
				err = st.unfinished("it printed more than %d MiB to standard output, which is for its JSON; log to "+
					"standard error instead", variant.MaxOutput>>20)
			} else {
				ended = false
			}
		case <-st.Inst.Exited():
			if exit := st.Inst.Exit(); exit == nil || exit.Code != 0 || exit.Signal != "" {
				err = st.unfinished("it failed")
				break
			}
			st.Record.Windows = []measure.Window{{From: st.command.started.Sub(st.Began), To: time.Since(st.Began)}}
			st.settleLog(ctx) // its last lines may not have arrived yet
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// Leftover processes end before its output is read, and cannot add to it.
	_ = st.Inst.Stop(ctx) // Stop says it again where it cannot
	if c.File == "" {
		limit := int64(variant.MaxOutput)
		if err != nil {
			limit = failedOutput
		}
		if copied := appendFile(st.Inst.LogPath(), out, limit); copied != nil && err == nil {
			err = st.unmeasured(nil, "cannot put its standard output into the log: %v", copied)
		}
	}
	if err != nil {
		return err
	}
	return st.collect(ctx, c, out)
}

// unfinished is a command that did not succeed, with its last words.
func (st *Started) unfinished(format string, args ...any) *engine.Failure {
	tail := logscan.Tail(st.Inst.LogPath(), 15)
	if len(tail) == 0 {
		// Some report errors on standard output.
		tail = logscan.Tail(outPath(st.Inst.LogPath()), 15)
	}
	return &engine.Failure{
		Of: aCommand, Op: "finish", Reason: fmt.Sprintf(format, args...),
		Exit: st.Inst.Exit(), LogTail: tail,
	}
}

// unmeasured is a command that ended well but left no numbers. It has not crashed, so
// there is no exit.
func (st *Started) unmeasured(text []byte, format string, args ...any) *engine.Failure {
	f := &engine.Failure{
		Of: aCommand, Op: "be measured", Reason: fmt.Sprintf(format, args...),
		LogTail: logscan.Tail(st.Inst.LogPath(), 15),
	}
	if len(text) > 0 {
		f.Reason += fmt.Sprintf("; its output starts with %q", redact.ProcessSecrets().Cut(string(text), 300))
	}
	return f
}

// collect keeps the output of a command that ended well and extracts its metrics.
func (st *Started) collect(ctx context.Context, c *variant.Command, out string) error {
	if c.File != "" {
		// A file that existed before and was not rewritten is from another execution.
		path, before := c.Path(st.command.dir), st.command.before
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return st.unmeasured(nil, "it did not write %s", c.File)
		case err != nil:
			return st.unmeasured(nil, "cannot read %s: %v", c.File, err)
		case !info.Mode().IsRegular():
			return st.unmeasured(nil, "%s is not a file", c.File)
		case before != nil && os.SameFile(before, info) && before.ModTime().Equal(info.ModTime()) &&
			before.Size() == info.Size():
			return st.unmeasured(nil, "%s existed before and was not written by this execution", c.File)
		}
		text, err := variant.ReadOutput(path)
		if err != nil {
			return st.unmeasured(nil, "%v", err)
		}
		if err := os.WriteFile(out, text, 0o600); err != nil {
			return st.unmeasured(nil, "cannot keep %s: %v", c.File, err)
		}
	}
	if err := redact.File(out, st.Lab.Redact); err != nil {
		_ = os.Remove(out)
		return st.unmeasured(nil, "cannot redact sensitive values in its output: %v", err)
	}
	text, err := variant.ReadOutput(out)
	if err != nil {
		return st.unmeasured(nil, "%v", err)
	}
	// Kept unchanged, even if it is garbage, so it can be decided again.
	if len(text) > 0 {
		if st.Record.Output, err = st.Lab.Store.Put(text); err != nil {
			return fmt.Errorf("cannot keep the output of the command: %w", err)
		}
	}
	metrics, err := c.ReadMetrics(ctx, text)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return st.unmeasured(text, "%v", err)
	}
	if st.Record.Metrics == nil {
		st.Record.Metrics = map[string]measure.Summary{}
	}
	maps.Copy(st.Record.Metrics, metrics)
	return nil
}

// appendFile copies the beginning of one file to the end of another.
func appendFile(to, from string, limit int64) error {
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	_, wrong := out.WriteString(redact.ProcessSecrets().Cut(string(text), int(limit)))
	return errors.Join(err, wrong, out.Close())
}
