package plans

import (
	"os"
	"path/filepath"
	"strings"
)

// caseSuffix is what the names of case files have before their extension.
const caseSuffix = ".mxtest"

// IsCaseFile reports whether a name is that of a file of cases, which is no part
// of a plan.
func IsCaseFile(name string) bool {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	return (strings.EqualFold(filepath.Ext(name), ".hcl") || IsYAML(name)) && strings.EqualFold(filepath.Ext(stem), caseSuffix)
}

// CaseFiles are the files of cases beside the plan, in lexical order. Where
// several plans share a folder, other.mxtest.hcl belongs to other.hcl alone.
func (r *Result) CaseFiles() ([]string, error) {
	dir := r.Plan.Dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	// The stems of files that are plans of their own.
	other := map[string]bool{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() && isPlanFile(e.Name()) && r.Sources[path] == nil {
			other[stemOf(e.Name())] = true
		}
	}
	for name := range r.Sources {
		if filepath.Dir(name) == filepath.Clean(dir) {
			delete(other, stemOf(name)) // plan.yaml beside plan.hcl
		}
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !IsCaseFile(name) || other[stemOf(name)] {
			continue
		}
		files = append(files, filepath.Join(dir, name))
	}
	return files, nil
}

// stemOf is a name without what says what kind of file it is.
func stemOf(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if ext := filepath.Ext(name); strings.EqualFold(ext, caseSuffix) {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}
