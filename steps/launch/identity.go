package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// recordTrees hashes the trees of a launch and keeps uncommitted changes. A declared tree
// that cannot be hashed fails the launch; one that mxflow only noticed is a note.
func (l *Lab) recordTrees(ctx context.Context, v *variant.Variant, record *ledger.Launch) error {
	snapshot := func(t engine.Tree) (out ledger.Tree, err error) {
		file, err := os.CreateTemp("", "mxflow-diff-*")
		if err != nil {
			return out, err
		}
		defer os.Remove(file.Name())
		state, err := variant.Snapshot(ctx, t, file)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return out, err
		}
		out = ledger.Tree{Path: t.Path, Commit: state.Commit, Hash: state.Hash}
		if state.Clean || l.Store == nil {
			return out, nil
		}
		if err := redact.File(file.Name(), l.Redact); err != nil {
			return out, fmt.Errorf("cannot redact sensitive values in its diff: %w", err)
		}
		out.Diff, err = l.Store.PutFile(file.Name())
		return out, err
	}
	for _, t := range v.Spec.Trees {
		state, err := snapshot(t)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && t.Noticed:
			record.Notes = append(record.Notes, verdict.Say("tree.unrecorded",
				"working tree {subject}, which the engine sees, was not recorded: {error}",
				verdict.Err(err)).On(t.Path))
			continue
		case err != nil:
			return failed("tree "+t.Name, "be hashed", "%v", err)
		}
		setTree(record, t.Name, state)
	}
	return nil
}

// keepUsed records what the launch ran: what its command names as it was at its start, and
// what its processes run and have open. It is called while they still run and nothing is
// measured; contents are read once they have ended, which keep does.
func (st *Started) keepUsed(v *variant.Variant) (keep func()) {
	used := source.Used{Named: st.named}
	var running []source.Command
	host := st.Lab.onHost(v.Spec)
	if resident, ok := st.Inst.(engine.Resident); ok {
		pids := resident.PIDs()
		used.Opened.Files = source.Open(pids, st.Began, host)
		if l, ok := st.Inst.(engine.Listener); ok && v.Spec.How() == engine.HowProcess {
			running = source.Running(pids)
			if _, seen := l.PortUser(); !seen {
				used.Opened.Unknown = "a server outside of its processes answered"
			}
		}
	}
	return func() {
		for i, f := range used.Opened.Files {
			used.Opened.Files[i].Digest = source.Replaced
			if now, err := st.Lab.Variants.Read.File(f.Path); f.Digest == "" && err == nil && now.Same(f) {
				used.Opened.Files[i].Digest = now.Digest
			}
		}
		if v.Spec.How() == engine.HowProcess {
			for _, path := range variant.ProcessCommand(v.Spec).Code().Files {
				if now, err := os.Stat(path); err == nil && now.ModTime().After(st.Began) && source.MayBeWritten(path) {
					used.Wrote = append(used.Wrote, path)
				}
			}
		}
		used.Named = used.Named.Only(func(path string) bool { return !slices.Contains(used.Wrote, path) })
		// A command does not show what it runs if a script makes up names or chooses a Python.
		for _, command := range running {
			code := command.Code()
			code.Files = slices.DeleteFunc(code.Files, func(path string) bool { return host(path) == "" })
			code.Roots = slices.DeleteFunc(code.Roots, func(root source.Root) bool {
				// which knows it
				isIn := func(t engine.Tree) bool { return strings.HasPrefix(root.Dir+"/", t.Path+"/") }
				inTree := root.Holds != source.HoldsPackages && slices.ContainsFunc(v.Spec.Trees, isIn)
				return inTree || host(root.Dir+"/") == ""
			})
			ran := st.Lab.Variants.Read.Take(code)
			ran.Files = slices.DeleteFunc(ran.Files, func(f source.File) bool {
				return f.Modified >= st.Began.UnixNano()
			})
			used.Opened = used.Opened.And(ran.Minus(used.Named))
		}
		all := used.All()
		if st.Lab.Store == nil || len(all.Files)+len(all.Folders)+len(used.Wrote) == 0 && all.Unknown == "" {
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
				if rest, in := strings.CutPrefix(inside, at); in && (rest == "" || rest[0] == '/') &&
					len(at) > deepest {
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

// Used is UsedBy, read once, as far as the plan does not accept that it differs.
func (l *Lab) Used(launch *ledger.Launch) source.Used {
	l.usedMu.Lock()
	defer l.usedMu.Unlock()
	if known, ok := l.usedBy[launch.Files]; ok {
		return known
	}
	used := UsedBy(l.Store, launch)
	used.Named, used.Opened = l.Variants.Counts(used.Named), l.Variants.Counts(used.Opened)
	if l.usedBy == nil {
		l.usedBy = map[string]source.Used{}
	}
	l.usedBy[launch.Files] = used
	return used
}

// UsedBy is what a launch ran by its record; nothing if that does not say.
func UsedBy(st *store.Store, launch *ledger.Launch) (used source.Used) {
	if launch.Files == "" {
		return used
	}
	text, err := st.Get(launch.Files)
	if err != nil || json.Unmarshal(text, &used) != nil {
		used.Opened.Unknown = "what it ran is no longer on record"
	}
	return used
}

// OpenedBy is what launches on record under a key had open, as the latest of them saw it.
// What cannot be known again is left out for launches of this apply.
func (l *Lab) OpenedBy(key string) (all source.Identity) {
	for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{VariantKey: key})) {
		opened := l.Used(launch).Opened
		if l.Variants.Since != "" && l.Store.Origin(launch).Run >= l.Variants.Since {
			opened.Unknown = ""
			gone := func(f source.File) bool { return f.Digest == source.Replaced }
			opened.Files = slices.DeleteFunc(slices.Clone(opened.Files), gone)
		}
		all = all.And(opened)
	}
	return all
}

// IsResult reports whether a file is in the state directory, or the latest launch on record
// whose command has it wrote it: then another content is no other engine.
func (l *Lab) IsResult(path string) bool {
	if state, err := filepath.Abs(l.Store.Dir()); err == nil && strings.HasPrefix(path, state+"/") {
		return true // what launches compile, among others
	}
	for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{})) {
		used := l.Used(launch)
		if slices.Contains(used.Wrote, path) {
			return true
		}
		if slices.ContainsFunc(used.Named.Files, func(f source.File) bool { return f.Path == path }) {
			return false
		}
	}
	return false
}

// WhatChanged says for `mxflow plan` why the launches of variants on record do not count: the
// files that differ from those of the latest one; no fact if none do.
func (l *Lab) WhatChanged(s *runtime.Scope, vs ...*variant.Variant) verdict.Reason {
	if l.Store == nil {
		return verdict.Reason{}
	}
	for _, v := range vs {
		for _, t := range v.Spec.Trees {
			var was *ledger.Tree // at the latest successful launch on record
			for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{OK: true})) {
				if known, ok := launch.Trees[t.Name]; ok && known.Path == t.Path && known.Hash != "" {
					was = &known
					break
				}
			}
			if was == nil || was.Hash == t.Hash {
				continue
			}
			if t.Problem != "" {
				return verdict.Say("tree.unhashed", "tree {subject} cannot be hashed: {error}",
					verdict.Text("error", t.Problem)).On(t.Name)
			}
			changed, _ := runtime.Ask(s, "diff "+t.Path+was.Hash+t.Hash,
				func(ctx context.Context) ([]verdict.Arg, error) {
					var diff bytes.Buffer
					state, err := variant.Snapshot(ctx, t, &diff)
					if err != nil {
						return nil, err
					}
					// Recorded diffs have no sensitive values in them.
					return l.difference(ctx, *was, state.Commit, []byte(l.Redact.Text(diff.String()))), nil
				})
			return verdict.Say("tree.changed",
				"{lost?files that cannot be named, because a recorded diff is gone,}{lost!{files:10}{files!files "+
					"that no diff names}} of tree {subject}{commit? (commit {commit}, before {before})}",
				changed...).On(t.Name)
		}
		var last *ledger.Launch
		for _, launch := range l.Store.Launches(store.LaunchFilter{}) {
			if launch.Variant == v.Name && launch.Block == v.Engine && launch.Files != "" {
				last = launch
			}
		}
		if last == nil || last.VariantKey == v.Key {
			continue
		}
		was, now := l.Used(last).All(), l.Variants.Counts(v.Spec.Identity)
		now = now.And(l.Variants.Read.Take(was.Minus(now).Code()))
		var names []string
		for _, path := range l.Variants.Read.Changed(was, now) {
			names = append(names, l.Variants.DisplayPath(path))
		}
		if names != nil {
			return verdict.Say("files.changed", "{files:10}", verdict.List("files", names)).On(v.Name)
		}
	}
	return verdict.Reason{}
}

// Moved is how what the launches of a benchmark ran changed between two of them, since it was
// identified, or until now: then they are not of one thing. The qualification counts with
// them, as it vouches for what was measured. No fact means that all is unchanged.
func (l *Lab) Moved(
	ctx context.Context, used []*ledger.Launch, vs []*variant.Variant, qualified *ledger.Decision,
) verdict.Reason {
	var launches []*ledger.Launch
	if qualified != nil && l.Store != nil {
		for _, id := range qualified.Launches {
			if launch, ok := l.Store.LaunchByID(id); ok {
				launches = append(launches, launch)
			}
		}
	}
	launches = append(launches, used...)
	first := map[string]*ledger.Launch{}
	for _, launch := range launches {
		for name, now := range sorted.All(launch.Trees) {
			if now.Hash == "" {
				continue // a worktree of ours, which its commit identifies
			}
			was := first[name]
			if was == nil {
				first[name] = launch
				continue
			}
			if before := was.Trees[name]; before.Hash != now.Hash {
				args := []verdict.Arg{verdict.Text("lost", "yes")}
				if diff, err := l.diffOf(now); err == nil {
					args = l.difference(ctx, before, now.Commit, diff)
				}
				args = append(args, verdict.Text("one", was.ID), verdict.Text("other", launch.ID))
				return verdict.New(code.TreeMoved, args...).On(now.Path)
			}
		}
	}
	for _, v := range vs {
		for _, t := range v.Spec.Trees {
			if launch := first[t.Name]; launch != nil && launch.Trees[t.Name].Hash != t.Hash {
				return verdict.New(code.TreeMovedBefore, verdict.Text("launch", launch.ID)).On(t.Path)
			}
		}
	}
	if l.Store == nil {
		return verdict.Reason{}
	}
	seen := map[string]bool{}
	for i, launch := range launches {
		if seen[launch.Files] {
			continue // it ran the same as that one
		}
		seen[launch.Files] = true
		for _, v := range vs {
			if names := l.Variants.Read.Moved(v.Spec.Identity, l.Used(launch).All()); len(names) > 0 {
				return verdict.New(code.TreeMovedBefore, verdict.Text("launch", launch.ID)).
					On(l.Variants.DisplayPath(names[0]))
			}
		}
		for _, before := range launches[:i] {
			if names := l.Variants.Read.Moved(l.Used(before).All(), l.Used(launch).All()); len(names) > 0 {
				return verdict.New(code.TreeMoved, verdict.List("files", []string{filepath.Base(names[0])}),
					verdict.Text("one", before.ID),
					verdict.Text("other", launch.ID)).On(l.Variants.DisplayPath(filepath.Dir(names[0])))
			}
		}
	}
	if path := l.movedSince(ctx, launches, vs); path != "" {
		return verdict.Say("file.moved_since",
			"{subject}, which an engine here may run, was changed, created or removed during or after the "+
				"measurement: find the program that did it (it may be an engine), and apply again").
			On(l.Variants.DisplayPath(path))
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
	if since.IsZero() || l.Variants.Plan.Executor.IsRemote() {
		return ""
	}
	l.Variants.Read.Forget()
	for _, v := range vs {
		was, wrote, folders, trees := v.Spec.Identity, []string{}, []source.Root{}, map[string]ledger.Tree{}
		for _, launch := range launches {
			if launch.VariantKey != v.Key {
				continue
			}
			used := l.Used(launch)
			was, trees = was.And(used.All()), launch.Trees
			wrote = append(wrote, used.Wrote...)
			if model := models[launch.ID]; model != "" {
				folders = append(folders, source.Root{Dir: model, Holds: source.HoldsAll})
			}
		}
		for _, t := range v.Spec.Trees {
			if was := trees[t.Name].Hash; was != "" {
				if now, err := variant.Snapshot(ctx, t, nil); err != nil || now.Hash != was {
					return t.Path
				}
			}
		}
		was.Files = slices.DeleteFunc(slices.Clone(was.Files), func(f source.File) bool {
			return f.Digest == source.Replaced || slices.Contains(wrote, f.Path)
		})
		now, compared, sites := l.Variants.Read.Take(was.Code()), map[string]bool{}, []string{}
		for _, f := range was.Files {
			compared[f.Path] = true
		}
		for _, f := range was.Folders {
			if compared[f.Path()] = true; f.Holds == source.HoldsPackages {
				sites = append(sites, f.Dir+"/")
			}
		}
		// What engines write among packages while they run is no code.
		isData := func(path string) bool {
			in := slices.ContainsFunc(slices.Compact(sites), func(site string) bool {
				return strings.HasPrefix(path, site)
			})
			return in && !compared[path] && !source.IsCode(path) && filepath.Ext(path) != ".pth"
		}
		for _, path := range l.Variants.Read.Changed(was, now) {
			if !isData(path) {
				return path
			}
		}
		for _, f := range now.Files {
			if f.Changed > since.UnixNano() && !f.Complete() {
				return f.Path
			}
		}
		if v.Spec.How() != engine.HowProcess {
			continue
		}
		for _, root := range append(was.Code().Roots, folders...) {
			path := root.Since(since, func(path string) bool {
				return compared[path] || isData(path) || slices.Contains(wrote, path) || l.onHost(v.Spec)(path) == ""
			})
			if path != "" {
				return path
			}
		}
	}
	return ""
}

// difference is how a tree differs from a recorded state, as arguments of a reason: the
// files, by the diffs of both and, if the commit differs, by the repository; and the commits.
func (l *Lab) difference(ctx context.Context, before ledger.Tree, commit string, diff []byte) []verdict.Arg {
	recorded, err := l.diffOf(before)
	if err != nil {
		return []verdict.Arg{verdict.Text("lost", "yes")}
	}
	files := source.PatchedApart(recorded, diff)
	var commits []verdict.Arg
	if before.Commit != commit {
		if r, err := source.OpenRepo(ctx, before.Path); err == nil {
			between, _ := r.Between(ctx, before.Commit, commit)
			files = append(files, between...)
		}
		commits = []verdict.Arg{
			verdict.Text("commit", source.Short(commit)), verdict.Text("before", source.Short(before.Commit)),
		}
	}
	slices.Sort(files)
	return append(commits, verdict.List("files", slices.Compact(files)))
}

func (l *Lab) diffOf(t ledger.Tree) ([]byte, error) {
	if t.Diff == "" || l.Store == nil {
		return nil, nil
	}
	return l.Store.Get(t.Diff)
}
