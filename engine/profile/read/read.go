// Package read makes an analysis from a profile's file, whatever profiler wrote it. It
// recognises the format by content. It knows formats, and leaves the meaning of events to
// engine/profile.
package read

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/mxflow/mxflow/engine/profile"
)

// Formats are the supported formats, for messages.
const Formats = "a torch or Chrome trace (.json, .json.gz), Nsight Systems (.nsys-rep, CSV of nsys stats), a kernel summary (CSV) or an mxflow analysis (JSON)"

// ErrFormat is the error for a file that is not a profile.
var ErrFormat = errors.New("not a profile that mxflow reads: " + Formats)

// suffixes are those of files considered in a folder.
var suffixes = []string{".json", ".json.gz", ".nsys-rep", ".csv"}

// IsProfile reports whether a file is named like a profile. Profilers write others beside
// them.
func IsProfile(path string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
}

// Open reads the files of one capture, one per GPU or process, as one analysis. A folder
// stands for the profiles in it. A file without kernels, such as a front end's, is
// skipped if another has some.
func Open(ctx context.Context, paths []string, o profile.Options) (*profile.Analysis, error) {
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	var all []*profile.Analysis
	var without error
	for _, path := range files {
		a, err := open(ctx, path, o)
		switch {
		case err == nil:
			all = append(all, a)
		case errors.Is(err, profile.ErrNoKernels) || errors.Is(err, profile.ErrOtherProcess):
			if without == nil {
				without = err
			}
		default:
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, without
	}
	return profile.Join(all...), nil
}

// expand replaces folders by the profiles in them.
func expand(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, e := range entries {
			if e.Type().IsRegular() && IsProfile(e.Name()) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: no profile in this folder; looked for %s", path, strings.Join(suffixes, ", "))
		}
	}
	return files, nil
}

func open(ctx context.Context, path string, o profile.Options) (a *profile.Analysis, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file", path)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s: the file is empty: the profiler wrote nothing", path)
	}
	file := profile.File{Name: filepath.Base(path), Bytes: info.Size()}
	start := make([]byte, 2)
	if _, err := io.ReadFull(f, start); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var parts []profile.Part
	switch {
	case strings.HasSuffix(path, ".nsys-rep") && !bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		return openReport(ctx, path, o)
	default:
		sum := sha256.New()
		whole := io.TeeReader(f, sum)
		a, parts, err = readStream(whole, &file, o)
		if err == nil {
			if _, err = io.Copy(io.Discard, whole); err == nil {
				file.Digest = hex.EncodeToString(sum.Sum(nil))
			}
		}
	}
	if err != nil {
		format := ""
		if file.Kind != "" {
			format = file.Kind + ": "
		}
		return nil, fmt.Errorf("%s: %s%w", path, format, err)
	}
	if a == nil {
		a = &profile.Analysis{Format: profile.Format, Files: []profile.File{file}, Parts: parts}
	}
	return a, nil
}

func digest(f *os.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// readStream reads a format that is read sequentially.
func readStream(r io.Reader, file *profile.File, o profile.Options) (*profile.Analysis, []profile.Part, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", damaged(err))
		}
		a := newAhead(z)
		defer a.stop()
		in = bufio.NewReaderSize(a, 1<<16)
	}
	head, err := in.Peek(4 << 10)
	if len(head) == 0 && err != nil {
		return nil, nil, damaged(err)
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(text) > 0 && text[0] == '{' && bytes.Contains(text, []byte(`"`+profile.Format+`"`)):
		a, err := readAnalysis(in)
		return a, nil, err
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		file.Kind = "torch"
		parts, err := readTorch(in, file, o)
		if err == nil {
			// gzip's checksum is at the end.
			if _, err = io.Copy(io.Discard, in); err != nil {
				err = damaged(err)
			}
		}
		return nil, parts, err
	}
	parts, err := readCSV(in, file, o)
	return nil, parts, err
}

// damaged explains an unexpected end of the data.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file is truncated, or the profiler was stopped before it had written everything: record it again")
	}
	return err
}

// readAnalysis reads a file that is already an analysis.
func readAnalysis(r io.Reader) (*profile.Analysis, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	a := &profile.Analysis{}
	if err := d.Decode(a); err != nil {
		return nil, fmt.Errorf("not an analysis by this version of mxflow: %w", damaged(err))
	}
	if a.Format != profile.Format {
		return nil, fmt.Errorf("format %q: this mxflow reads %q", a.Format, profile.Format)
	}
	for i := range a.Parts {
		if len(a.Parts[i].Kernels) == 0 {
			return nil, fmt.Errorf("parts[%d]: %w", i, profile.ErrNoKernels)
		}
	}
	if len(a.Parts) == 0 {
		return nil, profile.ErrNoKernels
	}
	return a, nil
}

// ahead reads ahead of its consumer: inflating takes a core of its own.
type ahead struct {
	full, free chan []byte
	quit       chan struct{}
	rest       []byte
	block      []byte
	err        error
}

func newAhead(r io.Reader) *ahead {
	const blocks = 4
	a := &ahead{full: make(chan []byte, blocks), free: make(chan []byte, blocks), quit: make(chan struct{})}
	for range blocks {
		a.free <- make([]byte, 256<<10)
	}
	go func() {
		defer close(a.full)
		for {
			var block []byte
			select {
			case block = <-a.free:
			case <-a.quit:
				return
			}
			n, err := io.ReadFull(r, block[:cap(block)])
			if n > 0 {
				select {
				case a.full <- block[:n]:
				case <-a.quit:
					return
				}
			}
			if err != nil {
				if errors.Is(err, io.ErrUnexpectedEOF) && n > 0 {
					// The next read shows whether the stream ended within the block or
					// was truncated.
					_, err = r.Read(make([]byte, 1))
				}
				a.err = err
				return
			}
		}
	}()
	return a
}

func (a *ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.block != nil {
			a.free <- a.block
			a.block = nil
		}
		block, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.block, a.rest = block, block
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

func (a *ahead) stop() { close(a.quit) }
