package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var repoID = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*/[\w.-]+$`)

// model finds the files that the engine serves, and digests them.
func (c *Collector) model(ctx context.Context, q *Request, d *Document) {
	if q.Model == "" {
		d.Lack("model", "neither the plan nor the command has a model")
		return
	}
	d.Model = &Model{Name: q.Model}
	t, path, revision, err := q.findModel(ctx)
	if err != nil {
		d.Lack("model.digest", err.Error())
		return
	}
	d.Model.Path, d.Model.Revision = path, revision
	files, err := t.list(ctx, path)
	if err == nil && len(files) == 0 {
		err = errors.New("it has no files")
	}
	if err != nil {
		d.Lack("model.digest", fmt.Sprintf("cannot list %s: %v", path, err))
		return
	}
	d.Model.Files = len(files)
	for _, f := range files {
		d.Model.Bytes += f.size
	}
	whole := d.Model.Bytes <= t.whole()
	if d.Model.Digest, d.Model.Covers, err = c.digest(ctx, t, files, whole); err != nil {
		d.Lack("model.digest", err.Error())
		return
	}
	if err := d.Model.readConfig(ctx, t, files); err != nil {
		d.Lack("model.config", err.Error())
	}
	tokenizer := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return !isTokenizer(f.name) })
	if len(tokenizer) == 0 {
		return
	}
	if d.Model.Tokenizer, _, err = c.digest(ctx, t, tokenizer, true); err != nil {
		d.Lack("model.tokenizer", err.Error())
	}
}

// readConfig keeps the model's config.json.
func (m *Model) readConfig(ctx context.Context, t tree, files []file) error {
	at := slices.IndexFunc(files, func(f file) bool { return f.name == "config.json" && f.size <= smallLimit })
	if at < 0 || slices.ContainsFunc(files, func(f file) bool { return strings.HasSuffix(f.name, ".gguf") }) {
		return nil
	}
	var text strings.Builder
	if err := t.read(ctx, files[at].path, smallLimit, &text); err != nil {
		return err
	}
	m.Config = []byte(text.String())
	return nil
}

func isTokenizer(name string) bool {
	switch base := filepath.Base(name); base {
	case "vocab.json", "vocab.txt", "merges.txt", "special_tokens_map.json", "added_tokens.json", "spiece.model":
		return true
	default:
		return strings.HasPrefix(base, "tokenizer") || strings.HasPrefix(base, "chat_template") || strings.HasSuffix(base, ".tiktoken")
	}
}

// findModel finds where the model's files are: a path of this machine, a path where the
// engine lives, or a snapshot in a Hugging Face cache of either.
func (q *Request) findModel(ctx context.Context) (t tree, path, revision string, err error) {
	if host, ok := q.onHost(q.Model); ok {
		if _, err := os.Stat(host); err == nil {
			return hostTree{}, host, "", nil
		}
	}
	if strings.HasPrefix(q.Model, "/") {
		return engineTree{q.Engine}, q.Model, "", nil
	}
	if !repoID.MatchString(q.Model) {
		return nil, "", "", fmt.Errorf("%q is neither a readable path nor the name of a model on the Hugging Face Hub", q.Model)
	}
	folder := "models--" + strings.ReplaceAll(q.Model, "/", "--")
	for _, cache := range q.hostCaches() {
		if path, revision, ok := snapshot(filepath.Join(cache, folder), q.Revision); ok {
			return hostTree{}, path, revision, nil
		}
	}
	if q.SameFiles {
		return nil, "", "", fmt.Errorf("%s is in none of the Hugging Face caches of this machine: %s", q.Model, strings.Join(q.hostCaches(), ", "))
	}
	return q.engineSnapshot(ctx, folder)
}

// hostCaches are folders of this machine that may be the hub's cache: the one named by
// the engine's environment, or a container's volumes.
func (q *Request) hostCaches() (dirs []string) {
	if q.SameFiles {
		if dir := q.Env("HF_HUB_CACHE"); dir != "" {
			return []string{home(dir)}
		}
		if dir := q.Env("HF_HOME"); dir != "" {
			return []string{filepath.Join(home(dir), "hub")}
		}
		if dir := q.Env("XDG_CACHE_HOME"); dir != "" {
			return []string{filepath.Join(dir, "huggingface", "hub")}
		}
		return []string{home("~/.cache/huggingface/hub")}
	}
	for _, host := range keys(q.Volumes) {
		if host = home(host); filepath.IsAbs(host) {
			dirs = append(dirs, host, filepath.Join(host, "hub"), filepath.Join(host, "huggingface", "hub"), filepath.Join(host, ".cache", "huggingface", "hub"))
		}
	}
	return dirs
}

// snapshot is the folder of a revision in a cache: the requested one, by branch or
// commit, else main.
func snapshot(model, revision string) (path, commit string, ok bool) {
	if revision == "" {
		revision = "main"
	}
	commit = revision
	if text, err := os.ReadFile(filepath.Join(model, "refs", filepath.FromSlash(revision))); err == nil {
		commit = strings.TrimSpace(string(text))
	}
	if !filepath.IsLocal(commit) {
		return "", "", false
	}
	path = filepath.Join(model, "snapshots", commit)
	info, err := os.Stat(path)
	return path, commit, err == nil && info.IsDir()
}

// engineSnapshot looks for the cache where the engine lives, with its shell.
func (q *Request) engineSnapshot(ctx context.Context, folder string) (tree, string, string, error) {
	const script = `for d in "$HF_HUB_CACHE" "$HF_HOME/hub" "$HOME/.cache/huggingface/hub" /root/.cache/huggingface/hub; do
  c="$2"
  [ -f "$d/$1/refs/$2" ] && c=$(cat "$d/$1/refs/$2")
  [ -d "$d/$1/snapshots/$c" ] && echo "$d/$1/snapshots/$c" && exit
done
exit 1`
	revision := q.Revision
	if revision == "" {
		revision = "main"
	}
	out, err := q.Engine.text(ctx, 10*time.Second, "sh", "-c", script, "sh", folder, revision)
	if err != nil {
		return nil, "", "", fmt.Errorf("%s is in no visible Hugging Face cache: %w", q.Model, err)
	}
	path := strings.TrimSpace(out)
	return engineTree{q.Engine}, path, path[strings.LastIndexByte(path, '/')+1:], nil
}

// file is one file of a model.
type file struct {
	// path is where it is read, name its name in the model.
	path, name string
	size       int64
	mtime      string
	// blob is the digest by which a Hugging Face cache stores a large file; empty
	// for others.
	blob string
}

// tree is the files of this machine or of the engine.
type tree interface {
	// list returns all files below a path, or the path itself if it is a file, in order
	// of their names.
	list(ctx context.Context, path string) ([]file, error)
	// read copies at most limit bytes of a file.
	read(ctx context.Context, path string, limit int64, to io.Writer) error
	// whole is the size up to which a model is read in full.
	whole() int64
}

// maxFiles bounds a model: anyone who names their home folder learns of the mistake.
const maxFiles = 10000

type hostTree struct{}

// About a second of one core.
func (hostTree) whole() int64 { return 512 << 20 }

// blobName is the name of a large file in a Hugging Face cache: its SHA-256.
var blobName = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (hostTree) list(ctx context.Context, root string) (files []file, err error) {
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			if strings.HasPrefix(e.Name(), ".") && path != root {
				return fs.SkipDir
			}
			return nil
		}
		// A cache's snapshots are links to its blobs.
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name == "." {
			name = filepath.Base(path)
		}
		f := file{path: path, name: filepath.ToSlash(name), size: info.Size(), mtime: strconv.FormatInt(info.ModTime().UnixNano(), 10)}
		if target, linkErr := os.Readlink(path); linkErr == nil && blobName.MatchString(filepath.Base(target)) && filepath.Base(filepath.Dir(target)) == "blobs" {
			f.blob = filepath.Base(target)
		}
		if files = append(files, f); len(files) > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		return err
	})
	return files, err
}

func (hostTree) read(_ context.Context, path string, limit int64, to io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, io.LimitReader(f, limit))
	return err
}

// engineTree is files where the engine lives, listed with find and read with
// head.
type engineTree struct{ run Run }

// A command's output passes through memory.
func (engineTree) whole() int64 { return 16 << 20 }

func (t engineTree) list(ctx context.Context, root string) (files []file, err error) {
	out, err := t.run.text(ctx, time.Minute, "find", "-L", root, "-type", "f", "-printf", `%s %T@ %P\n`)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(cells) != 3 {
			return nil, fmt.Errorf("find printed %q", brief(line))
		}
		size, err := strconv.ParseInt(cells[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("find printed %q", brief(line))
		}
		f := file{path: root + "/" + cells[2], name: cells[2], size: size, mtime: cells[1]}
		if cells[2] == "" {
			f.path, f.name = root, filepath.Base(root)
		}
		if files = append(files, f); len(files) > maxFiles {
			return nil, fmt.Errorf("it has more than %d files", maxFiles)
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

func (t engineTree) read(ctx context.Context, path string, limit int64, to io.Writer) error {
	out, err := t.run.text(ctx, time.Minute, "head", "-c", strconv.FormatInt(limit, 10), path)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, out)
	return err
}
