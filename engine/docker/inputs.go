package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// BuildInputs is the digest of all that `docker build` can read of a context:
// names, kinds, permissions and contents, but not times and owners, which a COPY
// does not keep. What .dockerignore leaves out is left out; the Dockerfile and
// the ignore files themselves always count.
//
// BuildKit prefers <Dockerfile>.dockerignore and the classic builder does not
// know it. Which one builds is not known here, so that a file counts unless both
// ignore it: too much is hashed rather than too little.
func BuildInputs(context, dockerfile string) (string, error) {
	if info, err := os.Stat(context); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no folder %s to build in: correct context, which is relative to the plan's folder", context)
	}
	if info, err := os.Stat(dockerfile); err != nil || info.IsDir() {
		return "", fmt.Errorf("there is no Dockerfile %s: correct dockerfile, which is relative to the context", dockerfile)
	}
	lists, err := ignoreLists(context, dockerfile)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err := hashFile(h, "Dockerfile", dockerfile); err != nil {
		return "", err
	}
	always := map[string]bool{filepath.Clean(dockerfile): true, filepath.Join(context, ".dockerignore"): true}
	err = filepath.WalkDir(context, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(context, path)
		if err != nil || rel == "." {
			return err
		}
		name := filepath.ToSlash(rel)
		if !always[path] && lists.cover(name) {
			if e.IsDir() && !lists.exceptions() {
				return fs.SkipDir
			}
			return nil
		}
		return hashFile(h, name, path)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

type ignoreAll []ignored

func ignoreLists(context, dockerfile string) (ignoreAll, error) {
	general, err := readIgnored(filepath.Join(context, ".dockerignore"))
	if err != nil {
		return nil, err
	}
	lists := ignoreAll{general}
	own := dockerfile + ".dockerignore"
	if _, err := os.Stat(own); err == nil {
		special, err := readIgnored(own)
		if err != nil {
			return nil, err
		}
		lists = append(lists, special)
	}
	return lists, nil
}

func (all ignoreAll) cover(name string) bool {
	for _, g := range all {
		if !g.covers(name) {
			return false
		}
	}
	return true
}

func (all ignoreAll) exceptions() bool {
	for _, g := range all {
		if g.exceptions {
			return true
		}
	}
	return false
}

// hashFile adds one file, link or folder. Lengths stand before texts, so that no
// two trees give the same bytes.
func hashFile(h hash.Hash, name, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	size := info.Size()
	if info.IsDir() {
		size = 0
	}
	fmt.Fprintf(h, "%d %s %s %d\n", len(name), name, info.Mode(), size)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%d %s\n", len(target), target)
	case info.Mode().IsRegular():
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.Copy(h, f)
		if err == nil && n != size {
			err = fmt.Errorf("%s changes while it is read", path)
		}
		return err
	}
	return nil
}
