package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/internal/sorted"
)

// Reader digests files. It reads each once, as long as its size and times stay, and remembers
// that between runs. The zero value is ready to use, also by several goroutines.
type Reader struct {
	// Cache is the folder that it remembers in; empty for none. If it is removed, all is read
	// again.
	Cache string
	// Own are folders whose files never count: what launches themselves leave.
	Own []string

	mu     sync.Mutex
	loaded sync.Once
	known  map[string]File
	taken  map[Root][]Folder
	lists  map[string]string
	// read is set if known has more than Cache.
	read bool
}

// settled is how long ago a file must have changed to be remembered: one that is written
// again within a tick of the file system's clock has the same times.
const settled = 2 * time.Second

// File is the file at a path, through links. The error is the file system's.
func (r *Reader) File(path string) (File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, err
	}
	f, err := look(real)
	if err != nil {
		return File{}, err
	}
	files := []File{f}
	if err = r.digest(files); err == nil && files[0].Digest == "" {
		err = fs.ErrNotExist
	}
	files[0].Path = path
	return files[0], err
}

// digest adds digests to files, without reading to those that it knows; none to one that is gone.
func (r *Reader) digest(files []File) error {
	r.loaded.Do(r.load)
	var unread []*File
	r.mu.Lock()
	for i := range files {
		f := &files[i]
		if known := r.known[f.Path]; known.Digest != "" && f.Same(known) {
			f.Digest = known.Digest
		} else {
			unread = append(unread, f)
		}
	}
	r.mu.Unlock()
	if len(unread) == 0 {
		return nil
	}
	began := time.Now()
	errs := make([]error, len(unread))
	next := make(chan int)
	var group sync.WaitGroup
	for range min(len(unread), runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range next {
				if sum, err := digest(*unread[i]); err == nil {
					unread[i].Digest = sum
				} else {
					errs[i] = err
				}
			}
		})
	}
	for i := range unread {
		next <- i
	}
	close(next)
	group.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range unread {
		if f.Digest != "" && f.Changed < began.Add(-settled).UnixNano() {
			r.known[f.Path], r.read = *f, true
		}
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil || errors.Is(err, fs.ErrNotExist) })
	return errors.Join(errs[:min(1, len(errs))]...)
}

// table is the file in Cache with a line "size modified changed digest path" for each known
// file; listed is the folder there with lists of folders' files, named by their SHA-256.
const (
	table  = "digests"
	listed = "lists"
	// listsKept is how long a list is kept that nothing has any more.
	listsKept = 90 * 24 * time.Hour
)

func (r *Reader) load() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.lists = map[string]File{}, map[string]string{}
	text, _ := os.ReadFile(filepath.Join(r.Cache, table))
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if r.Cache == "" || len(fields) < 5 {
			continue
		}
		f, numbers := File{Digest: fields[3], Path: fields[4]}, [3]error{}
		f.Size, numbers[0] = strconv.ParseInt(fields[0], 10, 64)
		f.Modified, numbers[1] = strconv.ParseInt(fields[1], 10, 64)
		f.Changed, numbers[2] = strconv.ParseInt(fields[2], 10, 64)
		if errors.Join(numbers[:]...) == nil {
			r.known[f.Path] = f
		}
	}
}

// save remembers what was read, of files that there are. Who cannot write it reads again.
func (r *Reader) save() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read || r.Cache == "" {
		return
	}
	r.read = false
	var text bytes.Buffer
	for path, f := range sorted.All(r.known) {
		if _, err := os.Lstat(path); err == nil && !strings.Contains(path, "\n") {
			fmt.Fprintf(&text, "%d %d %d %s %s\n", f.Size, f.Modified, f.Changed, f.Digest, path)
		}
	}
	replaceFile(filepath.Join(r.Cache, table), text.Bytes())
	lists, _ := filepath.Glob(filepath.Join(r.Cache, listed, "*"))
	for _, path := range lists {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > listsKept {
			_ = os.Remove(path)
		}
	}
}

// keepList remembers the list with a SHA-256, by which files are named that differ later.
func (r *Reader) keepList(sum, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists[sum] != "" {
		return
	}
	r.lists[sum] = text
	path := filepath.Join(r.Cache, listed, sum)
	if now := time.Now(); r.Cache != "" && os.Chtimes(path, now, now) != nil {
		replaceFile(path, []byte(text))
	}
}

// list are the digests of the files on a list; false if it is gone.
func (r *Reader) list(sum string) (digests map[string]string, ok bool) {
	digests = map[string]string{}
	if sum == emptyList {
		return digests, true
	}
	r.loaded.Do(r.load)
	r.mu.Lock()
	text := r.lists[sum]
	r.mu.Unlock()
	if text == "" && r.Cache != "" && sum != "" {
		data, _ := os.ReadFile(filepath.Join(r.Cache, listed, sum))
		text = string(data)
	}
	for line := range strings.Lines(text) {
		digest, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		digests[name] = digest
	}
	return digests, text != ""
}

// replaceFile writes a file whole or not at all; what cannot be remembered is read again.
func replaceFile(path string, text []byte) {
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
}
