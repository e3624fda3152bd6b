package variant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// putFiles adds to spec the content of the files that it runs: those that its command
// names, with the folders that these load code from, or those mounted into its container.
func (l *Resolver) putFiles(d *draft, spec *engine.Spec) {
	var code source.Code
	switch {
	case spec.Docker != nil:
		for host := range sorted.All(spec.Docker.Volumes) {
			info, err := os.Stat(host)
			switch {
			case !filepath.IsAbs(host) || err != nil: // a volume of docker's, or a folder that it makes
			case info.IsDir():
				code.Folders = append(code.Folders, source.Folder{Dir: host})
			default:
				code.Files = append(code.Files, host)
			}
		}
	case spec.How() == engine.HowProcess:
		code = ProcessCommand(*spec).Code()
		spec.Unknown = code.Problem
		for _, about := range code.Packages {
			spec.Packages = append(spec.Packages, strings.TrimSuffix(filepath.Base(filepath.Dir(about)), ".dist-info"))
		}
	}
	if p := d.engine.Process; p != nil && p.Dir != "" && !engine.Marked(p.Dir) {
		code.Folders = append(code.Folders, source.Folder{Dir: workingDir(*spec)})
	}
	for _, folder := range code.Folders {
		// The plan's own repository changes with every note written: its code counts.
		if root := rootOf(folder.Dir); root != "" && root != rootOf(l.Plan.Abs(".")) {
			// The engine sees a working tree without the plan saying so.
			if !slices.ContainsFunc(spec.Trees, func(t engine.Tree) bool { return plans.SameFile(t.Path, root) }) {
				name := filepath.Base(root)
				if slices.ContainsFunc(spec.Trees, func(t engine.Tree) bool { return t.Name == name }) {
					name = root
				}
				spec.Trees = append(spec.Trees, engine.Tree{Name: name, Path: root, Noticed: true})
			}
			continue
		}
		found, problem := runtime.Ask(d.scope, fmt.Sprintf("folder %v", folder), func(context.Context) ([]string, error) {
			return folder.List()
		})
		code.Files = append(code.Files, found...)
		spec.Unknown = cmp.Or(spec.Unknown, problem)
	}
	slices.Sort(code.Files)
	for _, path := range slices.Compact(code.Files) {
		switch file, err := l.Read.File(path); {
		case l.Result != nil && l.Result(path):
		case err == nil:
			spec.Files = append(spec.Files, file)
		case !errors.Is(err, fs.ErrNotExist):
			spec.Unknown = cmp.Or(spec.Unknown, err.Error())
		}
	}
}

func ProcessCommand(spec engine.Spec) source.Command {
	return source.Command{Words: spec.Command, Dir: workingDir(spec), Env: func(name string) string {
		value, _ := Variable(spec, name)
		return value
	}}
}

// workingDir is the folder that a process starts in; one that does not exist for a worktree,
// which is known by its commit.
func workingDir(spec engine.Spec) string {
	if dir, err := filepath.Abs(spec.Dir); err == nil && !engine.Marked(spec.Dir) {
		return dir
	}
	return filepath.Join("/", spec.Dir)
}

// DisplayPath is a path as people read it: relative to the plan's folder if it is in there.
func (l *Resolver) DisplayPath(path string) string {
	if rest, in := strings.CutPrefix(path, l.Plan.Abs(".")+"/"); in {
		return rest
	}
	return path
}

// WhyUnidentified is why it is unknown whether another start of spec is the same; empty if it
// is known.
func WhyUnidentified(spec engine.Spec) string {
	switch {
	case spec.Endpoint != nil:
		return "mxflow does not start the server, so its files are unknown"
	case spec.Exec != nil:
		return "files in its container can change while that runs"
	case spec.Unknown != "":
		return spec.Unknown
	}
	for _, t := range spec.Trees {
		if t.Problem != "" {
			return t.Problem
		}
	}
	return ""
}

// UpdateKey replaces the key of a variant if a file that its launches had open is another one
// now: then its launches are of something else. What was decided first holds for all of an
// apply, whose launches are compared with each other in any case.
func (l *Resolver) UpdateKey(v *Variant) {
	if l.Opened == nil {
		return
	}
	l.mu.Lock()
	known, given := l.settled[v.Key], v.Key
	l.mu.Unlock()
	for known == "" {
		var changed []string
		for _, f := range l.Opened(v.Key) {
			if now, err := l.Read.File(f.Path); err != nil || now.Digest != f.Digest {
				changed = append(changed, f.Path, now.Digest)
			}
		}
		if changed == nil {
			break
		}
		v.Key = runtime.Digest(v.Key, "opened", changed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.Key = cmp.Or(known, v.Key); l.settled == nil {
		l.settled = map[string]string{}
	}
	l.settled[given] = v.Key
}
