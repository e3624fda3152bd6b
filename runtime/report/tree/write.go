package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// File is one of the tree: Path is relative to its root, with slashes.
type File struct {
	Path string
	Text string
}

// Write updates the files of a tree below dir and returns those that changed. All are
// checked before any is written: a file that mxflow did not write is refused, and so is
// one that was changed outside its keep regions, which force overwrites. The contents of
// keep regions stay.
func Write(dir string, files []File, force bool) (changed []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot create the folder %s: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot write to %s: %w", dir, err)
	}
	defer root.Close()
	var todo []File
	var wrong []error
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		old, err := existing(root, f.Path)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			continue
		}
		if f.Text, err = renewed(f, old, force); err != nil {
			wrong = append(wrong, fmt.Errorf("%s%w", name, err))
		} else if f.Text != string(old) {
			todo = append(todo, f)
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%w\nNothing was written", errors.Join(wrong...))
	}
	return replace(root, todo)
}

// existing is the content of a file below root; nil if there is none. A link is refused,
// wherever it leads: the tree only overwrites its own files.
func existing(root *os.Root, name string) ([]byte, error) {
	parts := strings.Split(name, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		info, err := root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s is a symbolic link, which the report does not follow: remove it, or choose another folder", at)
		case at == name && !info.Mode().IsRegular():
			return nil, errors.New("it is not a regular file: remove it, or choose another folder")
		case at != name && !info.IsDir():
			return nil, fmt.Errorf("%s is not a folder: remove it, or choose another folder", at)
		}
	}
	return root.ReadFile(name)
}

// replace writes all files aside before renaming the first into place.
func replace(root *os.Root, files []File) (changed []string, err error) {
	const aside = ".mxflow-writing"
	var written []string
	defer func() {
		for _, name := range written {
			_ = root.Remove(name + aside)
		}
	}()
	for _, f := range files {
		if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return nil, fmt.Errorf("cannot write the report: %w", err)
		}
		written = append(written, f.Path)
		if err := root.WriteFile(f.Path+aside, []byte(f.Text), 0o644); err != nil {
			return nil, fmt.Errorf("cannot write the report: %w", err)
		}
	}
	for _, f := range files {
		if err := root.Rename(f.Path+aside, f.Path); err != nil {
			return changed, fmt.Errorf("cannot write the report: %w", err)
		}
		changed = append(changed, f.Path)
	}
	return changed, nil
}

// renewed is the new text of a file with the keep regions of the old one, and its seal.
// An error starts with the line, if there is one.
func renewed(f File, old []byte, force bool) (string, error) {
	markdown := path.Ext(f.Path) == ".md"
	kept := []region(nil)
	if old != nil {
		sealedText, was, found := cutSeal(string(old))
		if !found {
			return "", errors.New(" was not written by mxflow, so it was not overwritten. Move it away, or choose another folder")
		}
		var err error
		if markdown {
			if kept, err = regions(sealedText); err != nil {
				return "", err
			}
		}
		if digest(sealedText, kept) != was && !force {
			return "", errors.New(" was edited after mxflow wrote it, so it was not overwritten. Move your text between <!-- keep NAME --> and <!-- /keep -->, or into notes of the plan; --force discards it")
		}
	}
	text := f.Text
	var own []region
	if markdown {
		var err error
		if own, err = regions(text); err != nil {
			return "", err
		}
		text = withKept(text, own, kept)
		if own, err = regions(text); err != nil {
			return "", err
		}
	}
	mark := fmt.Sprintf(sealWords, digest(text, own))
	if markdown {
		return text + "\n<!-- " + mark + " -->\n", nil
	}
	return text + "\n# " + mark + "\n", nil
}

const sealWords = "written by mxflow report; keep regions may be edited; SHA-256 of the rest: %s"

var seal = regexp.MustCompile(`\n(?:<!-- |# )written by mxflow report; keep regions may be edited; SHA-256 of the rest: ([0-9a-f]{64})(?: -->)?\n*$`)

// cutSeal takes the last line off a file that mxflow wrote.
func cutSeal(text string) (rest, sum string, ok bool) {
	at := seal.FindStringSubmatchIndex(text)
	if at == nil {
		return "", "", false
	}
	return text[:at[0]], text[at[2]:at[3]], true
}

// digest is the SHA-256 of a text without its keep regions.
func digest(text string, kept []region) string {
	var b bytes.Buffer
	from := 0
	for _, r := range kept {
		b.WriteString(text[from:r.from])
		b.WriteByte('\n')
		from = r.to
	}
	b.WriteString(text[from:])
	h := sha256.New()
	for line := range strings.Lines(b.String()) {
		// Empty lines come and go with a region that somebody adds.
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			h.Write([]byte(line + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// region is people's text in a file: from and to with its marks.
type region struct {
	name, text string
	from, to   int
}

var keepMark = regexp.MustCompile(`(?m)^<!-- (?:keep ([A-Za-z0-9_.-]+)|(/keep)) -->[ \t\r]*$`)

// regions are the keep regions of a text in order. One without an end, or two of one
// name, would lose text: that is an error with its line.
func regions(text string) (list []region, err error) {
	line := func(at int) int { return 1 + strings.Count(text[:at], "\n") }
	open := -1
	for _, m := range keepMark.FindAllStringSubmatchIndex(text, -1) {
		switch begins := m[2] >= 0; {
		case begins && open >= 0:
			return nil, fmt.Errorf(":%d: a keep region starts inside %q: end that with <!-- /keep --> first", line(m[0]), list[len(list)-1].name)
		case begins:
			name := text[m[2]:m[3]]
			if slices.ContainsFunc(list, func(r region) bool { return r.name == name }) {
				return nil, fmt.Errorf(":%d: duplicate keep region %q: give it another name", line(m[0]), name)
			}
			open = m[0]
			list = append(list, region{name: name, from: m[0]})
		case open < 0:
			return nil, fmt.Errorf(":%d: <!-- /keep --> without a keep region: remove it, or add <!-- keep NAME --> before it", line(m[0]))
		default:
			open, list[len(list)-1].to = -1, m[1]
		}
	}
	if open >= 0 {
		return nil, fmt.Errorf(":%d: the keep region %q has no end: add <!-- /keep -->", line(open), list[len(list)-1].name)
	}
	for i := range list {
		list[i].text = text[list[i].from:list[i].to]
	}
	return list, nil
}

// withKept replaces the text's own regions by the kept ones; those without a place go to
// the end.
func withKept(text string, own, kept []region) string {
	var b strings.Builder
	from := 0
	for _, r := range own {
		b.WriteString(text[from:r.from])
		if i := slices.IndexFunc(kept, func(k region) bool { return k.name == r.name }); i >= 0 {
			b.WriteString(kept[i].text)
		} else {
			b.WriteString(r.text)
		}
		from = r.to
	}
	b.WriteString(text[from:])
	for _, k := range kept {
		if !slices.ContainsFunc(own, func(r region) bool { return r.name == k.name }) {
			b.WriteString("\n" + k.text + "\n")
		}
	}
	return b.String()
}
