package steps

import (
	"context"
	"fmt"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitTagKind = gitKind(
	"Tags a commit, so that what was there before a port is found again. A tag that is there already at that commit is left alone; one at another commit is moved only with `force`.",
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
		return "", nil, &git.Error{Kind: git.InUse, Reason: fmt.Sprintf("tag %s is at %s, and %s is %s: take another name, or move it with force = true", c.Name, named(ctx, r, is), c.From, named(ctx, r, want))}
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
