package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/steps/variant"
)

// collect keeps the output of a command that ended well and takes its metrics
// out.
func (st *started) collect(ctx context.Context, c *variant.Command, out string) error {
	if c.File != "" {
		if err := st.fetch(c, out); err != nil {
			return err
		}
	}
	if err := redact.File(out, st.lab.Redact); err != nil {
		_ = os.Remove(out)
		return st.unmeasured(nil, "sensitive values cannot be taken out of its output: %v", err)
	}
	text, err := readBounded(out)
	if err != nil {
		return st.unmeasured(nil, "%v", err)
	}
	// Kept as it is, so that it can be decided again, also where it is garbage.
	if len(text) > 0 {
		if st.record.Output, err = st.lab.Store.Put(text); err != nil {
			return fmt.Errorf("the output of the command cannot be kept: %w", err)
		}
	}
	values, err := c.Values(ctx, text)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return st.unmeasured(text, "%v", err)
	}
	if st.record.Metrics == nil {
		st.record.Metrics = map[string]measure.Summary{}
	}
	for _, m := range c.Metrics {
		summary, ok := m.Metric().Summary(values[m.Name])
		if !ok {
			return st.unmeasured(text, "metric %s has no finite values", m.Name)
		}
		summary.Requests = len(values[m.Name])
		st.record.Metrics["command."+m.Name] = summary
	}
	return nil
}

// fetch copies the file that the command wrote. One that was there before and
// was not written since is of another execution.
func (st *started) fetch(c *variant.Command, out string) error {
	path, before := c.Path(st.command.dir), st.command.before
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return st.unmeasured(nil, "it did not write %s", c.File)
	case err != nil:
		return st.unmeasured(nil, "%s cannot be read: %v", c.File, err)
	case !info.Mode().IsRegular():
		return st.unmeasured(nil, "%s is no file", c.File)
	case before != nil && os.SameFile(before, info) && before.ModTime().Equal(info.ModTime()) && before.Size() == info.Size():
		return st.unmeasured(nil, "%s was there before and was not written by this execution", c.File)
	}
	text, err := readBounded(path)
	if err != nil {
		return st.unmeasured(nil, "%v", err)
	}
	if err := os.WriteFile(out, text, 0o600); err != nil {
		return st.unmeasured(nil, "%s cannot be kept: %v", c.File, err)
	}
	return nil
}

// readBounded reads a file of up to maxOutput bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("its output cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, variant.MaxOutput+1))
	if err != nil {
		return nil, fmt.Errorf("its output cannot be read: %w", err)
	}
	if len(text) > variant.MaxOutput {
		return nil, fmt.Errorf("its output is larger than %d MiB; print the numbers that are asked for, and the rest to standard error", variant.MaxOutput>>20)
	}
	return text, nil
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
	_, err = io.Copy(out, io.LimitReader(in, limit))
	return errors.Join(err, out.Close())
}
