package redact

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// File removes sensitive values from a text file, in place. A file without any is not
// touched.
func File(path string, r *Redactor) error {
	if !r.Active() {
		return nil
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(path), ".redacted-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // gone after the rename
	changed, err := redactLines(in, out, r)
	if err = errors.Join(err, out.Close()); err != nil || !changed {
		return err
	}
	return os.Rename(out.Name(), path)
}

// redactLines copies line by line: the redactor knows a sensitive value of several lines
// by each of them.
func redactLines(in io.Reader, out io.Writer, r *Redactor) (changed bool, err error) {
	lines := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriterSize(out, 64<<10)
	for {
		line, readErr := lines.ReadString('\n')
		clean := r.Text(line)
		changed = changed || clean != line
		if _, err := w.WriteString(clean); err != nil {
			return changed, err
		}
		if readErr == io.EOF {
			return changed, w.Flush()
		}
		if readErr != nil {
			return changed, readErr
		}
	}
}
