package profiling

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/steps/variant"
)

// FilesBelow lists the files of a folder of this machine.
func FilesBelow(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// fetched reports whether profiles are written in a container and read from there by its
// own commands.
func (t *capture) fetched() bool { return t.inside == variant.FolderInContainer(t.folder) }

// sizes are the files that the profiler has written so far, by path on this machine.
func (t *capture) sizes(ctx context.Context) (map[string]int64, error) {
	all := map[string]int64{}
	if !t.fetched() {
		files, err := FilesBelow(t.folder)
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				all[f] = info.Size()
			}
		}
		return all, err
	}
	out, err := t.Inst.Output(ctx, "find", t.inside, "-type", "f", "-exec", "wc", "-c", "{}", ";")
	for line := range strings.Lines(string(out)) {
		size, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		local, below := strings.CutPrefix(strings.TrimSpace(name), t.inside+"/")
		if n, wrong := strconv.ParseInt(size, 10, 64); wrong == nil && below && fs.ValidPath(local) {
			all[filepath.Join(t.folder, filepath.FromSlash(local))] = n
		}
	}
	return all, t.unfetched(err)
}

// part is how much of a file is read from a container by one command.
const part = 16 << 20

// fetch copies a file of that size from the container into the folder of this machine.
func (t *capture) fetch(ctx context.Context, file string, size int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := to.Close(); err == nil {
			err = closed
		}
	}()
	local, err := filepath.Rel(t.folder, file)
	if err != nil {
		return err
	}
	for at := int64(0); at < size; {
		out, err := t.Inst.Output(ctx, "sh", "-c", `tail -c +"$2" "$1" | head -c "$3"`, "mxflow",
			path.Join(t.inside, filepath.ToSlash(local)), strconv.FormatInt(at+1, 10), strconv.Itoa(part))
		if err == nil && len(out) == 0 {
			err = fmt.Errorf("%s ends after %d of %d bytes", foreign.Printable(local), at, size)
		}
		if err != nil {
			return t.unfetched(err)
		}
		if _, err := to.Write(out); err != nil {
			return err
		}
		at += int64(len(out))
	}
	return nil
}

// make makes the folder in the container; remove removes it, which a container that stays
// needs.
func (t *capture) make(ctx context.Context) error {
	_, err := t.Inst.Output(ctx, "mkdir", "-p", t.inside)
	return t.unfetched(err)
}

func (t *capture) remove() {
	_, _ = t.Inst.Output(context.Background(), "rm", "-rf", t.inside)
}

// unfetched says what a container needs for its profiles to be read.
func (t *capture) unfetched(err error) error {
	if err == nil || t.Inst.Exit() != nil {
		return err // that the engine ended is its own failure
	}
	return &verdict.Fault{Reason: verdict.Say("profile.unfetched",
		"the profiles in its container cannot be read, for which it must have sh, mkdir, find, wc, head and tail: "+
			"{error}",
		verdict.Line(err))}
}
