package engine

import (
	"path"
	"regexp"
	"strings"
)

// SourceMark stands for the path of a worktree, where the engine sees it.
func SourceMark(name string) string { return "{source." + name + "}" }

// PutMark replaces a mark wherever the engine reads it.
func (spec *Spec) PutMark(mark, dir string) {
	put := func(text string) string { return strings.ReplaceAll(text, mark, dir) }
	each := func(list []string) {
		for i := range list {
			list[i] = put(list[i])
		}
	}
	each(spec.Command)
	for name, value := range spec.Env {
		spec.Env[name] = put(value)
	}
	spec.Dir = put(spec.Dir)
	if len(spec.Config) > 0 {
		spec.Config = []byte(put(string(spec.Config)))
	}
	if d := spec.Docker; d != nil {
		each(d.Command)
		each(d.Entrypoint)
		d.WorkDir = put(d.WorkDir)
	}
	if e := spec.Exec; e != nil {
		each(e.Command)
		e.WorkDir = put(e.WorkDir)
	}
}

// MountSource mounts a source's worktree, which lies in dir, into the engine's own
// container, and returns where that sees it.
func (spec *Spec) MountSource(src *Source, dir string) (inside string) {
	d := spec.Docker
	if inside = src.Mount; inside == "" {
		inside = "/workspace/" + path.Base(src.Repo)
	}
	if d.Volumes == nil {
		d.Volumes = map[string]string{}
	}
	d.Volumes[dir] = inside
	if d.WorkDir == "" {
		d.WorkDir = inside
	}
	return inside
}

var sourceMark = regexp.MustCompile(`\{source\.([A-Za-z0-9_]+)\}`)

// SourcesIn are the names of the sources whose worktrees a text names.
func SourcesIn(text string) (names []string) {
	for _, m := range sourceMark.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// Marked reports whether a text starts with the path of a worktree.
func Marked(text string) bool { return strings.HasPrefix(text, "{source") }
