package launch

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// keeps gives a launch of a variant its caches, and returns their folder.
func keeps(t *testing.T, l *Lab, c engine.Caches, key string, record *ledger.Launch) (spec engine.Spec) {
	t.Helper()
	spec = engine.Spec{Caches: &c, Env: map[string]string{}}
	record.Engine = map[string]string{}
	must.Do(t, l.provideCaches(&spec, key, record))
	return spec
}

// TestTimedFiles: what is compiled stays for the next launch, and what was timed and
// chosen does not, under the names that engines keep it by.
func TestTimedFiles(t *testing.T) {
	files := map[string]bool{
		"vllm/flashinfer_autotune_cache/0.6.14/120f/8fbd/autotune_configs.json":         true,
		"vllm-flashinfer-autotune/8fbd/autotune_configs.json":                           true,
		"sglang/flashinfer/autotune/0.6.12/sm103/15fc/rank_tp0_pp0_dp0.json":            true,
		"flashinfer/.cache/flashinfer/autotune/v2/0f3a/entries/9c1d.json":               true,
		"flashinfer-autotune/v2/0f3a/entries/9c1d.json":                                 true,
		"inductor/ab/cabcd.best_config":                                                 true,
		"vllm/torch_compile_cache/6c2e/rank_0_0/inductor_cache/ab/cabcd.best_config":    true,
		"triton/QRS/_fwd_kernel.autotune.json":                                          true,
		"tilelang/autotuner/33aa/best_config.json":                                      true,
		"embedded/autotune/0.4.0/autotune_configs.json":                                 true,
		"vllm/torch_compile_cache/6c2e/rank_0_0/inductor_cache/fxgraph/ab/abc/artifact": false,
		"flashinfer/.cache/flashinfer/0.6.14/120f/cached_ops/page/page.so":              false,

		"inductor/ab/cabcd.py":         false,
		"triton/QRS/_fwd_kernel.cubin": false,
		"cuda/1/2/abc":                 false,
	}
	for tuning, stays := range map[string]bool{"drawn": false, "pinned": true} {
		l := &Lab{RunDir: t.TempDir()}
		c := engine.Caches{State: "warm", Tuning: tuning}
		dir := keeps(t, l, c, "key", &ledger.Launch{ID: "1"}).Caches.Dir
		for file := range files {
			path := filepath.Join(dir, file)
			must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(file), 0o600)))
		}
		record := &ledger.Launch{ID: "2", Place: &ledger.Place{Name: "gpu 1"}}
		if found, err := timedFiles(keeps(t, l, c, "key", record).Caches.Dir); len(found) > 0 != stays || err != nil {
			t.Errorf("%s: a launch on another GPU, which may run at the same time, finds %v, %v", tuning, found, err)
		}
		keeps(t, l, c, "key", &ledger.Launch{ID: "3"})
		for file, timed := range files {
			if _, err := os.Stat(filepath.Join(dir, file)); errors.Is(err, fs.ErrNotExist) == (!timed || stays) {
				t.Errorf("%s, at the next launch: %s: %v", tuning, file, err)
			}
		}
	}
}

// TestCachesOfAnotherUser: a tune that cannot be removed is not found by the next launch
// either, which starts cold then; and cold caches are empty whatever lies there.
func TestCachesOfAnotherUser(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may remove everything")
	}
	l := &Lab{RunDir: t.TempDir()}
	for _, c := range []engine.Caches{{State: "warm", Tuning: "drawn"}, {State: "cold", Tuning: "drawn"}} {
		dir := keeps(t, l, c, "key", &ledger.Launch{ID: "1"}).Caches.Dir
		sealed := filepath.Join(dir, "embedded", "autotune")
		must.Do(t, errors.Join(os.Mkdir(sealed, 0o755), os.WriteFile(filepath.Join(sealed, "kept"), nil, 0o600),
			os.Chmod(sealed, 0o555)))
		record := &ledger.Launch{ID: "2"}
		if found, err := timedFiles(keeps(t, l, c, "key", record).Caches.Dir); len(found) > 0 || err != nil ||
			record.Engine["caches"] != "cold" {
			t.Errorf("%s: the next launch finds %v, %v, and counts as %s", c.State, found, err, record.Engine["caches"])
		}
		_ = filepath.WalkDir(l.RunDir, func(path string, d fs.DirEntry, _ error) error { return os.Chmod(path, 0o755) })
	}
}

// TestTuneIsADraw: two arms that are one and the same, each from empty caches, whose tuner
// makes launches up to 5% faster or slower. That one is 3% faster passes in at most 1% if
// each launch draws, and often if an arm keeps one draw.
func TestTuneIsADraw(t *testing.T) {
	sessions := 60
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		sessions = 1000
	}
	design, err := stats.DesignFor(0.01, 0.05, 4, 8, stats.Unrecorded)
	must.Do(t, err)
	passes := func(tuning string) (passed float64) {
		rng := rand.New(rand.NewPCG(33, 2))
		for range sessions {
			l := &Lab{RunDir: t.TempDir()}
			q := stats.Question{
				Terms:  stats.Terms{Theta: math.Log(1.03), Pass: design.Pass, Fail: design.Fail},
				Screen: math.Log(0.75),
			}
			outcome := stats.Open
			for outcome == stats.Open {
				for i, arm := range []*[]float64{&q.Base, &q.Candidate} {
					spec := keeps(t, l, engine.Caches{State: "warm", Tuning: tuning}, "ab"[i:i+1], &ledger.Launch{})
					factor, _ := embedded.Tune(spec.Env["MXFLOW_EMBEDDED_CACHE_DIR"], rng.IntN)
					*arm = append(*arm, 0.003*rng.NormFloat64()-math.Log(factor))
				}
				if outcome, _, err = stats.Sequential(q, design); err != nil {
					t.Fatal(err)
				}
			}
			if outcome == stats.Passed {
				passed++
			}
			_ = os.RemoveAll(l.RunDir)
		}
		t.Logf("%s: %v of %d sessions pass", tuning, passed, sessions)
		return passed / float64(sessions)
	}
	if drawn := passes("drawn"); drawn > 0.01 {
		t.Errorf("with a draw for each launch %.2f%% pass, at most 1%% may", 100*drawn)
	}
	if pinned := passes("pinned"); pinned < 0.1 {
		t.Errorf("with one draw for each arm %.1f%% pass: what is wrong with that is not shown any more", 100*pinned)
	}
}
