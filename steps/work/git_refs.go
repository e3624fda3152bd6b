package work

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitTagKind = gitKind(
	"Tags a commit, so the state before a port can be found again. A tag already at that commit is left alone; one at another commit fails the step.",
	`step "git_tag" "backup" {
  repo = "~/projects/vllm"
  name = "before-mxfp4"
}`,
	func() gitAction { return &gitTag{} },
	plans.Attrs(gitTag{}),
)

type gitTag struct {
	Name    string `hcl:"name" doc:"Name of the tag."`
	From    string `hcl:"from,optional" default:"HEAD" doc:"The commit to tag: a branch, a tag, a SHA."`
	Message string `hcl:"message,optional" doc:"Makes it an annotated tag with this message."`
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
	case is != "":
		return "", nil, &git.Error{Kind: git.InUse, Reason: fmt.Sprintf("tag %s is at %s, but %s is %s: use another name, or remove it (git tag -d %s)", c.Name, named(ctx, r, is), c.From, named(ctx, r, want), c.Name)}
	}
	if err := r.CreateTag(ctx, c.Name, want, c.Message); err != nil {
		return "", nil, err
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

var gitBranchKind = gitKind(
	"Fetches what a branch starts at, makes the branch and checks it out. A branch with the commit in its history is left as it is, whatever came on top; any other is not moved, and the step fails. If uncommitted changes are in the way, it fails and names them.",
	`step "git_branch" "vllm" {
  repo = "~/projects/vllm"
  from = "pull/31740/head"
  name = "mxfp4_v2"
}`,
	func() gitAction { return &gitBranch{} },
	plans.Attrs(gitBranch{}),
)

type gitBranch struct {
	Name     string `hcl:"name" doc:"Name of the branch."`
	From     string `hcl:"from" doc:"Where it starts: a branch, a tag, a SHA, a branch of a remote such as 'upstream/main', or a pull request such as 'pull/31740/head' of 'remote'. The last two are fetched. To fetch again, apply with '--rerun' and the step's address."`
	Remote   string `hcl:"remote,optional" default:"origin" doc:"The remote that has the pull request."`
	Checkout bool   `hcl:"checkout,optional" default:"true" doc:"Checks the branch out. Without that it is only made, for a 'source' block for instance, which has a worktree of its own."`
}

func (c *gitBranch) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	if err := r.GoodName(ctx, c.Name); err != nil {
		return "", nil, err
	}
	want, err := c.start(ctx, r)
	if err != nil {
		return "", nil, err
	}
	head, on, err := r.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	switching := c.Checkout && on != c.Name
	if switching {
		if err := r.Settled(ctx); err != nil {
			return "", nil, err
		}
	}
	reasons, err := c.point(ctx, r, want)
	if err != nil || !switching {
		return want, reasons, err
	}
	if err := r.Checkout(ctx, c.Name); err != nil {
		return "", nil, err
	}
	return want, append(reasons, verdict.Say("git.switched",
		"{subject} switched from {from}{from!a detached HEAD} at {before} to {ref} at {at}",
		verdict.Text("from", on), verdict.Text("before", head), verdict.Text("ref", c.Name), at(ctx, r, r.Branch(ctx, c.Name))).On(r.Top)), nil
}

// point makes the branch, unless it has the commit.
func (c *gitBranch) point(ctx context.Context, r *git.Repo, want string) ([]verdict.Reason, error) {
	is := r.Branch(ctx, c.Name)
	switch {
	case is == want:
		return didTo("branch "+c.Name, code.RefAlready, at(ctx, r, want)), nil
	case is == "":
		err := r.SetRef(ctx, "refs/heads/"+c.Name, want, "", "branch from "+c.From)
		return didTo("branch "+c.Name, code.RefMade, verdict.Text("from", c.From), at(ctx, r, want)), err
	case r.Contains(ctx, is, want):
		return didTo("branch "+c.Name, code.Of("git.ref.has",
			"{subject} is at {at}, which contains {commit} from {from}"),
			at(ctx, r, is), verdict.Text("commit", git.Short(want)), verdict.Text("from", c.From)), nil
	}
	return nil, &git.Error{Kind: git.InUse, Reason: fmt.Sprintf("branch %s is at %s, which does not contain %s from %s, and is not moved: use another name, or move it yourself (git branch -f %[1]s %[5]s)",
		c.Name, named(ctx, r, is), named(ctx, r, want), c.From, git.Short(want))}
}

// start is the commit to start at, fetched if a remote has it.
func (c *gitBranch) start(ctx context.Context, r *git.Repo) (string, error) {
	if git.IsRequest(c.From) {
		return r.FetchRequest(ctx, c.Remote, c.From)
	}
	if r.Branch(ctx, c.From) != "" {
		return r.Commit(ctx, c.From)
	}
	remotes, err := r.Remotes(ctx)
	if err != nil {
		return "", err
	}
	for _, remote := range remotes {
		if branch, ok := strings.CutPrefix(c.From, remote+"/"); ok && r.GoodName(ctx, branch) == nil {
			return r.FetchBranch(ctx, remote, branch)
		}
	}
	return r.Commit(ctx, c.From)
}

func (c *gitBranch) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	is := r.Branch(ctx, c.Name)
	switch {
	case is == "":
		return verdict.New(code.RefGone, verdict.Text("began", git.Short(goal))).On("branch " + c.Name)
	case !r.Contains(ctx, is, goal):
		return verdict.Say("git.ref.lacks", "{subject} is at {at}, which no longer contains {commit}",
			verdict.Text("at", git.Short(is)), verdict.Text("commit", git.Short(goal))).On("branch " + c.Name)
	}
	if !c.Checkout {
		return verdict.Reason{}
	}
	head, on, err := r.Head(ctx)
	switch {
	case err != nil:
		return verdict.New(code.GitRefused, verdict.Err(err))
	case on != c.Name:
		return verdict.Say("git.off_branch", "{subject} is at {on?{on} }{commit}, no longer on branch {branch}",
			verdict.Text("on", on), verdict.Text("commit", git.Short(head)), verdict.Text("branch", c.Name)).On(filepath.Base(r.Top))
	}
	return verdict.Reason{}
}
