package variant

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// TestTreesAreNoticed: working trees that docker mounts and that a process
// starts in are on record without a word in the plan; other folders are not.
func TestTreesAreNoticed(t *testing.T) {
	repo := gitRepo(t)
	l := &Resolver{Plan: &plans.Plan{Dir: filepath.Dir(repo)}}
	sub := filepath.Join(repo, "csrc")
	must.Do(t, os.Mkdir(sub, 0o755))
	cases := map[string]struct {
		engine *plans.Engine
		docker *engine.Docker
		want   int
	}{
		"volume": {
			&plans.Engine{},
			&engine.Docker{Volumes: map[string]string{repo: "/w", t.TempDir(): "/tmp", "named": "/n"}}, 1,
		},
		"volume below":       {&plans.Engine{}, &engine.Docker{Volumes: map[string]string{sub: "/w"}}, 1},
		"folder of process":  {&plans.Engine{Process: &plans.Process{Dir: "engine/csrc"}}, nil, 1},
		"no folder":          {&plans.Engine{Process: &plans.Process{}}, nil, 0},
		"folder in a source": {&plans.Engine{Process: &plans.Process{Dir: "{source}/csrc"}}, nil, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := engine.Spec{Docker: c.docker}
			if p := c.engine.Process; p != nil {
				spec.Dir = l.Plan.Path(p.Dir)
			}
			d := &draft{engine: c.engine}
			l.identify(d, &spec)
			if len(spec.Trees) != c.want {
				t.Fatalf("%+v", spec.Trees)
			}
			for _, tree := range spec.Trees {
				if state, err := Snapshot(t.Context(), tree, nil); err != nil || state.Hash == "" || !tree.Noticed {
					t.Errorf("%+v: %+v, %v", tree, state, err)
				}
			}
		})
	}
	// The plan's own repository is not one of them.
	own := &Resolver{Plan: &plans.Plan{Dir: repo}}
	spec := engine.Spec{Dir: sub}
	if own.identify(&draft{engine: &plans.Engine{Process: &plans.Process{Dir: "csrc"}}}, &spec); len(spec.Trees) != 0 {
		t.Errorf("%+v", spec.Trees)
	}
}

// TestOneKeyForManyMounts: the order of a map is another each time, an engine's key is not.
func TestOneKeyForManyMounts(t *testing.T) {
	first, other := gitRepo(t), filepath.Join(t.TempDir(), "engine")
	volumes := map[string]string{first: "/src/a", other: "/src/b"}
	for _, name := range []string{"c", "d"} {
		volumes[filepath.Join(t.TempDir(), name)] = "/src/" + name
	}
	for repo := range volumes {
		if repo == first {
			continue
		}
		must.Git(t, "", "init", "-q", repo)
		must.Git(t, repo, "commit", "-q", "--allow-empty", "-m", "one")
	}
	keys, short := map[string]int{}, map[string]int{}
	scope := &runtime.Scope{Memo: &sync.Map{}} // git is asked once
	for range 60 {
		l := &Resolver{Plan: &plans.Plan{Dir: t.TempDir()}}
		spec := engine.Spec{Docker: &engine.Docker{Volumes: volumes}}
		l.identify(&draft{scope: scope, engine: &plans.Engine{}}, &spec)
		for _, tree := range spec.Trees {
			if tree.Name == "engine" {
				short[tree.Path]++
			}
		}
		if keys[l.variantKey(t.Context(), spec)]++; len(spec.Trees) != 4 {
			t.Fatalf("%+v", spec.Trees)
		}
	}
	if len(keys) != 1 || len(short) != 1 {
		t.Errorf("keys %v, short names %v", keys, short)
	}
}

// gitRepo is a repository of one commit, in a folder of its own.
func gitRepo(t *testing.T) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	repo := filepath.Join(t.TempDir(), "engine")
	must.Git(t, "", "init", "-q", repo)
	must.Git(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	return repo
}
