package tree

import (
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
			return nil,
				fmt.Errorf(
					"%s is a symbolic link, which the report does not follow: remove it, or choose another folder", at)
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
	markdown, text := path.Ext(f.Path) == ".md", f.Text
	if old != nil {
		at := seal.FindSubmatchIndex(old)
		if at == nil {
			return "",
				errors.New(
					" was not written by mxflow, so it was not overwritten. Move it away, or choose another folder")
		}
		sealed := string(old[:at[0]])
		var kept []string
		if markdown {
			if err := checkRegions(sealed); err != nil {
				return "", err
			}
			kept = region.FindAllString(sealed, -1)
		}
		if digest(sealed, markdown) != string(old[at[2]:at[3]]) && !force {
			return "",
				errors.New(" was edited after mxflow wrote it, so it was not overwritten. Move your text between " +
					"<!-- keep NAME --> and <!-- /keep -->, or into notes of the plan; --force discards it")
		}
		// People's text replaces the region of its name; what has no place any more goes to the end.
		text = region.ReplaceAllStringFunc(text, func(own string) string {
			i := slices.IndexFunc(kept, func(k string) bool { return regionName(k) == regionName(own) })
			if i < 0 {
				return own
			}
			own = kept[i]
			kept = slices.Delete(kept, i, i+1)
			return own
		})
		for _, k := range kept {
			text += "\n" + k + "\n"
		}
	}
	mark := fmt.Sprintf(sealWords, digest(text, markdown))
	if markdown {
		return text + "\n<!-- " + mark + " -->\n", checkRegions(text)
	}
	return text + "\n# " + mark + "\n", nil
}

const sealWords = "written by mxflow report; keep regions may be edited; SHA-256 of the rest: %s"

var seal = regexp.MustCompile(
	`\n(?:<!-- |# )written by mxflow report; keep regions may be edited; SHA-256 of the rest: ([0-9a-f]{64})(?: -->)?\n*$`)

// digest is the SHA-256 of a text without its keep regions.
func digest(text string, markdown bool) string {
	if markdown {
		text = region.ReplaceAllLiteralString(text, "")
	}
	h := sha256.New()
	for line := range strings.Lines(text) {
		// Empty lines come and go with a region that somebody adds.
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			h.Write([]byte(line + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

var (
	// region is people's text in a file with its marks, of which keepMark is one.
	region   = regexp.MustCompile(`(?ms)^<!-- keep [A-Za-z0-9_.-]+ -->[ \t\r]*$.*?^<!-- /keep -->[ \t\r]*$`)
	keepMark = regexp.MustCompile(`(?m)^<!-- (?:keep ([A-Za-z0-9_.-]+)|(/keep)) -->[ \t\r]*$`)
)

func regionName(text string) string { return keepMark.FindStringSubmatch(text)[1] }

// checkRegions rejects keep regions without an end, or two of one name, with the line: they
// would lose text.
func checkRegions(text string) error {
	line := func(at int) int { return 1 + strings.Count(text[:at], "\n") }
	open, names := -1, []string{""}
	for _, m := range keepMark.FindAllStringSubmatchIndex(text, -1) {
		switch begins := m[2] >= 0; {
		case begins && open >= 0:
			return fmt.Errorf(":%d: a keep region starts inside %q: end that with <!-- /keep --> first", line(m[0]),
				names[len(names)-1])
		case begins:
			name := text[m[2]:m[3]]
			if slices.Contains(names, name) {
				return fmt.Errorf(":%d: duplicate keep region %q: give it another name", line(m[0]), name)
			}
			open, names = m[0], append(names, name)
		case open < 0:
			return fmt.Errorf(
				":%d: <!-- /keep --> without a keep region: remove it, or add <!-- keep NAME --> before it", line(m[0]))
		default:
			open = -1
		}
	}
	if open >= 0 {
		return fmt.Errorf(":%d: the keep region %q has no end: add <!-- /keep -->", line(open), names[len(names)-1])
	}
	return nil
}
