package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// sourceLab is a lab with a state directory, and a repository of one commit.
func sourceLab(t *testing.T) (*Lab, string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	st, err := store.Open(filepath.Join(dir, "state"))
	must.Do(t, err)
	t.Cleanup(func() { st.Close() })
	repo := filepath.Join(dir, "engine")
	must.Write(t, filepath.Join(repo, "file"), "text\n")
	must.Git(t, repo, "init", "-q")
	must.Git(t, repo, "add", ".")
	must.Git(t, repo, "commit", "-qm", "first")
	return &Lab{
		Variants: &variant.Resolver{Plan: &plans.Plan{Dir: dir}}, Store: st,
		Owner: "test-" + runtime.ShortID(dir), RunDir: filepath.Join(dir, "run"),
	}, repo
}

func scope() *runtime.Scope {
	return &runtime.Scope{
		Node: &runtime.Node{ID: "node"}, Emit: func(runtime.Event) {}, Memo: &sync.Map{},
		Force: context.Background(),
	}
}

// provided makes a launch ready and returns its spec and record.
func provided(t *testing.T, l *Lab, spec engine.Spec) (engine.Spec, *ledger.Launch, error) {
	t.Helper()
	record := &ledger.Launch{ID: "launch", Engine: map[string]string{}}
	v, err := l.provide(t.Context(), scope(),
		&variant.Variant{Arm: decide.Arm{Name: "arm", Key: "0123456789abcdef"}, Spec: spec}, record)
	return v.Spec, record, err
}

// TestSourceReachesContainers: the worktree and the caches are mounted, and the
// marks stand for where the container sees them. The variant's own spec stays as
// it was.
func TestSourceReachesContainers(t *testing.T) {
	l, repo := sourceLab(t)
	given := engine.Spec{
		Command: []string{"python3", "{source.engine}/serve.py"},
		Env:     map[string]string{"PYTHONPATH": "{source.engine}"},
		Sources: []*engine.Source{l.Variants.SourceOf(nil,
			variant.SourceConfig{Name: "engine", Repo: repo, Ref: "HEAD"})}, Caches: &engine.Caches{State: "warm"},
		Docker: &engine.Docker{Image: "x", Volumes: map[string]string{"/models": "/models"}},
	}
	spec, _, err := provided(t, l, given)
	must.Do(t, err)
	const inside = "/workspace/engine"
	if spec.Command[1] != inside+"/serve.py" || spec.Env["PYTHONPATH"] != inside || spec.Docker.WorkDir != inside {
		t.Errorf("%v %v %s", spec.Command, spec.Env, spec.Docker.WorkDir)
	}
	must.Equal(t, spec.Env, spec.Env["TRITON_CACHE_DIR"], cachesMount+"/triton")
	var hosts []string
	for host, in := range spec.Docker.Volumes {
		if in == inside {
			if _, err := os.Stat(filepath.Join(host, "file")); err != nil {
				t.Error(err)
			}
		}
		hosts = append(hosts, in)
	}
	slices.Sort(hosts)
	if !slices.Equal(hosts, []string{"/models", cachesMount, inside}) {
		t.Errorf("mounted: %v", hosts)
	}
	if given.Command[1] != "{source.engine}/serve.py" || given.Env["PYTHONPATH"] != "{source.engine}" ||
		len(given.Docker.Volumes) != 1 {
		t.Errorf("the variant was changed: %+v", given)
	}

	given.Docker, given.Exec = nil, &engine.Exec{Container: "dev"}
	if _, _, err = provided(t, l, given); err == nil || !strings.Contains(err.Error(), "mount") {
		t.Errorf("a running container without a mount: %v", err)
	}
	given.Sources = []*engine.Source{l.Variants.SourceOf(nil,
		variant.SourceConfig{Name: "engine", Repo: repo, Ref: "HEAD", Dir: "trees", Mount: "/w"})}
	given.Caches = &engine.Caches{State: "cold", Dir: "jit", Mount: "/jit"}
	spec, _, err = provided(t, l, given)
	if err != nil || !strings.HasPrefix(spec.Exec.WorkDir, "/w/engine-") ||
		!strings.HasPrefix(spec.Env["CUDA_CACHE_PATH"], "/jit/") {
		t.Errorf("%v %+v %v", err, spec.Exec, spec.Env)
	}
}

// TestSourcesBuildOnEachOther: each of two sources has a worktree, a build reads that of the
// one above it, and another revision of that is another build of both.
func TestSourcesBuildOnEachOther(t *testing.T) {
	l, repo := sourceLab(t)
	other := repo + "-kernels"
	must.Git(t, "", "clone", "-q", repo, other)
	revision := func(ref string) engine.Spec {
		kernels := l.Variants.SourceOf(nil, variant.SourceConfig{Name: "kernels", Repo: other, Ref: ref})
		vllm := l.Variants.SourceOf(nil, variant.SourceConfig{
			Name: "vllm", Repo: repo, Ref: "HEAD", Env: map[string]string{"KERNELS": "{source.kernels}"},
			Build: [][]string{{"sh", "-c", `cp "$KERNELS/file" {source.vllm}/copied`}},
		}, kernels)
		return engine.Spec{
			Command: []string{"{source.vllm}/serve"},
			Env:     map[string]string{"PYTHONPATH": "{source.vllm}:{source.kernels}"}, Dir: "{source.vllm}",
			Sources: []*engine.Source{kernels, vllm},
		}
	}
	spec, record, err := provided(t, l, revision("HEAD"))
	must.Do(t, err)
	first, second, _ := strings.Cut(spec.Env["PYTHONPATH"], ":")
	if text, err := os.ReadFile(filepath.Join(spec.Dir, "copied")); err != nil || string(text) != "text\n" ||
		first != spec.Dir || second == first {
		t.Errorf("%v: %q in %s, beside %s", err, text, spec.Dir, second)
	}
	if record.Trees["source.vllm"].Commit == "" || record.Engine["source.kernels.ref"] != "HEAD" {
		t.Errorf("%v %v", record.Trees, record.Engine)
	}
	must.Git(t, other, "commit", "-q", "--allow-empty", "-m", "second")
	again, _, err := provided(t, l, revision("HEAD"))
	if err != nil || again.Dir == spec.Dir {
		t.Errorf("%v: built against another revision in %s", err, again.Dir)
	}
	alone := l.Variants.SourceOf(nil,
		variant.SourceConfig{Name: "vllm", Repo: repo, Ref: "HEAD", Build: [][]string{{"ls", "{source.kernels}"}}})
	must.Contain(t, "a source that is not there", alone.Problem, "no source of that name is declared above it")
	only := revision("HEAD")
	only.Command = []string{"{source}/serve"}
	if _, _, err := provided(t, l, only); err == nil ||
		!strings.Contains(err.Error(), "its sources are kernels, vllm") {
		t.Errorf("which of two: %v", err)
	}
}

// TestSourceRefuses: what cannot be provided is a failure that says what to do.
func TestSourceRefuses(t *testing.T) {
	l, repo := sourceLab(t)
	source := func(c variant.SourceConfig) []*engine.Source { return []*engine.Source{l.Variants.SourceOf(nil, c)} }
	cases := map[string]struct {
		spec engine.Spec
		says string
	}{
		"no source": {
			engine.Spec{Command: []string{"{source.engine}/x"}},
			"has a source block: add one with repo and ref",
		},
		"no repo": {engine.Spec{Sources: source(variant.SourceConfig{Ref: "main"})}, "has no repo"},
		"unknown ref": {
			engine.Spec{Sources: source(variant.SourceConfig{Repo: repo, Ref: "nowhere"})},
			`no commit "nowhere"`,
		},
		"missing inputs": {
			engine.Spec{Sources: source(variant.SourceConfig{Repo: repo, Ref: "HEAD", Inputs: []string{"no/such.h"}})},
			"file no/such.h does not exist",
		},
		"endpoint": {engine.Spec{
			Sources:  source(variant.SourceConfig{Repo: repo, Ref: "HEAD"}),
			Endpoint: &engine.Endpoint{},
		}, "not started by mxflow"},
		"endpoint cold": {
			engine.Spec{Caches: &engine.Caches{State: "cold"}, Endpoint: &engine.Endpoint{}},
			"remove the caches block",
		},
		"no such tool": {
			engine.Spec{
				Sources: source(variant.SourceConfig{Repo: repo, Ref: "HEAD", Build: [][]string{{"no-such-tool"}}}),
			},
			`"no-such-tool" is not in PATH`,
		},
		"too slow": {
			engine.Spec{Sources: source(variant.SourceConfig{
				Repo: repo, Ref: "HEAD", Timeout: 1,
				Build: [][]string{{"sleep", "100"}},
			})}, "time limit",
		},
		"declared tree": {engine.Spec{Trees: []engine.Tree{{Name: "a", Path: "/nowhere/at/all"}}}, "does not exist"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := provided(t, l, c.spec)
			var failure *engine.Failure
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
	noticed := engine.Spec{Trees: []engine.Tree{{Name: "a", Path: "/nowhere/at/all", Noticed: true}}}
	if _, record, err := provided(t, l, noticed); err != nil || len(record.Notes) != 1 {
		t.Errorf("a tree that was only noticed: %v %v", err, record.Notes)
	}
}

// TestBuildsOnce: launches at the same time share one build, an interrupted one
// is made again from a clean tree, and another command is another build.
func TestBuildsOnce(t *testing.T) {
	l, repo := sourceLab(t)
	builds := filepath.Join(filepath.Dir(repo), "builds")
	script := "test ! -e half || exit 9; touch half; echo built >>" + builds
	src := l.Variants.SourceOf(nil,
		variant.SourceConfig{Repo: repo, Ref: "HEAD", Build: [][]string{{"sh", "-c", script}}})
	count := func() int {
		text, _ := os.ReadFile(builds)
		return strings.Count(string(text), "built")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, _, err := provided(t, l, engine.Spec{Sources: []*engine.Source{src}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := count(); n != 1 {
		t.Fatalf("%d builds, want 1", n)
	}
	w := worktree{
		lab: l, src: src, base: filepath.Join(l.Store.Dir(), "worktrees"),
		key: variant.BuildKey(l.Variants, src, nil),
	}
	must.Do(t, os.Remove(w.mark()))
	if _, _, err := provided(t, l, engine.Spec{Sources: []*engine.Source{src}}); err != nil {
		t.Fatal(err) // "half" of the cut build would end it with 9
	}
	must.Equal(t, "builds, of which one was cut", count(), 2)
	other := *src
	other.Env = map[string]string{"CC": "clang"}
	if variant.BuildKey(l.Variants, &other, nil) == variant.BuildKey(l.Variants, src, nil) {
		t.Error("another environment is the same build")
	}
}

// A node sees one state of a repository for as long as it runs, whatever other nodes
// begin meanwhile and whatever they find.
func TestNodesSeeOneState(t *testing.T) {
	l, repo := sourceLab(t)
	commit := func(s *runtime.Scope) string {
		src := l.Variants.SourceOf(s, variant.SourceConfig{Repo: repo, Ref: "HEAD"})
		if src.Problem != "" {
			t.Fatal(src.Problem)
		}
		return src.Commit
	}
	measuring := scope()
	before := commit(measuring)
	must.Git(t, repo, "commit", "-q", "--allow-empty", "-m", "second")
	if now := commit(scope()); now == before {
		t.Error("a node that begins after a commit does not see it")
	}
	must.Equal(t, "what a node sees once another one has begun", commit(measuring), before)
}

// A run that ends waits for no repository, and what was not found out is not taken for
// known.
func TestQuestionsEndWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := scope()
	s.Context = ctx
	_, problem := runtime.Ask(s, "slow", func(ctx context.Context) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	must.Equal(t, "the question ended with", problem, context.Canceled.Error())
	s.Context = t.Context()
	if answer, problem := runtime.Ask(s, "slow", func(context.Context) (string, error) {
		return "found", nil
	}); answer != "found" || problem != "" {
		t.Errorf("asked again it is %q, %q", answer, problem)
	}
}

// What is mounted within another mount hides a part of that.
func TestNestedMounts(t *testing.T) {
	spec := engine.Spec{Docker: &engine.Docker{Volumes: map[string]string{
		"/home/me": "/root/", "/data/hf": "/root/.cache/huggingface:ro", "/data/hub": "/root/.cache/huggingface/hub",
	}}}
	for inside, want := range map[string]string{
		"/root/serve.py":                          "/home/me/serve.py",
		"/root/.cache/huggingfaces":               "/home/me/.cache/huggingfaces",
		"/root/.cache/huggingface/m.safetensors":  "/data/hf/m.safetensors",
		"/root/.cache/huggingface/hub/m/config.x": "/data/hub/m/config.x",
		"/usr/lib/libc.so":                        "",
	} {
		for range 20 {
			if got := (&Lab{}).onHost(spec)(inside); got != want {
				t.Fatalf("%s is %q, want %q", inside, got, want)
			}
		}
	}
}
