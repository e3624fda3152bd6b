package steps

import (
	"context"
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitBranchKind = gitKind(
	"Makes a branch; nothing is checked out. A branch that has the commit in its history is left alone, whatever came on top; one elsewhere is moved only with `force`, and commits that nothing else has are then kept under `refs/mxflow/backup/`.",
	`step "git_branch" "vllm" {
  repo = "~/projects/vllm"
  from = "pull/31740/head"
  name = "mxfp4_v2"
}`,
	func(*Site) gitAction { return &gitBranch{} },
	plans.Attr{Name: "name", Type: plans.String, Required: true, Doc: "Name of the branch."},
	plans.Attr{Name: "from", Type: plans.String, Required: true, Doc: "Where it begins: a branch, a tag, a SHA, a branch of a remote such as `upstream/main` (fetched where it is not there), or a pull request such as `pull/31740/head` (fetched from `remote`)."},
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
		return "", nil, &git.Error{Kind: git.InUse, Reason: fmt.Sprintf("branch %s is at %s, which does not have %s from %s, and is not moved: take another name, or move it with force = true",
			c.Name, named(ctx, r, is), named(ctx, r, want), c.From)}
	}
	reasons, err := c.move(ctx, r, is, want)
	return want, reasons, err
}

// start is the commit to begin at, fetched where that is needed.
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

// move puts the branch elsewhere and says what was there. Commits that only this
// branch had get a ref of their own, so that git keeps them.
func (c *gitBranch) move(ctx context.Context, r *git.Repo, is, want string) ([]verdict.Reason, error) {
	only, err := r.Only(ctx, is, "refs/heads/"+c.Name)
	if err != nil {
		return nil, err
	}
	reasons := didTo("branch "+c.Name, code.RefMoved, verdict.Text("before", named(ctx, r, is)), verdict.Text("after", named(ctx, r, want)))
	if len(only) > 0 {
		backup := "refs/mxflow/backup/" + c.Name + "/" + git.Short(is)
		if r.Tip(ctx, backup) != is {
			if err := r.SetRef(ctx, backup, is, "", "what branch "+c.Name+" had alone"); err != nil {
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
