package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pathOf is where a file is that the plan names, as an absolute path: names are
// relative to the plan's folder.
func (p *Plan) pathOf(name string) string {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return path
}

// readNamed reads a file that the plan names, of at most so many bytes, with the
// SHA-256 of its content in hexadecimal. Errors begin with the name and are put
// into a sentence.
func (p *Plan) readNamed(name string, most int64) (data []byte, digest string, err error) {
	path := p.pathOf(name)
	info, err := os.Stat(path) // first, since opening a pipe may wait for ever
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("%s is not there: the path is relative to the plan's folder", name)
	case err != nil:
		return nil, "", fmt.Errorf("%s cannot be read: %w", name, reason(err))
	case !info.Mode().IsRegular():
		return nil, "", fmt.Errorf("%s is no regular file", name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("%s cannot be read: %w", name, reason(err))
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%s cannot be read: %w", name, reason(err))
	case int64(len(data)) > most:
		return nil, "", fmt.Errorf("%s has more than %d MiB, which are read at most: keep what is needed in a file of its own", name, most>>20)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}
