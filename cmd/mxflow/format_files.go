package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
)

// formattable lists the files that fmt means by a path.
func formattable(path string, recursive bool) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if !lang.IsYAML(path) && !hasPlanName(path) {
			return nil, fmt.Errorf("%s: fmt knows .hcl, .mxvars, .yaml and .yml files", path)
		}
		return []string{path}, nil
	}
	var found []string
	err = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(e.Name(), ".") && p != path
		switch {
		case err != nil:
			return err
		case e.IsDir() && (hidden || p != path && !recursive):
			return filepath.SkipDir
		case e.IsDir() || hidden:
		case hasPlanName(p), lang.IsYAML(p) && looksLikePlan(p):
			found = append(found, p)
		}
		return nil
	})
	return found, err
}

func hasPlanName(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".hcl" || ext == ".mxvars"
}

// looksLikePlan keeps fmt away from the other YAML files of a folder: it wants
// a mapping with nothing but a plan's blocks at its top.
func looksLikePlan(path string) bool {
	src, err := os.ReadFile(path)
	if err != nil || len(src) > 1<<20 {
		return false
	}
	var doc yaml.Node
	if yaml.NewDecoder(bytes.NewReader(src)).Decode(&doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return false
	}
	known := load.Describe(nil)
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		if key := doc.Content[0].Content[i].Value; known.Block(key) == nil && known.Attr(key) == nil {
			return false
		}
	}
	return len(doc.Content[0].Content) > 0
}

// replaceFile writes a file whole or not at all, and keeps its mode. A symbolic
// link stays one: what it leads to is written.
func replaceFile(path string, content []byte) (err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = temporary.Sync()
	}
	if closing := temporary.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
