package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ErrFormat is the error for a file that is not a profile.
var ErrFormat = errors.New("not a profile that mxflow reads: a torch or Chrome trace (.json, .json.gz), " +
	"Nsight Systems (.nsys-rep, .sqlite, CSV of nsys stats), a kernel summary (CSV) or an mxflow analysis (JSON)")

// suffixes are the suffixes of files considered in a folder.
var suffixes = []string{".json", ".json.gz", ".nsys-rep", ".sqlite", ".csv"}

// IsProfile reports whether a file is named like a profile. Profilers write others beside
// them.
func IsProfile(path string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
}

// Open reads the files of one capture, one per GPU or process, as one analysis. A folder
// stands for the profiles in it. A report beside its own export is read once, and tables
// of one report together. A file without kernels, such as a front end's, is skipped if
// another has some.
func Open(ctx context.Context, paths []string, o Options) (*Analysis, error) {
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	var all []*Analysis
	var without error
	read := map[string]bool{}
	for _, same := range recordings(files) {
		a, err := open(ctx, same, o)
		if errors.Is(err, ErrNoKernels) {
			without = cmp.Or(without, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		// A copy under another name, or an analysis of what is there too.
		if len(a.Files) == 0 || slices.ContainsFunc(a.Files, func(f File) bool {
			return f.Digest == "" || !read[f.Digest]
		}) {
			all = append(all, a)
		}
		for _, f := range a.Files {
			read[f.Digest] = true
		}
	}
	if len(all) == 0 {
		return nil, without
	}
	return Join(all...), nil
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

// ending is what the name of a file has besides that of its recording: nsys stats adds the
// table's.
var ending = regexp.MustCompile(`_(cuda_gpu|cuda_api|nvtx_pushpop)_\w+\.csv$|\.(json|json\.gz|nsys-rep|sqlite|csv)$`)

// recordings are the files to read of each recording, by name: a report or, without nsys,
// its tables, lists of kernels before sums of them; of others the first.
func recordings(files []string) (all [][]string) {
	_, missing := exec.LookPath("nsys")
	rank := func(file string) int {
		ofNsys := strings.HasSuffix(file, ".nsys-rep") || strings.HasSuffix(file, ".sqlite")
		switch {
		case ofNsys && missing == nil, !ofNsys && !strings.HasSuffix(file, ".csv"):
			return 0
		case ofNsys:
			return 3
		case strings.HasSuffix(file, "_sum.csv"):
			return 2
		}
		return 1
	}
	at := map[string]int{}
	for _, file := range files {
		name := ending.ReplaceAllString(file, "")
		i, known := at[name]
		if !known {
			i = len(all)
			at[name] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], file)
	}
	for i, same := range all {
		slices.SortStableFunc(same, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
		n := 1
		for n < len(same) && strings.HasSuffix(same[0], ".csv") && strings.HasSuffix(same[n], ".csv") {
			n++
		}
		all[i] = same[:n]
	}
	return all
}

// open reads one recording: a file, or several tables.
func open(ctx context.Context, paths []string, o Options) (*Analysis, error) {
	path, file := paths[0], File{}
	var content []io.Reader
	for i, path := range paths {
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
		file.Bytes += info.Size()
		if i > 0 {
			file.Name += ", "
			content = append(content, strings.NewReader("\n\n"))
		}
		file.Name += filepath.Base(path)
		content = append(content, f)
	}
	digest := sha256.New()
	r := io.TeeReader(io.MultiReader(content...), digest)
	var a *Analysis
	var err error
	if strings.HasSuffix(path, ".nsys-rep") || strings.HasSuffix(path, ".sqlite") {
		a, err = openReport(ctx, path, &file, o)
	} else {
		a, err = readStream(r, &file, o)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		format := ""
		if file.Kind != "" {
			format = file.Kind + ": "
		}
		return nil, fmt.Errorf("%s: %s%w", path, format, err)
	}
	if a.Files == nil {
		file.Digest = hex.EncodeToString(digest.Sum(nil))
		a.Files = []File{file}
	}
	return a, nil
}

// readStream reads a format that it recognises by its start.
func readStream(r io.Reader, file *File, o Options) (*Analysis, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", damaged(err))
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3)
	}
	head, err := in.Peek(4 << 10)
	if len(head) == 0 && err != nil {
		return nil, damaged(err)
	}
	a := &Analysis{Format: Format}
	switch text := bytes.TrimLeft(head, " \t\r\n"); {
	case bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"`+Format+`"`)):
		return readAnalysis(in)
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		file.Kind = "torch"
		a.Parts, err = readTorch(in, file, o)
	default:
		a.Parts, err = readCSV(in, file, o)
	}
	return a, err
}

// damaged explains an unexpected end of the data.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New(
			"the file is truncated, or the profiler was stopped before it had written everything: record it again")
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return errors.New("it is not JSON there: the file is damaged")
	}
	return err
}

// readAnalysis reads a file that is already an analysis.
func readAnalysis(r io.Reader) (*Analysis, error) {
	a := &Analysis{}
	if err := json.NewDecoder(r).Decode(a); err != nil {
		return nil, fmt.Errorf("not an analysis by this version of mxflow: %w", damaged(err))
	}
	if a.Format != Format {
		return nil, fmt.Errorf("format %q: this mxflow reads %q", a.Format, Format)
	}
	for i := range a.Parts {
		if len(a.Parts[i].Kernels) == 0 {
			return nil, fmt.Errorf("parts[%d]: %w", i, ErrNoKernels)
		}
	}
	if len(a.Parts) == 0 {
		return nil, ErrNoKernels
	}
	return a, nil
}
