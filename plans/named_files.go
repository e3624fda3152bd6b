package plans

import "path/filepath"

// NamedFile is a file beside the plan whose content counts as the plan's own.
type NamedFile struct {
	// Name is the file's path as the plan's own files are named: from where the
	// plan's folder was given. Path is absolute.
	Name, Path string
	// Digest is the SHA-256 of the content that was read, in hexadecimal.
	Digest string
}

// NamedFiles are the files whose numbers rules read and the files that workloads
// send, each once.
func (p *Plan) NamedFiles() []NamedFile {
	var files []NamedFile
	seen := map[string]bool{}
	add := func(path, digest string) {
		if path == "" || digest == "" || seen[path] {
			return
		}
		seen[path] = true
		files = append(files, NamedFile{p.nameOf(path), path, digest})
	}
	for _, i := range p.Imported {
		add(p.pathOf(i.File), i.Digest)
	}
	for _, w := range p.Workloads {
		if w.Data != nil {
			add(w.Data.File, w.Data.Digest)
		}
	}
	return files
}

// nameOf is the reverse of pathOf.
func (p *Plan) nameOf(path string) string {
	if dir, err := filepath.Abs(p.Dir); err == nil {
		if name, err := filepath.Rel(dir, path); err == nil {
			path = filepath.Join(p.Dir, name)
		}
	}
	return filepath.ToSlash(path)
}
