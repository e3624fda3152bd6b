package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/flock"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// worktree is one build of one commit, in a folder of its own. It is complete if the file
// beside it says so, which is written last: an interrupted build is started over.
type worktree struct {
	lab       *Lab
	src       *engine.Source
	base, key string
	launch    string
	// marks map the marks of worktrees in build commands to their paths.
	marks map[string]string
	hard  context.Context
	emit  func(runtime.Event)
}

// built is what is known of a complete worktree.
type built struct {
	Key    string    `json:"key"`
	Commit string    `json:"commit"`
	Built  time.Time `json:"built"`
	// Changed are tracked files that the build itself changed.
	Changed map[string]string `json:"changed,omitempty"`
}

func (w worktree) dir() string {
	return filepath.Join(w.base,
		fmt.Sprintf("%s-%s-%s", filepath.Base(w.src.Repo), source.Short(w.src.Commit), w.key[:8]))
}

func (w worktree) mark() string { return w.dir() + ".built.json" }

// lockFile waits until no other process holds the lock.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		held, err := flock.Exclusive(f)
		switch {
		case err != nil:
			return nil, errors.Join(err, f.Close())
		case !held:
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (w worktree) ready(ctx context.Context, record *ledger.Launch) error {
	if err := os.MkdirAll(w.base, 0o755); err != nil {
		return failed("source", "be checked out", "no folder for worktrees: %v", err)
	}
	unlock, err := lockFile(ctx, w.dir()+".lock")
	if err != nil {
		return gitFailure(ctx, err)
	}
	defer unlock()
	r, err := source.OpenRepo(ctx, w.src.Repo)
	if err != nil {
		return gitFailure(ctx, err)
	}
	whole, err := w.isUnmodified(ctx)
	if err != nil || whole {
		return err
	}
	if err := r.RemoveWorktree(ctx, w.dir()); err != nil {
		return gitFailure(ctx, err)
	}
	if err := r.AddWorktree(ctx, w.dir(), w.src.Commit); err != nil {
		return gitFailure(ctx, err)
	}
	began := time.Now()
	if len(w.src.Build) > 0 {
		w.emit(runtime.Event{
			Type: "note",
			Why: verdict.Say("source.builds", "building source {subject} at commit {commit}",
				verdict.Text("commit", source.Short(w.src.Commit))).On(w.src.Name),
		})
	}
	for i, command := range w.src.Build {
		if err := w.build(ctx, i, command, record); err != nil {
			return err
		}
	}
	if len(w.src.Build) > 0 {
		w.lab.Variants.Retake() // a build may install into what engines import from
		w.emit(runtime.Event{Type: "source_built", Seconds: time.Since(began).Seconds()})
	}
	changed, err := w.changed(ctx)
	if err != nil {
		return gitFailure(ctx, err)
	}
	text, err := json.Marshal(built{Key: w.key, Commit: w.src.Commit, Built: time.Now().UTC(), Changed: changed})
	if err == nil {
		err = os.WriteFile(w.mark()+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(w.mark()+".new", w.mark())
	}
	if err != nil {
		return failed("source", "be checked out", "cannot record the finished build: %v", err)
	}
	return nil
}

// isUnmodified reports whether the worktree is built and as the build left it. Manual
// edits are an error: measured, they would pass for the commit; removed, they would be
// lost.
func (w worktree) isUnmodified(ctx context.Context) (bool, error) {
	text, err := os.ReadFile(w.mark())
	var b built
	if err != nil || json.Unmarshal(text, &b) != nil || b.Key != w.key || b.Commit != w.src.Commit {
		return false, nil
	}
	if _, err := os.Stat(w.dir()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	now, err := w.changed(ctx)
	if err != nil {
		return false, gitFailure(ctx, err)
	}
	var edited []string
	for file, sum := range now {
		if b.Changed[file] != sum {
			edited = append(edited, file)
		}
	}
	for file := range b.Changed {
		if _, ok := now[file]; !ok {
			edited = append(edited, file)
		}
	}
	if len(edited) > 0 {
		slices.Sort(edited)
		return false,
			failed("source", "be used",
				"%s in the worktree %s changed since it was built, but would be measured as %s: commit the change to "+
					"a branch and name that in ref, or remove the folder",
				source.FileList(edited), w.dir(), w.src.Ref)
	}
	return true, nil
}

// changed are tracked files that differ from the commit, with their digests.
func (w worktree) changed(ctx context.Context) (map[string]string, error) {
	r, err := source.OpenRepo(ctx, w.dir())
	if err != nil {
		return nil, err
	}
	head, _, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	files, err := r.Changed(ctx)
	if err == nil && head != w.src.Commit {
		files = append(files, "HEAD, which is at "+source.Short(head)+",")
	}
	sums := map[string]string{}
	for _, f := range files {
		sums[f] = runtime.FileDigest(filepath.Join(w.dir(), f))
	}
	return sums, err
}

// build runs one build command and waits for it. Its log is kept if it fails.
func (w worktree) build(ctx context.Context, i int, command []string, record *ledger.Launch) error {
	log := filepath.Join(w.lab.RunDir, "builds", fmt.Sprintf("%s-%d.log", filepath.Base(w.dir()), i+1))
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return failed("build", "start", "no folder for its log: %v", err)
	}
	put := func(text string) string {
		for mark, dir := range sorted.All(w.marks) {
			text = strings.ReplaceAll(text, mark, dir)
		}
		return text
	}
	env := map[string]string{}
	for name, value := range w.src.Env {
		env[name] = put(value)
	}
	var argv []string
	for _, word := range command {
		argv = append(argv, put(word))
	}
	limit := time.Duration(w.src.Timeout)
	ctx2, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	run, err := run.StartCommand(engine.Spec{Command: argv, Dir: w.dir(), Env: env, StopGrace: 10 * time.Second},
		engine.Launch{ID: "build-" + runtime.ShortID(w.launch, i), Owner: w.lab.Owner, LogPath: log})
	if err != nil {
		return err
	}
	select {
	case <-run.Exited():
	case <-ctx2.Done():
	}
	exit := run.Exit()
	// Processes that the command left behind end with it.
	_ = run.Stop(w.hard)
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), redact.File(log, w.lab.Redact))
	}
	if err := redact.File(log, w.lab.Redact); err != nil {
		_ = os.Remove(log)
	}
	if exit != nil && exit.Code == 0 && exit.Signal == "" {
		return nil
	}
	failure := failed("build", "finish", "%s at %s", w.lab.Redact.Text(strings.Join(command, " ")),
		source.Short(w.src.Commit))
	if exit == nil {
		failure.Reason += fmt.Sprintf(" was stopped after its time limit of %s", limit)
	}
	failure.Exit, failure.LogTail = exit, logscan.Tail(log, 15)
	if w.lab.Store != nil {
		if sum, err := w.lab.Store.PutFile(log); err == nil {
			record.Log = sum
		}
	}
	return failure
}
