package steps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// sourceConfig are the attributes of source blocks, laid over each other.
type sourceConfig struct {
	Repo    string            `json:"repo"`
	Ref     string            `json:"ref"`
	Build   [][]string        `json:"build"`
	Env     map[string]string `json:"env"`
	Inputs  []string          `json:"inputs"`
	Timeout plans.Dur         `json:"timeout"`
	Dir     string            `json:"dir"`
	Mount   string            `json:"mount"`
}

// sourceTimeout is how long a build command may take where the plan is silent.
const sourceTimeout = 2 * time.Hour

// provenance puts into spec what it is built from, what caches it has and what
// working trees it sees. What cannot be found out now (a branch that a step is
// still to make) is no error here: the launch says what is wrong.
func (l *Resolver) provenance(d *draft, spec *engine.Spec) error {
	var c sourceConfig
	for _, b := range d.sources {
		if err := b.Decode(&c); err != nil {
			return err
		}
	}
	if len(d.sources) > 0 {
		spec.Source = l.sourceOf(d.scope, c)
		if spec.How() == engine.HowProcess && (d.engine.Process == nil || d.engine.Process.Dir == "") {
			spec.Dir = sourceMark
		}
		spec.Caches = &engine.Caches{State: "warm"}
	}
	for _, b := range d.engine.Parts["caches"] {
		caches := struct{ State, Dir, Mount string }{}
		if err := b.Decode(&caches); err != nil {
			return err
		}
		spec.Caches = &engine.Caches{State: caches.State, Dir: caches.Dir, Mount: caches.Mount}
	}
	return l.putTrees(d, spec)
}

func (l *Resolver) sourceOf(s *runtime.Scope, c sourceConfig) *engine.Source {
	src := &engine.Source{
		Repo: l.Plan.Abs(c.Repo), Ref: c.Ref, Build: c.Build, Env: c.Env, Mount: c.Mount, Timeout: int64(c.Timeout),
	}
	if c.Dir != "" {
		src.Dir = l.Plan.Abs(c.Dir)
	}
	if src.Timeout <= 0 {
		src.Timeout = int64(sourceTimeout)
	}
	if c.Repo == "" {
		src.Problem = "a source of a knob's value names no repo, and neither does the engine: add repo = \"…\" to one of them"
		return src
	}
	src.Commit, src.Problem = runtime.Ask(s, "commit "+src.Repo+"\x00"+src.Ref, func(ctx context.Context) (string, error) {
		r, err := git.Open(ctx, src.Repo)
		if err != nil {
			return "", err
		}
		return r.Commit(ctx, src.Ref)
	})
	if len(c.Inputs) > 0 {
		var err error
		if src.Inputs, err = l.inputs(c.Inputs); err != nil && src.Problem == "" {
			src.Problem = err.Error()
		}
	}
	return src
}

// inputs is the digest of files that a build reads. One that is not there is an
// error: the build would not be what the plan says.
func (l *Resolver) inputs(patterns []string) (string, error) {
	h := sha256.New()
	for _, p := range patterns {
		found, err := filepath.Glob(l.Plan.Abs(p))
		if err != nil {
			return "", fmt.Errorf("inputs: %q is no pattern that can be read: %w", p, err)
		}
		if len(found) == 0 {
			return "", fmt.Errorf("inputs: there is no file %s: correct the path, or take it out of inputs", p)
		}
		for _, file := range slices.Sorted(slices.Values(found)) {
			sum := runtime.FileDigest(file)
			if len(sum) != 2*sha256.Size {
				return "", fmt.Errorf("inputs: %s cannot be read as a file: name files, with * for many", file)
			}
			fmt.Fprintf(h, "%s\x00%s\x00%s\x00", p, filepath.Base(file), sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// buildKey names what a build is made of: a worktree whose key is another one is
// another build.
func buildKey(l *Resolver, src *engine.Source) string {
	return l.sealed("build", src.Commit, src.Build, src.Env, src.Inputs)
}

// sourceKey is what source, caches and trees add to a variant's key. Where the
// commit or a tree's state is not known it says so, and changes when it is.
func sourceKey(spec engine.Spec) []any {
	var parts []any
	if spec.Source != nil {
		parts = append(parts, "source", spec.Source)
	}
	if spec.Caches != nil {
		parts = append(parts, "caches", spec.Caches)
	}
	for _, t := range spec.Trees {
		parts = append(parts, "tree", t)
	}
	return parts
}
