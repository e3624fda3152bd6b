package steps

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitCheckoutKind = gitKind(
	"Checks out a branch, a tag or a commit, in the repository's own folder or in a worktree beside it. Where uncommitted changes are in the way it fails and names them.",
	`step "git_checkout" "vllm" {
  repo     = "~/projects/vllm"
  ref      = "mxfp4_v2"
  worktree = "~/projects/vllm-mxfp4"
}`,
	func(l *Site) gitAction { return &gitCheckout{site: l} },
	plans.Attr{Name: "ref", Type: plans.String, Required: true, Doc: "A local branch; or a tag, a SHA or a branch of a remote, which are checked out with a detached HEAD."},
	plans.Attr{Name: "worktree", Type: plans.String, Doc: "A folder for a worktree of its own, relative to the plan's folder. Without it, the files in `repo` itself are switched."},
	plans.Attr{Name: "submodules", Type: plans.Bool, Default: false, Doc: "Brings submodules to the commits that belong to it."},
)

type gitCheckout struct {
	site       *Site
	Ref        string `json:"ref"`
	Worktree   string `json:"worktree"`
	Submodules bool   `json:"submodules"`
}

func (c *gitCheckout) do(ctx context.Context, r *git.Repo) (goal string, reasons []verdict.Reason, err error) {
	branch, commit, err := c.wanted(ctx, r)
	if err != nil {
		return "", nil, err
	}
	goal = "commit " + commit
	if branch != "" {
		goal = "branch " + branch
	}
	where := r
	if c.Worktree != "" {
		dir := c.site.Plan.Abs(c.Worktree)
		if where, err = c.tree(ctx, r, dir); err != nil {
			return "", nil, err
		}
		if where == nil {
			if err := r.AddWorktree(ctx, dir, branch, commit); err != nil {
				return "", nil, err
			}
			if where, err = git.Open(ctx, dir); err != nil {
				return "", nil, err
			}
			return goal, didTo(dir, code.WorktreeMade, verdict.Text("ref", c.Ref), at(ctx, r, commit)), c.fill(ctx, where)
		}
	}
	before, on, err := where.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	if before == commit && (branch == on || branch == "") {
		return goal, didTo(where.Top, code.CheckedOut, verdict.Text("ref", c.Ref), at(ctx, r, commit)), c.fill(ctx, where)
	}
	if err := where.Settled(ctx); err != nil {
		return "", nil, err
	}
	if err := where.Checkout(ctx, branch, commit); err != nil {
		return "", nil, err
	}
	return goal, didTo(where.Top, code.Switched, verdict.Text("from", on), verdict.Text("before", before), verdict.Text("ref", c.Ref), at(ctx, r, commit)), c.fill(ctx, where)
}

// wanted is the local branch that the plan means, if it means one, and the commit.
func (c *gitCheckout) wanted(ctx context.Context, r *git.Repo) (branch, commit string, err error) {
	name := strings.TrimPrefix(c.Ref, "refs/heads/")
	if commit = r.Branch(ctx, name); commit != "" {
		return name, commit, nil
	}
	commit, err = r.Commit(ctx, c.Ref)
	return "", commit, err
}

func (c *gitCheckout) fill(ctx context.Context, where *git.Repo) error {
	if !c.Submodules {
		return nil
	}
	return where.CheckoutSubmodules(ctx)
}

// tree is the worktree of r in dir; nil where there is nothing yet.
func (c *gitCheckout) tree(ctx context.Context, r *git.Repo, dir string) (*git.Repo, error) {
	if entries, err := os.ReadDir(dir); os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil, nil
	}
	t, err := git.Open(ctx, dir)
	if err == nil && t.CommonDir == r.CommonDir && plans.SameFile(t.Top, dir) {
		return t, nil
	}
	return nil, &git.Error{Kind: git.InTheWay, Reason: fmt.Sprintf("%s is there and is no worktree of %s: move it away, or name another folder", dir, r.Top)}
}

func (c *gitCheckout) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	where, what := r, r.Top
	if c.Worktree != "" {
		what = c.site.Plan.Abs(c.Worktree)
		t, err := c.tree(ctx, r, what)
		if err != nil {
			return verdict.New(code.GitRefused, verdict.Err(err))
		}
		if t == nil {
			return verdict.New(code.RefGone).On("worktree " + what)
		}
		where = t
	}
	head, on, err := where.Head(ctx)
	if err != nil {
		return verdict.New(code.GitRefused, verdict.Err(err))
	}
	if branch, ok := strings.CutPrefix(goal, "branch "); ok {
		if on != branch {
			return verdict.New(code.OffBranch, verdict.Text("on", on), verdict.Text("commit", git.Short(head)), verdict.Text("branch", branch)).On(filepath.Base(what))
		}
		return verdict.Reason{}
	}
	commit := strings.TrimPrefix(goal, "commit ")
	// A name that is gone leaves what is checked out as it is.
	if now, err := r.Commit(ctx, c.Ref); err == nil && now != commit {
		return verdict.New(code.RefWas, verdict.Text("before", git.Short(commit)), verdict.Text("after", git.Short(now))).On(c.Ref)
	}
	if head != commit {
		return verdict.New(code.OffCommit, verdict.Text("at", git.Short(head)), verdict.Text("commit", git.Short(commit))).On(filepath.Base(what))
	}
	return verdict.Reason{}
}
