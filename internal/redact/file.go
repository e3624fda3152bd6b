package redact

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// File removes sensitive values from a text file, in place, line by line: the redactor
// knows a sensitive value of several lines by each of them. A file without any is not
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
	lines, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	changed := false
	for err == nil {
		var line string
		line, err = lines.ReadString('\n')
		clean := r.Text(line)
		changed = changed || clean != line
		if _, wrong := w.WriteString(clean); wrong != nil {
			err = wrong
		}
	}
	if err == io.EOF {
		err = w.Flush()
	}
	if err = errors.Join(err, out.Close()); err != nil || !changed {
		return err
	}
	return os.Rename(out.Name(), path)
}
