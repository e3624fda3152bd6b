package launch

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// keepFiles records which files the launch ran: those of its command as they are at its
// start, and what its processes run and have open. It is called while they still run and
// nothing is measured; contents are read once they have ended, which keep does.
func (st *Started) keepFiles(v *variant.Variant) (keep func()) {
	used := source.Used{Named: st.named}
	var running []source.Command
	host := st.Lab.onHost(v.Spec)
	if resident, ok := st.Inst.(engine.Resident); ok {
		pids := resident.PIDs()
		used.Opened = source.Open(pids, st.Began, host)
		if l, ok := st.Inst.(engine.Listener); ok && v.Spec.How() == engine.HowProcess {
			running = source.Running(pids)
			if _, seen := l.PortUser(); !seen {
				used.Opened = append(used.Opened, source.File{Path: "a server outside of its processes", Digest: source.Replaced})
			}
		}
	}
	return func() {
		for i, f := range used.Opened {
			if now, err := st.Lab.Read.File(f.Path); f.Digest == "" && err == nil && now.Same(f) {
				used.Opened[i].Digest = now.Digest
			} else {
				used.Opened[i].Digest = source.Replaced
			}
		}
		if v.Spec.How() == engine.HowProcess {
			for _, path := range variant.ProcessCommand(v.Spec).Code().Files {
				if now, err := os.Stat(path); err == nil && now.ModTime().After(st.Began) && source.MayBeWritten(path) {
					used.Wrote = append(used.Wrote, path)
				}
			}
		}
		used.Named = slices.DeleteFunc(used.Named, func(f source.File) bool { return slices.Contains(used.Wrote, f.Path) })
		used.Opened = append(used.Opened, st.Lab.run(running, used, v.Spec, host, st.Began)...)
		if st.Lab.Store == nil || len(used.Named)+len(used.Opened)+len(used.Wrote) == 0 {
			return
		}
		text, err := json.Marshal(used)
		if err == nil {
			st.Record.Files, err = st.Lab.Store.Put(st.Lab.Redact.Bytes(text))
		}
		if err != nil { // what it ran would count as unchanged
			st.Record.OK, st.Record.Error = false, brokenBy(err)
		}
	}
}

// run lists the files that commands of an engine's processes run, besides those used: a
// command does not show them if a script makes up names or chooses a Python.
func (l *Lab) run(commands []source.Command, used source.Used, spec engine.Spec, host func(string) string, since time.Time) (files []source.File) {
	seen := map[string]bool{}
	for _, f := range slices.Concat(used.Named, used.Opened) {
		seen[f.Path] = true
	}
	add := func(path string) {
		if path = host(path); path == "" || seen[path] {
			return
		}
		seen[path] = true
		if f, err := l.Read.File(path); err == nil && f.Modified < since.UnixNano() {
			files = append(files, f)
		}
	}
	for _, command := range commands {
		ran := command.Code()
		if ran.Problem != "" {
			files = append(files, source.File{Path: ran.Problem, Digest: source.Replaced})
		}
		paths := ran.Files
		if !variant.IsFree("packages", l.AcceptedEntries()) {
			paths = append(paths, ran.Packages...)
		}
		for _, path := range paths {
			add(path)
		}
		for _, folder := range ran.Folders {
			known := func(t engine.Tree) bool { return folder.Dir == t.Path || strings.HasPrefix(folder.Dir, t.Path+"/") }
			if seen[folder.Dir] || host(folder.Dir+"/") == "" || slices.ContainsFunc(spec.Trees, known) {
				continue
			}
			seen[folder.Dir] = true
			paths, err := folder.List()
			for _, path := range paths {
				add(path)
			}
			if err != nil {
				files = append(files, source.File{Path: folder.Dir, Digest: source.Replaced})
			}
		}
	}
	return files
}

// onHost is the path on this machine of a file that the engine sees: a container's only
// if it is mounted, since its image is known. Outputs of launches, and files of a
// source's commit, do not count.
func (l *Lab) onHost(spec engine.Spec) func(path string) string {
	own := []string{l.RunDir}
	if l.Store != nil {
		own = append(own, l.Store.Dir())
	}
	for _, s := range spec.Sources {
		own = append(own, s.Dir)
	}
	if spec.Caches != nil {
		own = append(own, spec.Caches.Dir)
	}
	for i, dir := range own {
		if abs, err := filepath.Abs(dir); err == nil && dir != "" {
			own[i] = abs + "/"
		}
	}
	isOwn := func(path string) bool {
		return slices.ContainsFunc(own, func(dir string) bool { return dir != "" && strings.HasPrefix(path, dir) })
	}
	return func(path string) string {
		if spec.How() != engine.HowProcess {
			inside := path
			path = ""
			if spec.Docker == nil {
				return ""
			}
			deepest := -1 // a mount within another hides a part of it
			for host, at := range sorted.All(spec.Docker.Volumes) {
				at, _, _ = strings.Cut(at, ":") // its options
				at = strings.TrimSuffix(at, "/")
				if rest, in := strings.CutPrefix(inside, at); in && (rest == "" || rest[0] == '/') && len(at) > deepest {
					path, deepest = host+rest, len(at)
				}
			}
		}
		if path == "" || isOwn(path) {
			return ""
		}
		return path
	}
}

// used are the files on record of a launch; none if they are not.
func (l *Lab) used(launch *ledger.Launch) (used source.Used) {
	if launch.Files == "" {
		return used
	}
	l.usedMu.Lock()
	defer l.usedMu.Unlock()
	if known, ok := l.usedBy[launch.Files]; ok {
		return known
	}
	text, err := l.Store.Get(launch.Files)
	if err != nil || json.Unmarshal(text, &used) != nil {
		// Files that are lost cannot be compared.
		used = source.Used{Opened: []source.File{{Path: launch.Files, Digest: source.Replaced}}}
	}
	if l.usedBy == nil {
		l.usedBy = map[string]source.Used{}
	}
	l.usedBy[launch.Files] = used
	l.Read.Learn(used.Named)
	l.Read.Learn(used.Opened)
	return used
}

// OpenedBy are the files that launches on record under a key had open, as the latest of
// them saw each. One that cannot be known again is left out for launches of this apply.
func (l *Lab) OpenedBy(key string) (files []source.File) {
	seen := map[string]bool{}
	for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{VariantKey: key})) {
		for _, f := range l.used(launch).Opened {
			if f.Digest == source.Replaced && l.Since != "" && l.Store.Origin(launch).Run >= l.Since {
				continue
			}
			if !seen[f.Path] {
				seen[f.Path], files = true, append(files, f)
			}
		}
	}
	return files
}

// IsResult reports whether a file is in the state directory, or the latest launch on record
// whose command has it wrote it: then another content is no other engine.
func (l *Lab) IsResult(path string) bool {
	if state, err := filepath.Abs(l.Store.Dir()); err == nil && strings.HasPrefix(path, state+"/") {
		return true // what launches compile, among others
	}
	for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{})) {
		used := l.used(launch)
		if slices.Contains(used.Wrote, path) {
			return true
		}
		if slices.ContainsFunc(used.Named, func(f source.File) bool { return f.Path == path }) {
			return false
		}
	}
	return false
}

// filesChanged are the files that differ from those of the latest launch of a variant, as
// people read them; none if it has no launch on record.
func (l *Lab) filesChanged(v *variant.Variant) (names []string) {
	var last *ledger.Launch
	for _, launch := range l.Store.Launches(store.LaunchFilter{}) {
		if launch.Variant == v.Name && launch.Block == v.Engine && launch.Files != "" {
			last = launch
		}
	}
	if last == nil || last.VariantKey == v.Key {
		return nil
	}
	was, used := map[string]string{}, l.used(last)
	for _, f := range slices.Concat(used.Named, used.Opened) {
		was[f.Path] = f.Digest
	}
	now := map[string]string{}
	for _, f := range v.Spec.Files {
		now[f.Path] = f.Digest
	}
	for path := range was {
		if _, named := now[path]; !named {
			f, _ := l.Read.File(path)
			now[path] = f.Digest
		}
	}
	for path, digest := range now {
		if was[path] != digest {
			names = append(names, l.DisplayPath(path))
		}
	}
	slices.Sort(names)
	return names
}

// movedFile is a file that two launches of one benchmark saw with different contents, or
// that is another than when they were asked for (one is empty), or another now than when
// they ran; nil reason if none is.
func (l *Lab) movedFile(ctx context.Context, launches []*ledger.Launch, vs []*variant.Variant) verdict.Reason {
	type seen struct{ digest, launch string }
	first := map[string]seen{}
	for _, v := range vs {
		for _, f := range v.Spec.Files {
			first[f.Path] = seen{digest: f.Digest}
		}
	}
	for _, launch := range launches {
		used := l.used(launch)
		for _, f := range slices.Concat(used.Named, used.Opened) {
			was, known := first[f.Path]
			switch {
			case !known:
				first[f.Path] = seen{f.Digest, launch.ID}
			case was.digest != f.Digest && was.launch == "":
				return verdict.New(code.TreeMovedBefore, verdict.Text("launch", launch.ID)).On(l.DisplayPath(f.Path))
			case was.digest != f.Digest:
				return verdict.New(code.TreeMoved, verdict.List("files", []string{filepath.Base(f.Path)}),
					verdict.Text("one", was.launch), verdict.Text("other", launch.ID)).On(filepath.Dir(f.Path))
			}
		}
	}
	if path := l.movedSince(ctx, launches, vs); path != "" {
		return verdict.Say("file.moved_since",
			"{subject}, which an engine here may run, was changed, created or removed during or after the "+
				"measurement: find the program that did it (it may be an engine), and apply again").On(l.DisplayPath(path))
	}
	return verdict.Reason{}
}

// movedSince is a file of variants that was changed, made or removed since the first of the
// launches that this apply made of them, as far as they could run it: what they ran by
// their records, code in the folders that their Pythons import from, and their models.
// Launches compare what they find when they start; this is what came after the last one. A
// large file counts as changed if anyone wrote it, as not all of it is compared.
func (l *Lab) movedSince(ctx context.Context, launches []*ledger.Launch, vs []*variant.Variant) string {
	l.usedMu.Lock()
	models := maps.Clone(l.models)
	l.usedMu.Unlock()
	var since time.Time
	for _, launch := range launches {
		if _, own := models[launch.ID]; own && (since.IsZero() || launch.Started.Before(since)) {
			since = launch.Started
		}
	}
	if since.IsZero() || l.Plan.Executor.IsRemote() {
		return ""
	}
	for _, v := range vs {
		ran, wrote := map[string]string{}, []string{}
		folders, trees := []source.Folder{}, map[string]ledger.Tree{}
		for _, f := range v.Spec.Files {
			ran[f.Path] = f.Digest
		}
		for _, launch := range launches {
			if launch.VariantKey != v.Key {
				continue
			}
			used := l.used(launch)
			for _, f := range slices.Concat(used.Named, used.Opened) {
				ran[f.Path] = f.Digest
			}
			wrote = append(wrote, used.Wrote...)
			if model := models[launch.ID]; model != "" {
				if real, err := filepath.EvalSymlinks(model); err == nil {
					folders = append(folders, source.Folder{Dir: real, Whole: true})
				}
			}
			trees = launch.Trees
		}
		for _, t := range v.Spec.Trees {
			if was := trees[t.Name].Hash; was != "" {
				if now, err := variant.Snapshot(ctx, t, nil); err != nil || now.Hash != was {
					return t.Path
				}
			}
		}
		for _, path := range slices.Sorted(maps.Keys(ran)) {
			digest := ran[path]
			now, err := l.Read.File(path)
			written := now.Changed > since.UnixNano() && !now.Complete()
			if digest != source.Replaced && !slices.Contains(wrote, path) && (err != nil || now.Digest != digest || written) {
				return path
			}
		}
		if v.Spec.How() != engine.HowProcess {
			continue
		}
		code := variant.ProcessCommand(v.Spec).Code()
		for _, site := range code.Sites {
			code.Folders = append(code.Folders, source.Folder{Dir: site, Whole: true})
		}
		for _, folder := range append(code.Folders, folders...) {
			isTree := func(t engine.Tree) bool { return folder.Dir == t.Path || strings.HasPrefix(folder.Dir, t.Path+"/") }
			if slices.ContainsFunc(v.Spec.Trees, isTree) {
				continue
			}
			path := folder.Since(since, func(path string) bool {
				_, known := ran[path]
				data := slices.Contains(code.Sites, folder.Dir) && !source.IsCode(path) && filepath.Ext(path) != ".pth"
				return known || data || slices.Contains(wrote, path) || l.onHost(v.Spec)(path) == ""
			})
			if path != "" {
				return path
			}
		}
	}
	return ""
}
