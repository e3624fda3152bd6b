package work

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

var gitTagKind = gitKind(
	"Tags a commit, so the state before a port can be found again. A tag already at that commit is left alone; one at another commit is moved only with `force`.",
	`step "git_tag" "backup" {
  repo = "~/projects/vllm"
  name = "before-mxfp4"
}`,
	func(*Site) gitAction { return &gitTag{} },
	plans.Attr{Name: "name", Type: plans.String, Required: true, Doc: "Name of the tag."},
	plans.Attr{Name: "from", Type: plans.String, Default: "HEAD", Doc: "The commit to tag: a branch, a tag, a SHA."},
	plans.Attr{Name: "message", Type: plans.String, Doc: "Makes it an annotated tag with this message."},
	plans.Attr{Name: "force", Type: plans.Bool, Default: false, Doc: "Moves a tag that is at another commit."},
)

type gitTag struct {
	Name    string `json:"name"`
	From    string `json:"from"`
	Message string `json:"message"`
	Force   bool   `json:"force"`
}

func (c *gitTag) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	if err := r.GoodName(ctx, c.Name); err != nil {
		return "", nil, err
	}
	want, err := r.Commit(ctx, c.From)
	if err != nil {
		return "", nil, err
	}
	is := r.Tag(ctx, c.Name)
	switch {
	case is == want:
		return want, didTo("tag "+c.Name, code.RefAlready, at(ctx, r, want)), nil
	case is != "" && !c.Force:
		return "", nil, &git.Error{Kind: git.InUse, Reason: fmt.Sprintf("tag %s is at %s, but %s is %s: use another name, or move it with force = true", c.Name, named(ctx, r, is), c.From, named(ctx, r, want))}
	}
	if err := r.CreateTag(ctx, c.Name, want, c.Message, is != ""); err != nil {
		return "", nil, err
	}
	if is != "" {
		return want, didTo("tag "+c.Name, code.RefMoved, verdict.Text("before", named(ctx, r, is)), verdict.Text("after", named(ctx, r, want))), nil
	}
	return want, didTo("tag "+c.Name, code.RefMade, at(ctx, r, want)), nil
}

func (c *gitTag) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	switch is := r.Tag(ctx, c.Name); is {
	case goal:
		return verdict.Reason{}
	case "":
		return verdict.New(code.RefGone, verdict.Text("was", git.Short(goal))).On("tag " + c.Name)
	default:
		return verdict.New(code.RefMoved, verdict.Text("before", git.Short(goal)), verdict.Text("after", git.Short(is))).On("tag " + c.Name)
	}
}

var gitFetchKind = gitKind(
	"Fetches from a remote. Local branches and files stay as they are. It fetches once: apply with `--rerun` and the step's address to fetch again.",
	`step "git_fetch" "upstream" {
  repo   = "~/projects/vllm"
  remote = "upstream"
  refs   = ["main", "pull/31740/head"]
}`,
	func(*Site) gitAction { return &gitFetch{} },
	plans.Attr{Name: "remote", Type: plans.String, Default: "origin", Doc: "Name of the remote."},
	plans.Attr{Name: "refs", Type: plans.Strings, Doc: "Branches of the remote, and pull requests such as `pull/31740/head`. Without it, everything that the remote is configured to fetch."},
	plans.Attr{Name: "tags", Type: plans.Bool, Default: false, Doc: "Also fetches all tags."},
)

type gitFetch struct {
	Remote string   `json:"remote"`
	Refs   []string `json:"refs"`
	Tags   bool     `json:"tags"`
}

func (c *gitFetch) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	var branches, got []string
	var reasons []verdict.Reason
	for _, ref := range c.Refs {
		if !git.IsRequest(ref) {
			if err := r.GoodName(ctx, ref); err != nil {
				return "", nil, err
			}
			branches = append(branches, ref)
			continue
		}
		before := r.Fetched(ctx, c.Remote, ref)
		after, err := r.FetchRequest(ctx, c.Remote, ref)
		if err != nil {
			return "", nil, err
		}
		got = append(got, after)
		reasons = append(reasons, movedRef(c.Remote+" "+ref, before, after))
	}
	if len(branches) > 0 || len(c.Refs) == 0 || c.Tags {
		moved, err := r.Fetch(ctx, c.Remote, branches, c.Tags)
		if err != nil {
			return "", nil, err
		}
		for i, m := range moved {
			if i == 10 {
				reasons = append(reasons, verdict.New(code.AndMore, verdict.Int("more", len(moved)-i)))
				break
			}
			reasons = append(reasons, movedRef(strings.TrimPrefix(strings.TrimPrefix(m.Ref, "refs/remotes/"), "refs/tags/"), m.Before, m.After))
		}
	}
	for _, b := range branches {
		sha, err := r.Commit(ctx, "refs/remotes/"+c.Remote+"/"+b)
		if err != nil {
			return "", nil, err
		}
		got = append(got, sha)
	}
	if len(reasons) == 0 {
		reasons = didTo(c.Remote, code.NothingNew)
	}
	return strings.Join(got, ","), reasons, nil
}

func movedRef(name, before, after string) verdict.Reason {
	switch before {
	case after:
		return verdict.New(code.RefAlready, verdict.Text("at", after)).On(name)
	case "":
		return verdict.New(code.RefNew, verdict.Text("at", after)).On(name)
	}
	return verdict.New(code.RefMoved, verdict.Text("before", before), verdict.Text("after", after)).On(name)
}

// holds while the commits exist: what the remote has now is not checked.
func (c *gitFetch) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	for _, sha := range strings.Split(goal, ",") {
		if sha != "" && !r.Has(ctx, sha) {
			return verdict.New(code.CommitGone).On(git.Short(sha))
		}
	}
	return verdict.Reason{}
}

var gitBranchKind = gitKind(
	"Creates a branch; nothing is checked out. A branch with the commit in its history is left alone, whatever came on top; any other is moved only with `force`, and commits only on it are then kept under `refs/mxflow/backup/`.",
	`step "git_branch" "vllm" {
  repo = "~/projects/vllm"
  from = "pull/31740/head"
  name = "mxfp4_v2"
}`,
	func(*Site) gitAction { return &gitBranch{} },
	plans.Attr{Name: "name", Type: plans.String, Required: true, Doc: "Name of the branch."},
	plans.Attr{Name: "from", Type: plans.String, Required: true, Doc: "Where it starts: a branch, a tag, a SHA, a branch of a remote such as `upstream/main` (fetched if missing), or a pull request such as `pull/31740/head` (fetched from `remote`)."},
	plans.Attr{Name: "remote", Type: plans.String, Default: "origin", Doc: "The remote that has the pull request."},
	plans.Attr{Name: "force", Type: plans.Bool, Default: false, Doc: "Moves a branch that does not have the commit."},
)

type gitBranch struct {
	Name   string `json:"name"`
	From   string `json:"from"`
	Remote string `json:"remote"`
	Force  bool   `json:"force"`
}

func (c *gitBranch) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	if err := r.GoodName(ctx, c.Name); err != nil {
		return "", nil, err
	}
	want, err := c.start(ctx, r)
	if err != nil {
		return "", nil, err
	}
	is := r.Branch(ctx, c.Name)
	switch {
	case is == want:
		return want, didTo("branch "+c.Name, code.RefAlready, at(ctx, r, want)), nil
	case is == "":
		err := r.SetRef(ctx, "refs/heads/"+c.Name, want, "", "branch from "+c.From)
		return want, didTo("branch "+c.Name, code.RefMade, verdict.Text("from", c.From), at(ctx, r, want)), err
	case r.Contains(ctx, is, want):
		return want, didTo("branch "+c.Name, code.RefHas, at(ctx, r, is), verdict.Text("commit", git.Short(want)), verdict.Text("from", c.From)), nil
	case !c.Force:
		return "", nil, &git.Error{Kind: git.InUse, Reason: fmt.Sprintf("branch %s is at %s, which does not contain %s from %s, and is not moved: use another name, or move it with force = true",
			c.Name, named(ctx, r, is), named(ctx, r, want), c.From)}
	}
	reasons, err := c.move(ctx, r, is, want)
	return want, reasons, err
}

// start is the commit to start at, fetched if necessary.
func (c *gitBranch) start(ctx context.Context, r *git.Repo) (string, error) {
	if git.IsRequest(c.From) {
		return r.FetchRequest(ctx, c.Remote, c.From)
	}
	sha, err := r.Commit(ctx, c.From)
	if err == nil || !git.Is(err, git.UnknownRef) {
		return sha, err
	}
	remotes, listErr := r.Remotes(ctx)
	if listErr != nil {
		return "", listErr
	}
	for _, remote := range remotes {
		if branch, ok := strings.CutPrefix(c.From, remote+"/"); ok {
			if _, err := r.Fetch(ctx, remote, []string{branch}, false); err != nil {
				return "", err
			}
			return r.Commit(ctx, c.From)
		}
	}
	return "", err
}

// move moves the branch and reports what was there. Commits that only this branch had get
// their own ref, so git keeps them.
func (c *gitBranch) move(ctx context.Context, r *git.Repo, is, want string) ([]verdict.Reason, error) {
	only, err := r.Only(ctx, is, "refs/heads/"+c.Name)
	if err != nil {
		return nil, err
	}
	reasons := didTo("branch "+c.Name, code.RefMoved, verdict.Text("before", named(ctx, r, is)), verdict.Text("after", named(ctx, r, want)))
	if len(only) > 0 {
		backup := "refs/mxflow/backup/" + c.Name + "/" + git.Short(is)
		if r.Tip(ctx, backup) != is {
			if err := r.SetRef(ctx, backup, is, "", "commits only on branch "+c.Name); err != nil {
				return nil, err
			}
		}
		reasons = append(reasons, verdict.New(code.CommitsKept, verdict.Int("commits", len(only)), verdict.Text("backup", backup)).On(c.Name))
	}
	return reasons, r.MoveBranch(ctx, c.Name, want, is)
}

func (c *gitBranch) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	is := r.Branch(ctx, c.Name)
	switch {
	case is == "":
		return verdict.New(code.RefGone, verdict.Text("began", git.Short(goal))).On("branch " + c.Name)
	case !r.Contains(ctx, is, goal):
		return verdict.New(code.RefLacks, verdict.Text("at", git.Short(is)), verdict.Text("commit", git.Short(goal))).On("branch " + c.Name)
	}
	if now, err := r.Commit(ctx, c.From); c.Force && err == nil && now != goal && !r.Contains(ctx, is, now) {
		return verdict.New(code.RefMoved, verdict.Text("before", git.Short(goal)), verdict.Text("after", git.Short(now)), verdict.Text("followed", "yes")).On(c.From)
	}
	return verdict.Reason{}
}

var gitCheckoutKind = gitKind(
	"Checks out a branch, a tag or a commit, in the repository's own folder or in a separate worktree. If uncommitted changes are in the way, it fails and names them.",
	`step "git_checkout" "vllm" {
  repo     = "~/projects/vllm"
  ref      = "mxfp4_v2"
  worktree = "~/projects/vllm-mxfp4"
}`,
	func(l *Site) gitAction { return &gitCheckout{site: l} },
	plans.Attr{Name: "ref", Type: plans.String, Required: true, Doc: "A local branch; or a tag, a SHA or a branch of a remote, which are checked out with a detached HEAD."},
	plans.Attr{Name: "worktree", Type: plans.String, Doc: "A folder for a separate worktree, relative to the plan's folder. Without it, `repo` itself is switched."},
	plans.Attr{Name: "submodules", Type: plans.Bool, Default: false, Doc: "Updates submodules to the matching commits."},
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

// wanted is the local branch that the plan means, if any, and the commit.
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

// tree is the worktree of r in dir; nil if there is nothing yet.
func (c *gitCheckout) tree(ctx context.Context, r *git.Repo, dir string) (*git.Repo, error) {
	if entries, err := os.ReadDir(dir); os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil, nil
	}
	t, err := git.Open(ctx, dir)
	if err == nil && t.CommonDir == r.CommonDir && plans.SameFile(t.Top, dir) {
		return t, nil
	}
	return nil, &git.Error{Kind: git.InTheWay, Reason: fmt.Sprintf("%s exists and is not a worktree of %s: move it away, or name another folder", dir, r.Top)}
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
	// If the name is gone, what is checked out stays.
	if now, err := r.Commit(ctx, c.Ref); err == nil && now != commit {
		return verdict.New(code.RefWas, verdict.Text("before", git.Short(commit)), verdict.Text("after", git.Short(now))).On(c.Ref)
	}
	if head != commit {
		return verdict.New(code.OffCommit, verdict.Text("at", git.Short(head)), verdict.Text("commit", git.Short(commit))).On(filepath.Base(what))
	}
	return verdict.Reason{}
}
