package source

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/internal/sorted"
)

// Identity is what an engine runs, by content.
type Identity struct {
	// Files are its programs, scripts, settings, libraries and models.
	Files []File `json:"files,omitempty"`
	// Folders are those that it loads code from by name, each package of Python by itself.
	Folders []Folder `json:"folders,omitempty"`
	// Unknown is why there may be more; empty if there is not.
	Unknown string `json:"unknown,omitempty"`
}

// Folder is the state of a folder, or of a package that is installed in it.
type Folder struct {
	Root
	// Package is the name of the package, or of an entry of the folder that belongs to none;
	// empty for a folder that holds no packages. Version is the package's.
	Package string `json:"package,omitempty"`
	Version string `json:"version,omitempty"`
	Files   int    `json:"files"`
	// List is the SHA-256 of the list of its files: a line "digest name" for each.
	List string `json:"list"`
	// Edited are files that are not those that were installed, by the package's RECORD.
	Edited []string `json:"edited,omitempty"`
}

// Path is the path of a folder, or of a package as if it were a folder there.
func (f Folder) Path() string { return path.Join(f.Dir, f.Package) }

// Used is what a launch ran.
type Used struct {
	// Named was known before it by its command, Opened seen open or loaded while it ran.
	Named  Identity `json:"named,omitzero"`
	Opened Identity `json:"opened,omitzero"`
	// Wrote are the command's own outputs, such as results.
	Wrote []string `json:"wrote,omitempty"`
}

// All is everything that it ran.
func (u Used) All() Identity { return u.Named.And(u.Opened) }

// Take is the identity of code. A folder is looked at once until Forget, so that all variants
// have one state of it.
func (r *Reader) Take(c Code) (id Identity) {
	defer r.save()
	id.Unknown = c.Problem
	slices.Sort(c.Files)
	for _, path := range slices.Compact(c.Files) {
		switch file, err := r.File(path); {
		case err == nil:
			id.Files = append(id.Files, file)
		case !errors.Is(err, fs.ErrNotExist):
			id.Unknown = cmp.Or(id.Unknown, err.Error())
		}
	}
	for _, root := range c.Roots {
		r.mu.Lock()
		folders, taken := r.taken[root]
		r.mu.Unlock()
		if !taken {
			var err error
			if folders, err = r.folders(root); err != nil {
				id.Unknown = cmp.Or(id.Unknown, err.Error())
				continue
			}
			r.mu.Lock()
			if r.taken == nil {
				r.taken = map[Root][]Folder{}
			}
			r.taken[root] = folders
			r.mu.Unlock()
		}
		id.Folders = append(id.Folders, folders...)
	}
	return id
}

// Forget has Take look anew: something may have been built.
func (r *Reader) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = nil
}

// Code is what an identity names, to be taken again.
func (id Identity) Code() (c Code) {
	c.Problem = id.Unknown
	for _, f := range id.Files {
		c.Files = append(c.Files, f.Path)
	}
	for _, f := range id.Folders {
		if !slices.Contains(c.Roots, f.Root) {
			c.Roots = append(c.Roots, f.Root)
		}
	}
	return c
}

// And is an identity with what another has besides.
func (id Identity) And(more Identity) Identity {
	more = more.Minus(id)
	id.Files, id.Folders = slices.Concat(id.Files, more.Files), slices.Concat(id.Folders, more.Folders)
	id.Unknown = cmp.Or(id.Unknown, more.Unknown)
	return id
}

// Minus is an identity without what another has.
func (id Identity) Minus(other Identity) Identity {
	known := other.entries()
	return id.Only(func(path string) bool { _, there := known[path]; return !there })
}

// Only is what an identity has of some paths of files, folders and packages.
func (id Identity) Only(some func(path string) bool) Identity {
	id.Files = slices.DeleteFunc(slices.Clone(id.Files), func(f File) bool { return !some(f.Path) })
	id.Folders = slices.DeleteFunc(slices.Clone(id.Folders), func(f Folder) bool { return !some(f.Path()) })
	return id
}

// Digest covers the paths and contents of an identity.
func (id Identity) Digest() string {
	h := sha256.New()
	for path, e := range sorted.All(id.entries()) {
		fmt.Fprintf(h, "%s\x00%s\n", path, e.digest)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// entry is the digest of a file; or of the list of a folder, with names below dir.
type entry struct{ digest, dir string }

func (id Identity) entries() map[string]entry {
	all := map[string]entry{}
	for _, f := range id.Files {
		all[f.Path] = entry{digest: f.Digest}
	}
	for _, f := range id.Folders {
		all[f.Path()] = entry{f.List, f.Dir}
	}
	return all
}

// Moved names the files in which an identity differs from another, of what both have.
func (r *Reader) Moved(was, is Identity) (names []string) {
	before, now := was.entries(), is.entries()
	both := func(path string) bool {
		_, had := before[path]
		_, has := now[path]
		return had && has
	}
	return r.Changed(was.Only(both), is.Only(both))
}

// Changed names the files in which two identities differ; of a package or folder that only one
// of them has, or whose list is gone, that.
func (r *Reader) Changed(was, is Identity) (names []string) {
	before, now := was.entries(), is.entries()
	for name, e := range before {
		if _, both := now[name]; !both {
			now[name] = entry{dir: e.dir}
		}
	}
	for name, e := range sorted.All(now) {
		if before[name].digest == e.digest {
			continue
		}
		if e.digest == "" && before[name].digest == emptyList || e.digest == emptyList && before[name].digest == "" {
			continue // packages that appeared there, or went, have their own entries
		}
		had, known := r.list(before[name].digest)
		has, there := r.list(e.digest)
		if e.dir == "" || !known || !there {
			names = append(names, name)
			continue
		}
		for file, digest := range sorted.All(has) {
			if had[file] != digest {
				names = append(names, path.Join(e.dir, file))
			}
			delete(had, file)
		}
		for file := range sorted.All(had) {
			names = append(names, path.Join(e.dir, file))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// folders is the state of a root: as a whole, or if packages are installed there, of each of
// them by its RECORD, and of each entry that is none's. What a RECORD says of contents is not
// believed but compared. https://packaging.python.org/en/latest/specifications/recording-installed-packages/
func (r *Reader) folders(root Root) ([]Folder, error) {
	var names []string
	var files []File
	add := func(name string, file File) { names, files = append(names, name), append(files, file) }
	if err := root.walk(r.Own, add); err != nil {
		return nil, err
	}
	owners := map[string]installed{}
	if root.Holds == HoldsPackages {
		owners = installedIn(root.Dir)
	}
	for name := range sorted.All(owners) {
		// Data beside the packages; scripts are known once a command has them.
		if strings.HasPrefix(name, "../") && path.Base(path.Dir(name)) != "bin" {
			if file, err := look(filepath.Join(root.Dir, name)); err == nil {
				add(name, file)
			}
		}
	}
	if err := r.digest(files); err != nil {
		return nil, err
	}
	states, lists := map[string]*Folder{}, map[string]*strings.Builder{}
	for i, name := range names {
		owner, owned := owners[name]
		switch {
		case files[i].Digest == "": // it is gone
			continue
		case strings.HasSuffix(path.Dir(name), ".dist-info") && slices.Contains(bookkeeping, path.Base(name)):
			continue
		case root.Holds == HoldsPackages && !owned:
			owner.name, _, _ = strings.Cut(name, "/")
		}
		f := states[owner.name]
		if f == nil {
			f = &Folder{Root: root, Package: owner.name, Version: owner.version}
			states[owner.name], lists[owner.name] = f, &strings.Builder{}
		}
		f.Files++
		list := lists[owner.name]
		list.WriteString(files[i].Digest)
		list.WriteByte(' ')
		list.WriteString(name)
		list.WriteByte('\n')
		was, err := base64.RawURLEncoding.DecodeString(owner.digest)
		if err == nil && len(was) > 0 && hex.EncodeToString(was) != files[i].Digest {
			f.Edited = append(f.Edited, name)
		}
	}
	var all []Folder
	for name, f := range sorted.All(states) {
		text := lists[name].String()
		sum := sha256.Sum256([]byte(text))
		f.List = hex.EncodeToString(sum[:])
		r.keepList(f.List, text)
		all = append(all, *f)
	}
	if all == nil { // what appears in it is a change
		all = append(all, Folder{Root: root, List: emptyList})
	}
	return all, nil
}

// emptyList is the list of a folder that holds nothing that counts, or is missing.
var emptyList = hex.EncodeToString(sha256.New().Sum(nil))

// installed is which package installed a file, and what by its RECORD.
type installed struct{ name, version, digest string }

// installedIn are the files that packages installed into a folder, by their names there.
func installedIn(dir string) map[string]installed {
	files := map[string]installed{}
	records, _ := filepath.Glob(filepath.Join(dir, "*.dist-info", "RECORD"))
	for _, record := range records {
		text, err := os.ReadFile(record)
		if err != nil {
			continue
		}
		name, version := strings.TrimSuffix(filepath.Base(filepath.Dir(record)), ".dist-info"), ""
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name, version = name[:i], name[i+1:]
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(line, ",")
			if line[0] == '"' { // a name with a comma
				fields, _ = csv.NewReader(strings.NewReader(line)).Read()
			}
			if len(fields) == 3 {
				digest, _ := strings.CutPrefix(fields[1], "sha256=")
				files[path.Clean(fields[0])] = installed{name, version, digest}
			}
		}
	}
	return files
}

// bookkeeping are the files of a package that only say how it got there.
var bookkeeping = []string{
	"RECORD", "RECORD.jws", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json",
}
